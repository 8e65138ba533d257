import { type DestinationField, HEADER_TEXT } from "../destination.ts";

/** The headers and fields that every AWS kind has. */

/** What the signature and the service's protocol decide. */
export const AWS_HEADERS = ["authorization", "date", "content-md5", "x-amz-*", "amz-sdk-*"];

/** Regions and buckets stand in host names and paths. */
export const NAME_PATTERN = "^[a-z0-9.-]+$";

/** What an AWS answer, and a person, calls a role. */
const ROLE_ARN = "arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]{1,512}";

export function field(
  name: string,
  label: string,
  help: string,
  traits: Partial<DestinationField> = {},
): DestinationField {
  return { name, label, help, required: false, secret: false, address: false, ...traits };
}

/** What is wrong with a name that the pattern lets through: one that a host or a path would lose. */
export function checkName(text: string): string | null {
  return /^[a-z0-9](.*[a-z0-9])?$/.test(text) && !text.includes("..")
    ? null
    : "Expected a letter or digit first and last, and no two dots in a row.";
}

/** What is wrong with the URL of a service: a query means nothing there, and is dear to sign. */
export function checkServiceUrl(url: string): string | null {
  return /[?#]/.test(url) ? "Expected a URL without a query (?) and without a fragment (#)." : null;
}

/** The message group, for FIFO queues and topics; standard queues take one for fair sharing. */
export const GROUP_FIELD = field(
  "group_id",
  "Message group",
  "Messages of one group keep their order. Of FIFO: the endpoint's id unless given.",
  { pattern: "[!-~]{1,128}" },
);

/** `endpointHelp` says what the service's own address is otherwise. */
export function awsFields(endpointHelp: string): readonly DestinationField[] {
  return [
    field("region", "Region", "The AWS region, as in eu-central-1.", {
      required: true,
      pattern: NAME_PATTERN,
      check: (text) => (text.length > 64 ? "Expected at most 64 characters." : checkName(text)),
    }),
    field("access_key_id", "Access key ID", "Of an IAM user, or of credentials for a time.", {
      required: true,
      secret: true,
      pattern: "[A-Za-z0-9_.:/+=@-]{1,256}",
    }),
    field("secret_access_key", "Secret access key", "Belongs to the access key ID.", {
      required: true,
      secret: true,
      pattern: "[!-~]{1,1024}",
    }),
    field(
      "session_token",
      "Session token",
      "Only with credentials for a time. Such a destination fails as soon as they expire: a role lasts.",
      { secret: true, pattern: HEADER_TEXT },
    ),
    field(
      "role_arn",
      "Role to assume",
      "The ARN of a role that the access key may assume; then the role is what sends.",
      {
        pattern: ROLE_ARN,
      },
    ),
    field("external_id", "External ID", "What the trust policy of the role asks for.", {
      pattern: "[A-Za-z0-9_+=,.@:/-]{2,1224}",
    }),
    field("endpoint", "Endpoint", `${endpointHelp} Give it for a compatible server, or a VPC endpoint.`, {
      address: true,
      check: checkServiceUrl,
    }),
    field(
      "sts_endpoint",
      "STS endpoint",
      "Where the role is assumed: AWS itself unless given, or where a compatible server has its endpoint.",
      { address: true, check: checkServiceUrl },
    ),
  ];
}

/** What stands at the end of every AWS kind's notes. */
export const AWS_NOTES = " Prefer a role, and an access key that may do nothing but assume it.";

export const AWS_ERRORS = {
  refused:
    "The service did not take the message; `error_detail` is its own code, such as `InvalidClientTokenId`. Credentials of a role that it refuses are asked for anew by the next attempt.",
  permission_missing:
    "`error_detail` is the action that is not allowed, and on what, as in `sqs:SendMessage on arn:aws:sqs:…`.",
  role_refused:
    "STS did not let the role be assumed; `error_detail` is its own code, or the permission that is missing.",
} as const;

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Message group": "Nachrichtengruppe",
  "Messages of one group keep their order. Of FIFO: the endpoint's id unless given.":
    "Nachrichten einer Gruppe behalten ihre Reihenfolge. Bei FIFO: die Id des Endpunkts, wenn nichts angegeben ist.",
  "The AWS region, as in eu-central-1.": "Die AWS-Region, wie eu-central-1.",
  "Access key ID": "Zugriffsschlüssel-ID",
  "Of an IAM user, or of credentials for a time.": "Eines IAM-Benutzers, oder befristeter Zugangsdaten.",
  "Secret access key": "Geheimer Zugriffsschlüssel",
  "Belongs to the access key ID.": "Gehört zur Zugriffsschlüssel-ID.",
  "Session token": "Sitzungs-Token",
  "Only with credentials for a time. Such a destination fails as soon as they expire: a role lasts.":
    "Nur bei befristeten Zugangsdaten. Sind sie abgelaufen, scheitert das Ziel: Eine Rolle hält.",
  "Role to assume": "Anzunehmende Rolle",
  "The ARN of a role that the access key may assume; then the role is what sends.":
    "Die ARN einer Rolle, die der Zugriffsschlüssel annehmen darf; gesendet wird dann mit der Rolle.",
  "External ID": "Externe ID",
  "What the trust policy of the role asks for.": "Was die Vertrauensrichtlinie der Rolle verlangt.",
  "The service's own address in the region is called unless this is given. Give it for a compatible server, or a VPC endpoint.":
    "Ohne Angabe wird die Adresse des Dienstes in der Region gerufen. Für kompatible Server oder einen VPC-Endpunkt.",
  "STS endpoint": "STS-Endpunkt",
  "Where the role is assumed: AWS itself unless given, or where a compatible server has its endpoint.":
    "Wo die Rolle angenommen wird: ohne Angabe bei AWS selbst, oder wo ein kompatibler Server seinen Endpunkt hat.",
};

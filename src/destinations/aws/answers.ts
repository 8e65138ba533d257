import { DELIVERED, readObject, readText, rejected, UNEXPECTED } from "../answers.ts";
import type { Answer, DestinationConfig, Judgement, Refusal } from "../destination.ts";
import { forgetRole } from "./role-credentials.ts";

/** What the services of AWS have in common where they refuse: a code, in JSON, in XML or in a header. */

/** What the caller wanted to do, for the refusals that say it is not allowed. */
export interface Permission {
  /** Where a role may have signed the call: its credentials are forgotten if they are refused. */
  signedBy: DestinationConfig | null;
  /** As policies call it, such as `sqs:SendMessage`. */
  action: string;
  resource: string;
}

/**
 * Every code that asks to slow down, as AWS's own clients sort them (`THROTTLING_ERROR_CODES` of their retry
 * package) and with what single services add, such as `KMS.ThrottlingException` and `OverLimit` of SQS.
 */
const THROTTLING =
  /throttl|^slow ?down$|^provisionedthroughputexceeded|^requestlimitexceeded|^bandwidthlimitexceeded|^toomanyrequests|^overlimit$|^limitexceeded(exception)?$|^priorrequestnotcomplete$|^serviceunavailable/i;

/** Codes that mean: known, but not allowed. Wrong keys have others, which say it all. */
const DENIED =
  /^(access ?denied|authorizationerror|notauthorized|kms\.?accessdenied|accountproblem|allaccessdisabled)/i;

/** Codes that mean: not by these credentials, as they have ended, are not known, or do not fit each other. */
const UNKNOWN =
  /^(expired ?token|request ?expired|invalid(client)?token|unrecognizedclient|tokenrefreshrequired|invalidaccesskey|invalidsecurity|authfailure|signaturedoesnotmatch|invalidsignature|incompletesignature|missingauthenticationtoken)/i;

/** Not the destination is closed, but the key that it is encrypted with. */
const KEY_DENIED = /^kms/i;

const CODE = /^[A-Za-z0-9_.:-]{1,100}$/;
/** Neither ends with the text, which may be cut off within it. */
const MISSING =
  /not authorized to perform:? ([\w*-]+:[\w*-]+)(?=[^\w*-])(?: on (?:resource:? )?(?:"|&quot;)?(arn:[^\s"&<]{1,400})(?=[\s"&<]))?/;

/** A status other than success: the service's own code in `detail`, or the permission that is missing. */
export function judgeRefusal(answer: Answer, permission: Permission): Refusal {
  const { code, text } = readError(answer);
  if (code !== null) return refusalOf(code, text, permission);
  if (answer.status === 401) forgetSigner(permission);
  return rejected();
}

/** `code` as the service gave it, `text` with its own words. */
export function refusalOf(code: string, text: string, permission: Permission): Refusal {
  if (UNKNOWN.test(code)) forgetSigner(permission);
  if (!DENIED.test(code)) return rejected("refused", { throttled: THROTTLING.test(code), detail: code });
  const { action, resource: named } = KEY_DENIED.test(code) ? keyOf(permission) : permission;
  const [, missing = action, resource = named] = MISSING.exec(text) ?? [];
  // SQS writes its own actions in lower case.
  const isOwn = missing.toLowerCase() === permission.action.toLowerCase();
  return rejected("permission_missing", { detail: `${isOwn ? permission.action : missing} on ${resource}` });
}

/** Not where access is denied: a policy may deny one message of many, for which nobody asks STS anew. */
function forgetSigner({ signedBy }: Permission): void {
  if (signedBy !== null) forgetRole(signedBy);
}

function keyOf({ resource }: Permission): Pick<Permission, "action" | "resource"> {
  return { action: "kms:GenerateDataKey", resource: `the key of ${resource}` };
}

/** The answer of a JSON service that gives `name` where it took the message. */
export function judgeJson(answer: Answer, name: string, permission: Permission): Judgement {
  if (answer.status !== 200) return judgeRefusal(answer, permission);
  const value = readObject(answer.body)[name];
  return typeof value === "string" && value !== "" ? DELIVERED : rejected(UNEXPECTED);
}

function readError({ headers, body }: Answer): { code: string | null; text: string } {
  const json = readObject(body);
  const header = headers.find(([name]) => name === "x-amzn-errortype")?.[1];
  const named = [json["__type"], json["code"], json["Code"], header, readElement(body, "Code")].find(
    (each) => typeof each === "string" && each !== "",
  );
  return { code: readCode(named), text: readText(body) };
}

/**
 * `com.amazonaws.sqs#QueueDoesNotExist` and `AccessDeniedException:http://…` without what surrounds the code.
 */
export function readCode(value: unknown): string | null {
  if (typeof value !== "string") return null;
  const code = (value.split("#").at(-1) ?? "").split(/[:;]\s*http/)[0] ?? "";
  return CODE.test(code) ? code : null;
}

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
]);

/** The text of the first element of this name; null where there is none. */
export function readElement(body: Uint8Array, name: string): string | null {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(readText(body))?.[1];
  return text === undefined
    ? null
    : text.trim().replaceAll(/&(\w+);/g, (whole, entity: string) => ENTITIES.get(entity) ?? whole);
}

import { isObject } from "../../core/json/value.ts";
import { emptyHandshake } from "../answers.ts";
import { readUnproven } from "../body.ts";
import { credential } from "../config.ts";
import { checkedDocs, officialSdk } from "../define.ts";
import { field, type Facts, readPath } from "../facts.ts";
import type { Reception, RefusalReason } from "../provider.ts";
import type { ProviderRow } from "../row.ts";
import { verifyCertified } from "../schemes/certificate.ts";
import {
  type Arrival,
  type Coverage,
  faultOfTime,
  keylessScheme,
  refused,
  type Verdict,
} from "../schemes/scheme.ts";
import { UNSTATED_WINDOW } from "../window.ts";

/** AWS SNS signs some fields of its JSON with the key of a certificate at one of its own addresses. */

/** `us-gov-west-1`, and no name of another service: what lies at `sns.s3-us-west-2` is anybody's. */
const REGION = String.raw`[a-z]{2}(?:-[a-z]+)+-\d{1,2}`;
const SNS_HOST = String.raw`sns\.${REGION}\.amazonaws\.com(?:\.cn)?`;
const CERTIFICATE_URL = new RegExp(`^https://${SNS_HOST}/[A-Za-z0-9._/-]+\\.pem$`);
const SUBSCRIBE_URL = new RegExp(`^https://${SNS_HOST}/\\?`);
const COMMON_NAME = /^sns(?:\.[a-z0-9-]+)*\.amazonaws\.com(?:\.cn)?$/;

const SIGNED_FIELDS = {
  notification: ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"],
  control: ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"],
};
const ALGORITHMS: ReadonlyMap<string, "sha1" | "sha256"> = new Map([
  ["1", "sha1"],
  ["2", "sha256"],
]);
const REQUIRED = [
  "Message",
  "MessageId",
  "Timestamp",
  "TopicArn",
  "Type",
  "Signature",
  "SigningCertURL",
  "SignatureVersion",
];

/** All that is read before the proof: a stranger's body may have a hundred thousand members. */
const READ = [...new Set([...REQUIRED, ...SIGNED_FIELDS.notification, ...SIGNED_FIELDS.control])];
const PROOF = Object.fromEntries(READ.map((name) => [name, true as const]));

type Message = Readonly<Record<string, string>>;

/** Those of the message that are texts; null where one is missing, or one that is signed is no text. */
function messageIn(body: Uint8Array): Message | null {
  const value = readUnproven(body, PROOF, 0);
  if (!isObject(value)) return null;
  const message: Record<string, string> = {};
  for (const name of READ) {
    const text = value[name];
    if (typeof text === "string") message[name] = text;
  }
  const areThere = REQUIRED.every((name) => Object.hasOwn(message, name));
  return areThere && signedFields(message).every((name) => isBounded(name, value[name])) ? message : null;
}

/** Each stands on a line of its own in what is signed: only the message, which is first, may have several. */
function isBounded(name: string, value: unknown): boolean {
  if (value === undefined || name === "Message") return true;
  return typeof value === "string" && !value.includes("\n");
}

function signedFields(message: Message): readonly string[] {
  return message["Type"] === "Notification" ? SIGNED_FIELDS.notification : SIGNED_FIELDS.control;
}

function signedContent(message: Message): string {
  return signedFields(message)
    .filter((name) => Object.hasOwn(message, name))
    .map((name) => `${name}\n${message[name]}\n`)
    .join("");
}

function faultOf(message: Message, arrival: Arrival): RefusalReason | null {
  const { topic_arn } = arrival.material.credentials;
  if (topic_arn === undefined) return "awaiting_secret";
  if (message["TopicArn"] !== topic_arn) return "unknown_key";
  return faultOfTime(message["Timestamp"] ?? null, "iso", UNSTATED_WINDOW, arrival);
}

async function verify(arrival: Arrival): Promise<Verdict> {
  const message = messageIn(arrival.request.body);
  if (!message) return refused("malformed");
  const fault = faultOf(message, arrival);
  if (fault !== null) return refused(fault);
  const { SigningCertURL: url = "", Signature: signature = "" } = message;
  const algorithm = ALGORITHMS.get(message["SignatureVersion"] ?? "");
  if (!CERTIFICATE_URL.test(url) || !algorithm) return refused("wrong_key_id");
  const content = signedContent(message);
  return verifyCertified({ url, commonName: COMMON_NAME, algorithm, content, signature }, "AWS", arrival);
}

const COVERS: Coverage = {
  body: "part",
  but: "MessageAttributes and UnsubscribeURL are not signed.",
};

const scheme = keylessScheme({
  name: "public_key",
  headers: [],
  window: UNSTATED_WINDOW,
  checks:
    "SHA-1 or SHA-256 signature with RSA inside the body, by AWS's certificate, over the message's own fields",
  covers: COVERS,
  instead: "topic_arn",
  verify,
});

/** The caller visits the address through the guard; only then is the subscription confirmed. */
function answerSubscription({ body }: Facts): Reception | null {
  if (readPath(body, "Type") !== "SubscriptionConfirmation") return null;
  const visitUrl = readPath(body, "SubscribeURL") ?? "";
  return SUBSCRIBE_URL.test(visitUrl)
    ? { ...emptyHandshake(), visitUrl }
    : { kind: "refused", reason: "malformed" };
}

function answerUnsubscribe({ body }: Facts): Reception | null {
  return readPath(body, "Type") === "UnsubscribeConfirmation" ? emptyHandshake() : null;
}

export const AWS_SNS: ProviderRow = {
  key: "aws_sns",
  name: "AWS SNS",
  scheme,
  secretFrom: "provider",
  credentials: [
    credential("topic_arn", "Topic ARN", "The topic that is subscribed (arn:aws:sns:…).", {
      example: "arn:aws:sns:eu-central-1:123456789012:orders",
    }),
  ],
  signedHandshakes: [
    { text: "SubscriptionConfirmation: its SubscribeURL is visited", answer: answerSubscription },
    { text: "UnsubscribeConfirmation is answered 200", answer: answerUnsubscribe },
  ],
  proofs: ["Signature"],
  typeExample: "Notification",
  eventType: field("Type"),
  deliveryId: field("MessageId"),
  verifiedWith: officialSdk("sns-validator", "0.3.5"),
  docs: checkedDocs(
    "aws sns subscribe, options --topic-arn, --protocol https and --notification-endpoint.",
    "Nothing secret to enter: the topic's ARN (aws sns create-topic answers it as TopicArn); enter it before the subscription is made.",
    "https://github.com/aws/aws-cli/tree/develop/awscli/examples/sns",
    "Anyone with an AWS account can sign: the topic's ARN is what proves the sender.",
    "Leave raw message delivery off: raw messages carry no signature.",
  ),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "The topic that is subscribed (arn:aws:sns:…).": "Das abonnierte Thema (arn:aws:sns:…).",
};

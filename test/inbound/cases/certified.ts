import { sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import type { InboundRequest } from "../../../src/inbound/provider.ts";
import type { ProviderCase } from "../case.ts";
import { jsonRequest, requestOf, textOf, withBody, withHeader } from "../kit.ts";
import { load } from "../sdk.ts";

/**
 * Providers that sign with a certificate's key. The certificates of the suite are our own, made out to the
 * same names.
 */

function fixture(name: string): string {
  return readFileSync(new URL(`../fixtures/${name}`, import.meta.url), "utf8");
}

const SNS_URL = "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem";
const SNS_KEY = fixture("sns-key.pem");
const TOPIC = "arn:aws:sns:us-east-1:123456789012:MyTopic";

/** The fields in the order in which AWS's page signs them; absent ones are left out. */
function signSns(message: Record<string, string>, fields: readonly string[]): InboundRequest {
  const content = fields
    .filter((name) => name in message)
    .map((name) => `${name}\n${message[name]}\n`)
    .join("");
  const Signature = sign("sha256", Buffer.from(content), SNS_KEY).toString("base64");
  const body = JSON.stringify({ ...message, SignatureVersion: "2", Signature, SigningCertURL: SNS_URL });
  return requestOf({
    body,
    headers: { "content-type": "text/plain; charset=UTF-8", "x-amz-sns-message-type": message["Type"] ?? "" },
  });
}

function notification(nowMs: number): InboundRequest {
  const message = {
    Type: "Notification",
    MessageId: "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
    TopicArn: TOPIC,
    Subject: "My First Message",
    Message: "Hello world!",
    Timestamp: new Date(nowMs).toISOString(),
    UnsubscribeURL: "https://sns.us-east-1.amazonaws.com/?Action=Unsubscribe",
  };
  return signSns(message, ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"]);
}

export function control(Type: string, nowMs: number, SubscribeURL: string): InboundRequest {
  const message = {
    Type,
    MessageId: "165545c9-2a5c-472c-8df2-7ff2be2b3b1b",
    Token: "2336412f37",
    TopicArn: TOPIC,
    Message: "You have chosen to subscribe to the topic.",
    SubscribeURL,
    Timestamp: new Date(nowMs).toISOString(),
  };
  return signSns(message, ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"]);
}

/** Subject and MessageId join those before them, whose lines are signed alike; a signed field is no text. */
function recutSns(request: InboundRequest): InboundRequest[] {
  const { Subject, MessageId, ...rest } = JSON.parse(textOf(request)) as Record<string, string>;
  const joined = { ...rest, MessageId: `${MessageId}\nSubject\n${Subject}` };
  return [joined, { ...joined, Subject: 7 }].map((body) => withBody(request, JSON.stringify(body)));
}

const SUBSCRIBE_URL = "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=x&Token=y";

/** The body with one text replaced: each field that is signed is tried. */
function replacing(from: string, to: string): (request: InboundRequest) => InboundRequest {
  return (request) => withBody(request, textOf(request).replace(from, to));
}

/** AWS's validator fetches by `https.get`; for its call that finds our certificate instead of AWS's. */
const https = load("node:https") as { get: unknown };
const Validator = load("sns-validator") as new () => {
  validate(message: object, done: (error: Error | null) => void): void;
};

function serveCertificate(_url: string, answer: (response: Readable) => void) {
  answer(Object.assign(Readable.from([fixture("sns-certificate.pem")]), { statusCode: 200 }));
  return { on: () => undefined };
}

async function bySnsValidator(request: InboundRequest): Promise<boolean> {
  const { get } = https;
  https.get = serveCertificate;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  new Validator().validate(JSON.parse(textOf(request)), (error) => resolve(error === null));
  return promise.finally(() => {
    https.get = get;
  });
}

const PAYPAL_URL = "https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-5edc0ebc";
const PAYPAL_KEY = fixture("paypal-key.pem");
const PAYPAL_BODY = JSON.stringify({ id: "WH-1", event_type: "PAYMENT.SALE.COMPLETED", resource: {} });

/** CRC-32 as in zlib, written out anew. */
function crc32(text: string): number {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}

/** The powers of CRC-32's polynomial: whoever turns these bits over leaves the checksum as it was. */
const CRC32_POWERS = [32, 26, 23, 22, 16, 12, 11, 10, 8, 7, 5, 4, 2, 1, 0];

function withSameChecksum(request: InboundRequest): InboundRequest {
  const body = request.body.slice();
  for (const power of CRC32_POWERS) {
    const bit = 32 - power;
    const at = 20 + (bit >> 3);
    body[at] = (body[at] ?? 0) ^ (1 << (bit & 7));
  }
  return withBody(request, body);
}

function signPaypal(_secret: string, nowMs: number): InboundRequest {
  const time = new Date(nowMs).toISOString().replace(".000Z", "Z");
  const content = `69cd13f0-d67a-11e5-baa3-778b53f4ae55|${time}|4JH86294D6297924G|${crc32(PAYPAL_BODY)}`;
  return jsonRequest(PAYPAL_BODY, {
    "paypal-transmission-id": "69cd13f0-d67a-11e5-baa3-778b53f4ae55",
    "paypal-transmission-time": time,
    "paypal-transmission-sig": sign("sha256", Buffer.from(content), PAYPAL_KEY).toString("base64"),
    "paypal-cert-url": PAYPAL_URL,
    "paypal-auth-algo": "SHA256withRSA",
  });
}

const A_DAY = { past: 86_400, future: 300 };

export const CERTIFIED_CASES: Readonly<Record<string, ProviderCase>> = {
  aws_sns: {
    secrets: [],
    credentials: { topic_arn: TOPIC },
    sign: (_secret, nowMs) => notification(nowMs),
    recut: recutSns,
    accepts: bySnsValidator,
    keyDocuments: { [SNS_URL]: fixture("sns-certificate.pem") },
    requiredHeaders: [],
    isBodySigned: false,
    alterations: [
      replacing("Hello", "Hallo"),
      replacing("22b80b92", "32b80b92"),
      replacing("First", "Last"),
      replacing("Notification", "Note"),
      replacing("MyTopic", "YourTopic"),
      replacing(SNS_URL, "https://sns.us-east-1.amazonaws.com.example.com/a.pem"),
      replacing(SNS_URL, SNS_URL.replace("https", "http")),
      replacing('"SignatureVersion":"2"', '"SignatureVersion":"1"'),
    ],
    wrong: { credentials: { topic_arn: `${TOPIC}-of-another-account` } },
    window: A_DAY,
    expected: { type: "aws_sns.Notification", deliveryId: "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324" },
    handshakes: [
      {
        name: "SubscriptionConfirmation",
        request: (_secret, nowMs) => control("SubscriptionConfirmation", nowMs, SUBSCRIBE_URL),
        answer: { status: 200, body: "", visitUrl: SUBSCRIBE_URL },
      },
      {
        name: "UnsubscribeConfirmation",
        request: (_secret, nowMs) => control("UnsubscribeConfirmation", nowMs, SUBSCRIBE_URL),
        answer: { status: 200, body: "" },
      },
    ],
  },
  paypal: {
    secrets: [],
    credentials: { webhook_id: "4JH86294D6297924G" },
    sign: signPaypal,
    uncovered: (request) => [withSameChecksum(request)],
    keyDocuments: { [PAYPAL_URL]: fixture("paypal-certificate.pem") },
    requiredHeaders: [
      "paypal-transmission-id",
      "paypal-transmission-time",
      "paypal-transmission-sig",
      "paypal-auth-algo",
    ],
    alterations: [
      (request) =>
        withHeader(request, "paypal-cert-url", PAYPAL_URL.replace("paypal.com", "paypal.com.example.com")),
      (request) => withHeader(request, "paypal-cert-url", PAYPAL_URL.replace("https:", "http:")),
    ],
    wrong: { credentials: { webhook_id: "WEBHOOK_ID" } },
    window: A_DAY,
    expected: { type: "paypal.PAYMENT.SALE.COMPLETED", deliveryId: "WH-1" },
  },
};

import { createPrivateKey, sign } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { Webhook as Svix } from "svix";
import type { InboundRequest } from "../../../src/inbound/provider.ts";
import type { ProviderCase } from "../case.ts";
import { headersOf, jsonRequest, materialOf, textOf } from "../kit.ts";
import { json, type Near } from "../near.ts";
import { passes } from "../sdk.ts";
import { base64Mac } from "../recompute.ts";

const TOKENS: [string, string] = ["whsec_b3VyIG93biBzZWNyZXQ=", "whsec_YW5vdGhlciBzZWNyZXQ="];
const BODY = JSON.stringify({ type: "invoice.paid", id: "inv_1", amount: 12 });
const EXPECTED = { type: "invoice.paid", deliveryId: "inv_1" };

export const WHSEC: [string, string] = [
  "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDmwGqKxBCv0s=",
];
export const MESSAGE_ID = "msg_p5jXN8AQM9LWM0D4loKWxJek";
export const FIVE_MINUTES = { past: 300, future: 300 };

function standardHeaders(prefix: string, nowMs: number, signature: string): Record<string, string> {
  return {
    [`${prefix}-id`]: MESSAGE_ID,
    [`${prefix}-timestamp`]: String(nowMs / 1000),
    [`${prefix}-signature`]: signature,
  };
}

/** Signed by the published library `standardwebhooks`; `prefix` of the headers: `webhook` or `svix`. */
export function signStandard(prefix: string, secret: string, nowMs: number, body: string): InboundRequest {
  const signature = new Webhook(secret).sign(MESSAGE_ID, new Date(nowMs), body);
  return jsonRequest(body, standardHeaders(prefix, nowMs, signature));
}

/** A published pair, and one made for this suite: public keys with their seeds. */
const V1A_SEEDS: Readonly<Record<string, string>> = {
  "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=": "6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbc=",
  "whpk_iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w=": "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",
};
const V1A_KEYS = Object.keys(V1A_SEEDS) as [string, string];

function signV1a(publicKey: string, nowMs: number): InboundRequest {
  const seed = Buffer.from(V1A_SEEDS[publicKey] ?? "", "base64");
  const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]);
  const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  const content = Buffer.from(`${MESSAGE_ID}.${nowMs / 1000}.${BODY}`);
  return jsonRequest(
    BODY,
    standardHeaders("webhook", nowMs, `v1a,${sign(null, content, key).toString("base64")}`),
  );
}

const VECTOR_BODY = '{"test": 2432232314}';
const VECTOR_AT_MS = 1_614_265_330_000;

function standardVector(source: string, secret: string, signature: string) {
  const request = jsonRequest(VECTOR_BODY, standardHeaders("webhook", VECTOR_AT_MS, signature));
  return { source, request, material: materialOf([secret]), nowMs: VECTOR_AT_MS };
}

const V1_VECTOR = standardVector(
  "standard-webhooks, libraries/javascript/src/webhook.test.ts",
  "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
);
const V1A_VECTOR = standardVector(
  "the published vector of v1a",
  "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=",
  "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==",
);

const STANDARD_HEADERS = ["webhook-id", "webhook-timestamp", "webhook-signature"];
const CUSTOM_CONFIG = {
  header: "X-Acme-Signature",
  algorithm: "sha256",
  encoding: "base64",
  prefix: "v1=",
  signed_content: "{id}|{timestamp}|{url}|{body}",
  timestamp_header: "X-Acme-Time",
  timestamp_unit: "ms",
  id_header: "X-Acme-Id",
  type_header: "X-Acme-Type",
  type_path: "type",
};

/** Svix keeps the id of a message at each try, and signs each anew. */
export const NEAR_BY_SVIX: Near = {
  happenings: ["msg_1", "msg_2"].map((id) => json({ type: "a" }, { "svix-id": id })),
  again: [
    json({ type: "a" }, { "svix-id": "msg_1", "svix-timestamp": "2" }),
    json({ type: "a" }, { "webhook-id": "msg_1" }),
  ],
};

/** One of the two names is of the event; where both are there, either may be that of an object. */
const NEAR_BY_ID: Near = {
  happenings: [
    { id: "1" },
    { id: "2" },
    { event_id: "3" },
    { event_id: "4" },
    { id: "order", event_id: "paid" },
    { id: "order", event_id: "sent" },
    { id: "third", event_id: "paid" },
  ].map((body) => json(body)),
  again: [json({ id: "1", attempt: 2 })],
};

export const GENERIC_CASES: Readonly<Record<string, ProviderCase>> = {
  service: {
    secrets: TOKENS,
    sign: (secret) => jsonRequest(BODY, { "x-service-token": secret }),
    requiredHeaders: ["x-service-token"],
    isBodySigned: false,
    expected: { ...EXPECTED, type: "service.invoice.paid" },
    near: NEAR_BY_ID,
  },
  basic_auth: {
    secrets: ["user:pass:word", "user:other"],
    sign: (secret) => jsonRequest(BODY, { authorization: `Basic ${btoa(secret)}` }),
    requiredHeaders: ["authorization"],
    isBodySigned: false,
    expected: { ...EXPECTED, type: "basic_auth.invoice.paid" },
    near: NEAR_BY_ID,
  },
  standard_webhooks: {
    secrets: WHSEC,
    isSignedBySdk: true,
    sign: (secret, nowMs) => signStandard("webhook", secret, nowMs, BODY),
    accepts: (request, secret) =>
      passes(() => new Webhook(secret).verify(textOf(request), headersOf(request))),
    vectors: [V1_VECTOR, V1A_VECTOR],
    requiredHeaders: STANDARD_HEADERS,
    window: FIVE_MINUTES,
    expected: { type: "standard_webhooks.invoice.paid", deliveryId: MESSAGE_ID },
  },
  standard_webhooks_v1a: {
    secrets: V1A_KEYS,
    sign: signV1a,
    vectors: [V1A_VECTOR],
    requiredHeaders: STANDARD_HEADERS,
    window: FIVE_MINUTES,
    expected: { type: "standard_webhooks_v1a.invoice.paid", deliveryId: MESSAGE_ID },
  },
  svix: {
    secrets: WHSEC,
    isSignedBySdk: true,
    sign: (secret, nowMs) =>
      jsonRequest(
        BODY,
        standardHeaders("svix", nowMs, new Svix(secret).sign(MESSAGE_ID, new Date(nowMs), BODY)),
      ),
    accepts: (request, secret) => passes(() => new Svix(secret).verify(textOf(request), headersOf(request))),
    requiredHeaders: ["svix-id", "svix-timestamp", "svix-signature"],
    window: FIVE_MINUTES,
    expected: { type: "svix.invoice.paid", deliveryId: MESSAGE_ID },
    near: NEAR_BY_SVIX,
  },
  hmac: {
    secrets: TOKENS,
    config: CUSTOM_CONFIG,
    sign: (secret, nowMs) => {
      const url = "https://hooks.example.com/ingest/src_00000000000000000000000000";
      const signature = base64Mac(secret, `d-1|${nowMs}|${url}|`, BODY);
      return jsonRequest(BODY, {
        "x-acme-id": "d-1",
        "x-acme-time": String(nowMs),
        "x-acme-type": "invoice.paid",
        "x-acme-signature": `v1=${signature}`,
      });
    },
    requiredHeaders: ["x-acme-id", "x-acme-time", "x-acme-signature"],
    window: FIVE_MINUTES,
    expected: { type: "hmac.invoice.paid", deliveryId: "d-1" },
    near: {
      happenings: ["d-1", "d-2"].map((id) => json({ type: "invoice.paid" }, { "x-acme-id": id })),
      again: [json({ type: "invoice.paid" }, { "x-acme-id": "d-1", "x-acme-time": "2" })],
    },
  },
};

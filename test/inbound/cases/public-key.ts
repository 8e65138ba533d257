import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { EventWebhook } from "@sendgrid/eventwebhook";
import { verifyKey } from "discord-interactions";
import type { InboundRequest } from "../../../src/inbound/provider.ts";
import type { ProviderCase } from "../case.ts";
import { jsonRequest, materialOf, textOf, withHeader } from "../kit.ts";
import { json } from "../near.ts";
import { hashOf } from "../recompute.ts";
import { load, passes } from "../sdk.ts";
import { FIVE_MINUTES } from "./generic.ts";

type Accepts = NonNullable<ProviderCase["accepts"]>;

/** Two new key pairs: the public halves in the provider's form, the private ones by them. */
function pairsOf(make: () => KeyObject, write: (publicKey: KeyObject) => string) {
  const keys = [make(), make()].map((key) => [write(createPublicKey(key)), key] as const);
  const byPublic = new Map(keys);
  const texts: [string, string] = [keys[0]?.[0] ?? "", keys[1]?.[0] ?? ""];
  return { texts, privateOf: (text: string) => byPublic.get(text) ?? make() };
}

const makeEd25519 = () => generateKeyPairSync("ed25519").privateKey;
const makeP256 = () => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;

function rawKey(key: KeyObject, encoding: "hex" | "base64"): string {
  return Buffer.from(String(key.export({ format: "jwk" }).x), "base64url").toString(encoding);
}

function signatureOf(request: InboundRequest, header: string): string {
  return request.headers.get(header) ?? "";
}

const DISCORD_KEYS = pairsOf(makeEd25519, (key) => rawKey(key, "hex"));
const DISCORD_BODY = JSON.stringify({
  version: 1,
  type: 1,
  event: { type: "APPLICATION_AUTHORIZED", timestamp: "2026-01-01T00:00:00Z", data: {} },
});

function signDiscord(secret: string, nowMs: number, body: string): InboundRequest {
  const timestamp = String(nowMs / 1000);
  const signature = sign(null, Buffer.from(timestamp + body), DISCORD_KEYS.privateOf(secret)).toString("hex");
  return jsonRequest(body, { "x-signature-timestamp": timestamp, "x-signature-ed25519": signature });
}

const byDiscord: Accepts = (request, secret) => {
  const [signature, timestamp] = ["x-signature-ed25519", "x-signature-timestamp"].map((name) =>
    signatureOf(request, name),
  );
  return verifyKey(request.body, signature ?? "", timestamp ?? "", secret);
};

const telnyx = load("telnyx") as (key: string) => {
  webhooks: { constructEvent(body: string, signature: string, timestamp: string, key: string): unknown };
};
const TELNYX_KEYS = pairsOf(makeEd25519, (key) => rawKey(key, "base64"));
const TELNYX_BODY = JSON.stringify({ data: { id: "t-1", event_type: "message.received" } });

function signTelnyx(secret: string, nowMs: number): InboundRequest {
  const timestamp = String(nowMs / 1000);
  const content = Buffer.from(`${timestamp}|${TELNYX_BODY}`);
  const signature = sign(null, content, TELNYX_KEYS.privateOf(secret)).toString("base64");
  return jsonRequest(TELNYX_BODY, { "telnyx-timestamp": timestamp, "telnyx-signature-ed25519": signature });
}

const byTelnyx: Accepts = (request, secret) =>
  passes(() => {
    const [signature, timestamp] = ["telnyx-signature-ed25519", "telnyx-timestamp"].map((name) =>
      signatureOf(request, name),
    );
    return telnyx("unused").webhooks.constructEvent(
      textOf(request),
      signature ?? "",
      timestamp ?? "",
      secret,
    );
  });

const SENDGRID_KEYS = pairsOf(makeP256, (key) =>
  key.export({ format: "der", type: "spki" }).toString("base64"),
);
/** As SendGrid writes it: line ends between the elements and at the end. */
const SENDGRID_BODY =
  '[{"event":"delivered","sg_event_id":"s-1"},\r\n{"event":"open","sg_event_id":"s-2"}]\r\n';
const SENDGRID = {
  signature: "x-twilio-email-event-webhook-signature",
  timestamp: "x-twilio-email-event-webhook-timestamp",
};

function signSendgrid(secret: string, nowMs: number): InboundRequest {
  const timestamp = String(nowMs / 1000);
  const signature = sign("sha256", Buffer.from(timestamp + SENDGRID_BODY), SENDGRID_KEYS.privateOf(secret));
  return jsonRequest(SENDGRID_BODY, {
    [SENDGRID.timestamp]: timestamp,
    [SENDGRID.signature]: signature.toString("base64"),
  });
}

const bySendgrid: Accepts = (request, secret) =>
  passes(() => {
    const webhook = new EventWebhook();
    const [signature, timestamp] = [SENDGRID.signature, SENDGRID.timestamp].map((name) =>
      signatureOf(request, name),
    );
    return webhook.verifySignature(
      webhook.convertPublicKeyToECDSA(secret),
      textOf(request),
      signature ?? "",
      timestamp ?? "",
    );
  });

const FAL_KEY = makeEd25519();
const FAL_KEYS = JSON.stringify({
  keys: [makeEd25519(), FAL_KEY].map((key) => createPublicKey(key).export({ format: "jwk" })),
});
const FAL_BODY = JSON.stringify({ request_id: "r-1", status: "OK", payload: {} });

function signFal(_secret: string, nowMs: number): InboundRequest {
  const timestamp = String(nowMs / 1000);
  const content = ["r-1", "our-user", timestamp, hashOf("sha256", "hex", FAL_BODY)].join("\n");
  return jsonRequest(FAL_BODY, {
    "x-fal-webhook-request-id": "r-1",
    "x-fal-webhook-user-id": "our-user",
    "x-fal-webhook-timestamp": timestamp,
    "x-fal-webhook-signature": sign(null, Buffer.from(content), FAL_KEY).toString("hex"),
  });
}

export const PUBLIC_KEY_CASES: Readonly<Record<string, ProviderCase>> = {
  discord: {
    secrets: DISCORD_KEYS.texts,
    sign: (secret, nowMs) => signDiscord(secret, nowMs, DISCORD_BODY),
    accepts: byDiscord,
    requiredHeaders: ["x-signature-ed25519", "x-signature-timestamp"],
    window: { past: 86_400, future: 300 },
    expected: {
      type: "discord.APPLICATION_AUTHORIZED",
      deliveryId: `2026-01-01T00:00:00Z|APPLICATION_AUTHORIZED|${hashOf("sha256", "hex", DISCORD_BODY)}`,
    },
    handshakes: [
      {
        name: "interaction PING",
        request: (secret, nowMs) => signDiscord(secret, nowMs, '{"id":"1","type":1}'),
        answer: { status: 200, body: '{"type":1}' },
      },
      {
        name: "webhook event PING",
        request: (secret, nowMs) => signDiscord(secret, nowMs, '{"version":1,"application_id":"1","type":0}'),
        answer: { status: 204, body: "", headers: { "content-type": "application/json" } },
      },
    ],
    near: {
      happenings: ["1", "2"].map((user) =>
        json({ event: { type: "APPLICATION_AUTHORIZED", timestamp: "t", data: { user: { id: user } } } }),
      ),
      again: [
        json({ event: { type: "APPLICATION_AUTHORIZED", timestamp: "t", data: { user: { id: "1" } } } }),
      ],
    },
  },
  telnyx: {
    secrets: TELNYX_KEYS.texts,
    sign: signTelnyx,
    accepts: byTelnyx,
    requiredHeaders: ["telnyx-signature-ed25519", "telnyx-timestamp"],
    window: FIVE_MINUTES,
    expected: { type: "telnyx.message.received", deliveryId: "t-1" },
  },
  sendgrid: {
    secrets: SENDGRID_KEYS.texts,
    sign: signSendgrid,
    accepts: bySendgrid,
    requiredHeaders: [SENDGRID.signature, SENDGRID.timestamp],
    window: { past: 86_400, future: 300 },
    expected: { type: "sendgrid.delivered", deliveryId: "s-1,s-2" },
    near: {
      happenings: ["a", "b"].map((id) =>
        json([{ email: "x@example.com", event: "open", timestamp: 1, sg_event_id: id }]),
      ),
      again: [json([{ email: "x@example.com", event: "open", timestamp: 1, sg_event_id: "a" }])],
    },
  },
  fal: {
    secrets: [],
    config: { user_id: "our-user" },
    sign: signFal,
    keyDocuments: { "https://rest.fal.ai/.well-known/jwks.json": FAL_KEYS },
    requiredHeaders: [
      "x-fal-webhook-request-id",
      "x-fal-webhook-user-id",
      "x-fal-webhook-timestamp",
      "x-fal-webhook-signature",
    ],
    wrong: materialOf([], { config: { user_id: "somebody-else" } }),
    alterations: [(request) => withHeader(request, "x-fal-webhook-user-id", "somebody-else")],
    window: FIVE_MINUTES,
    expected: { type: "fal.OK", deliveryId: "r-1" },
  },
};

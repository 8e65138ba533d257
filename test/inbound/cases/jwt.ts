import { generateKeyPairSync, type KeyObject, sign as signBytes } from "node:crypto";
import { Receiver } from "@upstash/qstash";
import { verifySignature } from "@vonage/jwt";
import { createPublicKey } from "node:crypto";
import { OAuth2Client } from "google-auth-library";
import { SignJWT } from "jose";
import { WebhookReceiver } from "livekit-server-sdk";
import type { InboundRequest } from "../../../src/inbound/provider.ts";
import type { ProviderCase } from "../case.ts";
import { headersIn, jsonRequest, SOURCE_URL, textOf, withBody, withUrl } from "../kit.ts";
import { json } from "../near.ts";
import { hashOf } from "../recompute.ts";
import { passes } from "../sdk.ts";

type Accepts = NonNullable<ProviderCase["accepts"]>;
type Claims = Record<string, unknown>;

const SECRETS: [string, string] = [
  "a-secret-of-at-least-32-characters-a",
  "a-secret-of-at-least-32-characters-b",
];

function secondsOf(nowMs: number): number {
  return nowMs / 1000;
}

function signShared(secret: string, claims: Claims): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: "HS256", typ: "JWT" })
    .sign(new TextEncoder().encode(secret));
}

function otherBody(request: InboundRequest): InboundRequest {
  return withBody(request, `${textOf(request)} `);
}

function otherAddress(request: InboundRequest): InboundRequest {
  return withUrl(request, request.url.replace("example", "exampel"));
}

const NETLIFY_BODY = JSON.stringify({ id: "d-1", state: "ready" });

async function signNetlify(secret: string): Promise<InboundRequest> {
  const token = await signShared(secret, { iss: "netlify", sha256: hashOf("sha256", "hex", NETLIFY_BODY) });
  return jsonRequest(NETLIFY_BODY, { "x-webhook-signature": token, "x-netlify-event": "deploy_created" });
}

const QSTASH_BODY = JSON.stringify({ job: 1 });

async function signQstash(secret: string, nowMs: number): Promise<InboundRequest> {
  const now = secondsOf(nowMs);
  const token = await signShared(secret, {
    iss: "Upstash",
    sub: SOURCE_URL,
    iat: now,
    nbf: now,
    exp: now + 300,
    jti: "jwt_1",
    body: `${hashOf("sha256", "base64url", QSTASH_BODY)}=`,
  });
  return jsonRequest(QSTASH_BODY, { "upstash-signature": token, "upstash-message-id": "msg_1" });
}

const byQstash: Accepts = (request, secret) => {
  const receiver = new Receiver({ currentSigningKey: secret, nextSigningKey: secret });
  const signature = request.headers.get("upstash-signature") ?? "";
  return passes(() => receiver.verify({ signature, body: textOf(request), url: request.url }));
};

const LIVEKIT_BODY = JSON.stringify({
  event: "room_started",
  id: "EV_1",
  createdAt: "1",
  room: { name: "r" },
});

async function signLivekit(secret: string, nowMs: number): Promise<InboundRequest> {
  const now = secondsOf(nowMs);
  const claims = {
    iss: "APIkey",
    nbf: now,
    exp: now + 300,
    sha256: hashOf("sha256", "base64", LIVEKIT_BODY),
  };
  const token = await signShared(secret, claims);
  const request = jsonRequest(LIVEKIT_BODY, { authorization: token });
  return {
    ...request,
    headers: new Map([...headersIn(request), ["content-type", "application/webhook+json"]]),
  };
}

const byLivekit: Accepts = (request, secret) =>
  passes(() =>
    new WebhookReceiver("APIkey", secret).receive(textOf(request), request.headers.get("authorization")),
  );

const VONAGE_BODY = JSON.stringify({ message_uuid: "m-1", status: "delivered" });

async function signVonage(secret: string, nowMs: number): Promise<InboundRequest> {
  const token = await signShared(secret, {
    iss: "Vonage",
    iat: secondsOf(nowMs),
    jti: "j-1",
    api_key: "abcd1234",
    payload_hash: hashOf("sha256", "hex", VONAGE_BODY),
  });
  return jsonRequest(VONAGE_BODY, { authorization: `Bearer ${token}` });
}

/** The SDK checks the token; the hash of the body is left to its user. */
const byVonage: Accepts = (request, secret) => {
  const token = (request.headers.get("authorization") ?? "").replace("Bearer ", "");
  const claims: Claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
  return (
    verifySignature(token, secret) && claims["payload_hash"] === hashOf("sha256", "hex", textOf(request))
  );
};

const MONDAY_BODY = JSON.stringify({
  event: { type: "create_pulse", triggerUuid: "t-1", subscriptionId: 7 },
});

async function signMonday(secret: string, nowMs: number): Promise<InboundRequest> {
  const now = secondsOf(nowMs);
  const claims = { accountId: 1, userId: 2, aud: SOURCE_URL, iat: now, exp: now + 300 };
  return jsonRequest(MONDAY_BODY, { authorization: await signShared(secret, claims) });
}

const RSA = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
const P256 = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;

function publicJwk(key: KeyObject, kid: string, alg: string): Claims {
  return { ...createPublicKey(key).export({ format: "jwk" }), kid, alg, use: "sig" };
}

function keySet(key: KeyObject, kid: string, alg: string): string {
  return JSON.stringify({ keys: [publicJwk(key, kid, alg)] });
}

const PUBSUB_BODY = JSON.stringify({
  message: { attributes: { eventType: "OBJECT_FINALIZE" }, data: "e30=", messageId: "136969346945" },
  subscription: "projects/p/subscriptions/s",
});

async function signPubsub(_secret: string, nowMs: number): Promise<InboundRequest> {
  const now = secondsOf(nowMs);
  const claims = {
    iss: "https://accounts.google.com",
    aud: SOURCE_URL,
    azp: "1",
    email: "push@project.iam.gserviceaccount.com",
    email_verified: true,
    iat: now,
    exp: now + 3600,
  };
  const token = await new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: "g-1" }).sign(RSA);
  return jsonRequest(PUBSUB_BODY, { authorization: `Bearer ${token}` });
}

/** As Google's page has it done, with the key that stands in the document. */
const byGoogle: Accepts = (request) => {
  const token = (request.headers.get("authorization") ?? "").slice("Bearer ".length);
  const certificates = { "g-1": createPublicKey(RSA).export({ format: "pem", type: "spki" }).toString() };
  const issuers = ["https://accounts.google.com"];
  const check = () =>
    new OAuth2Client().verifySignedJwtWithCertsAsync(token, certificates, request.url, issuers);
  return passes(check);
};

/** Plaid sends its JSON with line breaks. */
const PLAID_BODY = JSON.stringify(
  { webhook_type: "TRANSACTIONS", webhook_code: "SYNC_UPDATES_AVAILABLE" },
  null,
  2,
);

async function signPlaid(_secret: string, nowMs: number): Promise<InboundRequest> {
  const claims = { iat: secondsOf(nowMs), request_body_sha256: hashOf("sha256", "hex", PLAID_BODY) };
  const header = { alg: "ES256", kid: "bfbd5111-8e33-4643-8ced-b2e642a72f3c", typ: "JWT" };
  const token = await new SignJWT(claims).setProtectedHeader(header).sign(P256);
  return jsonRequest(PLAID_BODY, { "plaid-verification": token });
}

const PLAID_KEY = {
  key: {
    ...publicJwk(P256, "bfbd5111-8e33-4643-8ced-b2e642a72f3c", "ES256"),
    created_at: 1,
    expired_at: null,
  },
  request_id: "r",
};

const FIREBLOCKS_BODY = JSON.stringify({
  id: "f-1",
  eventType: "transaction.created",
  workspaceId: "w-1",
  data: {},
});

/** A detached JWS, put together by hand. */
function signFireblocks(): InboundRequest {
  const head = Buffer.from(JSON.stringify({ alg: "RS512", kid: "f-1", typ: "JWT" })).toString("base64url");
  const content = `${head}.${Buffer.from(FIREBLOCKS_BODY).toString("base64url")}`;
  const signature = signBytes("sha512", Buffer.from(content), RSA).toString("base64url");
  return jsonRequest(FIREBLOCKS_BODY, { "fireblocks-webhook-signature": `${head}..${signature}` });
}

export const JWT_CASES: Readonly<Record<string, ProviderCase>> = {
  netlify: {
    secrets: SECRETS,
    sign: signNetlify,
    requiredHeaders: ["x-webhook-signature"],
    expected: { type: "netlify.deploy_created", deliveryId: "d-1|ready" },
    near: {
      happenings: ["t1", "t2"].map((updated_at) => json({ id: "d", state: "ready", updated_at })),
      again: [json({ id: "d", state: "ready", updated_at: "t1" })],
    },
  },
  qstash: {
    secrets: SECRETS,
    sign: signQstash,
    accepts: byQstash,
    requiredHeaders: ["upstash-signature"],
    alterations: [otherAddress],
    expected: { type: "qstash.unknown", deliveryId: "msg_1" },
  },
  livekit: {
    secrets: SECRETS,
    credentials: { api_key: "APIkey" },
    sign: signLivekit,
    accepts: byLivekit,
    requiredHeaders: ["authorization"],
    alterations: [otherBody],
    expected: { type: "livekit.room_started", deliveryId: "EV_1" },
  },
  vonage: {
    secrets: SECRETS,
    credentials: { api_key: "abcd1234" },
    sign: signVonage,
    accepts: byVonage,
    requiredHeaders: ["authorization"],
    alterations: [otherBody],
    window: { past: 86_400, future: 300 },
    expected: { type: "vonage.delivered", deliveryId: "j-1" },
    near: {
      happenings: ["submitted", "delivered"].map((status) => json({ message_uuid: "m", status })),
      again: [json({ message_uuid: "m", status: "submitted", timestamp: "later" })],
    },
  },
  monday: {
    secrets: SECRETS,
    sign: signMonday,
    requiredHeaders: ["authorization"],
    isBodySigned: false,
    alterations: [otherAddress],
    expected: { type: "monday.create_pulse", deliveryId: "t-1|7" },
    handshakes: [
      {
        name: "challenge",
        request: () =>
          jsonRequest('{"challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"}', {}),
        answer: { status: 200, body: '{"challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"}' },
      },
    ],
    near: {
      happenings: [1, 2].map((subscriptionId) => json({ event: { triggerUuid: "t", subscriptionId } })),
      again: [json({ event: { triggerUuid: "t", subscriptionId: 1, triggerTime: "later" } })],
    },
  },
  google_pubsub: {
    secrets: [],
    credentials: { service_account_email: "push@project.iam.gserviceaccount.com" },
    sign: signPubsub,
    accepts: byGoogle,
    keyDocuments: { "https://www.googleapis.com/oauth2/v3/certs": keySet(RSA, "g-1", "RS256") },
    requiredHeaders: ["authorization"],
    isBodySigned: false,
    alterations: [otherAddress],
    wrong: { credentials: { service_account_email: "someone@else.iam.gserviceaccount.com" } },
    expected: {
      type: "google_pubsub.OBJECT_FINALIZE",
      deliveryId: "projects/p/subscriptions/s|136969346945",
    },
    near: {
      happenings: ["a", "b"].map((subscription) => json({ subscription, message: { messageId: "1" } })),
      again: [json({ subscription: "a", message: { messageId: "1" }, deliveryAttempt: 2 })],
    },
  },
  plaid: {
    secrets: [],
    credentials: { client_id: "c", secret: "s", environment: "sandbox" },
    sign: signPlaid,
    keyDocuments: { "https://sandbox.plaid.com/webhook_verification_key/get": JSON.stringify(PLAID_KEY) },
    requiredHeaders: ["plaid-verification"],
    wrong: { credentials: { client_id: "c", secret: "s", environment: "nowhere" } },
    window: { past: 300, future: 300 },
    expected: {
      type: "plaid.TRANSACTIONS.SYNC_UPDATES_AVAILABLE",
      deliveryId: null,
    },
    near: {
      happenings: ["TRANSFER_EVENTS_UPDATE", "SYNC_UPDATES_AVAILABLE", "DEFAULT_UPDATE"].flatMap((code) => [
        json({ webhook_code: code, item_id: "i" }),
        json({ webhook_code: code, item_id: "i" }),
      ]),
      again: null,
    },
  },
  fireblocks: {
    secrets: [],
    config: { region: "eu", workspace_id: "w-1" },
    sign: signFireblocks,
    keyDocuments: { "https://eu-keys.fireblocks.io/.well-known/jwks.json": keySet(RSA, "f-1", "RS512") },
    requiredHeaders: ["fireblocks-webhook-signature"],
    wrong: { config: { region: "eu", workspace_id: "w-2" } },
    expected: { type: "fireblocks.transaction.created", deliveryId: "f-1" },
  },
};

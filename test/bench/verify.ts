/**
 * What the verification of an inbound request of 2 KiB costs, for one provider of each scheme, in one
 * process, without server and store, in microseconds of the processor (other processes do not count).
 * `verify`: a request whose body was changed, refused after all the work of verification; the goal is for
 * this one. `event`: a genuine one, with the reading of its body, type and identity.
 *
 *   bun test/bench/verify.ts [--seconds 1]
 */
import { createHmac, createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import { parseArgs } from "node:util";
import { SignJWT } from "jose";
import type { InboundRequest, KeyReader, SourceMaterial } from "../../src/inbound/provider.ts";
import { findProvider } from "../../src/inbound/providers.ts";
import { jsonRequest, keysOf, materialOf, requestOf, SOURCE_URL, withBody } from "../inbound/kit.ts";
import { describeMachine } from "./machine.ts";

interface Sample {
  provider: string;
  /** Microseconds. */
  goal: number;
  request: InboundRequest;
  material: SourceMaterial;
  keys?: KeyReader;
  /** Refused after the same work; default: the body with one byte changed. */
  forged?: InboundRequest;
}

const SHARED_GOAL_US = 20;
const PUBLIC_GOAL_US = 300;
const BODY_BYTES = 2048;

const NOW_MS = Date.now();
const seconds = String(Math.floor(NOW_MS / 1000));
const SECRET = "a-secret-of-at-least-32-characters-a";
const filler = { id: "1", type: "invoice.paid", event: "invoice.paid", data: { text: "" } };
filler.data.text = "x".repeat(BODY_BYTES - JSON.stringify(filler).length);
const BODY = JSON.stringify(filler);

function mac(algorithm: string, content: string, encoding: "hex" | "base64", secret = SECRET): string {
  return createHmac(algorithm, secret).update(content).digest(encoding);
}

function shared(provider: string, headers: Record<string, string>, secret = SECRET): Sample {
  return {
    provider,
    goal: SHARED_GOAL_US,
    request: jsonRequest(BODY, headers),
    material: materialOf([secret]),
  };
}

function formSample(): Sample {
  const fields: [string, string][] = [
    ["Body", "x".repeat(BODY_BYTES - 60)],
    ["MessageSid", "SM1"],
    ["MessageStatus", "sent"],
  ];
  const content = SOURCE_URL + fields.map(([name, value]) => name + value).join("");
  const request = requestOf({
    body: new URLSearchParams(fields).toString(),
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      "x-twilio-signature": mac("sha1", content, "base64"),
    },
  });
  return { provider: "twilio", goal: SHARED_GOAL_US, request, material: materialOf([SECRET]) };
}

function ed25519Sample(): Sample {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const key = Buffer.from(String(publicKey.export({ format: "jwk" }).x), "base64url").toString("hex");
  const signature = sign(null, Buffer.from(seconds + BODY), privateKey).toString("hex");
  const headers = { "x-signature-timestamp": seconds, "x-signature-ed25519": signature };
  return { ...shared("discord", headers, key), goal: PUBLIC_GOAL_US };
}

function ecdsaSample(): Sample {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const key = publicKey.export({ format: "der", type: "spki" }).toString("base64");
  const signature = sign("sha256", Buffer.from(seconds + BODY), privateKey).toString("base64");
  const headers = {
    "x-twilio-email-event-webhook-timestamp": seconds,
    "x-twilio-email-event-webhook-signature": signature,
  };
  return { ...shared("sendgrid", headers, key), goal: PUBLIC_GOAL_US };
}

function hashOf(encoding: "hex" | "base64"): string {
  return new Bun.CryptoHasher("sha256").update(BODY).digest(encoding);
}

async function sharedJwtSample(): Promise<Sample> {
  const claims = { iss: "APIkey", exp: Number(seconds) + 300, sha256: hashOf("base64") };
  const token = await new SignJWT(claims)
    .setProtectedHeader({ alg: "HS256" })
    .sign(new TextEncoder().encode(SECRET));
  const material = materialOf([SECRET], { credentials: { api_key: "APIkey" } });
  // The library imports the key anew for each token.
  return { ...shared("livekit", { authorization: token }), material, goal: PUBLIC_GOAL_US };
}

async function publishedJwtSample(): Promise<Sample> {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const claims = { iss: "https://accounts.google.com", aud: "a", email: "e", email_verified: true };
  const token = await new SignJWT({ ...claims, exp: Number(seconds) + 300 })
    .setProtectedHeader({ alg: "RS256", kid: "k" })
    .sign(privateKey);
  const forged = `${token.slice(0, -8)}AAAAAAAA`;
  const jwk = {
    ...createPublicKey(publicKey.export({ format: "pem", type: "spki" })).export({ format: "jwk" }),
    kid: "k",
    alg: "RS256",
  };
  return {
    provider: "google_pubsub",
    goal: PUBLIC_GOAL_US,
    request: jsonRequest(BODY, { authorization: `Bearer ${token}` }),
    forged: jsonRequest(BODY, { authorization: `Bearer ${forged}` }),
    material: materialOf([], { credentials: { audience: "a", service_account_email: "e" } }),
    keys: keysOf(JSON.stringify({ keys: [jwk] })),
  };
}

async function samples(): Promise<Sample[]> {
  const standard = mac("sha256", `msg_1.${seconds}.${BODY}`, "base64", "12345678901234567890123456789012");
  return [
    shared("github", {
      "x-hub-signature-256": `sha256=${mac("sha256", BODY, "hex")}`,
      "x-github-event": "push",
    }),
    shared("shopify", { "x-shopify-hmac-sha256": mac("sha256", BODY, "base64"), "x-shopify-topic": "a/b" }),
    shared("stripe", { "stripe-signature": `t=${seconds},v1=${mac("sha256", `${seconds}.${BODY}`, "hex")}` }),
    shared(
      "standard_webhooks",
      { "webhook-id": "msg_1", "webhook-timestamp": seconds, "webhook-signature": `v1,${standard}` },
      `whsec_${Buffer.from("12345678901234567890123456789012").toString("base64")}`,
    ),
    shared("square", { "x-square-hmacsha256-signature": mac("sha256", SOURCE_URL + BODY, "base64") }),
    formSample(),
    {
      ...shared("service", { "x-service-token": SECRET }),
      forged: jsonRequest(BODY, { "x-service-token": "another" }),
    },
    await sharedJwtSample(),
    ed25519Sample(),
    ecdsaSample(),
    await publishedJwtSample(),
  ];
}

const { values: options } = parseArgs({ options: { seconds: { type: "string", default: "1" } } });
const runMs = Number(options.seconds) * 1000;
const WARM_UP_MS = 200;

/** One byte of the filler is another: JSON and form stay what they are. */
function forgedOf(request: InboundRequest): InboundRequest {
  const body = request.body.slice();
  body[body.lastIndexOf(0x78)] = 0x79;
  return withBody(request, body);
}

/** Microseconds of the processor for one request. */
async function measure(sample: Sample, request: InboundRequest, kind: "event" | "refused"): Promise<number> {
  const provider = findProvider(sample.provider);
  // Each time with bytes of its own, as requests have: what is remembered of one is not found for the next.
  const receive = () =>
    provider?.receive(withBody(request, request.body.slice()), sample.material, NOW_MS, sample.keys);
  const first = await receive();
  if (first?.kind !== kind) throw new Error(`${sample.provider} is not ${kind}: ${first?.kind}`);
  const run = async (durationMs: number) => {
    const startedAt = performance.now();
    const before = process.cpuUsage();
    let count = 0;
    for (; performance.now() - startedAt < durationMs; count++) await receive();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / count;
  };
  await run(WARM_UP_MS);
  return run(runMs);
}

console.log(`${describeMachine(".")}\n\nµs                  verify   event    goal`);
for (const sample of await samples()) {
  const verifyUs = await measure(sample, sample.forged ?? forgedOf(sample.request), "refused");
  const eventUs = await measure(sample, sample.request, "event");
  const cells = [verifyUs.toFixed(1), eventUs.toFixed(1), String(sample.goal)].map((text) =>
    text.padStart(7),
  );
  console.log(`${sample.provider.padEnd(18)} ${cells.join(" ")}${verifyUs > sample.goal ? "  above" : ""}`);
}

/**
 * What the time of a refusal tells of a source.
 *
 *   bun test/bench/refusals.ts [rounds]
 *
 * The service runs as a process of its own. Forged requests go one after the other, in a new random order
 * each round, to sources of several kinds and to addresses that do not exist, over one connection. Prints for
 * each how its times differ from those of a source by token, with Welch's t: beyond 4.5 either way a
 * difference can be told. Addresses that do not exist imitate sources of several kinds: where sources differ
 * on a busy machine, so do they. The third of the bodies has very many members around proofs that are forged,
 * others in each round: whoever parses it before the proof holds is late. Judges nothing.
 */
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { Client } from "../kit/app.ts";
import { startService } from "../kit/service.ts";
import { describeMachine } from "./machine.ts";

const ROUNDS = Number(process.argv[2] ?? 300);
const WARM_UP = 20;
/** What all others are compared with. */
const BASE = "token";
const UNKNOWN = 12;
const MIB = 1024 * 1024 - 16;
/** A body by its name; `round` makes it another one, so that nothing of it is known. */
const BODIES: Readonly<Record<string, (round: number) => string>> = {
  "a text of 1 KiB": () => textOf(1024),
  "a text of 1 MiB": () => textOf(MIB),
  "1 MiB of members around forged proofs": (round) => crowdOf(MIB, round),
};
const SIGNATURES: Readonly<Record<string, string>> = {
  "x-hub-signature-256": `sha256=${"0".repeat(64)}`,
  "x-paystack-signature": "0".repeat(128),
  "x-service-token": "whsec_0000",
  "x-twilio-signature": "0000",
  "x-cld-signature": "0".repeat(40),
  "x-cld-timestamp": String(Math.floor(Date.now() / 1000)),
};

interface Kind {
  name: string;
  path: string;
}

function textOf(bytes: number): string {
  return JSON.stringify({ a: "x".repeat(bytes) });
}

/** The proofs of Adyen, Microsoft Graph and Mailgun, none of which holds. */
function crowdOf(bytes: number, round: number): string {
  const additionalData = { hmacSignature: "forged" };
  const timestamp = Math.floor(Date.now() / 1000);
  const proofs = JSON.stringify({
    notificationItems: [{ NotificationRequestItem: { eventCode: "CAPTURE", additionalData } }],
    value: [{ clientState: "forged" }],
    signature: { timestamp, token: "forged", signature: "forged" },
  });
  const member = (at: number) => `"n${round}_${at.toString(36).padStart(4, "0")}":1`;
  const count = Math.floor((bytes - proofs.length) / (member(0).length + 1));
  return `{${Array.from({ length: count }, (_unused, at) => member(at)).join(",")},${proofs.slice(1)}`;
}

/** Each in hex, which Adyen asks for and others take. */
function secretOf(number: number): string {
  return String(number).padStart(64, "0");
}

/** A source, rotated as often as it says, so that so many secrets are tried. */
async function makeKind(client: Client, name: string, provider: string, rotations: number): Promise<Kind> {
  const made = await client.create<{ id: string; ingest_path: string }>("/v1/sources", {
    provider,
    name,
    signing_secret: secretOf(0),
  });
  for (let number = 1; number <= rotations; number++)
    await client.post(`/v1/sources/${made.id}/rotate-secret`, { signing_secret: secretOf(number) });
  return { name, path: made.ingest_path };
}

/** Milliseconds until the answer was there. */
function knock(agent: Agent, url: string, path: string, body: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const headers = { "content-type": "application/json", ...SIGNATURES };
  const sent = request(`${url}${path}`, { agent, method: "POST", headers }, (response) => {
    if (response.statusCode !== 401) reject(new Error(`${path} answered ${response.statusCode}`));
    response.resume();
    response.on("end", () => resolve(performance.now() - begunAt));
  });
  sent.on("error", reject);
  const begunAt = performance.now();
  sent.end(body);
  return promise;
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ item }) => item);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function variance(values: readonly number[]): number {
  const middle = mean(values);
  return values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1);
}

/** The fastest of them: what the machine did meanwhile makes the rest. */
function fastest(values: readonly number[], share: number): number[] {
  return values.toSorted((one, other) => one - other).slice(0, Math.ceil(values.length * share));
}

function welch(one: readonly number[], other: readonly number[]): number {
  const error = Math.sqrt(variance(one) / one.length + variance(other) / other.length);
  return (mean(one) - mean(other)) / error;
}

async function measure(
  url: string,
  kinds: readonly Kind[],
  bodyOf: (round: number) => string,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times = new Map(kinds.map(({ name }) => [name, [] as number[]]));
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    const body = bodyOf(round);
    for (const { name, path } of shuffled(kinds)) {
      const ms = await knock(agent, url, path, body);
      if (round >= 0) times.get(name)?.push(ms);
    }
  }
  agent.destroy();
  const base = times.get(BASE) ?? [];
  for (const [name, values] of times) {
    const told = [0.95, 0.5].map((share) => {
      const [seen, other] = [fastest(values, share), fastest(base, share)];
      const microseconds = ((mean(seen) - mean(other)) * 1000).toFixed(0).padStart(6);
      return `fastest ${share * 100} %: ${microseconds} µs, t = ${welch(seen, other).toFixed(1).padStart(5)}`;
    });
    console.log(`${name.padEnd(24)} ${mean(values).toFixed(3).padStart(8)} ms  ${told.join("   ")}`);
  }
}

await using service = await startService({
  env: { SEALPOST_MANAGEMENT_RATE_LIMIT: "0", SEALPOST_INGEST_RATE_LIMIT: "0" },
});
const client = new Client(service, service.keys.live);
const kinds: Kind[] = [
  await makeKind(client, BASE, "service", 0),
  await makeKind(client, "token again", "service", 0),
  await makeKind(client, "SHA-256", "github", 0),
  await makeKind(client, "SHA-256, two secrets", "github", 1),
  await makeKind(client, "SHA-512", "paystack", 0),
  await makeKind(client, "SHA-512, two secrets", "paystack", 1),
  await makeKind(client, "SHA-1 and SHA-256", "cloudinary", 0),
  await makeKind(client, "the address and a hash", "twilio", 0),
  await makeKind(client, "HMAC in an item", "adyen", 0),
  await makeKind(client, "HMAC in the body", "mailgun", 0),
  await makeKind(client, "a token in the body", "microsoft_graph", 0),
  ...Array.from({ length: UNKNOWN }, (_unused, index) => ({
    name: `unknown ${index + 1}`,
    path: `/ingest/src_01KAHM8ZZZ00K1M2N3P4Q5R6S${index.toString(36).toUpperCase()}`,
  })),
];
console.log(describeMachine(tmpdir()));
for (const [name, bodyOf] of Object.entries(BODIES)) {
  console.log(`\n${name}, ${ROUNDS} of each`);
  await measure(service.url, kinds, bodyOf);
}
process.exit(0);

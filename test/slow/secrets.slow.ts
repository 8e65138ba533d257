// time budget: 90 s
/**
 * Secrets stand nowhere but where they are shown once: not in the database, the WAL, the logs, the metrics or
 * any other answer.
 */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { makePrivateKey, makeSecret } from "../../src/core/signing.ts";
import { LOAD_ENV } from "../durability/setup.ts";
import { startRecorder } from "../kit/recorder.ts";
import { type Service, startService } from "../kit/service.ts";

const OPERATOR_TOKEN = "operator-token-that-nobody-may-see-again";
const MARK = "planted-7f3a91";

/** Every answer's text, with what asked for it. */
class Asker {
  readonly answers: { what: string; text: string }[] = [];

  constructor(
    private readonly service: Service,
    public key: string,
  ) {}

  async send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const response = await fetch(this.service.url + path, {
      method,
      headers: { authorization: `Bearer ${this.key}`, "content-type": "application/json", ...headers },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    this.answers.push({ what: `${method} ${path} ${response.status}`, text });
    return { status: response.status, json: parse(text) };
  }
}

function parse(text: string): Record<string, string> {
  try {
    return JSON.parse(text) as Record<string, string>;
  } catch {
    return {};
  }
}

/** How a secret might stand somewhere: as it is, its key in base64 as bytes, and both in hex. */
function spellings(secret: string): Buffer[] {
  const key = Buffer.from(secret.replace(/^wh(sec|sk)_/, ""), "base64");
  const isKey = /^wh(sec|sk)_/.test(secret);
  const plain = [Buffer.from(secret), Buffer.from(Buffer.from(secret).toString("hex"))];
  return isKey ? [...plain, key.subarray(0, 24), Buffer.from(key.toString("hex").slice(0, 48))] : plain;
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}

test("eleven planted secrets are found in no file, no log line, no metric and no second answer", async () => {
  await using recorder = await startRecorder();
  await using service = await startService({ env: { ...LOAD_ENV, SEALPOST_LOG_LEVEL: "debug" } });
  const { live } = service.keys;
  // What the first start printed is the one place where its keys are shown.
  const printed = service.output();
  await service.stop();
  await service.restart({ SEALPOST_OPERATOR_TOKEN: OPERATOR_TOKEN, SEALPOST_LOG_LEVEL: "debug" });
  const asker = new Asker(service, live);

  const given = { secret: makeSecret(), privateKey: makePrivateKey(), header: `Bearer ${MARK}-header` };
  const endpoint = await asker.send("POST", "/v1/endpoints", {
    url: recorder.url("/fast"),
    secret: given.secret,
    private_key: given.privateKey,
    signature_versions: ["v1", "v1a"],
    headers: { authorization: given.header },
    consumer_id: "acme",
  });
  const queue = await asker.send("POST", "/v1/endpoints", {
    kind: "aws_sqs",
    config: {
      queue_url: "http://127.0.0.1:1/queue",
      region: "eu-central-1",
      access_key_id: "AKIAEXAMPLE",
      secret_access_key: `${MARK}-aws-secret-access-key`,
    },
  });
  expect([endpoint.status, queue.status]).toEqual([201, 201]);
  const source = await asker.send("POST", "/v1/sources", { provider: "service", name: "s" });
  const stripe = await asker.send("POST", "/v1/sources", {
    provider: "stripe",
    name: "p",
    signing_secret: `whsec_${MARK}stripe`,
  });
  const link = await asker.send("POST", "/v1/portal-links", { consumer_id: "acme", manage: true });
  const apiKey = await asker.send("POST", "/v1/api-keys", { name: "more", scopes: ["read"] });
  const rotated = await asker.send("POST", `/v1/endpoints/${endpoint.json["id"]}/rotate-secret`, {});
  const shown = asker.answers.splice(0);

  const token = (link.json["url"] ?? "").split("#")[1] ?? "";
  const secrets = {
    "a key of the first start": live,
    "an endpoint's old secret": given.secret,
    "an endpoint's new secret": rotated.json["secret"] ?? "",
    "a private key": given.privateKey,
    "a header's credential": given.header,
    "a kind's credential": `${MARK}-aws-secret-access-key`,
    "a source's secret": source.json["secret"] ?? "",
    "a provider's secret": `whsec_${MARK}stripe`,
    "a portal token": token,
    "an API key": apiKey.json["key"] ?? "",
    "the operator's token": OPERATOR_TOKEN,
  };
  expect(Object.values(secrets).every((secret) => secret.length >= 20)).toBe(true);
  expect(shown.filter(({ text }) => text.includes(secrets["a source's secret"])).length).toBe(1);

  await useEverything(asker, { endpoint: endpoint.json["id"] ?? "", source, stripe, token, apiKey });
  await recorder.received("/fast", 3);
  asker.key = OPERATOR_TOKEN;
  await asker.send("GET", "/metrics");
  await asker.send("GET", "/v1/operator/accounts");

  const places = [
    ...asker.answers.map(({ what, text }) => ({ name: what, bytes: Buffer.from(text) })),
    { name: "the log", bytes: Buffer.from(service.output().slice(printed.length)) },
    ...filesBelow(service.dataDir).map((path) => ({
      name: path.slice(service.dataDir.length),
      bytes: readFileSync(path),
    })),
  ];
  await service.stop();
  for (const path of filesBelow(service.dataDir))
    places.push({ name: `${path.slice(service.dataDir.length)} after the stop`, bytes: readFileSync(path) });
  expect(places.some(({ name }) => name.startsWith("/sealpost.db-wal"))).toBe(true);
  const found = Object.entries(secrets).flatMap(([what, secret]) =>
    places
      .filter(({ bytes }) => spellings(secret).some((spelling) => bytes.includes(spelling)))
      .map(({ name }) => `${what} stands in ${name}`),
  );
  expect(found).toEqual([]);
}, 80_000);

interface Made {
  endpoint: string;
  source: { json: Record<string, string> };
  stripe: { json: Record<string, string> };
  token: string;
  apiKey: { json: Record<string, string> };
}

/** Reads, deliveries, genuine and forged webhooks, and mistakes, with each of the credentials. */
async function useEverything(asker: Asker, { endpoint, source, stripe, token, apiKey }: Made): Promise<void> {
  const own = asker.key;
  const secret = source.json["secret"] ?? "";
  for (let n = 0; n < 3; n++)
    await asker.send("POST", "/v1/events", {
      type: "order.paid",
      data: { token: `t${n}` },
      consumer_id: "acme",
    });
  await asker.send("POST", `/v1/endpoints/${endpoint}/test`, {});
  const ingest = source.json["ingest_path"] ?? "";
  await asker.send("POST", ingest, { n: 1 }, { authorization: "", "x-service-token": secret });
  await asker.send("POST", `${ingest}?token=${secret}`, { n: 2 }, { authorization: "" });
  await asker.send(
    "POST",
    stripe.json["ingest_path"] ?? "",
    { n: 3 },
    { "stripe-signature": `t=1,v1=${secret}` },
  );
  for (const key of [own, token, apiKey.json["key"] ?? "", `${own.slice(0, -1)}_`]) {
    asker.key = key;
    for (const path of [
      "endpoints",
      "deliveries",
      "events",
      "sources",
      "api-keys",
      "portal-links",
      "audit",
      "project",
    ])
      await asker.send("GET", `/v1/${path}`);
    await asker.send("GET", `/v1/endpoints/${endpoint}`);
    await asker.send("PATCH", `/v1/endpoints/${endpoint}`, { secret, headers: { authorization: key } });
    await asker.send("POST", "/v1/events", `{"type": "${key}", "data": ${secret}`);
  }
  asker.key = own;
  for (const { id } of await attemptsOf(asker)) await asker.send("GET", `/v1/deliveries/${id}/attempts`);
}

async function attemptsOf(asker: Asker): Promise<{ id: string }[]> {
  const { json } = await asker.send("GET", "/v1/deliveries");
  return (json as unknown as { data: { id: string }[] }).data;
}

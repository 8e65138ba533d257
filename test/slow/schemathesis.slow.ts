// time budget: 900 s
/**
 * Schemathesis over the OpenAPI document and the running service: thousands of requests that the document
 * allows, and as many that it does not. Nothing is answered 5xx, nothing outside its schema, nothing wrong is
 * taken; and what the document allows is refused only for what no schema can say.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openApi, type TestApp } from "../kit/app.ts";
import { createTenant, OPERATOR_TOKEN, startOperated, type Tenant } from "../kit/operator.ts";
import { installPython, PYTHON_HINT } from "../kit/python.ts";
import { type Receiver, startReceiver } from "../kit/receiver.ts";
import { requireTool } from "../kit/tools.ts";

const PACKAGE = "schemathesis==4.32.5";
/**
 * Requests of each operation and phase. By hand more, or others:
 * `SCHEMATHESIS_EXAMPLES=500 SCHEMATHESIS_SEED=7`.
 */
const EXAMPLES = process.env["SCHEMATHESIS_EXAMPLES"] ?? "50";
/** An operation's own examples and the bounds of each of its values make more than this by far. */
const CASES_MIN = 5000;
const SEED = process.env["SCHEMATHESIS_SEED"] ?? "20261123";

/** Why the service refuses what the document allows: `operation pointer detail`. */
const BEYOND_SCHEMAS: readonly [why: string, refusal: RegExp][] = [
  ["cursors are opaque", /^\S+ cursor Expected the `next_cursor`/],
  ["ids name what is there", /^\S+ \S+ There is no such (account|endpoint|delivery|event|project|plan)\.$/],
  ["an account moves to another cell", /^moveAccounts \/cell Expected another cell/],
  ["an id says which kind of object it is of", /^listAudit actor_id /],
  ["two times have an order and a distance", /^\S+ since Expected (a time before|at most \d+ days)/],
  ["a time lies in the future", /^create(Project)?ApiKey \/expires_at Expected a time in the future/],
  ["one field asks for another", /^getUsage (project|month) This parameter goes with/],
  ["one field asks for another", /^createPortalLink \/consumer_id `manage` and `create` need a consumer/],
  ["one field asks for another", /^createReplay \/endpoint_id `missing` needs an endpoint/],
  ["one field asks for another", /^createReplay \/\S+ .*`missing`/],
  [
    "one field asks for another",
    /^\w+Endpoint \/private_key Only an endpoint with the signature version v1a/,
  ],
  ["one field asks for another", /^updateSource \/previous_signing_secret Send the new signing_secret/],
  ["one of three is given", /^previewEndpoint \/(event|event_id|last) Give one of/],
  ["the same address may stand in two places", /^createEndpoint \/url This differs from config\.url/],
  ["the stored kind decides", /^updateEndpoint \/(config|url|kind)\b/],
  ["`***` stands for what is stored", /^\S+ \/\S+ Nothing is stored yet that \*\*\* could stand for/],
  ["a halved pair of keys does not belong together", /^createEndpoint \/private_key Expected whsk_/],
  ["a field's own reader asks for more than its pattern", /^createEndpoint \/config\/(key_template|prefix) /],
  [
    "a field's own reader asks for more than its pattern",
    /^createEndpoint \/config\/(region|bucket) Expected/,
  ],
  ["a field's own reader asks for more than its pattern", /^createEndpoint \/config\/connection_string /],
  ["a field's own reader asks for more than its pattern", /^createEndpoint \/config\/service_account_json /],
  ["a field's own reader asks for more than its pattern", /^\w+Endpoint \/headers\b/],
  ["a destination is tried where `verify` is set", /^createEndpoint \/config The destination/],
  ["an address is guarded", /^\w+ \/\S+ The destination must be a public address/],
  ["a filter is a language", /^\w+ \/filter\b/],
  ["paths of one operation may not meet", /^\w+ \/transformations\/\d+\/(to|paths|from|path|key)/],
  ["a schema is a language", /^\w+ \/(schema|example)\b/],
  ["the event's type has a schema", /^publish(Event|Batch) \/(events\/\d+\/)?data\b/],
  ["the type of an event may have to be known", /^publish(Event|Batch) \/(events\/\d+\/)?type\b/],
  [
    "the provider decides",
    /^(create|update)Source \/(config|credentials|signing_secret|previous_signing_secret)\b/,
  ],
  ["the provider decides", /^rotateSourceSecret \/signing_secret /],
  ["a picture is fetched", /^updateProject \/branding\/logo_url /],
  ["a browser would not send it as an origin", /^updateProject \/portal_origins\/\d+ /],
  ["plans are the operator's", /^\w+Account \/plan /],
  ["a metadata object has a size", /^\w+Endpoint \/metadata Expected at most/],
  ["there is a limit to how many there may be", /^\S+ \S+ A (project|consumer) has at most/],
];

const folder = mkdtempSync(join(tmpdir(), "sealpost-schemathesis-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/**
 * The document as it is tried: addresses are the receiver's, so that nothing leaves this machine, and no
 * Idempotency-Key, since the same few would come again with other bodies.
 */
async function writeDocument(receiver: Receiver): Promise<{ path: string; names: Map<string, string> }> {
  const document = structuredClone(await openApi());
  keepInside(document, receiver.url("hook"));
  const names = new Map<string, string>();
  for (const [template, item] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      names.set(`${method.toUpperCase()} ${template}`, operation.operationId);
      operation.parameters = operation.parameters.filter(({ $ref }) => $ref === undefined);
    }
  }
  const path = join(folder, "openapi.json");
  await Bun.write(path, JSON.stringify(document));
  return { path, names };
}

/** Of a kind with a region, an address that may be left out would be somebody else's then. */
function keepInside(part: unknown, address: string): void {
  if (typeof part !== "object" || part === null) return;
  for (const inner of Object.values(part)) keepInside(inner, address);
  const { format, properties, required = [] } = part as Partial<Schema>;
  if (format === "uri") Object.assign(part, { enum: [address] });
  if (properties?.["region"] === undefined) return;
  const outward = Object.keys(properties).filter((name) =>
    JSON.stringify(properties[name]).includes('"uri"'),
  );
  Object.assign(part, { required: [...new Set([...required, ...outward])] });
}

interface Schema {
  format: string;
  properties: Record<string, unknown>;
  required: string[];
}

interface Case {
  operation: string;
  /** Whether the document allows it. */
  isAllowed: boolean;
  status: number;
  /** Checks that found something. */
  failed: string[];
  body: string;
}

interface Recorder {
  label: string;
  cases: Record<string, { value: { meta?: { generation?: { mode?: string } } } }>;
  checks: Record<string, { name: string; status: string }[]>;
  interactions: Record<string, { response: { status_code: number; content?: { $base64?: string } } | null }>;
}

/** All requests of a report, with what came back. */
async function readCases(path: string, names: ReadonlyMap<string, string>): Promise<Case[]> {
  const lines = (await Bun.file(path).text())
    .split("\n")
    .filter((line) => line.startsWith('{"ScenarioFinished"'));
  return lines.flatMap((line) => {
    const { recorder } = (JSON.parse(line) as { ScenarioFinished: { recorder: Partial<Recorder> } })
      .ScenarioFinished;
    const { label = "", cases = {}, checks = {}, interactions = {} } = recorder;
    return Object.entries(interactions).map(([id, { response }]) => ({
      operation: names.get(label) ?? label,
      isAllowed: cases[id]?.value.meta?.generation?.mode === "positive",
      status: response?.status_code ?? 0,
      failed: (checks[id] ?? []).filter(({ status }) => status !== "success").map(({ name }) => name),
      body: Buffer.from(response?.content?.$base64 ?? "", "base64").toString(),
    }));
  });
}

/** The refusals of a case that the table does not know. */
function surprises({ operation, isAllowed, status, body }: Case): string[] {
  if (!isAllowed || ![400, 405, 413, 415, 422].includes(status)) return [];
  const problem = JSON.parse(body) as {
    code: string;
    detail: string;
    errors?: { pointer: string; detail: string }[];
  };
  const faults = problem.errors ?? [{ pointer: problem.code, detail: problem.detail }];
  const texts = faults.map(({ pointer, detail }) => `${operation} ${pointer} ${detail}`);
  return texts.filter((text) => !BEYOND_SCHEMAS.some(([, refusal]) => refusal.test(text)));
}

async function run(st: string, args: string[]): Promise<string> {
  const child = Bun.spawn([st, "run", ...args], { cwd: folder, stdout: "pipe", stderr: "pipe" });
  const [out, errors] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  const code = await child.exited;
  return code === 0 ? "" : `exit code ${code}\n${out.slice(-8000)}${errors}`;
}

const hasPython = requireTool("python3", PYTHON_HINT);

describe.skipIf(!hasPython)("schemathesis finds nothing", () => {
  let app: TestApp;
  let receiver: Receiver;
  let tenant: Tenant;
  let st = "";
  const cases: Case[] = [];
  let complaints = "";

  beforeAll(async () => {
    st = join(await installPython([PACKAGE]), "bin/st");
    receiver = startReceiver();
    app = await startOperated();
    tenant = await createTenant(app, { plan: "unlimited" });
    const { path, names } = await writeDocument(receiver);
    const operators = ["--include-tag", "Operator"];
    for (const [name, token, which] of [
      ["key", tenant.keys.live, ["--exclude-tag", "Operator"]],
      ["operator", OPERATOR_TOKEN, operators],
    ] as const) {
      const report = join(folder, `${name}.ndjson`);
      const generation = ["--max-examples", EXAMPLES, "--seed", SEED, "--no-shrink", "--continue-on-failure"];
      const phases = ["--phases", "examples,coverage,fuzzing"];
      // What is refused is held against the table below, each time and not once an operation.
      const checks = ["--exclude-checks", "positive_data_acceptance"];
      const reports = ["--report", "ndjson", "--report-ndjson-path", report];
      const to = [path, "--url", app.url, "--header", `Authorization: Bearer ${token}`];
      complaints += await run(st, [...to, ...which, ...generation, ...phases, ...checks, ...reports]);
      cases.push(...(await readCases(report, names)));
    }
  }, 850_000);

  afterAll(async () => {
    await app[Symbol.asyncDispose]();
    await receiver.close();
  });

  test("of its own: no 5xx, no answer outside its schema, nothing wrong that is taken", () => {
    expect(complaints).toBe("");
    expect(cases.filter(({ failed }) => failed.length > 0)).toEqual([]);
  });

  test("no request goes unanswered or is answered 5xx", () => {
    expect(cases.length).toBeGreaterThan(CASES_MIN);
    expect(cases.filter(({ status }) => status === 0 || status >= 500)).toEqual([]);
    const taken = cases.filter(({ isAllowed, status }) => isAllowed && status < 300).length;
    console.log(`schemathesis: ${cases.length} requests, ${taken} taken`);
    expect(taken).toBeGreaterThan(CASES_MIN / 10);
  });

  test("refused, of what the document allows, but for what no schema can say", () => {
    expect([...new Set(cases.flatMap(surprises))].toSorted()).toEqual([]);
  });
});

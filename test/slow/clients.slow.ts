// time budget: 600 s
/**
 * Clients that generators make of the OpenAPI document, in TypeScript and in Python: they pass the type
 * checker, have every operation, and make each call with an Idempotency-Key twice. The second answer lacks
 * what is secret, and is read all the same.
 *
 * Of TypeScript's generators @hey-api/openapi-ts: it makes a function for each operation, and validators that
 * read each answer at run time, which is what failed; openapi-typescript makes types alone. Of Python's
 * openapi-python-client, which reads answers into classes.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sdk from "../../sdk/typescript/package.json";
import { openApi } from "../kit/app.ts";
import type { Operation } from "../kit/conformance.ts";
import { installProgram } from "../kit/npm.ts";
import { OPERATOR_TOKEN } from "../kit/operator.ts";
import { installPython, PYTHON_HINT } from "../kit/python.ts";
import { runCommand } from "../kit/real-server.ts";
import { requireTool } from "../kit/tools.ts";
import { Walk } from "../http/statuses/kit.ts";

/** In the versions that make the package in `sdk/typescript`. */
const GENERATOR_TS = `@hey-api/openapi-ts@${sdk.devDependencies["@hey-api/openapi-ts"]}`;
const BESIDE_TS = [`typescript@${sdk.devDependencies.typescript}`, "zod@4.6.7"];
const PACKAGES_PYTHON = ["openapi-python-client==0.29.1", "mypy==2.4.1"];

/** One call, as a program is told of it on standard input. */
interface Call {
  operationId: string;
  tag: string;
  token: string;
  key: string;
  path: Record<string, string>;
  query: Record<string, string>;
  body: unknown;
}

/** What a program tells of each call: the statuses and whether the second was given again. */
type Made = { operationId: string; statuses: number[]; replayed: string | null };

const DRIVER_TS = `
import { createClient } from "./client/client";
import * as sdk from "./client";
import type { CreatedApiKey, RenameOperation, NewEndpoint } from "./client";

const rename: RenameOperation = { op: "rename", from: "data.a", to: "data.b" };
export const endpoint: NewEndpoint = { url: "https://hooks.example.com/x", transformations: [rename] };
export const keyOf = ({ key }: CreatedApiKey): string | undefined => key;
export const door: typeof sdk.ingest = sdk.ingest;

type Sent = { response: Response; error?: unknown };
type Send = (options: object) => Promise<Sent>;
const { url, calls } = JSON.parse(await Bun.stdin.text());
const made = [];
for (const { operationId, token, key, path, query, body } of calls) {
  const send = (sdk as unknown as Record<string, Send>)[operationId];
  if (send === undefined) throw new Error("there is no " + operationId);
  const client = createClient({ baseUrl: url, auth: token });
  const options = { client, path, query, body, headers: { "Idempotency-Key": key } };
  // What an operation does not take, its validator takes as nothing else.
  if (Object.keys(path).length === 0) options.path = undefined;
  if (Object.keys(query).length === 0) options.query = undefined;
  if (body === null) options.body = undefined;
  const sent = [await send(options), await send(options)];
  for (const { error } of sent) if (error !== undefined) throw new Error(operationId + ": " + JSON.stringify(error));
  const replayed = sent[1]?.response.headers.get("idempotency-replayed") ?? null;
  made.push({ operationId, statuses: sent.map(({ response }) => response.status), replayed });
}
console.log(JSON.stringify(made));
`;

const DRIVER_PYTHON = `
import importlib, inspect, json, re, sys, typing
from sealpost_client import AuthenticatedClient
from sealpost_client.models import CreatedApiKey, NewHttpEndpoint, Problem, RenameOperation
from sealpost_client.types import Unset
import sealpost_client.api.ingest.ingest as door

def snake(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\\1", name).lower()

def read_body(annotation: typing.Any, value: typing.Any) -> typing.Any:
    for kind in typing.get_args(annotation) or (annotation,):
        if kind is Unset or not hasattr(kind, "from_dict"):
            continue
        try:
            body = kind.from_dict(value)
        except (KeyError, TypeError, ValueError):
            continue
        if body.to_dict() == value:
            return body
    raise ValueError(f"no class fits {value}")

asked = json.load(sys.stdin)
made = []
for call in asked["calls"]:
    name = "sealpost_client.api." + call["tag"].lower().replace(" ", "_") + "." + snake(call["operationId"])
    send = importlib.import_module(name).sync_detailed
    client = AuthenticatedClient(base_url=asked["url"], token=call["token"], raise_on_unexpected_status=True)
    options = {**call["path"], **call["query"], "idempotency_key": call["key"]}
    if call["body"] is not None:
        options["body"] = read_body(inspect.signature(send).parameters["body"].annotation, call["body"])
    sent = [send(client=client, **options), send(client=client, **options)]
    for answer in sent:
        if answer.parsed is None or isinstance(answer.parsed, Problem):
            raise ValueError(f"{name} answered {answer.status_code} {answer.content!r}")
    replayed = sent[1].headers.get("idempotency-replayed")
    statuses = [int(answer.status_code) for answer in sent]
    made.append({"operationId": call["operationId"], "statuses": statuses, "replayed": replayed})
print(json.dumps(made))
`;

const folder = mkdtempSync(join(tmpdir(), "sealpost-clients-"));
const documentPath = join(folder, "openapi.json");
let walk: Walk;
/** The operations that take an Idempotency-Key, by their tags and path templates. */
let keyed: { operation: Operation; tag: string; template: string }[];

beforeAll(async () => {
  const document = await openApi();
  walk = await Walk.start();
  // Nothing here makes some succeed: a move needs a replica.
  const canSucceed = (operation: Operation) =>
    walk.cases(operation).every(({ refused }) => refused === undefined);
  await Bun.write(documentPath, JSON.stringify(document));
  keyed = Object.entries(document.paths).flatMap(([template, item]) =>
    Object.values(item)
      .filter(({ parameters }) => parameters.some(({ $ref }) => $ref?.endsWith("/IdempotencyKey")))
      .filter(canSucceed)
      .map((operation) => ({ operation, tag: operation.tags[0] ?? "", template })),
  );
}, 60_000);

afterAll(async () => {
  await walk[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** A request of each operation, that succeeds once. */
async function makeCalls(): Promise<Call[]> {
  const calls: Call[] = [];
  for (const { operation, tag, template } of keyed) {
    const { party, ask } = await walk.another(operation);
    const { pathname, searchParams } = new URL(ask.path, "http://localhost");
    const names = template.split("/");
    const path = pathname.split("/").flatMap((part, at): [string, string][] => {
      const [, name] = /^\{(\w+)\}$/.exec(names[at] ?? "") ?? [];
      return name === undefined ? [] : [[name, decodeURIComponent(part)]];
    });
    calls.push({
      operationId: operation.operationId,
      tag,
      token: ask.bearer ?? party.client.key ?? OPERATOR_TOKEN,
      key: crypto.randomUUID(),
      path: Object.fromEntries(path),
      query: Object.fromEntries(searchParams),
      body: operation.requestBody === undefined ? null : (ask.json ?? null),
    });
  }
  return calls;
}

/** Runs a program that makes the calls of its standard input. */
async function drive(command: string[], cwd: string): Promise<Made[]> {
  const asked = { url: walk.bench.app.url, calls: await makeCalls() };
  const child = Bun.spawn(command, {
    cwd,
    stdin: new Blob([JSON.stringify(asked)]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, errors] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  expect([await child.exited, errors]).toEqual([0, ""]);
  return JSON.parse(out) as Made[];
}

function expectTwice(made: readonly Made[]): void {
  expect(made.length).toBeGreaterThan(25);
  expect(made.map(({ operationId }) => operationId)).toEqual(
    keyed.map(({ operation }) => operation.operationId),
  );
  for (const { statuses, replayed, operationId } of made) {
    const [first = 0, second] = statuses;
    expect([operationId, first >= 200 && first < 300, second, replayed]).toEqual([
      operationId,
      true,
      first,
      "true",
    ]);
  }
}

describe("the client in TypeScript", () => {
  const home = join(folder, "typescript");

  test("is generated, and passes the compiler", async () => {
    const generator = await installProgram(GENERATOR_TS, BESIDE_TS);
    const modules = generator.slice(0, generator.lastIndexOf("/node_modules/") + "/node_modules".length);
    mkdirSync(home);
    symlinkSync(modules, join(home, "node_modules"));
    const validated = { name: "@hey-api/sdk", validator: true };
    const plugins = ["@hey-api/client-fetch", "@hey-api/typescript", "zod", validated];
    const config = { input: documentPath, output: join(home, "client"), plugins };
    await Bun.write(join(home, "config.mjs"), `export default ${JSON.stringify(config)};`);
    await runCommand(["node", join(generator, "bin/run.js"), "-f", join(home, "config.mjs")], {}, home);
    await Bun.write(join(home, "driver.ts"), DRIVER_TS);
    const strict = {
      strict: true,
      noEmit: true,
      target: "es2022",
      module: "esnext",
      moduleResolution: "bundler",
    };
    const libraries = { lib: ["es2023", "dom", "dom.iterable"], types: [] };
    const include = ["driver.ts", "bun.d.ts", "client"];
    await Bun.write(join(home, "bun.d.ts"), "declare const Bun: { stdin: { text(): Promise<string> } };");
    await Bun.write(
      join(home, "tsconfig.json"),
      JSON.stringify({ compilerOptions: { ...strict, ...libraries }, include }),
    );
    expect(await runCommand(["node", join(modules, "typescript/bin/tsc"), "-p", home], {}, home)).toBe("");
  }, 240_000);

  test("makes each call twice", async () => {
    expectTwice(await drive([process.execPath, "driver.ts"], home));
  }, 60_000);
});

const hasPython = requireTool("python3", PYTHON_HINT);

describe.skipIf(!hasPython)("the client in Python", () => {
  const home = join(folder, "python");
  let bin = "";

  test("is generated whole, and passes the type checker", async () => {
    bin = join(await installPython(PACKAGES_PYTHON), "bin");
    mkdirSync(home);
    const config = {
      package_name_override: "sealpost_client",
      content_type_overrides: { "application/x-ndjson": "text/plain" },
      post_hooks: [],
    };
    await Bun.write(join(home, "config.yml"), JSON.stringify(config));
    const input = ["--path", documentPath, "--output-path", "sealpost_client", "--meta", "none"];
    const generator = [join(bin, "openapi-python-client"), "generate", ...input, "--config", "config.yml"];
    // What it cannot make, it leaves out with a warning.
    expect(await runCommand([...generator, "--fail-on-warning"], {}, home)).not.toContain("WARNING");
    await Bun.write(join(home, "driver.py"), DRIVER_PYTHON);
    const checked = await runCommand([join(bin, "mypy"), "sealpost_client", "driver.py"], {}, home);
    expect(checked).toContain("no issues found");
    const models = await Array.fromAsync(new Bun.Glob("*.py").scan(join(home, "sealpost_client/models")));
    expect(models.filter((name) => /type_?\d|_item\.py$/.test(name))).toEqual([]);
  }, 240_000);

  test("makes each call twice", async () => {
    expectTwice(await drive([join(bin, "python"), "driver.py"], home));
  }, 60_000);
});

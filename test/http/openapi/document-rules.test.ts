/**
 * What the document of the real service holds to, so that generators and validators make the right thing
 * of it.
 */
import { beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SECRET_FIELDS } from "../../../src/http/framework/idempotency.ts";
import { listKinds } from "../../../src/destinations/destinations.ts";
import { openApi } from "../../kit/app.ts";
import { Conformance, type OpenApi } from "../../kit/conformance.ts";

interface Schema {
  $ref?: string;
  type?: string;
  enum?: unknown[];
  const?: unknown;
  description?: string;
  pattern?: string;
  format?: string;
  minLength?: number;
  maxLength?: number;
  required?: string[];
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  discriminator?: { propertyName: string; mapping: Record<string, string> };
}

interface Media {
  schema: Schema;
  example?: unknown;
}

interface Operation {
  operationId: string;
  parameters: { $ref?: string; name: string; in: string; schema: Schema }[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, { content?: Record<string, Media> }>;
}

interface Document {
  tags: { name: string; description?: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

let read: OpenApi;
let held: Conformance;
let document: Document;
let operations: [method: string, operation: Operation][];

beforeAll(async () => {
  read = await openApi();
  held = new Conformance(read);
  document = read as unknown as Document;
  operations = Object.values(document.paths).flatMap(Object.entries);
});

const named = (ref: string): Schema => document.components.schemas[ref.split("/").at(-1) ?? ""] ?? {};
const follow = (schema: Schema): Schema => (schema.$ref === undefined ? schema : named(schema.$ref));

/**
 * Every schema below one, with its place; `isNested`: a generator could not call it by its parent and field.
 */
function* below(schema: Schema, place: string, isNested = false): Generator<[string, Schema, boolean]> {
  yield [place, schema, isNested];
  for (const [name, entry] of Object.entries(schema.properties ?? {}))
    yield* below(entry, `${place}.${name}`);
  for (const entry of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])])
    yield* below(entry, `${place}|`, true);
  if (schema.items) yield* below(schema.items, `${place}[]`, true);
  if (typeof schema.additionalProperties === "object") {
    yield* below(schema.additionalProperties, `${place}{}`, true);
  }
}

function* schemas(): Generator<[place: string, schema: Schema, isNested: boolean]> {
  for (const [name, schema] of Object.entries(document.components.schemas)) yield* below(schema, name);
  for (const [, { operationId, parameters, requestBody, responses }] of operations) {
    for (const { name, schema = {} } of parameters) yield* below(schema, `${operationId} ${name}`);
    const contents = [requestBody?.content, ...Object.values(responses).map(({ content }) => content)];
    for (const { schema } of contents.flatMap((content) => Object.values(content ?? {})))
      yield* below(schema, operationId);
  }
}

function media(operationId: string, role: "body" | number): Media {
  const [, operation] = operations.find(([, one]) => one.operationId === operationId) ?? [];
  const content = role === "body" ? operation?.requestBody?.content : operation?.responses[role]?.content;
  const found = Object.values(content ?? {})[0];
  if (found === undefined) throw new Error(`${operationId} has no ${role}`);
  return found;
}

test("an endpoint by its url may have a config without one, as the service takes it", () => {
  const { config } = named("#/components/schemas/NewHttpEndpoint").properties ?? {};
  expect([Object.keys(follow(config ?? {}).properties ?? {}), follow(config ?? {}).required]).toEqual([
    ["url", "header_prefix"],
    undefined,
  ]);
});

test("the linter of OpenAPI finds nothing", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sealpost-lint-"));
  const path = join(folder, "openapi.json");
  await Bun.write(path, JSON.stringify(document, null, 2));
  const linter = join(import.meta.dir, "../../../node_modules/.bin/redocly");
  const config = join(import.meta.dir, "../../kit/redocly.yaml");
  const run = Bun.spawn([process.execPath, linter, "lint", path, "--config", config, "--format", "stylish"], {
    env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, errors] = await Promise.all([run.stdout.text(), run.stderr.text()]);
  rmSync(folder, { recursive: true });
  expect([await run.exited, out]).toEqual([0, out]);
  expect(errors + out).toContain("valid");
});

describe("names", () => {
  test("stand on what generators would otherwise call by its place", () => {
    const nameless = [...schemas()].filter(([, { enum: words = [], properties, ...schema }, isNested]) => {
      const isFree = schema.type === "object" && typeof schema.additionalProperties === "object";
      return isNested && (words.length > 1 || properties !== undefined || isFree);
    });
    expect(nameless.map(([place]) => place)).toEqual([]);
  });

  test("are unlike those that a generator makes of a field", () => {
    const pascal = (text: string) =>
      text.replaceAll(/(?:^|[_-])(.)/g, (_whole, letter: string) => letter.toUpperCase());
    const made = Object.entries(document.components.schemas).flatMap(([name, { properties = {} }]) =>
      Object.entries(properties).flatMap(([field, schema]) =>
        schema.enum !== undefined || schema.type === "object" ? [`${name}${pascal(field)}`] : [],
      ),
    );
    expect(made.filter((name) => name in document.components.schemas)).toEqual([]);
  });
});

describe("texts", () => {
  test("have patterns that mean the same in every engine: [0-9] for \\d, [A-Za-z0-9_] for \\w, no \\s, \\p or half of a pair", () => {
    const odd = [...schemas()].filter(
      ([, { pattern }]) => pattern && /\\u[dD][89a-fA-F]|\\[wWdDsSpP]/.test(pattern),
    );
    expect(odd.map(([place, { pattern }]) => `${place} ${pattern}`)).toEqual([]);
  });

  test("that end somewhere say so beside the pattern", () => {
    const endless = [...schemas()].filter(
      ([, { pattern, maxLength }]) =>
        pattern !== undefined && maxLength === undefined && /[+*]\$?$/.test(pattern),
    );
    expect(endless.map(([place]) => place)).toEqual([]);
  });
});

test("times have their format, in what is asked and in what is answered", () => {
  // Where something stands at the provider is a place.
  const isPlace = (place: string) => place.startsWith("Provider.setup.");
  const isTime = (place: string) => !isPlace(place) && /(^|[._ ])(at|since|until|timestamp)\|?$/.test(place);
  const formless = [...schemas()].filter(
    ([place, { type, format }]) => isTime(place) && type === "string" && format !== "date-time",
  );
  expect(formless.map(([place]) => place)).toEqual([]);
  expect(
    [...schemas()].filter(([place, { type }]) => isTime(place) && type === "string").length,
  ).toBeGreaterThan(50);
});

describe("a secret", () => {
  test("is required of no answer that may be given again, and says why it may be missing", () => {
    const posts = operations.filter(
      ([method, { parameters }]) => method === "post" && parameters.some(({ $ref }) => $ref),
    );
    expect(posts.length).toBeGreaterThan(25);
    const secrets = new Set([...SECRET_FIELDS, "url"]);
    const found = posts.flatMap(([, { operationId, responses }]) =>
      Object.entries(responses).flatMap(([status, { content = {} }]) =>
        status.startsWith("2")
          ? secretsIn(content["application/json"]?.schema ?? {}, secrets, operationId)
          : [],
      ),
    );
    const shown = found.filter(({ description = "" }) => description.includes("Idempotency-Key"));
    expect(shown.map(({ place }) => place).toSorted()).toEqual([
      "createAccount.projects.api_key",
      "createApiKey.key",
      "createEndpoint.secret",
      "createPortalLink.embed_html",
      "createPortalLink.url",
      "createProject.api_key",
      "createProjectApiKey.key",
      "createSource.secret",
      "rotateEndpointSecret.secret",
      "rotateSourceSecret.secret",
    ]);
    expect(shown.filter(({ isRequired }) => isRequired)).toEqual([]);
    const silent = found.filter((one) => !shown.includes(one)).map(({ place }) => place);
    // The address of an endpoint, and of an attempt, is no secret; nor is the name of a field that wraps
    // a body.
    expect(silent.filter((place) => !/\.(url|transformations\.key)$/.test(place))).toEqual([]);
  });
});

interface Found {
  place: string;
  description?: string;
  isRequired: boolean;
}

function secretsIn(schema: Schema, secrets: ReadonlySet<string>, place: string): Found[] {
  const { properties = {}, required = [], items, anyOf = [], oneOf = [] } = follow(schema);
  const inside = [...(items ? [items] : []), ...anyOf, ...oneOf].flatMap((one) =>
    secretsIn(one, secrets, place),
  );
  const fields = Object.entries(properties).flatMap(([name, field]) => {
    const isRequired = required.includes(name);
    const isSecret = secrets.has(name) && follow(field).type === "string";
    const own = isSecret ? [{ place: `${place}.${name}`, isRequired, ...follow(field) }] : [];
    return [...own, ...secretsIn(field, secrets, `${place}.${name}`)];
  });
  return [...fields, ...inside];
}

describe("the creation of an endpoint", () => {
  const check = (body: unknown) => held.accepts("NewEndpoint", body);

  test("tells the kinds apart, each with a config of its own", () => {
    const { anyOf = [] } = follow(media("createEndpoint", "body").schema);
    const byKind = anyOf.map(follow).find(({ discriminator }) => discriminator);
    const kinds = listKinds().map(({ kind }) => kind);
    expect(["http", ...Object.keys(byKind?.discriminator?.mapping ?? {})]).toEqual(kinds);
    for (const ref of Object.values(byKind?.discriminator?.mapping ?? {})) {
      expect(named(ref).required).toContain("kind");
      expect(follow(named(ref).properties?.["config"] ?? {}).additionalProperties).toBe(false);
    }
    expect(named("EndpointKind").enum).toEqual(kinds);
  });

  test("takes what the service takes, and nothing that it refuses", () => {
    const url = "https://hooks.example.com/x";
    const sqs = {
      queue_url: "https://sqs.eu-central-1.amazonaws.com/123456789012/q",
      region: "eu-central-1",
      access_key_id: "AKIA1",
      secret_access_key: "s",
    };
    const right = [
      { url },
      { kind: "http", url },
      { config: { url } },
      { kind: "http", config: { url } },
      { kind: "poll" },
      { kind: "aws_sqs", config: sqs },
      { url, transformations: [{ op: "rename", from: "data.a", to: "data.b\\.c" }] },
      { url, event_types: ["*", "invoice.*", "a.b"], retry: { schedule: [] }, metadata: null },
    ];
    const wrong = [
      {},
      { kind: "http" },
      { kind: "aws_sqs" },
      { kind: "aws_sqs", url },
      { kind: "aws_sqs", config: { ...sqs, region: "EU" } },
      { kind: "aws_sqs", config: { ...sqs, unknown: 1 } },
      { kind: "fax", config: {} },
      { url, event_types: [] },
      { url, event_types: ["a..b"] },
      { url, transformations: [{ op: "rename", from: "data.a" }] },
      { url, transformations: [{ op: "pick", paths: ["a.*b"] }] },
      { url, secret: "short" },
      { url, consumer_id: "" },
    ];
    expect([right.map(check), wrong.map(check)]).toEqual([right.map(() => true), wrong.map(() => false)]);
  });
});

test("every tag is described", () => {
  expect(document.tags.filter(({ description }) => !description)).toEqual([]);
});

/** The OpenAPI document: complete, valid and true to the table. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type TSchema, Type } from "@sinclair/typebox";
import { type ErrorCode, ERRORS } from "../../../src/core/errors.ts";
import { SchemaComponents } from "../../../src/http/shared/json-schema.ts";
import { openApiDocument } from "../../../src/http/openapi/document.ts";
import { type AnyRoute, route } from "../../../src/http/framework/route.ts";
import { startServer, type TestServer } from "../kit.ts";

interface Media {
  schema?: Json;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}

interface Described {
  description: string;
  headers?: Record<string, unknown>;
  content?: Record<string, Media>;
}

interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  security: Record<string, string[]>[];
  parameters: {
    name?: string;
    in?: string;
    required?: boolean;
    schema?: Json;
    description?: string;
    $ref?: string;
  }[];
  requestBody?: { required: boolean; content: Record<string, Media> };
  responses: Record<string, Described & { $ref?: string }>;
}

type Json = Record<string, unknown>;

interface Document {
  openapi: string;
  info: { title: string; version: string };
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Json>; responses: Record<string, Described>; securitySchemes: Json };
}

const closed = { additionalProperties: false };
const schedule = Type.Array(Type.Integer(), { maxItems: 9 });
const Retry = Type.Object({ schedule }, { ...closed, $id: "Retry" });
const Endpoint = Type.Object(
  {
    id: Type.String({ description: "Its id." }),
    mode: Type.Union([Type.Literal("live"), Type.Literal("test")]),
    retry: Type.Union([Retry, Type.Null()]),
    // Names that are keywords of JSON Schema too.
    example: Type.Optional(Retry),
    required: Type.Boolean(),
    enum: Type.Optional(Type.String({ expected: "our own keyword" })),
  },
  { $id: "Endpoint" },
);

const management = { tag: "Endpoints", access: "manage", budget: "management" } as const;

const routes: readonly AnyRoute[] = [
  route({
    ...management,
    method: "POST",
    path: "/v1/endpoints/:id/pause",
    operationId: "pauseEndpoint",
    summary: "Pause an endpoint",
    description: "Deliveries wait.",
    query: Type.Object(
      {
        limit: Type.Optional(Type.Integer({ minimum: 1, description: "How many." })),
        day: Type.String(),
      },
      closed,
    ),
    body: Type.Object({ retry: Retry, name: Type.Optional(Type.String()) }, closed),
    bodyExample: { retry: { schedule: [5] } },
    answers: {
      200: {
        description: "It is paused.",
        schema: Endpoint,
        example: { id: "ep_1", mode: "live", retry: null },
      },
      204: "There was nothing to do.",
    },
    refuses: { conflict: "It is disabled." },
    handle: () => ({ status: 204 }),
  }),
  route({
    ...management,
    method: "GET",
    path: "/v1/endpoints/:id",
    operationId: "getEndpoint",
    summary: "Read an endpoint",
    access: "owner_read",
    answers: { 200: { description: "The endpoint.", schema: Endpoint, example: { id: "ep_1" } } },
    handle: () => ({ status: 200 }),
  }),
  route({
    ...management,
    method: "PATCH",
    path: "/v1/endpoints/:id",
    operationId: "updateEndpoint",
    summary: "Change an endpoint",
    body: Type.Object({ name: Type.Optional(Type.String()) }, closed),
    bodyExample: { name: "x" },
    answers: { 204: "It is changed." },
    handle: () => ({ status: 204 }),
  }),
  route({
    method: "POST",
    path: "/ingest/:source",
    operationId: "ingest",
    tag: "Inbound",
    summary: "Receive",
    access: "none",
    budget: "none",
    ignoresQuery: true,
    bodyMode: "opaque",
    body: Type.Unknown(),
    answers: { 200: "Accepted.", 401: { description: "Refused." } },
    handle: () => ({ status: 200 }),
  }),
];

let server: TestServer;
let text: string;
let document: Document;

beforeAll(async () => {
  server = startServer(routes);
  const reply = await server.send("GET", "/openapi.json", { token: null });
  text = reply.text;
  document = reply.json as unknown as Document;
});

afterAll(() => server.stop(0));

function operations(): [string, Operation][] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, entry]): [string, Operation] => [`${method} ${path}`, entry]),
  );
}

function operation(name: string): Operation {
  const found = new Map(operations()).get(name);
  if (found === undefined) throw new Error(`no operation ${name}`);
  return found;
}

function resolve(ref: string): unknown {
  const names = ref.slice(2).split("/");
  return names.reduce<unknown>((value, name) => (value as Json | undefined)?.[name], document);
}

function refsIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, entry]) =>
    name === "$ref" && typeof entry === "string" ? [entry] : refsIn(entry),
  );
}

function answerOf(from: Operation, status: number): Described {
  const answer = from.responses[status];
  if (answer === undefined) throw new Error(`no answer ${status}`);
  return answer.$ref === undefined ? answer : (resolve(answer.$ref) as Described);
}

describe("the document", () => {
  test("is OpenAPI 3.1 and names the product and its version, the same bytes each time", async () => {
    expect([document.openapi, document.info.title, document.info.version]).toEqual([
      "3.1.1",
      "Sealpost",
      "1.2.3",
    ]);
    expect((await server.send("GET", "/openapi.json")).text).toBe(text);
  });

  test("has every route of the table that is no page, with its path written as OpenAPI does", () => {
    expect(
      operations()
        .map(([name]) => name)
        .sort(),
    ).toEqual([
      "get /healthz",
      "get /metrics",
      "get /openapi.json",
      "get /readyz",
      "get /v1/endpoints/{id}",
      "patch /v1/endpoints/{id}",
      "post /ingest/{source}",
      "post /v1/endpoints/{id}/pause",
    ]);
    expect(document.tags.map(({ name }) => name)).toEqual(["Endpoints", "Inbound", "System"]);
  });

  test("has no dangling reference", () => {
    const refs = refsIn(document);
    expect(refs.length).toBeGreaterThan(20);
    expect(refs.filter((ref) => !ref.startsWith("#/") || resolve(ref) === undefined)).toEqual([]);
  });

  test("names nothing of the machine", () => {
    expect(text).not.toMatch(/node_modules|\/work\/|\/root\/|\/tmp\/|sp_live_/);
  });
});

describe("every operation", () => {
  test("has an id of its own, a summary, one tag and says who may call", () => {
    const ids = operations().map(([, { operationId }]) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [, { summary, tags, description }] of operations()) {
      expect(summary.length).toBeGreaterThan(3);
      expect(tags).toHaveLength(1);
      expect(description).toContain("Needs ");
    }
  });

  test("documents a success, and each answer has a description", () => {
    for (const [name, { responses }] of operations()) {
      expect(Object.keys(responses).some((status) => status.startsWith("2"))).toBe(true);
      for (const status of Object.keys(responses)) {
        expect(answerOf(operation(name), Number(status)).description.length).toBeGreaterThan(3);
      }
    }
  });

  test("of the management API documents its errors as problems, with a sentence and an example for each code", () => {
    for (const [name, { responses }] of operations().filter(([, { security }]) => security.length > 0)) {
      for (const status of Object.keys(responses).filter((code) => Number(code) >= 400)) {
        const { content, description } = answerOf(operation(name), Number(status));
        const media = content?.["application/problem+json"];
        expect(media?.schema).toEqual({ $ref: "#/components/schemas/Problem" });
        const examples = Object.entries(media?.examples ?? {});
        expect(examples).not.toEqual([]);
        for (const [code, { value }] of examples) {
          expect(value).toMatchObject({
            code,
            status: Number(status),
            title: ERRORS[code as ErrorCode].title,
          });
          expect(description).toContain(`\`${code}\`: `);
        }
      }
    }
  });

  test("that takes a key names a scheme that exists", () => {
    for (const [, { security }] of operations()) {
      for (const scheme of security.flatMap(Object.keys)) {
        expect(document.components.securitySchemes[scheme]).toMatchObject({ type: "http", scheme: "bearer" });
      }
    }
    expect(operation("post /v1/endpoints/{id}/pause").security).toEqual([
      { api_key: [] },
      { portal_token: [] },
    ]);
    expect(operation("get /v1/endpoints/{id}").security).toEqual([{ api_key: [] }]);
    expect(operation("get /metrics").security).toEqual([{ metrics_token: [] }, { operator_token: [] }]);
    expect(operation("get /healthz").security).toEqual([]);
  });
});

describe("an operation", () => {
  test("declares its parameters", () => {
    expect(operation("post /v1/endpoints/{id}/pause").parameters).toEqual([
      { name: "id", in: "path", required: true, schema: { type: "string" } },
      {
        name: "limit",
        in: "query",
        required: false,
        description: "How many.",
        schema: { type: "integer", minimum: 1 },
      },
      { name: "day", in: "query", required: true, schema: { type: "string" } },
      { $ref: "#/components/parameters/IdempotencyKey" },
    ]);
  });

  test("declares its body, with an example", () => {
    expect(operation("post /v1/endpoints/{id}/pause").requestBody).toEqual({
      required: true,
      content: {
        "application/json": {
          schema: { $ref: "#/components/schemas/PauseEndpointBody" },
          example: { retry: { schedule: [5] } },
        },
      },
    });
    expect(document.components.schemas.PauseEndpointBody).toEqual({
      type: "object",
      additionalProperties: false,
      required: ["retry"],
      properties: { retry: { $ref: "#/components/schemas/Retry" }, name: { type: "string" } },
    });
    const change = operation("patch /v1/endpoints/{id}").requestBody?.content ?? {};
    expect(Object.keys(change)).toEqual(["application/json", "application/merge-patch+json"]);
    expect(change["application/merge-patch+json"]).toEqual(change["application/json"]);
    expect(Object.keys(operation("post /ingest/{source}").requestBody?.content ?? {})).toEqual([
      "application/octet-stream",
    ]);
  });

  test("declares its answers: with a schema and example, without a body, in words of its own", () => {
    const pause = operation("post /v1/endpoints/{id}/pause");
    expect(answerOf(pause, 200).content).toEqual({
      "application/json": {
        schema: { $ref: "#/components/schemas/Endpoint" },
        example: { id: "ep_1", mode: "live", retry: null },
      },
    });
    expect(answerOf(pause, 204)).toMatchObject({ description: "There was nothing to do." });
    expect(answerOf(pause, 204).content).toBeUndefined();
    expect(answerOf(pause, 409).description).toBe(
      "`conflict`: It is disabled. `idempotency_in_progress`: The first request with this Idempotency-Key is still running.",
    );
    expect(answerOf(operation("post /ingest/{source}"), 401).content).toBeUndefined();
  });

  test("declares the errors that follow from what it takes, and no others", () => {
    const statuses = (name: string) => Object.keys(operation(name).responses).map(Number);
    expect(statuses("post /v1/endpoints/{id}/pause")).toEqual([
      200, 204, 400, 401, 403, 404, 409, 413, 415, 422, 429, 500, 503,
    ]);
    expect(statuses("get /v1/endpoints/{id}")).toEqual([200, 401, 403, 404, 422, 429, 500, 503]);
    expect(statuses("post /ingest/{source}")).toEqual([200, 401, 404, 413, 500, 503]);
    expect(statuses("get /healthz")).toEqual([200]);
    expect(statuses("get /metrics")).toEqual([200, 401, 503]);
  });
});

describe("schemas", () => {
  test("with an $id become components, also where their fields are called like keywords", () => {
    expect(document.components.schemas.Endpoint).toEqual({
      type: "object",
      required: ["id", "mode", "retry", "required"],
      properties: {
        id: { type: "string", description: "Its id." },
        mode: { type: "string", enum: ["live", "test"] },
        retry: { anyOf: [{ $ref: "#/components/schemas/Retry" }, { type: "null" }] },
        example: { $ref: "#/components/schemas/Retry" },
        required: { type: "boolean" },
        enum: { type: "string" },
      },
    });
  });

  test("of other forms are written as JSON Schema", () => {
    const cases: [TSchema, Json][] = [
      [
        Type.Record(Type.String(), Retry, closed),
        {
          type: "object",
          additionalProperties: false,
          patternProperties: { "^(.*)$": { $ref: "#/components/schemas/Retry" } },
        },
      ],
      [
        Type.Object({}, { additionalProperties: Type.String() }),
        { type: "object", properties: {}, additionalProperties: { type: "string" } },
      ],
      [Type.Array(Type.Ref("Retry")), { type: "array", items: { $ref: "#/components/schemas/Retry" } }],
      [
        Type.String({ examples: [{ expected: 1 }], default: "x" }),
        { type: "string", examples: [{ expected: 1 }], default: "x" },
      ],
      [Type.Unknown(), {}],
    ];
    for (const [schema, expected] of cases) expect(new SchemaComponents().describe(schema)).toEqual(expected);
  });

  test("may not share a name unless they are the same", async () => {
    const [first] = routes;
    if (first === undefined) throw new Error("the table is empty");
    const copy = Type.Object({ schedule }, { ...closed, $id: "Retry" });
    const other = Type.Object({}, { $id: "Retry" });
    const withBody = (body: TSchema): AnyRoute[] => [first, { ...first, path: "/v1/other", body }];
    expect(await openApiDocument(withBody(copy), "1")).toContain('"/v1/other"');
    expect(openApiDocument(withBody(other), "1")).rejects.toThrow("Two schemas are called Retry");
  });
});

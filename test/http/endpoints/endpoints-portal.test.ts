/** Endpoints as portal tokens see them. Who calls is a table: portal tokens are not minted here. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Caller } from "../../../src/core/caller.ts";
import type { EndpointAnswer } from "../../../src/http/endpoints/shape.ts";
import { allRoutes } from "../../../src/http/routes.ts";
import { type Api, startApi } from "../log-kit.ts";
import { expectProblem, type Reply, startServer, TestParts, type TestServer } from "../kit.ts";

let api: Api;
let server: TestServer;

/** Parts over the real store, with the callers of the table. */
class StoreParts extends TestParts {
  override authenticate(token: string): Caller | null {
    return callers[token] ?? null;
  }

  override writeFor<T>(projectId: number | null, run: () => T): Promise<T> {
    return api.data.store.writeFor(projectId, run);
  }
}

const callers: Record<string, Caller> = {};

beforeAll(async () => {
  api = await startApi();
  const full = api.callers.get("full");
  if (!full) throw new Error("the kit has no caller with a full key");
  const anna: Caller = {
    ...full,
    kind: "portal",
    scopes: [],
    consumerId: "anna",
    manage: false,
    create: false,
  };
  Object.assign(callers, {
    full,
    anna,
    annaManages: { ...anna, manage: true },
    annaCreates: { ...anna, create: true },
    annaOwns: { ...anna, manage: true, create: true },
    bertOwns: { ...anna, consumerId: "bert", manage: true, create: true },
  });
  server = startServer(allRoutes(api.services), new StoreParts());
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await api[Symbol.asyncDispose]();
});

const call = (method: string, path: string, token: string, json?: unknown): Promise<Reply> =>
  server.send(method, path, json === undefined ? { token } : { token, json });

async function create(fields: Record<string, unknown>, token = "full"): Promise<Record<string, string>> {
  const reply = await call("POST", "/v1/endpoints", token, { url: api.receiver.url("portal"), ...fields });
  expect([reply.status, reply.json.errors]).toEqual([201, undefined]);
  return reply.json as unknown as Record<string, string>;
}

describe("a portal token", () => {
  test("sees its consumer's endpoints, and no other's nor the project's", async () => {
    const own = await create({ consumer_id: "anna" });
    const foreign = [await create({ consumer_id: "bert" }), await create({})];
    const { json } = await call("GET", "/v1/endpoints?limit=250", "anna");
    const seen = json["data"] as EndpointAnswer[];
    expect(seen.map(({ id }) => id)).toContain(own["id"] ?? "");
    expect(seen.every((endpoint) => endpoint.consumer_id === "anna")).toBe(true);
    expect((await call("GET", "/v1/endpoints?consumer_id=bert", "anna")).json["data"]).toEqual([]);
    expect((await call("GET", `/v1/endpoints/${own["id"]}`, "anna")).status).toBe(200);
    for (const { id } of foreign) {
      expectProblem(await call("GET", `/v1/endpoints/${id}`, "anna"), 404, "not_found");
      expectProblem(await call("PATCH", `/v1/endpoints/${id}`, "annaOwns", {}), 404, "not_found");
      expectProblem(await call("DELETE", `/v1/endpoints/${id}`, "annaOwns"), 404, "not_found");
      expectProblem(await call("GET", `/v1/endpoints/${id}/secret`, "annaOwns"), 404, "not_found");
      expectProblem(await call("GET", `/v1/endpoints/${id}/stats`, "anna"), 404, "not_found");
    }
  });

  test("that creates, makes endpoints of its own consumer, whose secret it sees this once", async () => {
    const made = await create({ event_types: ["a"] }, "annaCreates");
    expect(made).toMatchObject({ consumer_id: "anna" });
    expect(made["secret"]).toStartWith("whsec_");
    expect(await create({ consumer_id: "anna" }, "annaOwns")).toHaveProperty("secret");
    const reply = await call("POST", "/v1/endpoints", "annaCreates", {
      url: api.receiver.url("x"),
      consumer_id: "bert",
    });
    expectProblem(reply, 422, "invalid_request");
    expect(reply.json.errors?.map(({ pointer }) => pointer)).toEqual(["/consumer_id"]);
    expect((await call("DELETE", `/v1/endpoints/${made["id"]}`, "annaCreates")).status).toBe(204);
  });

  test.each([
    ["anna", "POST", "", { url: "http://127.0.0.1:9/" }],
    ["annaManages", "POST", "", { url: "http://127.0.0.1:9/" }],
    ["annaManages", "DELETE", "/:id", undefined],
    ["annaCreates", "PATCH", "/:id", {}],
    ["annaCreates", "GET", "/:id/secret", undefined],
    ["annaCreates", "POST", "/:id/rotate-secret", {}],
    ["annaCreates", "POST", "/:id/pause", {}],
    ["annaCreates", "POST", "/:id/test", {}],
    ["anna", "POST", "/:id/enable", {}],
  ])("without the grant may not: %s %s /v1/endpoints%s", async (token, method, tail, body) => {
    const { id = "" } = await create({ consumer_id: "anna" });
    expectProblem(
      await call(method, `/v1/endpoints${tail.replace(":id", id)}`, token, body),
      403,
      "forbidden",
    );
  });

  test("that manages, changes what section 9 lists", async () => {
    const { id } = await create({ consumer_id: "anna" });
    const patch = {
      url: api.receiver.url("moved"),
      description: "mine",
      event_types: ["a.*"],
      filter: { type: "a.b" },
      transformations: [{ op: "wrap", key: "x" }],
      headers: { "x-a": "1" },
    };
    const { status, json } = await call("PATCH", `/v1/endpoints/${id}`, "annaManages", patch);
    expect(status).toBe(200);
    expect(json).toMatchObject(patch);
    const paths = ["pause", "resume", "enable", "rotate-secret", "test"];
    for (const action of paths) {
      expect([
        action,
        (await call("POST", `/v1/endpoints/${id}/${action}`, "annaManages", {})).status,
      ]).toEqual([action, 200]);
    }
    expect((await call("GET", `/v1/endpoints/${id}/secret`, "annaManages")).status).toBe(200);
  });

  test.each([
    { max_concurrency: 5 },
    { retry: null },
    { timeout_seconds: 30 },
    { rate_limit_per_second: null },
    { ordering: "fifo" },
    { metadata: {} },
    { signature_versions: ["v1"] },
    { consumer_id: "bert" },
    { kind: "http" },
  ])("that manages, may not change %j", async (patch) => {
    const { id } = await create({ consumer_id: "anna" });
    const reply = await call("PATCH", `/v1/endpoints/${id}`, "annaManages", { ...patch, description: "no" });
    expectProblem(reply, 403, "forbidden");
    expect(reply.json.errors?.map(({ pointer }) => pointer)).toEqual([`/${Object.keys(patch)[0]}`]);
    expect((await call("GET", `/v1/endpoints/${id}`, "anna")).json["description"]).toBeNull();
  });

  test("reads the numbers of its own endpoints only", async () => {
    const { id } = await create({ consumer_id: "bert", event_types: ["numbers"] });
    await call("POST", `/v1/endpoints/${id}/test`, "bertOwns", {});
    const countOf = async (token: string) =>
      ((await call("GET", "/v1/stats?by=day", token)).json["data"] as { delivered: number }[]).reduce(
        (sum, { delivered }) => sum + delivered,
        0,
      );
    expect(await countOf("bertOwns")).toBe(1);
    expect(await countOf("full")).toBeGreaterThan(await countOf("anna"));
  });

  test("reads the kinds of destinations, which its forms are made of", async () => {
    const reply = await call("GET", "/v1/destination-kinds", "anna");
    expect(reply.status).toBe(200);
    expect(reply.text).toContain('"kind":"http"');
  });

  test("sees no source, provider, key or project", async () => {
    for (const path of ["/v1/sources", "/v1/providers", "/v1/api-keys", "/v1/project"]) {
      expectProblem(await call("GET", path, "annaOwns"), 403, "forbidden");
    }
  });
});

/** Where else an address may lead, which the guard lets pass in tests. */
const ELSEWHERE = "http://127.0.0.9:9009";

const AWS = {
  queue_url: "https://sqs.eu-west-1.amazonaws.com/123456789012/q",
  region: "eu-west-1",
  access_key_id: "AKIAEXAMPLE",
  secret_access_key: "stored-secret",
};

const RABBIT = {
  url: "http://127.0.0.1:15672",
  vhost: "/",
  exchange: "amq.topic",
  username: "u",
  password: "stored-password",
};

/** What a change of the config leaves masked, and where it is refused. */
const KEPT: readonly {
  name: string;
  kind: string;
  config: Record<string, string>;
  moved: Record<string, string>;
  pointers: string[];
}[] = [
  {
    name: "an SQS queue to another server's",
    kind: "aws_sqs",
    config: AWS,
    moved: { queue_url: `${ELSEWHERE}/q` },
    pointers: ["/config/access_key_id", "/config/secret_access_key"],
  },
  {
    name: "an SQS queue behind an endpoint that was not there",
    kind: "aws_sqs",
    config: { ...AWS, session_token: "t" },
    moved: { endpoint: ELSEWHERE },
    pointers: ["/config/access_key_id", "/config/secret_access_key", "/config/session_token"],
  },
  {
    name: "the roles of an SQS queue",
    kind: "aws_sqs",
    config: AWS,
    moved: { sts_endpoint: ELSEWHERE },
    pointers: ["/config/access_key_id", "/config/secret_access_key"],
  },
  {
    name: "a RabbitMQ",
    kind: "rabbitmq",
    config: RABBIT,
    moved: { url: ELSEWHERE },
    pointers: ["/config/password"],
  },
  {
    name: "a RabbitMQ to another port of its host",
    kind: "rabbitmq",
    config: RABBIT,
    moved: { url: "http://127.0.0.1:15673" },
    pointers: ["/config/password"],
  },
];

const masked = (config: Record<string, string>, fields: readonly string[]): Record<string, string> => ({
  ...config,
  ...Object.fromEntries(fields.map((pointer) => [pointer.replace("/config/", ""), "***"])),
});

describe("a portal token that manages, and leads an endpoint to another host", () => {
  test.each(KEPT)(
    "of $name: has to give its credentials again",
    async ({ kind, config, moved, pointers }) => {
      const { id } = await create({ consumer_id: "anna", kind, config, url: undefined });
      const path = `/v1/endpoints/${id}`;
      const change = { config: masked({ ...config, ...moved }, pointers) };
      const refused = await call("PATCH", path, "annaManages", change);
      expectProblem(refused, 422, "invalid_request");
      expect(refused.json.errors?.map(({ pointer }) => pointer)).toEqual(pointers);
      expect(refused.json.errors?.[0]?.detail).toContain("another host");
      expect((await call("GET", path, "anna")).json["config"]).toMatchObject(masked(config, pointers));
      const given = await call("PATCH", path, "annaManages", { config: { ...config, ...moved } });
      expect([given.status, given.json["config"]]).toMatchObject([200, moved]);
      // Back again, by who stored them and is asked for nothing.
      const back = await call("PATCH", path, "full", { config: masked(config, pointers) });
      expect([back.status, back.json["config"]]).toMatchObject([200, masked(config, pointers)]);
    },
  );

  test("by a connection string, which holds its credentials itself, is asked for the headers alone", async () => {
    const of = (host: string, key: string) =>
      `Endpoint=sb://${host}/;SharedAccessKeyName=send;SharedAccessKey=${key};UseDevelopmentEmulator=true`;
    const config = { connection_string: of("127.0.0.1:5300", "b25l"), entity: "q" };
    const { id } = await create({
      consumer_id: "anna",
      kind: "azure_service_bus",
      config,
      url: undefined,
      headers: { "x-api-key": "k" },
    });
    const moved = { config: { ...config, connection_string: of("127.0.0.9:5300", "dHdv") } };
    const refused = await call("PATCH", `/v1/endpoints/${id}`, "annaManages", moved);
    expect(refused.json.errors?.map(({ pointer }) => pointer)).toEqual(["/headers"]);
    const given = await call("PATCH", `/v1/endpoints/${id}`, "annaManages", { ...moved, headers: {} });
    expect(given.status).toBe(200);
    const other = { config: { ...config, entity: "r", connection_string: of("127.0.0.9:5300", "dHJl") } };
    expect((await call("PATCH", `/v1/endpoints/${id}`, "annaManages", other)).status).toBe(200);
  });

  test("has to give the headers again that are stored, or to do without", async () => {
    const headers = { authorization: "Bearer stored", "x-tenant": "7" };
    const { id } = await create({ consumer_id: "anna", headers });
    const patch = (body: object, token = "annaManages") => call("PATCH", `/v1/endpoints/${id}`, token, body);
    for (const address of [
      { url: ELSEWHERE },
      { config: { url: ELSEWHERE } },
      { url: ELSEWHERE, config: { url: ELSEWHERE } },
    ]) {
      const silent = await patch(address);
      expectProblem(silent, 422, "invalid_request");
      expect(silent.json.errors?.map(({ pointer }) => pointer)).toEqual(["/headers"]);
      const kept = await patch({ ...address, headers: { Authorization: "***", "x-tenant": "7" } });
      expect(kept.json.errors?.map(({ pointer }) => pointer)).toEqual(["/headers/Authorization"]);
    }
    expect((await call("GET", `/v1/endpoints/${id}`, "anna")).json).toMatchObject({
      url: api.receiver.url("portal"),
      headers: { authorization: "***" },
    });
    // On its own host another path may be somebody else's: what is no credential stays.
    const near = { url: api.receiver.url("near"), headers: { authorization: "***", "x-tenant": "8" } };
    const kept = await patch(near);
    expect(kept.json.errors?.map(({ pointer }) => pointer)).toEqual(["/headers/authorization"]);
    expect((await patch({ ...near, headers: { "x-tenant": "8" } })).status).toBe(200);
    expect((await patch({ url: api.receiver.url("portal") })).json).toMatchObject({
      headers: { "x-tenant": "8" },
    });
    expect((await patch({ url: ELSEWHERE, headers: null })).json).toMatchObject({
      url: ELSEWHERE,
      headers: {},
    });
    expect((await patch({ headers: { authorization: "Bearer of anna" } })).status).toBe(200);
    const given = await patch({ url: "http://127.0.0.9:9010", headers: { authorization: "Bearer new" } });
    expect(given.status).toBe(200);
    const full = await patch({ url: api.receiver.url("kept") }, "full");
    expect(full.json).toMatchObject({ headers: { authorization: "***" } });
  });

  test("or changes what is sent along, whatever it is called, has to give its credentials again", async () => {
    const headers = { authorization: "Bearer stored", "x-team": "a" };
    const { id } = await create({ consumer_id: "anna", headers });
    const patch = (change: object) =>
      call("PATCH", `/v1/endpoints/${id}`, "annaManages", { headers: change });
    for (const other of [
      { "x-team": "b" },
      {},
      ...[
        "range",
        "if-range",
        "accept-encoding",
        "prefer",
        "X-HTTP-Method-Override",
        "x-plain",
        "x-api-key",
      ].map((name) => ({ "x-team": "a", [name]: "bytes=0-5" })),
    ]) {
      const kept = await patch({ authorization: "***", ...other });
      expect([other, kept.json.errors?.map(({ pointer }) => pointer)]).toEqual([
        other,
        ["/headers/authorization"],
      ]);
    }
    expect((await patch({ "X-Team": "a", Authorization: "***" })).status).toBe(200);
    const given = await patch({ authorization: "Bearer of anna", range: "bytes=0-5" });
    expect([given.status, given.json["headers"]]).toEqual([
      200,
      { authorization: "***", range: "bytes=0-5" },
    ]);
    expect((await patch({ "x-team": "b" })).json["headers"]).toEqual({ "x-team": "b" });
    expect((await patch({ "x-team": "c" })).status).toBe(200);
  });

  test("or changes a header of a kind with a password, has to give that again", async () => {
    const { id } = await create({ consumer_id: "anna", kind: "rabbitmq", config: RABBIT, url: undefined });
    const patch = (body: object) => call("PATCH", `/v1/endpoints/${id}`, "annaManages", body);
    const headers = { range: "bytes=0-5" };
    for (const body of [{ headers }, { headers, config: { ...RABBIT, password: "***" } }])
      expect((await patch(body)).json.errors?.map(({ pointer }) => pointer)).toEqual(["/config/password"]);
    expect((await patch({ headers, config: RABBIT })).status).toBe(200);
  });

  test("without anything stored moves as before", async () => {
    const { id } = await create({ consumer_id: "anna" });
    expect((await call("PATCH", `/v1/endpoints/${id}`, "annaManages", { url: ELSEWHERE })).status).toBe(200);
  });
});

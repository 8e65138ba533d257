/** Endpoints as portal tokens see them (contract section 9). Who calls is a table: portal tokens are not minted here. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Caller } from "../../src/core/caller.ts";
import type { EndpointAnswer } from "../../src/http/endpoint-shape.ts";
import { allRoutes } from "../../src/http/routes.ts";
import { type Api, startApi } from "./log-kit.ts";
import { expectProblem, type Reply, startServer, TestParts, type TestServer } from "./kit.ts";

let api: Api;
let server: TestServer;

/** Parts over the real store, with the callers of the table. */
class StoreParts extends TestParts {
  override authenticate(token: string): Caller | null {
    return callers[token] ?? null;
  }

  override write<T>(run: () => T): Promise<T> {
    return api.data.store.write(run);
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

  test("that creates, makes endpoints of its own consumer, whose secret only `manage` shows", async () => {
    const made = await create({ event_types: ["a"] }, "annaCreates");
    expect(made).toMatchObject({ consumer_id: "anna" });
    expect(made).not.toHaveProperty("secret");
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

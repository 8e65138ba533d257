/** API keys over the whole service. */
import { describe, expect, test } from "bun:test";
import { LIMITS } from "../../../src/core/limits.ts";
import { startApp } from "../../kit/app.ts";
import { appForFile } from "../../kit/for-file.ts";
import { RunningClock } from "../../kit/running-clock.ts";
import { expectProblem, type Reply } from "../kit.ts";

const app = appForFile();

interface Created {
  id: string;
  key: string;
  prefix: string;
  [field: string]: unknown;
}

const create = (fields: Record<string, unknown> = {}) =>
  app.live.create<Created>("/v1/api-keys", { name: "A key", ...fields });
const list = async (client = app.live) =>
  (await client.get("/v1/api-keys?limit=250")).json["data"] as Omit<Created, "key">[];

function expectFault(reply: Reply, pointer: string): void {
  expectProblem(reply, 422, "invalid_request");
  expect(reply.json.errors?.map((fault) => fault.pointer)).toContain(pointer);
}

test("a project has a bounded number of keys, and room again once one is revoked", async () => {
  const bound: { value: number } = LIMITS.apiKeysPerProjectMax;
  const usual = bound.value;
  const { id } = await create();
  bound.value = (await list()).length;
  try {
    const refused = await app.live.post("/v1/api-keys", { name: "One more" });
    expectFault(refused, "");
    expect(refused.json.errors?.[0]?.detail).toBe(`A project has at most ${bound.value} API keys.`);
    expect((await app.test.post("/v1/api-keys", { name: "Of another project" })).status).toBe(201);
    expect((await app.live.delete(`/v1/api-keys/${id}`)).status).toBe(204);
    expect((await app.live.post("/v1/api-keys", { name: "There is room again" })).status).toBe(201);
  } finally {
    bound.value = usual;
  }
});

describe("creating", () => {
  test("answers the key once; lists show how it begins and when it was used", async () => {
    const { key, ...shown } = await create();
    expect(key).toMatch(/^sp_live_00[0-9A-Za-z]{49}$/);
    expect(shown).toMatchObject({ name: "A key", scopes: ["full"], expires_at: null, last_used_at: null });
    expect(key.startsWith(shown.prefix)).toBe(true);
    expect(shown.prefix.length).toBeLessThan(20);
    expect(await list()).toContainEqual(shown);
    expect((await app.live.get("/v1/api-keys?limit=250")).text).not.toContain(key.slice(20));
    await app.with(key).get("/v1/project");
    const used = (await list()).find(({ id }) => id === shown.id);
    expect(Date.parse(String(used?.["last_used_at"]))).toBeGreaterThan(0);
  });

  test("makes keys of the caller's own project", async () => {
    const made = await app.test.create<Created>("/v1/api-keys", { name: "test's" });
    expect(made.key).toStartWith("sp_test_");
    expect((await app.with(made.key).get("/v1/project")).json["mode"]).toBe("test");
    expect((await list()).map(({ id }) => id)).not.toContain(made.id);
  });

  test.each([
    ["no name", {}, "/name"],
    ["an empty name", { name: "" }, "/name"],
    ["a long name", { name: "x".repeat(201) }, "/name"],
    ["no scopes", { name: "x", scopes: [] }, "/scopes"],
    ["an unknown scope", { name: "x", scopes: ["write"] }, "/scopes/0"],
    ["a scope twice", { name: "x", scopes: ["read", "read"] }, "/scopes"],
    ["an expiry that is past", { name: "x", expires_at: "2020-01-01T00:00:00Z" }, "/expires_at"],
    ["an expiry that is no time", { name: "x", expires_at: "tomorrow" }, "/expires_at"],
    ["an unknown field", { name: "x", key: "sp_live_mine" }, "/key"],
  ])("%s is refused", async (_name, body, pointer) => {
    expectFault(await app.live.post("/v1/api-keys", body), pointer);
  });

  test("with an Idempotency-Key makes one key; the second answer lacks it", async () => {
    const header = { "idempotency-key": "one-key" };
    const first = await app.live.post("/v1/api-keys", { name: "once" }, header);
    const second = await app.live.post("/v1/api-keys", { name: "once" }, header);
    const { key, ...rest } = first.json;
    expect(key).toBeString();
    expect(second.json).toEqual(rest);
    expect((await list()).filter(({ name }) => name === "once")).toHaveLength(1);
  });
});

describe("scopes", () => {
  const asks: [string, string, unknown][] = [
    ["POST", "/v1/events", { type: "a.b", data: {} }],
    ["GET", "/v1/events", undefined],
    ["GET", "/v1/endpoints", undefined],
    ["GET", "/v1/project", undefined],
    ["GET", "/v1/api-keys", undefined],
    ["POST", "/v1/sources", { provider: "service", name: "x" }],
    ["POST", "/v1/api-keys", { name: "x" }],
    ["PATCH", "/v1/project", {}],
  ];

  test.each([
    ["full", [202, 200, 200, 200, 200, 201, 201, 200]],
    ["publish", [202, 403, 403, 403, 403, 403, 403, 403]],
    ["read", [403, 200, 200, 200, 200, 403, 403, 403]],
  ])("a key with %s may do what its scope says, and no more", async (scope, statuses) => {
    const client = app.with((await create({ scopes: [scope] })).key);
    const replies: Reply[] = [];
    for (const [method, path, json] of asks)
      replies.push(await client.send(method, path, json === undefined ? {} : { json }));
    expect(replies.map(({ status }) => status)).toEqual(statuses);
  });

  test("a key with read does not read secrets", async () => {
    const { id } = await app.live.create<{ id: string }>("/v1/endpoints", {
      url: "http://127.0.0.1:9/x",
      event_types: ["no"],
    });
    const client = app.with((await create({ scopes: ["read"] })).key);
    expect((await client.get(`/v1/endpoints/${id}`)).status).toBe(200);
    expectProblem(await client.get(`/v1/endpoints/${id}/secret`), 403, "forbidden");
  });
});

describe("the end of a key", () => {
  test("revoking holds from the next request on, and after a restart", async () => {
    await using other = await startApp();
    const made = await other.live.create<Created>("/v1/api-keys", { name: "gone" });
    expect((await other.with(made.key).get("/v1/project")).status).toBe(200);
    expect((await other.live.delete(`/v1/api-keys/${made.id}`)).status).toBe(204);
    expectProblem(await other.with(made.key).get("/v1/project"), 401, "unauthenticated");
    await other.stop();
    await other.start();
    expectProblem(await other.with(made.key).get("/v1/project"), 401, "unauthenticated");
    expectProblem(await other.live.delete(`/v1/api-keys/${made.id}`), 404, "not_found");
  });

  test("is one, however many ask for it at once: one 204, one entry of the audit log", async () => {
    const { id } = await create();
    const replies = await Promise.all(Array.from({ length: 8 }, () => app.live.delete(`/v1/api-keys/${id}`)));
    const statuses = replies.map(({ status }) => status).toSorted((one, other) => one - other);
    expect(statuses).toEqual([204, ...Array<number>(7).fill(404)]);
    const { data } = (await app.live.get(`/v1/audit?object_id=${id}&limit=250`)).json as {
      data?: { action: string }[];
    };
    expect(data?.map(({ action }) => action)).toEqual(["api_key.revoked", "api_key.created"]);
  });

  test("a key may revoke itself", async () => {
    const { id, key } = await create();
    expect((await app.with(key).delete(`/v1/api-keys/${id}`)).status).toBe(204);
    expectProblem(await app.with(key).get("/v1/project"), 401, "unauthenticated");
  });

  test("another project's key, and ids that are none, do not exist", async () => {
    const { id, key } = await create();
    for (const reply of [
      await app.test.delete(`/v1/api-keys/${id}`),
      await app.live.delete("/v1/api-keys/key_x"),
    ]) {
      expectProblem(reply, 404, "not_found");
    }
    expect((await app.with(key).get("/v1/project")).status).toBe(200);
  });

  test("it is answered 401 once its time is over", async () => {
    const clock = new RunningClock();
    await using own = await startApp({ clock });
    const expiresAt = clock.now() + 60_000;
    const { key } = await own.live.create<Created>("/v1/api-keys", {
      name: "A key",
      expires_at: new Date(expiresAt).toISOString(),
    });
    expect((await own.with(key).get("/v1/project")).status).toBe(200);
    clock.set(expiresAt);
    expectProblem(await own.with(key).get("/v1/project"), 401, "unauthenticated");
  });
});

test("lists are newest first and paged", async () => {
  const older = await create();
  const newer = await create();
  const first = await app.live.get("/v1/api-keys?limit=1");
  const second = await app.live.get(`/v1/api-keys?limit=1&cursor=${String(first.json["next_cursor"])}`);
  const ids = [first, second].map(({ json }) => (json["data"] as Created[]).map(({ id }) => id));
  expect(ids).toEqual([[newer.id], [older.id]]);
  expectFault(await app.live.get("/v1/api-keys?cursor=x"), "cursor");
});

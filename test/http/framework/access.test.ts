/** Whoever may not call any more has no effect, also where the request began before. */
import { describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { startApp, type TestApp } from "../../kit/app.ts";
import { type Page, type Reply, startApi } from "../log-kit.ts";
import { togetherAt } from "../together.ts";

/** A POST whose body comes when `finish` is called; it answers the status. */
async function beginPost(app: TestApp, path: string, token: string, json: unknown) {
  const { hostname, port } = new URL(app.url);
  const socket: Socket = connect(Number(port), hostname);
  await once(socket, "connect");
  const body = JSON.stringify(json);
  const head = [
    `POST ${path} HTTP/1.1`,
    `host: ${hostname}`,
    `authorization: Bearer ${token}`,
    "content-type: application/json",
    `content-length: ${body.length}`,
    "connection: close",
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n${body[0]}`);
  return async (): Promise<number> => {
    socket.write(body.slice(1));
    let text = "";
    for await (const chunk of socket) text += String(chunk);
    return Number(text.split(" ")[1]);
  };
}

test("a key that is revoked while its request's body comes makes no other key, and publishes nothing", async () => {
  await using app = await startApp();
  const key = await app.live.create("/v1/api-keys", { name: "leaked" });
  const heir = await beginPost(app, "/v1/api-keys", key["key"] ?? "", { name: "heir" });
  const event = await beginPost(app, "/v1/events", key["key"] ?? "", { type: "a.b", data: {} });
  expect((await app.live.delete(`/v1/api-keys/${key["id"]}`)).status).toBe(204);
  expect(await heir()).toBe(401);
  expect(await event()).toBe(401);
});

test("a key that ends while its request's body comes makes no other key, and publishes nothing", async () => {
  await using app = await startApp();
  const endsAt = Date.now() + 1500;
  const expires_at = new Date(endsAt).toISOString();
  const key = await app.live.create("/v1/api-keys", { name: "brief", expires_at });
  const heir = await beginPost(app, "/v1/api-keys", key["key"] ?? "", { name: "heir" });
  const event = await beginPost(app, "/v1/events", key["key"] ?? "", { type: "a.b", data: {} });
  await Bun.sleep(endsAt - Date.now() + 1);
  expect(await heir()).toBe(401);
  expect(await event()).toBe(401);
});

test("a key may revoke itself, once", async () => {
  await using app = await startApp();
  const key = await app.live.create("/v1/api-keys", { name: "own" });
  const own = app.with(key["key"] ?? "");
  expect((await own.delete(`/v1/api-keys/${key["id"]}`)).status).toBe(204);
  expect((await own.delete(`/v1/api-keys/${key["id"]}`)).status).toBe(401);
});

test("a link that is revoked while its endpoint is tried makes none", async () => {
  await using app = await startApp();
  let answer = (): void => {};
  const isAsked = Promise.withResolvers<void>();
  await using receiver = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => {
      isAsked.resolve();
      return new Promise<Response>((resolve) => (answer = () => resolve(new Response())));
    },
  });
  const link = await app.live.create("/v1/portal-links", { consumer_id: "acme", create: true });
  const portal = app.with(new URL(link["url"] ?? "").hash.slice(1));
  const creating = portal.post("/v1/endpoints?verify=true", { url: receiver.url.href });
  await isAsked.promise;
  expect((await app.live.delete(`/v1/portal-links/${link["id"]}`)).status).toBe(204);
  answer();
  expect((await creating).status).toBe(401);
  expect((await app.live.get("/v1/endpoints")).json["data"]).toEqual([]);
});

describe("a change that shares its transaction with the end of its caller's access, and comes behind it", () => {
  const begin = async () => {
    const api = await startApi();
    api.accessChanges = () => api.data.tenants.accessChanges;
    const { json } = await api.call("POST", "/v1/api-keys", { name: "k" });
    const names = async () =>
      (await api.get<Page<{ name: string }>>("/v1/event-types")).data.map(({ name }) => name);
    const together = togetherAt(api);
    const end = () => api[Symbol.asyncDispose]();
    return {
      api,
      id: String(json["id"]),
      key: String(json["key"]),
      names,
      together,
      [Symbol.asyncDispose]: end,
    };
  };

  test("is refused where the key was revoked", async () => {
    await using begun = await begin();
    const { api, id, key, names, together } = begun;
    const create = (name: string) => () => api.call("POST", "/v1/event-types", { name }, key);
    const replies = await together<Reply[]>(
      create("before"),
      () => api.call("DELETE", `/v1/api-keys/${id}`),
      create("one"),
      create("two"),
    );
    expect(replies.map(({ status }) => status)).toEqual([201, 204, 401, 401]);
    expect(await names()).toEqual(["before"]);
    const { data: log } = await api.get<Page<{ action: string }>>("/v1/audit");
    expect(log[0]?.action).toBe("api_key.revoked");
  });

  test("is refused where the key was revoked before, also as it is written once more by itself", async () => {
    await using begun = await begin();
    const { api, key, names, together } = begun;
    const { tenants, store } = api.data;
    const create = (name: string, token?: string) => () =>
      api.call("POST", "/v1/event-types", { name }, token);
    const revoke = () => {
      const keys = tenants.keysOf(api.callers.get("full")?.projectId ?? 0).below();
      const revoked = keys.find(({ name }) => name === "k");
      if (revoked === undefined) throw new Error("there is no such key");
      store.sqlite.run("DELETE FROM api_key WHERE id = ?", [revoked.id]);
      tenants.forgetKey(revoked);
      return create("behind")();
    };
    const replies = await together<Reply[]>(create("before"), create("refused", key), revoke);
    expect(replies.map(({ status }) => status)).toEqual([201, 401, 201]);
    expect((await names()).toSorted()).toEqual(["before", "behind"]);
  });

  test("is refused where the account was suspended", async () => {
    await using begun = await begin();
    const { api, key, names, together } = begun;
    const { tenants, store } = api.data;
    const accountId = api.callers.get("full")?.accountId ?? 0;
    const suspend = () =>
      store
        .write(() => tenants.updateAccount(accountId, () => ({ suspended: true })))
        .then(({ made }) => tenants.rememberAccount(made));
    const link = await store.write(() =>
      api.data.portalLinks.insert({
        projectId: api.callers.get("full")?.projectId ?? 0,
        consumerId: "ada",
        manage: true,
        create: true,
        expiresAt: Number.MAX_SAFE_INTEGER,
      }),
    );
    const [, byKey, byLink] = await together<[void, Reply, Reply]>(
      suspend,
      () => api.call("POST", "/v1/event-types", { name: "one" }, key),
      () => api.call("POST", "/v1/endpoints", { kind: "poll", config: {} }, link.token),
    );
    expect([byKey.status, byLink.status]).toEqual([401, 401]);
    expect(byKey.json.detail).toContain("suspended");
    expect([await names(), (await api.get<Page<object>>("/v1/endpoints")).data]).toEqual([[], []]);
  });

  test("passes where the end of the access was rolled back", async () => {
    await using begun = await begin();
    const { api, key, names, together } = begun;
    const { tenants, store } = api.data;
    const rows = [...tenants.keysOf(api.callers.get("full")?.projectId ?? 0).below()];
    const revoke = () =>
      store.write(() => {
        for (const row of rows) tenants.deleteKey(row);
        throw new Error("rolled back");
      });
    const [refused, created] = await together<[unknown, Reply]>(
      () => revoke().catch(String),
      () => api.call("POST", "/v1/event-types", { name: "one" }, key),
    );
    expect([refused, created.status, await names()]).toEqual(["Error: rolled back", 201, ["one"]]);
  });
});

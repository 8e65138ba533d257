/** The audit log: every change is in it, written with the change, and nothing secret is. */
import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { limit, LIMITS } from "../../../src/core/limits.ts";
import {
  api,
  call,
  CHANGES,
  closeAudit,
  endpoint,
  entries,
  type Entry,
  loseWrites,
  made,
  of,
  openAudit,
  OPERATOR_ACTIONS,
  routes,
  rules,
  server,
} from "./audit-kit.ts";
import { expectProblem } from "../kit.ts";

beforeAll(openAudit);
afterAll(closeAudit);

describe("the table of routes", () => {
  test("says of everything but reading, publishing and ingest how it is audited, or why not", () => {
    const open = routes.filter(
      ({ method, access }) => method !== "GET" && !["none", "publish"].includes(access),
    );
    expect(open.length).toBeGreaterThan(20);
    expect(open.filter(({ audit }) => audit === undefined).map(({ operationId }) => operationId)).toEqual([]);
    const reasons = routes.flatMap(({ audit }) => (typeof audit === "string" ? [audit] : []));
    for (const reason of reasons) expect(reason).toMatch(/^[A-Z].*\.$/);
  });

  test("has an action for each, named after its object, and every one is made below", () => {
    for (const { action, object } of rules()) expect(action).toMatch(new RegExp(`^${object}\\.[a-z_]+$`));
    expect(Object.keys(CHANGES).toSorted()).toEqual(
      [...new Set(rules().map(({ action }) => action))].toSorted(),
    );
  });
});

describe("a change", () => {
  test.each(Object.entries(CHANGES))("%s is told once, with who and what", async (action, change) => {
    const id = String(await change());
    const token = action === "account.created" ? "globex" : "full";
    const [entry, ...others] = (await of(id, token)).filter((one) => one.action === action);
    expect(others).toEqual([]);
    const asWritten = id.replace(/(?<=^[a-z]+_)[0-9A-Z]{26}$/, (tail) => tail.toLowerCase());
    expect(await of(asWritten, token)).toEqual(await of(id, token));
    const rule = rules().find((one) => one.action === action);
    expect(entry).toEqual({
      id: expect.stringMatching(/^aud_[0-9A-HJKMNP-TV-Z]{26}$/),
      at: expect.stringMatching(/^20..-..-..T..:..:..\....Z$/),
      actor: OPERATOR_ACTIONS.has(action)
        ? { kind: "operator", id: null }
        : { kind: "api_key", id: api.services.ids.encode("key", 1) },
      action,
      object: { kind: String(rule?.object), id },
      changes: expect.any(Object),
    });
  });

  test("shows what was and what is, of what changed only", async () => {
    const { id } = await endpoint({ description: "old", max_concurrency: 5 });
    await made("PATCH", `/v1/endpoints/${String(id)}`, {
      description: "new",
      max_concurrency: 5,
      metadata: { a: 1 },
    });
    await made("DELETE", `/v1/endpoints/${String(id).toLowerCase().replace("ep_", "ep_")}`);
    const [deleted, changed, created] = await of(id);
    expect(created?.changes).toEqual({
      url: { from: null, to: api.receiver.url("audit") },
      description: { from: null, to: "old" },
      max_concurrency: { from: null, to: 5 },
    });
    expect(changed?.changes).toEqual({
      description: { from: "old", to: "new" },
      metadata: { from: {}, to: { a: 1 } },
    });
    expect(deleted?.changes).toMatchObject({
      description: { from: "new", to: null },
      kind: { from: "http", to: null },
    });
  });

  test("keeps no secret and no credential, although it says that they were set", async () => {
    const secret = `whsec_${Buffer.alloc(24, 7).toString("base64")}`;
    const { id } = await endpoint({
      secret,
      headers: { authorization: "Bearer sesame", "x-tenant": "acme" },
    });
    await made("PATCH", `/v1/endpoints/${String(id)}`, { headers: { authorization: "Bearer simsalabim" } });
    await made("POST", `/v1/endpoints/${String(id)}/rotate-secret`);
    await made("GET", `/v1/endpoints/${String(id)}/secret`);
    const { id: sourceId } = await made("POST", "/v1/sources", {
      provider: "stripe",
      name: "s",
      signing_secret: "whsec_sesame",
    });
    await made("PATCH", `/v1/sources/${String(sourceId)}`, { signing_secret: "whsec_simsalabim" });
    await made("POST", `/v1/sources/${String(sourceId)}/rotate-secret`, {
      signing_secret: "whsec_abrakadabra",
    });
    const [, rotated, changed, created] = await of(id);
    expect(created?.changes).toMatchObject({
      secret: { from: null, to: "***" },
      headers: { to: { authorization: "***", "x-tenant": "acme" } },
    });
    expect(changed?.changes["headers"]).toBeDefined();
    expect(Object.keys(rotated?.changes ?? {})).toEqual([]);
    const [, changedSource] = await of(sourceId);
    expect(changedSource?.changes).toEqual({ signing_secret: { from: "***", to: "***" } });
    const everything = JSON.stringify(await entries());
    expect(everything).not.toMatch(/sesame|simsalabim|abrakadabra|whsec_|sp_live_|sp_test_/);
  });

  test("of a bulk replay says what was asked for", async () => {
    const { id } = await made("POST", "/v1/replays", { status: ["dead"], event_types: ["a.*"] });
    expect((await of(id))[0]?.changes).toEqual({
      status: { from: null, to: ["dead"] },
      event_types: { from: null, to: ["a.*"] },
    });
  });

  test("of many values keeps the smallest, as many as an entry holds", async () => {
    const settings = (mark: string) => ({
      url: api.receiver.url(mark + "u".repeat(1900)),
      description: mark + "d".repeat(900),
      filter: { "data.x": Array.from({ length: 55 }, (_, nth) => `${mark}${"v".repeat(50)}${nth}`) },
      event_types: Array.from({ length: 30 }, (_, nth) => `${mark}${"x".repeat(90)}${nth}`),
    });
    const { id } = await endpoint(settings("a"));
    await made("PATCH", `/v1/endpoints/${String(id)}`, settings("b"));
    const [changed] = await of(id);
    const cut = { from: "…", to: "…" };
    expect(changed?.changes).toEqual({
      url: { from: settings("a").url, to: "…" },
      description: { from: settings("a").description, to: settings("b").description },
      config: cut,
      filter: cut,
      event_types: cut,
    });
  });

  test("of a large value says that it changed, and not how", async () => {
    const small = { a: "x".repeat(limit("auditEntryBytesMax") - '{"a":""}{}'.length) };
    const { id } = await endpoint();
    for (const metadata of [small, { a: `${small.a}é` }, { a: "y" }])
      await made("PATCH", `/v1/endpoints/${String(id)}`, { metadata });
    const [again, changed, set] = await of(id);
    expect(set?.changes).toEqual({ metadata: { from: {}, to: small } });
    expect(changed?.changes).toEqual({ metadata: { from: small, to: "…" } });
    expect(again?.changes).toEqual({ metadata: { from: "…", to: { a: "y" } } });
  });

  test("that is refused, or changes nothing, is not told", async () => {
    const { id } = await endpoint();
    const before = (await entries()).length;
    expectProblem(
      await call("PATCH", `/v1/endpoints/${String(id)}`, { max_concurrency: 0 }),
      422,
      "invalid_request",
    );
    expectProblem(await call("DELETE", "/v1/endpoints/ep_x"), 404, "not_found");
    expectProblem(await call("POST", "/v1/api-keys", { name: "x" }, "read"), 403, "forbidden");
    await made("POST", `/v1/endpoints/${String(id)}/resume`);
    await made("POST", "/v1/replays", { dry_run: true });
    await made("POST", "/v1/events", { type: "quiet.event", data: {} });
    await made("POST", "/v1/endpoints/preview", { event: { type: "a", data: {} } });
    expect((await entries()).length).toBe(before);
  });

  test("and its entry are on disk together or not at all", async () => {
    const before = (await entries()).length;
    loseWrites(true);
    const replies = [
      await call("POST", "/v1/endpoints", { url: api.receiver.url("audit") }),
      await call("POST", "/v1/api-keys", { name: "lost" }),
    ];
    loseWrites(false);
    for (const reply of replies) expectProblem(reply, 500, "internal");
    expect((await entries()).length).toBe(before);
  });

  test("that is sent again with its Idempotency-Key is told once", async () => {
    const headers = { "idempotency-key": "audit-once" };
    const body = { name: "once" };
    const first = await server.send("POST", "/v1/api-keys", { token: "full", json: body, headers });
    const again = await server.send("POST", "/v1/api-keys", { token: "full", json: body, headers });
    expect([first.status, again.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
    expect(await of(first.json["id"])).toHaveLength(1);
  });

  test("by a portal token names the link", async () => {
    const { id } = await endpoint({}, "annaOwns");
    const [entry] = await of(id);
    expect(entry?.actor).toEqual({ kind: "portal", id: api.services.ids.encode("plk", 77) });
    expect((await entries(`&actor_id=${entry?.actor.id}`)).map((one) => one.object.id)).toEqual([String(id)]);
    expect((await entries("&actor_kind=portal")).map((one) => one.object.id)).toEqual([String(id)]);
  });
});

describe("the list", () => {
  test("is filtered by action, object and time, and paged newest first", async () => {
    const all = await entries();
    expect(all.length).toBeGreaterThan(30);
    const times = all.map(({ at }) => at);
    expect(times).toEqual(times.toSorted().reverse());
    const actions = async (query: string) =>
      [...new Set((await entries(query)).map(({ action }) => action))].toSorted();
    expect(await actions("&action=source.paused")).toEqual(["source.paused"]);
    expect(await actions("&action=api_key.*")).toEqual(["api_key.created", "api_key.revoked"]);
    expect(await actions("&object_kind=project")).toEqual(["project.created", "project.updated"]);
    const middle = all[10];
    const older = await entries(`&until=${middle?.at}`);
    const newer = await entries(`&since=${middle?.at}`);
    expect(older.length + newer.length).toBe(all.length);
    expect(newer.map(({ id }) => id)).toContain(String(middle?.id));
    const paged: Entry[] = [];
    for (let cursor = ""; ; ) {
      const { data, next_cursor: next } = await made("GET", `/v1/audit?limit=7${cursor}`);
      paged.push(...(data as Entry[]));
      if (typeof next !== "string") break;
      cursor = `&cursor=${next}`;
    }
    expect(paged).toEqual(all);
  });

  test("reads and shows only as many large entries as a page may weigh, and goes on behind them", async () => {
    const { sqlite } = api.data.store;
    const scope = api.callers.get("other")?.projectId ?? 0;
    const changes = JSON.stringify({ x: { from: null, to: "x".repeat(200_000) } });
    const insert = () =>
      api.data.audit.add({
        scope,
        actor: { kind: "operator", id: null },
        action: "project.updated",
        object: { kind: "project", id: "large" },
        changes: {},
        consumerId: null,
      });
    for (let nth = 0; nth < 20; nth++) await api.data.store.write(insert);
    await api.data.store.write(() =>
      sqlite.run("UPDATE audit SET changes = ? WHERE object_id = 'large'", [changes]),
    );
    const read = spyOn(api.data.audit, "changesOf");
    const sizes: number[] = [];
    for (let cursor = ""; ; ) {
      const page = await made("GET", `/v1/audit?object_id=large&limit=250${cursor}`, undefined, "other");
      sizes.push((page["data"] as Entry[]).length);
      if (typeof page["next_cursor"] !== "string") break;
      cursor = `&cursor=${page["next_cursor"]}`;
    }
    expect(sizes).toEqual([6, 6, 6, 2]);
    expect(read.mock.calls.length).toBe(20);
    read.mockRestore();
    await api.data.store.write(() => sqlite.run("DELETE FROM audit WHERE object_id = 'large'"));
  });

  test("of another project shows nothing of it, by no filter", async () => {
    const { id } = await endpoint();
    expect(await entries("&actor_kind=api_key", "other")).toEqual([]);
    expect(await entries(`&object_id=${String(id)}`, "other")).toEqual([]);
    await made("PATCH", "/v1/project", { name: "theirs" }, "other");
    expect((await entries("&actor_kind=api_key", "other")).map(({ action }) => action)).toEqual([
      "project.updated",
    ]);
  });

  test("of an object whose name another project has too reads none of its entries", async () => {
    const { scope } = api.data.store.sqlite
      .query<{ scope: number }, []>("SELECT scope FROM audit WHERE action LIKE 'endpoint.%' LIMIT 1")
      .get() ?? { scope: 0 };
    const insert = () =>
      api.data.audit.add({
        scope,
        actor: { kind: "operator", id: null },
        action: "event_type.updated",
        object: { kind: "event_type", id: "both.have" },
        changes: {},
        consumerId: null,
      });
    await api.data.store.write(() => Array.from({ length: 500 }, insert));
    const { value } = LIMITS.listScanMax;
    (LIMITS.listScanMax as { value: number }).value = 250;
    try {
      expect(await made("GET", "/v1/audit?object_id=both.have", undefined, "other")).toEqual({
        data: [],
        next_cursor: null,
      });
    } finally {
      (LIMITS.listScanMax as { value: number }).value = value;
    }
    expect(await entries("&object_id=both.have")).not.toEqual([]);
    await api.data.store.write(() =>
      api.data.store.sqlite.run("DELETE FROM audit WHERE object_id = 'both.have'"),
    );
  });

  test("holds what the operator changed of the account, in each of its projects", async () => {
    for (const token of ["full", "other"]) {
      const [entry] = await entries("&action=account.updated", token);
      expect(entry?.changes).toEqual({ plan: { from: "unlimited", to: "pro" } });
    }
  });

  test("is for keys that may read, not for portal tokens", async () => {
    expect((await call("GET", "/v1/audit", undefined, "read")).status).toBe(200);
    for (const token of ["publish", "anna", "annaOwns"])
      expectProblem(await call("GET", "/v1/audit", undefined, token), 403, "forbidden");
  });

  test.each([
    ["action=Endpoint", "action"],
    ["action=*", "action"],
    ["actor_id=ep_1", "actor_id"],
    ["actor_kind=robot", "actor_kind"],
    ["object_kind=thing", "object_kind"],
    ["since=yesterday", "since"],
    ["cursor=x", "cursor"],
    ["who=me", "who"],
  ])("refuses %s", async (query, pointer) => {
    const reply = await call("GET", `/v1/audit?${query}`);
    expectProblem(reply, 422, "invalid_request");
    expect(reply.json.errors?.map((fault) => fault.pointer)).toEqual([pointer]);
  });

  test("loses what is past its time, and nothing else", async () => {
    const before = await entries();
    expect(await api.data.audit.expire()).toBe(0);
    const old = api.data.store.sqlite;
    await api.data.store.write(() =>
      old.run(
        "INSERT INTO audit SELECT 5, scope, actor_kind, actor_id, action, object_kind, object_id, changes, NULL FROM audit LIMIT 1",
      ),
    );
    expect(await api.data.audit.expire()).toBe(1);
    expect(await entries()).toEqual(before);
  });
});

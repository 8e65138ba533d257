/** What polling leaves in the log, and who may poll. */
import { describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { startApp } from "../../kit/app.ts";
import { appForFile } from "../../kit/for-file.ts";
import { createTenant, operatorOf, startOperated } from "../../kit/operator.ts";
import { expectFault } from "./kit.ts";
import { expectProblem } from "../kit.ts";
import { startApi } from "../log-kit.ts";
import { numbersOf, openOutlet } from "./poll-kit.ts";

const app = appForFile();

const outlet = (fields?: object) => openOutlet(app, fields);

/** Metered deliveries, as they stand on disk. */
function usage(): number {
  using database = new Database(join(app.dataDir, "sealpost.db"), { readonly: true });
  const sql = "SELECT coalesce(sum(deliveries), 0) AS sum FROM usage";
  return database.query<{ sum: number }, []>(sql).get()?.sum ?? 0;
}

describe("the log", () => {
  test("shows the first hand-out as attempt 1, metered once, and delivered with the acknowledgement", async () => {
    const it = await outlet();
    const before = usage();
    await it.publish(1);
    const [fresh] = await it.deliveries();
    expect(fresh).toMatchObject({ status: "pending", attempt_count: 0, next_attempt_at: null });
    expect(usage()).toBe(before);
    const page = await it.page();
    const again = await it.page();
    expect(usage()).toBe(before + 1);
    const id = String(fresh?.id);
    expect(page.data[0]?.headers["webhook-id"]).toBe(id);
    expect(again.data[0]?.headers["webhook-id"]).toBe(id);
    const [attempt, ...others] = await it.attempts(id);
    expect(others).toEqual([]);
    expect(attempt).toMatchObject({
      number: 1,
      trigger: "publish",
      outcome: "handed_out",
      status_code: null,
      error_code: null,
      url: `/poll/${it.id}`,
      request_body: page.data[0]?.body,
      response_body: null,
      next_attempt_at: null,
    });
    expect(attempt?.["request_headers"]).toEqual(page.data[0]?.headers ?? {});
    await it.page(`?cursor=${page.next_cursor}`);
    expect((await it.attempts(id)).map(({ number, outcome }) => [number, outcome])).toEqual([
      [1, "delivered"],
    ]);
    expect((await it.deliveries())[0]).toMatchObject({ status: "delivered", attempt_count: 1 });
    expect(usage()).toBe(before + 1);
    const { json } = await app.live.get(`/v1/events/${fresh?.event_id}/timeline`);
    const entries = json["data"] as { kind: string; outcome?: string }[];
    expect(entries.map(({ kind }) => kind)).toEqual(["accepted", "matched", "attempt", "delivered"]);
    expect(entries[2]?.outcome).toBe("delivered");
    const stats = (await app.live.get(`/v1/endpoints/${it.id}/stats`)).json["data"];
    expect(stats).toMatchObject([{ delivered: 1, failed: 0, dead: 0 }]);
  });

  test("shows a hand-out that is not acknowledged, and no end of it", async () => {
    const it = await outlet();
    await it.publish(1);
    await it.page();
    const [delivery] = await it.deliveries();
    const { json } = await app.live.get(`/v1/events/${delivery?.event_id}/timeline`);
    const entries = json["data"] as { kind: string; outcome?: string }[];
    expect(entries.map(({ kind, outcome }) => outcome ?? kind)).toEqual([
      "accepted",
      "matched",
      "handed_out",
    ]);
  });

  test("a replayed delivery is handed out again, behind all others, as its next attempt", async () => {
    const it = await outlet();
    await it.publish(1, 2);
    const page = await it.page("?limit=1");
    const before = usage();
    const [, first] = await it.deliveries();
    expect((await app.live.post(`/v1/events/${first?.event_id}/replay`)).status).toBe(202);
    // It was handed out before it was replayed: that cursor does not acknowledge what is handed out afresh.
    expect(numbersOf(await it.page(`?cursor=${page.next_cursor}`))).toEqual([2, 1]);
    expect(usage()).toBe(before + 2);
    expect((await it.attempts(String(first?.id))).map(({ number, trigger }) => [number, trigger])).toEqual([
      [2, "replay"],
      [1, "publish"],
    ]);
    const last = await it.page();
    await it.page(`?cursor=${last.next_cursor}`);
    expect((await it.deliveries()).map(({ status }) => status)).toEqual(["delivered", "delivered"]);
    const bulk = await app.live.post("/v1/replays", { endpoint_id: it.id, status: ["delivered"] });
    expect(bulk.status).toBe(202);
    await app.until(async () => (await it.page()).data.length === 2);
  });

  test("a cancelled delivery is not handed out; nothing can be pushed to a poller", async () => {
    const it = await outlet();
    await it.publish(1, 2);
    const [second, first] = await it.deliveries();
    expect((await app.live.post(`/v1/deliveries/${first?.id}/cancel`)).status).toBe(200);
    expect(numbersOf(await it.page())).toEqual([2]);
    expectProblem(await app.live.post(`/v1/deliveries/${second?.id}/retry`), 409, "conflict");
  });

  test("a test event waits to be fetched, and is not metered", async () => {
    const it = await outlet();
    const before = usage();
    const reply = await app.live.post(`/v1/endpoints/${it.id}/test`, {});
    expect(reply.status).toBe(202);
    expect(reply.json as unknown).toMatchObject({ endpoint_id: it.id, status: "pending", attempt_count: 0 });
    const page = await it.page();
    expect(page.data[0]?.headers["webhook-id"]).toBe(String(reply.json["id"]));
    expect((await it.attempts(String(reply.json["id"])))[0]).toMatchObject({ trigger: "test" });
    expect(usage()).toBe(before);
  });

  test("what waits at an endpoint that is deleted is cancelled", async () => {
    const it = await outlet();
    await it.publish(1, 2);
    await it.page("?limit=1");
    expect((await app.live.delete(`/v1/endpoints/${it.id}`)).status).toBe(204);
    const isEnded = async () => (await it.deliveries()).every(({ status }) => status === "cancelled");
    await app.until(isEnded);
    expectProblem(await it.ask(), 401, "unauthenticated");
  });
});

describe("the door", () => {
  test("takes both secrets while they overlap, and signs with both", async () => {
    const it = await outlet();
    await it.publish(1);
    const { json } = await app.live.post(`/v1/endpoints/${it.id}/rotate-secret`, {});
    const secret = String(json["secret"]);
    for (const opener of [it.secret, secret]) {
      const [message] = (await it.page("", opener)).data;
      for (const verifier of [it.secret, secret]) {
        new Webhook(verifier).verify(message?.body ?? "", message?.headers ?? {});
      }
    }
    await app.live.post(`/v1/endpoints/${it.id}/rotate-secret`, { expiry_hours: 0 });
    expectProblem(await it.ask("", secret), 401, "unauthenticated");
  });

  test("answers a wrong secret, an unknown endpoint and a foreign one alike", async () => {
    const [it, other] = [await outlet(), await outlet()];
    const unknown = it.id.slice(0, -3) + (it.id.endsWith("AAA") ? "BBB" : "AAA");
    const replies = [
      await it.ask("", other.secret),
      await it.ask("", app.keys.live),
      await app.with(it.secret).get(`/poll/${unknown}`),
      await app.with(it.secret).get("/poll/nonsense"),
      await app.with(it.secret).get("/poll/%ff"),
      await it.ask("?cursor=abc", "whsec_x"),
    ];
    const texts = replies.map((reply) => {
      expectProblem(reply, 401, "unauthenticated");
      return JSON.stringify({ ...reply.json, request_id: null });
    });
    expect(new Set(texts).size).toBe(1);
    const keyless = await app.with(null).get(`/poll/${it.id}`);
    expectProblem(keyless, 401, "unauthenticated");
    expect(keyless.json.detail).toContain("the endpoint's secret");
  });

  test("tells the owner of an endpoint that is pushed to", async () => {
    const made = await app.live.create("/v1/endpoints", { url: "http://127.0.0.1:9/" });
    const reply = await app.with(String(made["secret"])).get(`/poll/${made["id"]}`);
    expectProblem(reply, 409, "conflict");
  });

  test.each(["limit=0", "limit=101", "wait=31", "wait=-1", "since=1"])("refuses ?%s", async (query) => {
    const it = await outlet();
    expectFault(await it.ask(`?${query}`), query.split("=")[0] ?? "");
  });

  test("takes GET only", async () => {
    const it = await outlet();
    for (const method of ["HEAD", "POST", "PUT", "DELETE", "OPTIONS"]) {
      const reply = await app.with(it.secret).send(method, `/poll/${it.id}`);
      expect([method, reply.status, reply.headers.get("allow")]).toEqual([method, 405, "GET"]);
    }
  });

  test("holds a poller to the rate of a key, and says so", async () => {
    await using own = await startApp({ env: { SEALPOST_MANAGEMENT_RATE_LIMIT: "3" } });
    const made = await own.live.create("/v1/endpoints", { kind: "poll", config: {} });
    const poll = () => own.with(String(made["secret"])).get(`/poll/${made["id"]}`);
    const replies = await Promise.all(Array.from({ length: 8 }, poll));
    const refused = replies.find(({ status }) => status === 429);
    if (refused === undefined) throw new Error("none was refused");
    expectProblem(refused, 429, "rate_limited");
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(replies[0]?.headers.get("ratelimit-policy")).toBe('"poll";q=3;w=1');
  });

  test("lets at most a hundred of one endpoint wait", async () => {
    const it = await outlet();
    const polls = Array.from({ length: 101 }, () => it.ask("?wait=30"));
    const refused = await Promise.race(polls);
    expectProblem(refused, 429, "rate_limited");
    await it.publish(1);
    const statuses = (await Promise.all(polls)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(100);
  });
});

describe("the endpoint", () => {
  test("has no url and no fields, and stays of its kind", async () => {
    const it = await outlet();
    const { json } = await app.live.get(`/v1/endpoints/${it.id}`);
    expect(json as unknown).toMatchObject({ kind: "poll", config: {}, url: null, failing_since: null });
    const pushed = await app.live.patch(`/v1/endpoints/${it.id}`, {
      kind: "http",
      url: "http://127.0.0.1:9/",
    });
    expectFault(pushed, "/kind");
    const made = await app.live.create("/v1/endpoints", { url: "http://127.0.0.1:9/" });
    expectFault(await app.live.patch(`/v1/endpoints/${made["id"]}`, { kind: "poll", config: {} }), "/kind");
    expectFault(await app.live.post("/v1/endpoints", { kind: "poll", config: { url: "x" } }), "/config/url");
  });

  test("needs no trial", async () => {
    const reply = await app.live.post("/v1/endpoints?verify=true", { kind: "poll", config: {} });
    expect(reply.status).toBe(201);
  });
});

describe("an endpoint that may not deliver", () => {
  test("of a suspended account hands out nothing until the account is open again", async () => {
    await using own = await startOperated();
    const { id, live } = await createTenant(own);
    const made = await live.create("/v1/endpoints", { kind: "poll", config: {} });
    const poll = (query = "") => own.with(String(made["secret"])).get(`/poll/${made["id"]}${query}`);
    await live.post("/v1/events", { type: "a", data: { n: 1 } });
    await operatorOf(own).patch(`/v1/operator/accounts/${id}`, { suspended: true });
    expect((await poll()).json as unknown).toMatchObject({ data: [], done: true });
    const held = poll("?wait=30");
    await operatorOf(own).patch(`/v1/operator/accounts/${id}`, { suspended: false });
    expect((await held).json["data"]).toHaveLength(1);
  });

  test("that is disabled is answered 409; what it had is dead, and replayable once it is enabled", async () => {
    await using api = await startApi();
    const made = await api.call("POST", "/v1/endpoints", { kind: "poll", config: {}, event_types: ["a"] });
    const id = String(made.json["id"]);
    const poll = () =>
      api.call("GET", `/poll/${id}`, undefined, "", {
        authorization: `Bearer ${String(made.json["secret"])}`,
      });
    await api.call("POST", "/v1/events", { type: "a", data: { n: 1 } });
    expect((await poll()).json["data"]).toHaveLength(1);
    const key = api.data.ids.decode("ep", id) ?? 0;
    // Nothing of today's disables such an endpoint; a row may say so all the same.
    await api.data.endpoints.change(key, () => ({ status: "disabled" }));
    expectProblem(await poll(), 409, "conflict");
    const list = async (status: string) =>
      (await api.call("GET", `/v1/deliveries?status=${status}`)).json["data"] as { event_id: string }[];
    const [dead] = await api.until(async () => {
      const found = await list("dead");
      return found.length > 0 && found;
    });
    await api.call("POST", `/v1/endpoints/${id}/enable`);
    expect((await poll()).json["data"]).toEqual([]);
    await api.call("POST", `/v1/events/${dead?.event_id}/replay`, {});
    expect((await poll()).json["data"]).toHaveLength(1);
  });

  test("because its row makes no sense leaves its deliveries dead, and holds up nobody else", async () => {
    await using api = await startApi();
    const made = await api.call("POST", "/v1/endpoints", { kind: "poll", config: {} });
    await api.publish("a");
    const key = api.data.ids.decode("ep", String(made.json["id"])) ?? 0;
    await api.data.endpoints.change(key, () => ({ secret: "none" }));
    const headers = { authorization: "Bearer none" };
    const { json } = await api.call("GET", `/poll/${String(made.json["id"])}`, undefined, "", headers);
    expect(json as unknown).toMatchObject({ data: [], done: true });
    const list = await api.call("GET", "/v1/deliveries");
    expect(list.json["data"]).toMatchObject([{ status: "dead", dead_reason: "malformed", attempt_count: 1 }]);
  });
});

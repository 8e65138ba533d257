/** Erasing an event or a consumer, for privacy requests: all of it goes, for good, and nothing else does. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { atOnce } from "../../src/core/structures/turn-queue.ts";
import { limit } from "../../src/core/limits.ts";
import type { Endpoint } from "../../src/core/model.ts";
import { type Api, type EventRow, expectRefusal, type Page, startApi } from "../http/log-kit.ts";
import { jobControlOf } from "../kit/job-control.ts";
import { hang } from "../kit/receiver.ts";

let api: Api;

beforeEach(async () => {
  api = await startApi();
});

afterEach(() => api[Symbol.asyncDispose]());

interface Erased {
  id: string;
  status: string;
  events: number;
  deliveries: number;
  consumer_id: string;
  completed_at: string | null;
}

async function made(method: string, path: string, json?: unknown): Promise<Record<string, unknown>> {
  const reply = await api.call(method, path, json ?? {});
  expect([path, Math.floor(reply.status / 100), reply.json.errors]).toEqual([path, 2, undefined]);
  return reply.json;
}

async function erase(consumer: string): Promise<Erased> {
  const { id } = await made("DELETE", `/v1/consumers/${encodeURIComponent(consumer)}`);
  expect(api.data.erasures.countRunning()).toBe(1);
  await api.services.eraser.run(jobControlOf());
  expect(api.data.erasures.countRunning()).toBe(0);
  return api.get<Erased>(`/v1/erasures/${String(id)}`);
}

const endpoint = (fields: Partial<Endpoint> = {}, path = "erased") =>
  api.endpoint({ url: api.receiver.url(path), ...fields });

async function listed(query: string): Promise<string[]> {
  return (await api.get<Page<EventRow>>(`/v1/events?limit=250${query}`)).data.map(({ id }) => id);
}

/** Every row of every table that holds this text. */
function traces(text: string): string[] {
  const { sqlite } = api.data.store;
  const tables = sqlite
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .all();
  return tables.flatMap(({ name }) => {
    const rows = sqlite.query<Record<string, unknown>, []>(`SELECT * FROM "${name}"`).all();
    const holds = (value: unknown) =>
      (value instanceof Uint8Array ? Buffer.from(value).toString("latin1") : String(value)).includes(text);
    return rows.filter((row) => Object.values(row).some(holds)).map(() => name);
  });
}

function count(table: string): number {
  return api.data.store.sqlite.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${table}`).get()?.n ?? -1;
}

describe("DELETE /v1/events/:id", () => {
  test("takes the event with all that hangs on it at once, and frees its external_id", async () => {
    await endpoint();
    const { id } = await api.publish("a.b", {
      external_id: "x-1",
      data: { name: "Ada" },
      consumer_id: "ada",
    });
    const other = await api.publish("a.b");
    const [delivery] = await api.settled(id);
    await api.settled(other.id);
    expect((await api.call("DELETE", `/v1/events/${id.toLowerCase()}`)).status).toBe(204);
    for (const path of [
      `/v1/events/${id}`,
      `/v1/events/${id}/timeline`,
      `/v1/deliveries/${delivery?.id}/attempts`,
    ])
      expectRefusal(await api.call("GET", path), 404, "not_found");
    expectRefusal(await api.call("DELETE", `/v1/events/${id}`), 404, "not_found");
    expect([await listed(""), await listed("&external_id=x-1")]).toEqual([[other.id], []]);
    expect(["event", "delivery", "attempt"].map(count)).toEqual([1, 1, 1]);
    expect((await api.publish("a.b", { external_id: "x-1" })).duplicate).toBe(false);
    const [entry] = (await api.get<Page<{ action: string; object: object; changes: object }>>("/v1/audit"))
      .data;
    expect(entry).toMatchObject({ action: "event.deleted", object: { kind: "event", id }, changes: {} });
  });

  test("leaves no list entry of an event that was published a moment ago", async () => {
    await endpoint({ status: "paused" });
    const { id } = await api.publish("a.b", { consumer_id: "ada" });
    await made("DELETE", `/v1/events/${id}`);
    await api.data.index.writeDown();
    expect(["event", "delivery", "entry"].map(count)).toEqual([0, 0, 0]);
  });

  test("stops what waits, in memory and in the database; a retry that is due later never comes", async () => {
    const paused = await endpoint({ status: "paused" });
    for (let n = 0; n < 20; n++) await api.publish("other.type");
    const { id } = await api.publish("a.b");
    await made("DELETE", `/v1/events/${id}`);
    await api.change(paused, { status: "active" });
    await api.receiver.arrived("erased", 20);
    await api.until(async () => atOnce(api.services.actors.counts()).queued === 0);
    const sent = api.receiver
      .requests("erased")
      .map(({ body }) => JSON.parse(body.toString()) as { type: string });
    expect(sent.filter(({ type }) => type === "a.b")).toEqual([]);
    expect(sent).toHaveLength(20);
  });

  test("while an attempt is under way keeps nothing of it but the count", async () => {
    const gate = Promise.withResolvers<Response>();
    api.receiver.at("slow", () => gate.promise);
    const { publicId } = await endpoint({}, "slow");
    const { id } = await api.publish("a.b");
    await api.receiver.arrived("slow");
    await made("DELETE", `/v1/events/${id}`);
    gate.resolve(new Response(null, { status: 200 }));
    await api.until(async () => atOnce(api.services.actors.counts()).inFlight === 0 && count("usage") === 1);
    expect(["event", "delivery", "attempt", "note"].map(count)).toEqual([0, 0, 0, 0]);
    expect((await api.get<{ data: object[] }>(`/v1/endpoints/${publicId}/stats`)).data).toEqual([]);
  });

  test("ends a wide fan-out that is still being written", async () => {
    const width = limit("fanoutAtOnceMax") + 2 * limit("fanoutSliceRows");
    for (let n = 0; n < width; n++) await endpoint({ status: "paused" });
    const { id, delivery_count: deliveries } = await api.publish("a.b");
    expect(deliveries).toBe(width);
    await made("DELETE", `/v1/events/${id}`);
    await api.services.eraser.run(jobControlOf());
    await api.data.index.writeDown();
    expect(api.data.store.sqlite.query("SELECT taken, awaited FROM plan_place").get()).toEqual({
      taken: 0,
      awaited: 0,
    });
    await api.until(async () =>
      ["event", "delivery", "fanout", "entry", "removal"].every((table) => count(table) === 0),
    );
  });

  test("gives the places of the plan back that it still held, and no others", async () => {
    const { accountId = 0, projectId = 0 } = api.callers.get("full") ?? {};
    const { made: free } = await api.data.store.write(() =>
      api.data.tenants.updateAccount(accountId, () => ({ plan: "free" })),
    );
    api.data.tenants.rememberAccount(free);
    const paused = await endpoint({ status: "paused" });
    const first = await api.publish("a.b", { consumer_id: "ada" });
    await api.publish("a.b", { consumer_id: "bert" });
    expect(api.data.meter.remaining(projectId)).toBe(9998);
    await made("DELETE", `/v1/events/${first.id}`);
    expect(api.data.meter.remaining(projectId)).toBe(9999);
    await made("POST", "/v1/replays", { status: ["pending"], consumer_id: "bert", rate_per_second: 1 });
    expect((await erase("bert")).events).toBe(1);
    expect(api.data.meter.remaining(projectId)).toBe(10_000);
    await api.change(paused, { status: "active" });
    const { id } = await api.publish("a.b");
    await api.settled(id);
    await made("DELETE", `/v1/events/${id}`);
    expect(api.data.meter.remaining(projectId)).toBe(9999);
  });

  test("is the owner's: not a portal token's, not a reader's, not another project's", async () => {
    const { id } = await api.publish("a.b", { consumer_id: "anna" });
    for (const token of ["annaManages", "read"])
      expectRefusal(await api.call("DELETE", `/v1/events/${id}`, undefined, token), 403, "forbidden");
    expectRefusal(await api.call("DELETE", `/v1/events/${id}`, undefined, "other"), 404, "not_found");
    expect(await listed("")).toEqual([id]);
  });
});

describe("DELETE /v1/consumers/:id", () => {
  /** All that a consumer can have. */
  async function settle(consumer: string) {
    const own = await made("POST", "/v1/endpoints", {
      url: api.receiver.url(`own/${encodeURIComponent(consumer)}`),
      consumer_id: consumer,
      description: `for ${consumer}`,
    });
    const gone = await made("POST", "/v1/endpoints", {
      url: api.receiver.url("gone"),
      consumer_id: consumer,
    });
    await made("DELETE", `/v1/endpoints/${String(gone["id"])}`);
    const fields = { provider: "service", name: "s", consumer_id: consumer };
    const source = await made("POST", "/v1/sources", fields);
    api.data.sourceStats.count(api.data.ids.decode("src", String(source["id"])) ?? 0, "accepted", 0);
    await api.data.sourceStats.writeDown();
    await made("POST", "/v1/portal-links", { consumer_id: consumer, manage: true });
    const events: string[] = [];
    for (let n = 0; n < 3; n++) {
      const { id } = await api.publish("a.b", { consumer_id: consumer, data: { who: consumer } });
      await api.settled(id);
      events.push(id);
    }
    await made("POST", "/v1/replays", { consumer_id: consumer });
    await made("PATCH", `/v1/endpoints/${String(own["id"])}`, { description: `still for ${consumer}` });
    return { endpoint: String(own["id"]), events };
  }

  test("forgets all that is known of it, wherever it stands, and nobody else's", async () => {
    await endpoint();
    const erased = await settle("ada/lovelace é");
    const kept = await settle("bert");
    expect(traces("ada/lovelace").length).toBeGreaterThan(10);
    const erasure = await erase("ada/lovelace é");
    expect(erasure).toMatchObject({
      status: "completed",
      events: 3,
      deliveries: 6,
      consumer_id: "ada/lovelace é",
    });
    expect(erasure.completed_at).toMatch(/^20/);
    // That it was erased is known: the erasure itself, and who asked for it.
    expect(traces("ada/lovelace")).toEqual(["audit", "erasure"]);
    for (const path of [`/v1/endpoints/${erased.endpoint}`, ...erased.events.map((id) => `/v1/events/${id}`)])
      expectRefusal(await api.call("GET", path), 404, "not_found");
    expect((await listed("&consumer_id=bert")).toSorted()).toEqual(kept.events.toSorted());
    expect((await api.get<{ description: string }>(`/v1/endpoints/${kept.endpoint}`)).description).toBe(
      "still for bert",
    );
    expect(count("portal_link")).toBe(1);
    expect((await api.get<Page<object>>("/v1/sources")).data).toHaveLength(1);
    expect([count("source_stat"), count("source_last")]).toEqual([1, 1]);
  });

  test("takes from events that came since what the erased endpoints got of them, and keeps the events", async () => {
    await endpoint();
    const own = await made("POST", "/v1/endpoints", { url: api.receiver.url("own"), consumer_id: "ada" });
    await api.publish("a.b", { consumer_id: "ada" });
    const { projectId = 0 } = api.callers.get("full") ?? {};
    // As versions before began it, which closed endpoints later, and as their data is brought up to date.
    await api.data.store.write(() => api.data.erasures.begin({ projectId, consumerId: "ada" }));
    const since = await api.publish("a.b", { consumer_id: "ada" });
    expect(since.delivery_count).toBe(2);
    await api.settled(since.id);
    const ownId = api.data.ids.decode("ep", String(own["id"])) ?? 0;
    await api.data.endpoints.change(ownId, () => ({ status: "deleted" }));
    await api.services.eraser.run(jobControlOf());
    expect(await listed("&consumer_id=ada")).toEqual([since.id]);
    const event = await api.get<{ delivery_count: number; deliveries: { endpoint_id: string }[] }>(
      `/v1/events/${since.id}`,
    );
    expect(event.delivery_count).toBe(1);
    expect(event.deliveries.map(({ endpoint_id }) => endpoint_id)).not.toContain(own["id"]);
    await api.data.index.writeDown();
    expect(["event", "delivery", "attempt", "endpoint", "stat"].map(count)).toEqual([1, 1, 1, 1, 1]);
  });

  test("keeps what was metered, and the id of an endpoint in the audit log without what it was like", async () => {
    const { endpoint: id } = await settle("ada");
    const usage = api.data.store.sqlite.query("SELECT * FROM usage").all();
    await erase("ada");
    expect(api.data.store.sqlite.query("SELECT * FROM usage").all()).toEqual(usage);
    const { data } = await api.get<Page<{ action: string; changes: object }>>(`/v1/audit?object_id=${id}`);
    expect(data.map(({ action, changes }) => [action, changes])).toEqual([
      ["endpoint.updated", {}],
      ["endpoint.created", {}],
    ]);
    const [asked] = (await api.get<Page<object>>("/v1/audit?action=consumer.erased")).data;
    expect(asked).toMatchObject({ object: { kind: "consumer", id: "ada" } });
  });

  test("blanks no change that holds its id as another field, as its name or within a text", async () => {
    const names = ["url", "from", "full", "a.b", "hook", "bert"];
    const other = await made("POST", "/v1/endpoints", {
      url: api.receiver.url("other"),
      consumer_id: "bertha",
      description: "full",
      event_types: ["a.b"],
      metadata: { hook: "bert", consumer_id: "bert" },
    });
    await made("PATCH", `/v1/endpoints/${String(other["id"])}`, { url: api.receiver.url("elsewhere") });
    const moved = await made("POST", "/v1/endpoints", {
      url: api.receiver.url("moved"),
      consumer_id: "bert",
    });
    await made("PATCH", `/v1/endpoints/${String(moved["id"])}`, { consumer_id: "carl" });
    await made("POST", "/v1/replays", { consumer_id: "bert", event_types: ["a.b"] });
    await made("POST", "/v1/replays", { consumer_id: "bertha", event_types: ["a.b"] });
    const shown = async () =>
      (await api.get<Page<{ action: string; changes: object }>>("/v1/audit")).data
        .filter(({ action }) => action !== "consumer.erased")
        .map(({ action, changes }) => [action, Object.keys(changes).length > 0]);
    for (const name of names) {
      await api.publish("a.b", { consumer_id: name });
      await erase(name);
    }
    expect(await shown()).toEqual([
      ["replay.started", true],
      ["replay.started", false],
      ["endpoint.updated", false],
      ["endpoint.created", false],
      ["endpoint.updated", true],
      ["endpoint.created", true],
    ]);
  });

  test("a consumer of which nothing is left but what its portal asked to be sent again is known, and erased", async () => {
    const text = "ada-at-home-7";
    const replay = await api.call("POST", "/v1/replays", { q: text }, "annaManages");
    expect(replay.status).toBe(202);
    expect(traces(text)).toContain("audit");
    await erase("anna");
    expect(traces(text)).toEqual([]);
  });

  test("does not touch what comes afterwards", async () => {
    await settle("ada");
    const { id } = await made("DELETE", "/v1/consumers/ada");
    const later = await api.publish("a.b", { consumer_id: "ada" });
    await api.services.eraser.run(jobControlOf());
    await api.data.index.writeDown();
    expect((await api.get<Erased>(`/v1/erasures/${String(id)}`)).events).toBe(3);
    expect([await listed("&consumer_id=ada"), await listed("")]).toEqual([[later.id], [later.id]]);
  });

  test("stops deliveries that wait or are under way, and goes on where it was cut short", async () => {
    api.receiver.at("hangs", hang);
    await endpoint({ timeoutSeconds: 1 }, "hangs");
    const paused = await endpoint({ status: "paused" });
    const events: string[] = [];
    for (let n = 0; n < 30; n++) events.push((await api.publish("a.b", { consumer_id: "ada" })).id);
    const { id } = await made("DELETE", "/v1/consumers/ada");
    let slices = 0;
    await api.services.eraser.run(jobControlOf({ isStopping: () => ++slices > 1 }));
    const halfway = await api.get<Erased>(`/v1/erasures/${String(id)}`);
    expect([halfway.status, halfway.completed_at]).toEqual(["running", null]);
    await api.services.eraser.run(jobControlOf());
    expect((await api.get<Erased>(`/v1/erasures/${String(id)}`)).status).toBe("completed");
    await api.change(paused, { status: "active" });
    await api.until(async () => atOnce(api.services.actors.counts()).inFlight === 0);
    expect(api.receiver.requests("erased")).toEqual([]);
    expect(["event", "delivery", "attempt"].map(count)).toEqual([0, 0, 0]);
  });

  test("takes turns with those of other projects, however much there is to erase of one", async () => {
    for (let n = 0; n < 3; n++) {
      const events = Array.from({ length: 500 }, () => ({ type: "a.b", data: {}, consumer_id: "ada" }));
      expect((await api.call("POST", "/v1/events/batch", { events })).status).toBe(202);
    }
    const large = await made("DELETE", "/v1/consumers/ada");
    await api.publish("a.b", { consumer_id: "bert" }, "other");
    const { json: small } = await api.call("DELETE", "/v1/consumers/bert", undefined, "other");
    let slices = 0;
    await api.services.eraser.run(jobControlOf({ isStopping: () => ++slices > 12 }));
    const read = (id: unknown, token?: string) => api.get<Erased>(`/v1/erasures/${String(id)}`, token);
    expect((await read(small["id"], "other")).status).toBe("completed");
    expect((await read(large["id"])).status).toBe("running");
    await api.services.eraser.run(jobControlOf());
    expect(await read(large["id"])).toMatchObject({ status: "completed", events: 1500 });
  });

  test("while a bulk replay opens its deliveries again ends all the same", async () => {
    await endpoint();
    for (let n = 0; n < 10; n++) await api.settled((await api.publish("a.b", { consumer_id: "ada" })).id);
    await made("POST", "/v1/replays", { status: ["delivered"], rate_per_second: 1000 });
    expect((await erase("ada")).status).toBe("completed");
    await api.until(async () => count("delivery") + count("event") + count("note") === 0);
  });

  test("that nothing names is 404, and so is another project's", async () => {
    await settle("ada");
    expectRefusal(await api.call("DELETE", "/v1/consumers/nobody"), 404, "not_found");
    expectRefusal(await api.call("DELETE", "/v1/consumers/ada", undefined, "other"), 404, "not_found");
    expectRefusal(await api.call("DELETE", "/v1/consumers/ada", undefined, "annaManages"), 403, "forbidden");
    const { id } = await erase("ada");
    expectRefusal(await api.call("GET", `/v1/erasures/${id}`, undefined, "other"), 404, "not_found");
    expectRefusal(await api.call("GET", "/v1/erasures/era_x"), 404, "not_found");
    expect((await api.get<Page<Erased>>("/v1/erasures", "other")).data).toEqual([]);
    expectRefusal(await api.call("DELETE", "/v1/consumers/ada"), 404, "not_found");
    expect((await api.get<Page<Erased>>("/v1/erasures?limit=1")).data.map((one) => one.id)).toEqual([id]);
  });
});

test("what was erased is not left in the file's free pages", async () => {
  const text = "Ada Lovelace, born 1815";
  await endpoint();
  for (let n = 0; n < 20; n++)
    await api.settled(
      (await api.publish("a.b", { consumer_id: "ada", data: { text, fill: "y".repeat(9000) } })).id,
    );
  const file = () => {
    const { sqlite } = api.data.store;
    sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)");
    const [main] = sqlite.query<{ file: string }, []>("PRAGMA database_list").all();
    return readFileSync(main?.file ?? "").toString("latin1");
  };
  expect(file()).toContain(text);
  await erase("ada");
  await api.data.index.writeDown();
  expect(file()).not.toContain(text);
});

test("an erasure takes no more slices where the audit log of the project is long", async () => {
  await api.publish("a.b", { consumer_id: "ada" });
  const { audit, store } = api.data;
  const { scope } = store.sqlite.query<{ scope: number }, []>("SELECT id AS scope FROM project").get() ?? {
    scope: 0,
  };
  const entry = {
    scope,
    actor: { kind: "operator", id: null },
    action: "project.updated",
    object: { kind: "project", id: "p" },
    changes: {},
    consumerId: "bert",
  } as const;
  await store.write(() => Array.from({ length: 5 * limit("sliceRows") }, () => audit.add(entry)));
  await made("DELETE", "/v1/consumers/ada");
  let rests = 0;
  const rest = () => Promise.resolve(void rests++);
  await api.services.eraser.run(jobControlOf({ rest }));
  // Behind its event, and behind its end.
  expect([rests, api.data.erasures.countRunning()]).toEqual([2, 0]);
});

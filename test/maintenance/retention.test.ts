/**
 * Retention: what is older than its plan keeps it leaves whole, what is open stays, and nobody sees half
 * of it.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { limit } from "../../src/core/limits.ts";
import type { Endpoint } from "../../src/core/model.ts";
import type { Message } from "../../src/destinations/destination.ts";
import { isPolled } from "../../src/destinations/destinations.ts";
import { Retention } from "../../src/maintenance/retention.ts";
import { type Api, type EventRow, type Page, startApi } from "../http/log-kit.ts";
import { SetClock } from "../kit/clock.ts";
import { jobControlOf } from "../kit/job-control.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let api: Api;
let clock: SetClock;
let retention: Retention;
/** Called between two slices. */
let between: () => void;
const control = jobControlOf({ rest: async () => between() });

beforeEach(async () => {
  clock = new SetClock(Date.UTC(2026, 10, 21));
  api = await startApi({}, clock);
  between = () => {};
  retention = new Retention({
    data: api.data,
    actors: api.services.actors,
    expires: ({ kind }) => isPolled(kind),
  });
});

afterEach(() => api[Symbol.asyncDispose]());

/** A whole pass, as an hour brings it. */
async function pass(): Promise<number> {
  clock.advance(HOUR_MS);
  await api.data.index.writeDown();
  const removed = await retention.run(control);
  await retention.sweep(control);
  return removed;
}

const LOG = ["event", "delivery", "attempt", "note", "entry", "fanout", "removal"] as const;

function count(table: string): number {
  return api.data.store.sqlite.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${table}`).get()?.n ?? -1;
}

const counts = () => Object.fromEntries(LOG.map((table) => [table, count(table)]));
const NOTHING = Object.fromEntries(LOG.map((table) => [table, 0]));

async function listed(query = "", token?: string): Promise<string[]> {
  const { data } = await api.get<Page<EventRow>>(`/v1/events?limit=250${query}`, token);
  return data.map(({ id }) => id);
}

/** An event that was delivered, cancelled or died, whatever became of it. */
async function done(type: string, more: Record<string, unknown> = {}, token?: string): Promise<string> {
  const { id } = await api.publish(type, more, token);
  await api.until(async () => {
    const { data } = await api.get<Page<{ status: string }>>(`/v1/deliveries?event_id=${id}`, token);
    return data.every(({ status }) => status === "delivered" || status === "dead");
  });
  return id;
}

const endpoint = (fields: Partial<Endpoint> = {}, token?: string) =>
  api.endpoint({ url: api.receiver.url("kept"), ...fields }, token);

describe("an old event", () => {
  test("leaves with everything that hangs on it, and a younger one stays as it is", async () => {
    await endpoint();
    const old = await done("a.b", { consumer_id: "anna" });
    await api.call("POST", `/v1/events/${old}/replay`, { new_message_id: true });
    await api.settled(old);
    clock.advance(30 * DAY_MS);
    const young = await done("a.b");
    expect([await pass(), await listed()]).toEqual([1, [young]]);
    expect((await api.call("GET", `/v1/events/${old}`)).status).toBe(404);
    expect((await api.get<Page<object>>(`/v1/events/${young}/timeline`)).data.length).toBeGreaterThan(3);
    expect(counts()).toEqual({ ...NOTHING, event: 1, delivery: 1, attempt: 1, entry: 4 });
    clock.advance(30 * DAY_MS);
    expect([await pass(), counts()]).toEqual([1, NOTHING]);
  });

  test("is kept for as long as its account's plan says, to the hour", async () => {
    const accountId = api.callers.get("full")?.accountId ?? 0;
    const changed = await api.data.store.write(() =>
      api.data.tenants.updateAccount(accountId, () => ({ plan: "free" })),
    );
    await done("a.b");
    await done("test.b", {}, "other");
    clock.advance(7 * DAY_MS - 2 * HOUR_MS);
    expect(await pass()).toBe(0);
    clock.advance(2 * HOUR_MS);
    // The plan as it is now decides, at once; `unlimited` keeps for 30 days.
    expect(await pass()).toBe(0);
    api.data.tenants.rememberAccount(changed.made);
    expect([await pass(), count("event")]).toEqual([2, 0]);
  });

  test("that is a test event, or matched nothing, leaves too", async () => {
    const { publicId } = await endpoint({ eventTypes: ["none"] });
    await api.call("POST", `/v1/endpoints/${publicId}/test`, {});
    await api.publish("un.matched");
    clock.advance(30 * DAY_MS);
    expect([await pass(), counts()]).toEqual([2, NOTHING]);
  });

  test("frees its external_id, and what came by a source is still recognised", async () => {
    const first = await done("a.b", { external_id: "order-1" });
    const source = await api.call("POST", "/v1/sources", { provider: "github", name: "g" });
    const key = api.data.ids.decode("src", String(source.json["id"])) ?? 0;
    await api.data.store.write(() =>
      api.data.dedup.save(key, "delivery-1", 5, limit("dedupKeptSeconds") / 1000 + DAY_MS),
    );
    clock.advance(30 * DAY_MS);
    await pass();
    const again = await api.publish("a.b", { external_id: "order-1" });
    expect([again.duplicate, again.id === first]).toEqual([false, false]);
    expect(api.data.dedup.find(key, "delivery-1")).toBe(5);
  });
});

test("numbers of a source are kept as long as events, and go with it", async () => {
  const { sourceStats, ids } = api.data;
  const source = await api.call("POST", "/v1/sources", { provider: "service", name: "s" });
  const path = `/v1/sources/${String(source.json["id"])}`;
  const key = ids.decode("src", String(source.json["id"])) ?? 0;
  const tally = () => sourceStats.count(key, "accepted", clock.now());
  for (let hour = 0; hour < 300; hour++) {
    tally();
    clock.advance(HOUR_MS);
  }
  clock.advance(17 * DAY_MS);
  await sourceStats.writeDown();
  expect([await pass(), count("source_stat")]).toEqual([0, 300]);
  clock.advance(3 * DAY_MS);
  await pass();
  // 29 days and 13 hours after the first.
  expect(count("source_stat")).toBeLessThan(300);
  await api.call("DELETE", path);
  tally();
  await sourceStats.writeDown();
  clock.advance(30 * DAY_MS);
  await pass();
  expect([count("source_stat"), count("source_last"), count("source")]).toEqual([0, 0, 0]);
});

describe("an event with an open delivery", () => {
  test("stays however old it is, and for a day after its end", async () => {
    const paused = await endpoint({ status: "paused" });
    const { id } = await api.publish("a.b");
    clock.advance(90 * DAY_MS);
    expect([await pass(), await listed()]).toEqual([0, [id]]);
    await api.change(paused, { status: "active" });
    await api.settled(id);
    expect([await pass(), await listed()]).toEqual([0, [id]]);
    clock.advance(DAY_MS);
    expect([await pass(), counts()]).toEqual([1, NOTHING]);
  });

  test("is passed by within a pass, and does not keep those behind it", async () => {
    await endpoint({ status: "paused", eventTypes: ["stays.*"] });
    const ids: string[] = [];
    for (let n = 0; n < 4; n++) ids.push((await api.publish(n % 2 === 0 ? "stays.n" : "goes.n")).id);
    clock.advance(30 * DAY_MS);
    expect(await pass()).toBe(2);
    expect((await listed()).toSorted()).toEqual([ids[0], ids[2]].map(String).toSorted());
    const before = api.data.store.commits;
    await retention.run(control);
    expect(api.data.store.commits).toBe(before);
  });

  test("is looked at again in the next pass, also where a clock that had jumped forward was set right again", async () => {
    const paused = await endpoint({ status: "paused" });
    const { id } = await api.publish("a.b");
    await api.data.index.writeDown();
    clock.advance(40 * DAY_MS);
    const JUMP_MS = 365 * DAY_MS;
    clock.advance(JUMP_MS);
    expect(await retention.run(control)).toBe(0);
    clock.step(-JUMP_MS);
    await api.change(paused, { status: "active" });
    await api.settled(id);
    clock.advance(2 * DAY_MS);
    expect([await pass(), await listed()]).toEqual([1, []]);
  });

  test("stays while a replay reaches it just before it would leave", async () => {
    const receiver = await endpoint({ eventTypes: ["late"] });
    const id = await done("late");
    clock.advance(30 * DAY_MS);
    await api.change(receiver, { status: "paused" });
    expect((await api.call("POST", `/v1/events/${id}/replay`, {})).status).toBe(202);
    expect([await pass(), await listed()]).toEqual([0, [id]]);
  });

  test("expires where a poller never fetched it: the timeline says so for a day", async () => {
    const poll = await api.call("POST", "/v1/endpoints", { kind: "poll", config: {} });
    expect([poll.status, poll.json.errors]).toEqual([201, undefined]);
    const { id } = await api.publish("a.b");
    clock.advance(30 * DAY_MS);
    expect(await pass()).toBe(0);
    const [delivery] = await api.settled(id, ["cancelled"]);
    const { data } = await api.get<Page<{ kind: string; delivery_id?: string }>>(`/v1/events/${id}/timeline`);
    expect(data.at(-1)).toMatchObject({ kind: "expired", delivery_id: delivery?.id });
    clock.advance(DAY_MS);
    expect([await pass(), counts()]).toEqual([1, NOTHING]);
  });
});

test("what was handed out to a poller stays until its cursor comes back, however old it is", async () => {
  const poll = await api.call("POST", "/v1/endpoints", { kind: "poll", config: {} });
  const { id } = await api.publish("a.b");
  const key = api.data.ids.decode("ep", String(poll.json.id)) ?? 0;
  const { signal } = new AbortController();
  const write = ({ body }: Message) => body;
  const fetched = async (position: number) => {
    const ask = { position, limit: 10, waitMs: 0, signal, write, isAllowed: () => true };
    const page = await api.services.poller.poll(key, ask);
    if (typeof page === "string") throw new Error(page);
    return page;
  };
  const first = await fetched(0);
  clock.advance(30 * DAY_MS);
  expect(await pass()).toBe(0);
  // Its answer was lost: the poller asks again.
  const again = await fetched(0);
  expect([again.messages.length, again.position]).toEqual([1, first.position]);
  await fetched(again.position);
  await api.settled(id, ["delivered"]);
});

describe("an event that is more than one transaction should hold", () => {
  const wide = limit("sliceRows") * 3;

  test("leaves the log at once; its deliveries follow in slices, and nobody sees them meanwhile", async () => {
    for (let n = 0; n < wide; n++) await endpoint({ status: "disabled" });
    const { id } = await api.publish("a.b");
    const [delivery] = await api.settled(id);
    const key = api.data.ids.decode("msg", delivery?.id ?? "") ?? 0;
    clock.advance(30 * DAY_MS);
    const left: number[] = [];
    between = () => {
      const rows = count("delivery");
      if (rows === 0 || rows === left.at(-1)) return;
      left.push(rows);
      // Whoever looks between two slices finds the event with all of them, or nothing.
      if (count("event") === 0) expect(api.services.deliveryList.get(key)).toBeNull();
    };
    expect([await pass(), counts()]).toEqual([1, NOTHING]);
    expect(left.length).toBeGreaterThanOrEqual(3);
    expect((await api.call("GET", `/v1/deliveries/${delivery?.id}`)).status).toBe(404);
    expect((await api.get<Page<object>>("/v1/deliveries?status=dead")).data).toEqual([]);
  });

  test("is finished by the next run where the first was cut short", async () => {
    for (let n = 0; n < wide; n++) await endpoint({ status: "disabled" });
    await api.publish("a.b");
    clock.advance(30 * DAY_MS);
    let slices = 0;
    between = () => slices++;
    clock.advance(HOUR_MS);
    await api.data.index.writeDown();
    await retention.run({ ...control, isStopping: () => slices >= 2 });
    expect([count("event"), count("removal"), count("delivery") > 0]).toEqual([0, 1, true]);
    await retention.run(control);
    expect(counts()).toEqual(NOTHING);
  });

  test("lets expire what was never fetched, however many others are open before it and behind", async () => {
    for (let n = 0; n < limit("sliceRows") + 10; n++) await endpoint({ status: "paused" });
    for (let n = 0; n < limit("sliceRows") + 10; n++) await endpoint({ kind: "poll", config: {} });
    await endpoint({ status: "paused" });
    const { id } = await api.publish("a.b");
    await api.data.index.writeDown();
    clock.advance(30 * DAY_MS);
    expect([await pass(), count("event")]).toEqual([0, 1]);
    const statuses = api.data.store.sqlite.query(
      "SELECT status, count(*) AS n FROM delivery GROUP BY status",
    );
    expect(statuses.all()).toEqual([
      { status: 0, n: limit("sliceRows") + 11 },
      { status: 4, n: limit("sliceRows") + 10 },
    ]);
    expect((await api.get<Page<object>>(`/v1/events/${id}/timeline`)).data.length).toBeGreaterThan(0);
  });

  test("is bounded by its bodies too", async () => {
    const body = "x".repeat(900_000);
    for (let n = 0; n < 5; n++) await api.publish("large", { data: { body } });
    clock.advance(30 * DAY_MS);
    const seen: number[] = [];
    between = () => void seen.push(count("event"));
    expect(await pass()).toBe(5);
    expect(seen.slice(0, 5)).toEqual([4, 3, 2, 1, 0]);
  });
});

describe("readers beside it", () => {
  test("page on with a cursor of before, through what is left", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 6; n++) {
      ids.unshift(await done("paged"));
      if (n === 2) clock.advance(DAY_MS);
    }
    const first = await api.get<Page<EventRow>>("/v1/events?limit=2&type=paged");
    expect(first.data.map(({ id }) => id)).toEqual(ids.slice(0, 2));
    clock.advance(29 * DAY_MS);
    expect(await pass()).toBe(3);
    const second = await api.get<Page<EventRow>>(`/v1/events?limit=2&type=paged&cursor=${first.next_cursor}`);
    expect([second.data.map(({ id }) => id), second.next_cursor]).toEqual([ids.slice(2, 3), null]);
    expect(await listed("&q=none")).toEqual([]);
    const counted = await api.call("POST", "/v1/replays", { status: ["delivered"], dry_run: true });
    expect(counted.json).toEqual({ matched: 0 });
  });
});

describe("what events leave behind goes as well", () => {
  test("heads, names of lists, numbers, replays and deleted endpoints, once nothing names them", async () => {
    const { publicId, id } = await endpoint();
    await done("swept.type", { consumer_id: "swept" });
    await api.call("POST", "/v1/replays", { status: ["cancelled"] });
    await api.call("DELETE", `/v1/endpoints/${publicId}`);
    await api.data.index.writeDown();
    const before = ["head", "label", "stat", "project_stat", "replay", "endpoint"].map(count);
    expect(before.every((rows) => rows > 0)).toBe(true);
    clock.advance(20 * DAY_MS);
    await pass();
    // Nobody sees the numbers of an endpoint that was deleted.
    const [heads, labels, , , replays, endpoints] = before;
    expect(["head", "label", "stat", "project_stat", "replay", "endpoint"].map(count)).toEqual(
      [heads, labels, 0, 0, replays, endpoints].map(Number),
    );
    clock.advance(20 * DAY_MS);
    await pass();
    // The list of all deliveries of a project keeps its name.
    expect(["head", "label", "stat", "project_stat", "replay", "endpoint"].map(count)).toEqual([
      0, 1, 0, 0, 0, 0,
    ]);
    expect(api.data.endpoints.getAnyway(id)).toBeUndefined();
    expect(await listed("&type=swept.type")).toEqual([]);
    const again = await done("swept.type", { consumer_id: "swept" });
    expect([await listed("&type=swept.type"), await listed("&consumer_id=swept")]).toEqual([
      [again],
      [again],
    ]);
    await api.data.index.writeDown();
    expect(await listed("&type=swept.type")).toEqual([again]);
  });

  test("erasures that ended a year ago", async () => {
    await api.publish("a.b", { consumer_id: "ada" });
    await api.call("DELETE", "/v1/consumers/ada");
    await api.services.eraser.run(control);
    clock.advance(365 * DAY_MS - 2 * HOUR_MS);
    await pass();
    expect(count("erasure")).toBe(1);
    clock.advance(2 * HOUR_MS);
    await pass();
    expect(count("erasure")).toBe(0);
  });

  test("but not a name that an event of this very moment took", async () => {
    await api.publish("name.kept", { consumer_id: "kept" });
    await api.data.index.writeDown();
    clock.advance(30 * DAY_MS + HOUR_MS);
    await retention.run(control);
    const { id } = await api.publish("name.kept", { consumer_id: "kept" });
    await retention.sweep(control);
    await api.data.index.writeDown();
    expect([await listed("&type=name.kept"), await listed("&consumer_id=kept")]).toEqual([[id], [id]]);
  });

  test("and the heads that an attempt still names are kept", async () => {
    const paused = await endpoint({ retry: { schedule: [60] } });
    api.receiver.at("kept", () => new Response(null, { status: 500 }));
    const { id } = await api.publish("a.b");
    const [delivery] = await api.settled(id, ["retrying"]);
    await api.change(paused, { status: "paused" });
    clock.advance(90 * DAY_MS);
    await pass();
    const { data } = await api.get<Page<{ url: string }>>(`/v1/deliveries/${delivery?.id}/attempts`);
    expect(data.map(({ url }) => url)).toEqual([api.receiver.url("kept")]);
  });
});

test("the file becomes smaller again, but for what is soon used", async () => {
  const body = "x".repeat(50_000);
  for (let n = 0; n < 100; n++) await api.publish("fill", { data: { body } });
  const { vacuum } = api.data;
  const full = vacuum.pages.count;
  expect(vacuum.isDue).toBe(false);
  clock.advance(30 * DAY_MS);
  expect(await pass()).toBe(100);
  expect(vacuum.isDue).toBe(true);
  expect(vacuum.pages.count).toBeGreaterThanOrEqual(full);
  while (vacuum.isDue) expect(await vacuum.step()).toBeGreaterThan(0);
  expect(vacuum.pages.count).toBeLessThan(full / 3);
  const row = api.data.store.sqlite.query<{ integrity_check: string }, []>("PRAGMA integrity_check").get();
  expect(row?.integrity_check).toBe("ok");
});

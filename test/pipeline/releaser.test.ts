/** Verified inbound events where a plan is used up, and what lets them go. */
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { join } from "node:path";
import { untriedDelivery } from "../../src/core/delivery.ts";
import { limit, LIMITS } from "../../src/core/limits.ts";
import type { Outlet } from "../../src/pipeline/outlet.ts";
import type { Incoming } from "../../src/pipeline/pipeline.ts";
import { Releaser } from "../../src/pipeline/releaser.ts";
import { expectProblem } from "../http/kit.ts";
import { startApi } from "../http/log-kit.ts";
import { SetClock } from "../kit/clock.ts";
import { openTestData } from "../kit/data.ts";
import { RunningClock } from "../kit/running-clock.ts";
import {
  Bench,
  DECEMBER,
  deliveries,
  metered,
  publish,
  publishMany,
  USAGE,
  usage,
} from "../store/counts/kit.ts";

const NOON = Date.UTC(2026, 10, 21, 12);
const DAY_MS = 86_400_000;

const PLANS = {
  unlimited: { deliveries: null, blocks: false, retentionDays: 30 },
  one: { deliveries: 1, blocks: true, retentionDays: 30 },
};

/** What a provider sent waits where the plan is used up. */
const incoming: Incoming = {
  type: "a.b",
  timestamp: NOON,
  data: "{}",
  consumerId: null,
  externalId: null,
  sourceId: 1,
  isTest: false,
  hops: 0,
  trace: null,
};

let bench: Bench;

beforeAll(async () => {
  bench = await Bench.open();
});

afterAll(() => bench[Symbol.asyncDispose]());

describe("a verified inbound event at the limit", () => {
  test("is accepted, and its deliveries wait visibly until the month turns", async () => {
    const clock = new RunningClock();
    await using other = await Bench.open(clock);
    const { live } = await other.tenant("five");
    const name = other.path();
    const { id } = await other.endpoint(live, name);
    const ingest = await other.source(live);
    await publishMany(live, 5);
    await other.settled(live);
    const accepted = await ingest("1");
    expect(accepted.status).toBe(200);
    expect((await ingest("1")).json["duplicate"]).toBe(true);
    expect((await ingest("2")).status).toBe(200);
    const waiting = await deliveries(live, "&status=pending");
    const shown = { waiting_for: "plan_limit", next_attempt_at: null, attempt_count: 0 };
    expect(waiting).toMatchObject([shown, shown]);
    for (const path of ["/v1/stats", `/v1/endpoints/${id}/stats`])
      expect([path, (await live.get(path)).json["waiting"]]).toEqual([path, 2]);
    expect(other.receiver.requests(name)).toHaveLength(5);
    clock.set(DECEMBER);
    await other.receiver.arrived(name, 7);
    await other.settled(live);
    expect(await usage(live)).toMatchObject({
      period: { start: "2026-12-01T00:00:00.000Z", end: "2027-01-01T00:00:00.000Z" },
      deliveries: 2,
      remaining: 3,
    });
    expect((await live.get(`${USAGE}?month=2026-11`)).json).toMatchObject({ deliveries: 5, remaining: null });
    expect((await publish(live)).status).toBe(202);
  });

  test("flows at once when the plan changes, also after a restart, and keeps the order where it matters", async () => {
    await using other = await Bench.open();
    const account = await other.tenant("none");
    const { live } = account;
    const [name, ordered] = [other.path(), other.path()];
    await other.endpoint(live, name);
    await other.endpoint(live, ordered, { ordering: "fifo" });
    const ingest = await other.source(live);
    for (let n = 0; n < 30; n++) expect((await ingest(String(n), { n })).status).toBe(200);
    await other.app.stop();
    await other.app.start();
    const client = other.app.with(account.keys.live);
    expect(await deliveries(client)).toHaveLength(60);
    const [published] = await Promise.all([
      (async () => {
        await other.changePlan(account, "unlimited");
        return publish(client, { data: { n: 30 } });
      })(),
      other.receiver.arrived(ordered, 31),
    ]);
    expect(published.status).toBe(202);
    const order = other.receiver
      .requests(ordered)
      .map(({ body }) => JSON.parse(body.toString()).data.n as number);
    expect(order).toEqual(Array.from({ length: 31 }, (_, n) => n));
    await other.receiver.arrived(name, 31);
    await other.settled(client);
    expect(await metered(client)).toBe(62);
  });

  test("waits no longer where its endpoint is deleted, disabled, or the delivery cancelled", async () => {
    const { live } = await bench.tenant("none");
    const [gone, kept] = [await bench.endpoint(live, bench.path()), await bench.endpoint(live, bench.path())];
    const ingest = await bench.source(live);
    await ingest("1");
    await ingest("2");
    expect((await live.delete(`/v1/endpoints/${gone["id"]}`)).status).toBe(204);
    await bench.app.until(async () => (await deliveries(live, "&status=cancelled")).length === 2);
    const [one, two] = await deliveries(live, `&endpoint_id=${kept["id"]}`);
    expect((await live.post(`/v1/deliveries/${one?.id}/cancel`)).json["status"]).toBe("cancelled");
    expectProblem(await live.post(`/v1/deliveries/${two?.id}/retry`), 402, "plan_limit_reached");
  });

  test("makes room for another one once nothing of it waits any more", async () => {
    const events = LIMITS.planWaitingEventsMax as { value: number };
    const { value } = events;
    events.value = 3;
    try {
      const { live } = await bench.tenant("none");
      const [gone, kept] = [await bench.endpoint(live), await bench.endpoint(live)];
      const ingest = await bench.source(live);
      for (let n = 0; n < 3; n++) expect((await ingest(String(n))).status).toBe(200);
      await live.delete(`/v1/endpoints/${gone["id"]}`);
      await bench.app.until(async () => (await deliveries(live, "&status=cancelled")).length === 3);
      expect((await ingest("3")).status).toBe(429);
      const [one] = await deliveries(live, `&endpoint_id=${kept["id"]}`);
      await live.post(`/v1/deliveries/${one?.id}/cancel`);
      expect((await ingest("3")).status).toBe(200);
      expect((await ingest("4")).status).toBe(429);
    } finally {
      events.value = value;
    }
  });

  test("is put off with 429 where as many wait as may, and counted at its source as genuine", async () => {
    await using other = await Bench.open();
    const account = await other.tenant("none");
    const { live } = account;
    await other.endpoint(live, other.path());
    const ingest = await other.source(live);
    expect((await ingest("1")).status).toBe(200);
    await other.app.stop();
    using database = new Database(join(other.app.dataDir, "sealpost.db"));
    database.run("UPDATE plan_place SET events = ?", [limit("planWaitingEventsMax")]);
    database.close();
    await other.app.start();
    const refused = await ingest("2");
    expectProblem(refused, 429, "rate_limited");
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    const { json } = await other.app.with(account.keys.live).get("/v1/sources");
    const [source] = json["data"] as { counters: object; last_rejected: object }[];
    expect(source).toMatchObject({
      counters: { accepted: 0, rejected: { plan_limit: 1 } },
      last_rejected: { reason: "plan_limit" },
    });
  });

  test("of a test project does not wait", async () => {
    const { test: testing } = await bench.tenant("none");
    const name = bench.path();
    await bench.endpoint(testing, name);
    const ingest = await bench.source(testing);
    await ingest("1");
    await bench.receiver.arrived(name, 1);
  });
});

test("a place that is given back is found within a minute, although the clock is set back by a day", async () => {
  const clock = new SetClock(NOON);
  await using api = await startApi({}, clock, PLANS);
  const { store, tenants } = api.data;
  const { projectId, accountId } = api.callers.get("full") ?? { projectId: 0, accountId: 0 };
  const { made: account } = await store.write(() =>
    tenants.updateAccount(accountId, () => ({ plan: "one" })),
  );
  tenants.rememberAccount(account);
  const endpoint = await api.endpoint({ url: api.receiver.url("released"), status: "paused" });
  const deliver = async () => {
    const prepared = await api.services.pipeline.prepare(projectId, [incoming]);
    const [accepted] = await prepared.commitAndDispatch((run) => store.write(run));
    return api.data.deliveries.findOf(accepted?.event.id ?? 0, endpoint.id)?.id ?? 0;
  };
  const [placed, waiting] = [await deliver(), await deliver()];
  const dueOf = (id: number) => api.data.deliveries.get(id)?.due;
  expect([dueOf(placed), dueOf(waiting)]).toEqual([NOON, null]);
  const releaser = new Releaser(api.data, api.services.actors, clock);
  releaser.start();
  await store.write(() => api.data.deliveries.cancel(placed));
  clock.step(-DAY_MS);
  clock.advance(60_000);
  await api.until(async () => dueOf(waiting));
  releaser.stop();
});

test("where the order is kept, also by polling, no event goes before those that wait for the plan", async () => {
  await using api = await startApi({}, new SetClock(NOON), PLANS);
  const { store, tenants, deliveries: rows } = api.data;
  const { projectId, accountId } = api.callers.get("full") ?? { projectId: 0, accountId: 0 };
  const changePlan = async (plan: string) =>
    tenants.rememberAccount(
      (await store.write(() => tenants.updateAccount(accountId, () => ({ plan })))).made,
    );
  await changePlan("one");
  const url = api.receiver.url("waits");
  const [plain, fifo, polled] = [
    await api.endpoint({ url, status: "paused" }),
    await api.endpoint({ url, status: "paused", ordering: "fifo" }),
    await api.endpoint({ url: "", kind: "poll", status: "paused" }),
  ];
  const isDue = async () => {
    const prepared = await api.services.pipeline.prepare(projectId, [incoming]);
    const [accepted] = await prepared.commitAndDispatch((run) => store.write(run));
    const eventId = accepted?.event.id ?? 0;
    return [plain, fifo, polled].map(({ id }) => rows.findOf(eventId, id)?.due === NOON);
  };
  expect(await isDue()).toEqual([true, true, true]);
  expect(await isDue()).toEqual([false, false, false]);
  await changePlan("unlimited");
  expect(await isDue()).toEqual([true, false, false]);
});

test("all that waits for the plan ends with its endpoint, also what a replay made beside it", async () => {
  await using it = await openTestData();
  const { store, endpoints, waitingEvents } = it.data;
  const endpoint = await it.endpoint();
  const outlet = {
    dispatcher: { dispatch() {} },
    endpointsToPark: () => new Set<number>(),
  } as unknown as Outlet;
  const releaser = new Releaser(it.data, outlet, new SetClock(1000));
  const ids = await store.write(() => {
    const event = it.insertEvent();
    waitingEvents.insert(it.project.id, event);
    return [it.insertDelivery(event, endpoint.id, null), it.insertDelivery(event, endpoint.id, null)];
  });
  const deleted = await store.write(() => endpoints.update(endpoint.id, () => ({ status: "deleted" })));
  if (deleted) endpoints.announce(deleted);
  await store.settled();
  releaser.stop();
  expect(ids.map((id) => it.data.deliveries.get(id)?.status)).toEqual(["cancelled", "cancelled"]);
});

test("before a slice only the endpoints are looked at that it lets deliveries go to", async () => {
  await using it = await openTestData({ plan: "unlimited" });
  const { store, meter, waitingEvents } = it.data;
  const both = [await it.endpoint(), await it.endpoint()];
  for (const { id } of both)
    await store.write(() => {
      const event = it.insertEvent(limit("sliceRows"));
      waitingEvents.insert(it.project.id, event);
      for (let n = 0; n < limit("sliceRows"); n++) it.insertDelivery(event, id, null);
    });
  const asked: number[][] = [];
  const endpointsToPark = (endpoints: readonly { id: number }[]) => {
    asked.push(endpoints.map(({ id }) => id));
    return new Set<number>();
  };
  const clock = new SetClock(NOON);
  const outlet = { dispatcher: { dispatch() {} }, endpointsToPark, clock } as unknown as Outlet;
  const releaser = new Releaser(it.data, outlet, clock);
  releaser.start();
  await store.settled();
  releaser.stop();
  expect(meter.waitingEventsOf(it.project.accountId)).toBe(0);
  const [first, second] = both.map(({ id }) => [id]);
  expect(asked.slice(0, 2)).toEqual([first, second] as number[][]);
});

test("of an event with very many deliveries those that were let go are not read again", async () => {
  const clock = new SetClock(NOON);
  await using api = await startApi({}, clock, { ...PLANS, one: { ...PLANS.one, deliveries: 100_000 } });
  const { store, tenants, waitingEvents, events, deliveries: rows } = api.data;
  const { projectId, accountId } = api.callers.get("full") ?? { projectId: 0, accountId: 0 };
  const { made } = await store.write(() => tenants.updateAccount(accountId, () => ({ plan: "one" })));
  tenants.rememberAccount(made);
  const endpoint = await api.endpoint({ url: api.receiver.url("many"), status: "paused" });
  const slices = 20;
  const count = slices * limit("sliceRows");
  await store.write(() => {
    const key = store.takeKey(1 + count);
    events.insert({ ...incoming, id: key, projectId, deliveryCount: count });
    waitingEvents.insert(projectId, key);
    for (let n = 1; n <= count; n++) {
      const keys = { id: key + n, eventId: key, endpointId: endpoint.id, projectId };
      rows.insert(untriedDelivery({ ...keys, origin: "publish", due: null }), null);
    }
  });
  using asked = spyOn(rows, "awaitingOf");
  const releaser = new Releaser(api.data, api.services.actors, clock);
  releaser.start();
  await store.settled();
  releaser.stop();
  expect(rows.awaitingAt(endpoint.id, 1)).toEqual([]);
  // Of each slice before its write and in it, and whether one is left. The index has no others.
  const found = asked.mock.results.reduce((sum, { value }) => sum + (value as unknown[]).length, 0);
  expect([asked.mock.calls.length, found]).toEqual([3 * slices, 2 * count + slices - 1]);
});

test("an event of which a full slice was let go, and with that all, waits no longer", async () => {
  const clock = new SetClock(NOON);
  await using api = await startApi({}, clock, PLANS);
  const { store, tenants, meter, waitingEvents, events, deliveries: rows } = api.data;
  const { projectId, accountId } = api.callers.get("full") ?? { projectId: 0, accountId: 0 };
  const { made } = await store.write(() => tenants.updateAccount(accountId, () => ({ plan: "one" })));
  tenants.rememberAccount(made);
  const endpoint = await api.endpoint({ url: api.receiver.url("whole"), status: "paused" });
  const count = limit("sliceRows");
  await store.write(() => {
    const id = store.takeKey(1 + count);
    events.insert({ ...incoming, id, projectId, deliveryCount: count });
    waitingEvents.insert(projectId, id);
    for (let n = 1; n <= count; n++) {
      const keys = { id: id + n, eventId: id, endpointId: endpoint.id, projectId };
      rows.insert(untriedDelivery({ ...keys, origin: "publish", due: null }), null);
    }
  });
  expect(meter.waitingEventsOf(accountId)).toBe(1);
  const releaser = new Releaser(api.data, api.services.actors, clock);
  releaser.start();
  await store.settled();
  releaser.stop();
  expect([rows.awaitingAt(endpoint.id, 1).length, meter.waitingEventsOf(accountId)]).toEqual([0, 0]);
});

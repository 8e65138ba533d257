/** What wide events gather is bounded: whoever publishes more waits until it is written. */
import { afterEach, expect, spyOn, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { LIMITS } from "../../src/core/limits.ts";
import type { Endpoint } from "../../src/core/model.ts";
import { Dispatcher } from "../../src/delivery/dispatcher.ts";
import { Spreader } from "../../src/pipeline/fanout.ts";
import { type Api, startApi } from "../http/log-kit.ts";
import { openTestData, type TestData } from "../kit/data.ts";
import { steadyOver } from "../kit/clock.ts";
import { systemClock } from "../../src/platform/clock.ts";

const NOWHERE = "http://127.0.0.1:9/";

const BOUNDS = {
  fanoutAtOnceMax: 2,
  eventRowsMax: 2,
  fanoutSliceRows: 1,
  fanoutWaitingMax: 10,
  fanoutWaitMs: 60_000,
  fanoutDoorMax: 100,
} as const;
const names = Object.keys(BOUNDS) as (keyof typeof BOUNDS)[];
const usual = names.map((name) => LIMITS[name].value);
const setLimit = (name: keyof typeof BOUNDS, value: number) => {
  (LIMITS[name] as { value: number }).value = value;
};

afterEach(() => names.forEach((name, at) => setLimit(name, usual[at] ?? 0)));

/** `fanoutAtOnceMax` that answers a publish before its six deliveries are written, or after them. */
const ANSWERED = [
  ["before they are written", 2],
  ["once they are written", 1000],
] as const;

function rowsOf({ data }: Api): number {
  return data.store.sqlite.query<{ n: number }, []>("SELECT count(*) AS n FROM delivery").get()?.n ?? 0;
}

/** The most fan-outs that were on their way at one time, until all of these are answered. */
async function mostFanouts({ data }: Api, publishing: readonly Promise<unknown>[]): Promise<number> {
  let isDone = false;
  const done = Promise.all(publishing).then(() => {
    isDone = true;
  });
  let most = 0;
  while (!isDone) {
    most = Math.max(most, data.fanouts.count());
    await nextTurn();
  }
  await done;
  while (data.fanouts.count() > 0) await nextTurn();
  return most;
}

test.each(ANSWERED)(
  "a project's wide events, answered %s, wait at the door until those before them are written, and all are",
  async (_name, atOnceMax) => {
    for (const name of names) setLimit(name, BOUNDS[name]);
    setLimit("fanoutAtOnceMax", atOnceMax);
    await using api = await startApi();
    for (let n = 0; n < 6; n++) await api.endpoint({ url: NOWHERE, status: "paused" });
    const publishing = Array.from({ length: 8 }, (_, n) => api.publish("wide", { data: { n } }));
    // The last row of one may leave room for the next.
    expect(await mostFanouts(api, publishing)).toBeLessThanOrEqual(2);
    expect(rowsOf(api)).toBe(48);
  },
);

test.each(ANSWERED)(
  "batches of wide events, answered %s, wait at the door as wholes",
  async (_name, atOnceMax) => {
    for (const name of names) setLimit(name, BOUNDS[name]);
    setLimit("fanoutAtOnceMax", atOnceMax);
    await using api = await startApi();
    for (let n = 0; n < 6; n++) await api.endpoint({ url: NOWHERE, status: "paused" });
    const events = Array.from({ length: 2 }, () => ({ type: "wide", data: {} }));
    const publishing = Array.from({ length: 6 }, async () => {
      expect((await api.call("POST", "/v1/events/batch", { events })).status).toBe(202);
    });
    // Twelve rows exceed what may wait: a batch goes in once all before it are written.
    expect(await mostFanouts(api, publishing)).toBeLessThanOrEqual(2);
    expect(rowsOf(api)).toBe(72);
  },
);

test("narrow events that follow a wide one, as their endpoint keeps the order, wait at the door too", async () => {
  for (const name of names) setLimit(name, BOUNDS[name]);
  await using api = await startApi();
  for (let n = 0; n < 39; n++) await api.endpoint({ url: NOWHERE, status: "paused", eventTypes: ["wide"] });
  await api.endpoint({ url: NOWHERE, status: "paused", ordering: "fifo" });
  await api.publish("wide");
  const most = await mostFanouts(
    api,
    Array.from({ length: 30 }, () => api.publish("narrow")),
  );
  expect([most <= 1 + BOUNDS.fanoutWaitingMax, rowsOf(api)]).toEqual([true, 40 + 30]);
});

test("a wide event that comes alone does not wait, however many get it", async () => {
  for (const name of names) setLimit(name, BOUNDS[name]);
  setLimit("fanoutWaitMs", 0);
  setLimit("fanoutDoorMax", 0);
  setLimit("fanoutAtOnceMax", 1000);
  await using api = await startApi();
  for (let n = 0; n < 2 * BOUNDS.fanoutWaitingMax; n++)
    await api.endpoint({ url: NOWHERE, status: "paused" });
  for (let n = 0; n < 3; n++)
    expect((await api.call("POST", "/v1/events", { type: "wide", data: {} })).status).toBe(202);
  expect(rowsOf(api)).toBe(3 * 2 * BOUNDS.fanoutWaitingMax);
});

test.each(ANSWERED)(
  "a wide event, answered %s, that waits too long at the door is refused, and those before it are all written",
  async (_name, atOnceMax) => {
    for (const name of names) setLimit(name, BOUNDS[name]);
    setLimit("fanoutWaitMs", 0);
    setLimit("fanoutAtOnceMax", atOnceMax);
    await using api = await startApi();
    for (let n = 0; n < 6; n++) await api.endpoint({ url: NOWHERE, status: "paused" });
    const publish = () => api.call("POST", "/v1/events", { type: "wide", data: {} });
    const replies = await Promise.all(Array.from({ length: 8 }, publish));
    const accepted = replies.filter(({ status }) => status === 202);
    const refused = replies.filter(({ status }) => status === 429);
    expect(accepted.length).toBeGreaterThan(0);
    expect(refused.length).toBe(8 - accepted.length);
    expect(refused.length).toBeGreaterThan(0);
    for (const { headers, json } of refused)
      expect([headers.get("retry-after"), (json as { code: string }).code]).toEqual(["5", "rate_limited"]);
    while (api.data.fanouts.count() > 0) await nextTurn();
    expect(rowsOf(api)).toBe(6 * accepted.length);
  },
);

test("a transaction reads few large events, however few rows it writes of each", async () => {
  setLimit("eventRowsMax", 2);
  await using api = await startApi();
  await endpointsOf(api, 6, api.receiver.url("large"), "fifo");
  const { fanouts, store } = api.data;
  const commits: number[] = [];
  const advance = fanouts.advance.bind(fanouts);
  using advanced = spyOn(fanouts, "advance").mockImplementation((...args) => {
    commits.push(store.commits);
    return advance(...args);
  });
  const text = "x".repeat(900_000);
  const events = Array.from({ length: 8 }, (_, n) => ({ type: "wide", data: { n, text } }));
  expect((await api.call("POST", "/v1/events/batch", { events })).status).toBe(202);
  while (fanouts.count() > 0) await nextTurn();
  const ofEach = [...Map.groupBy(commits, (commit) => commit).values()].map(({ length }) => length);
  expect(advanced).toHaveBeenCalled();
  expect([commits.length >= 8, Math.max(...ofEach) <= 3]).toEqual([true, true]);
});

test.each(["none", "fifo"] as const)(
  "of the deliveries of two projects each has its turn, however many one has: ordering %s",
  async (ordering) => {
    await using api = await startApi();
    for (let n = 0; n < 4; n++) await api.endpoint({ url: NOWHERE, status: "paused", ordering });
    for (let n = 0; n < 3; n++) await api.endpoint({ url: NOWHERE, status: "paused", ordering }, "other");
    for (const name of names) setLimit(name, BOUNDS[name]);
    const { sqlite } = api.data.store;
    sqlite.run("CREATE TABLE written (project_id INTEGER)");
    for (const table of ["event", "delivery"])
      sqlite.run(
        `CREATE TRIGGER ${table}s AFTER INSERT ON ${table} BEGIN INSERT INTO written VALUES (new.project_id); END`,
      );
    const events = Array.from({ length: 40 }, () => ({ type: "wide", data: {} }));
    expect((await api.call("POST", "/v1/events/batch", { events })).status).toBe(202);
    await api.publish("wide", {}, "other");
    const other = api.callers.get("other")?.projectId ?? 0;
    const projects = sqlite.query<{ id: number }, []>("SELECT project_id AS id FROM written ORDER BY rowid");
    const written = () => projects.all().map(({ id }) => id);
    while (written().filter((id) => id === other).length < 1 + 3) await nextTurn();
    const beside = written().slice(written().indexOf(other), written().lastIndexOf(other));
    expect(beside.filter((id) => id !== other).length).toBeLessThan(10);
  },
);

/** Endpoints, all of which get wide events, the last one also narrow ones. */
async function endpointsOf(api: Api, count: number, url: string, ordering: Endpoint["ordering"]) {
  const made: Endpoint[] = [];
  for (let n = 1; n <= count; n++) {
    const eventTypes = n === count ? ["wide", "narrow"] : ["wide"];
    made.push(await api.endpoint({ url: n === count ? url : NOWHERE, eventTypes, ordering }));
  }
  return made;
}

test("an endpoint that comes to keep the order gets what is still being written before what comes later", async () => {
  await using api = await startApi();
  const made = await endpointsOf(api, 20, api.receiver.url("ordered"), "none");
  for (const name of names) setLimit(name, BOUNDS[name]);
  await api.publish("wide", { data: { n: 1 } });
  await api.publish("wide", { data: { n: 2 } });
  await Promise.all([
    api.change(made.at(-1) as Endpoint, { ordering: "fifo" }),
    api.publish("wide", { data: { n: 3 } }),
    api.publish("narrow", { data: { n: 4 } }),
  ]);
  await api.publish("narrow", { data: { n: 5 } });
  const requests = await api.receiver.arrived("ordered", 5);
  const keys = requests.map(({ headers }) => api.data.ids.decode("msg", headers["webhook-id"] ?? "") ?? 0);
  expect(keys).toEqual(keys.toSorted((a, b) => a - b));
});

/** A spreader that writes nothing, as too much waits to be sent, and what its clock was asked and says. */
function heldSpreader({ data }: TestData) {
  const time = { asked: 0, now: 0 };
  const clock = {
    ...steadyOver(systemClock),
    now: () => {
      time.asked++;
      return time.now;
    },
  };
  const never = new Promise<void>(() => {});
  const dispatcher = {
    dispatch: () => {},
    waiting: Number.POSITIVE_INFINITY,
    waitingOfProject: () => Number.POSITIVE_INFINITY,
    untilNextTurn: () => never,
  };
  const spreader = new Spreader(data, { clock, endpointsToPark: () => new Set(), dispatcher });
  return { spreader, time };
}

/**
 * A spreader with a dispatcher whose turns come when the test says so, as no time is left between them, and
 * which forgets what it brings.
 */
function steppedSpreader({ data }: TestData) {
  const turns: (() => void)[] = [];
  let isOver = true;
  const dispatcher = new Dispatcher({
    read: (id) => data.deliveries.get(id),
    endpoint: (id) => data.endpoints.get(id),
    accountOf: (projectId) => data.tenants.accountIdOf(projectId),
    enqueue: () => {},
    schedule: (next) => void turns.push(next),
    beginShare: () => ({ isOver }),
  });
  const clock = steadyOver(systemClock);
  const spreader = new Spreader(data, { clock, endpointsToPark: () => new Set(), dispatcher });
  /** One turn, and time for a transaction of the spreader. */
  const step = async () => {
    isOver = false;
    turns.shift()?.();
    isOver = true;
    await data.store.write(() => null);
  };
  return { spreader, dispatcher, step };
}

/** A fan-out of one event to all of these, which nobody waits for. */
async function spread({ data }: TestData, spreader: Spreader, projectId: number, ids: readonly number[]) {
  const fanout = await data.store.write(() => {
    const id = data.store.takeKey(1 + ids.length);
    const event = { consumerId: null, externalId: null, sourceId: null, isTest: false, hops: 0, trace: null };
    const counts = { timestamp: 0, deliveryCount: ids.length };
    data.events.insert({ id, projectId, type: "wide", data: "{}", ...event, ...counts });
    const list = { id, endpoints: ids, ordered: 0, asOf: data.endpoints.changes };
    data.fanouts.insertList(list);
    return data.fanouts.insert(projectId, id, id + 1, list);
  });
  await spreader.add(fanout, false);
}

/** Keys of so many endpoints of a project. */
async function idsOf(it: TestData, projectId: number, count: number): Promise<number[]> {
  const ids: number[] = [];
  for (let n = 0; n < count; n++) ids.push((await it.endpoint({ projectId })).id);
  return ids;
}

/** More than a slice takes goes into the line, however few of them go at once. */
const SLICE = 2 * LIMITS.dispatchAtOnceMax.value;

test("a wide event is written while another project's events keep the line full, and no faster than it goes out", async () => {
  await using it = await openTestData();
  setLimit("fanoutAtOnceMax", 3 * SLICE);
  setLimit("fanoutSliceRows", SLICE);
  const other = await it.data.tenants.createProject(it.project.accountId, "other", "live");
  const ids = await idsOf(it, it.project.id, 8 * SLICE);
  const [theirs = 0] = await idsOf(it, other.id, 1);
  const { spreader, dispatcher, step } = steppedSpreader(it);
  const flood = () => {
    const one = { endpointId: theirs, due: 0, queueOrder: null, load: null };
    dispatcher.dispatch(Array.from({ length: 5 * SLICE }, (_, id) => ({ id, ...one })));
  };
  flood();
  await spread(it, spreader, it.project.id, ids);
  let [most, least, turns] = [0, Number.POSITIVE_INFINITY, 0];
  for (; it.data.fanouts.count() > 0 && turns < 50; turns++) {
    flood();
    await step();
    most = Math.max(most, dispatcher.waitingOfProject(it.project.id));
    least = Math.min(least, dispatcher.waitingOfProject(other.id));
  }
  // Without its turns one project would have to wait until the other one has none left.
  expect([it.data.fanouts.count(), least > LIMITS.fanoutAtOnceMax.value]).toEqual([0, true]);
  expect([turns < 50, most >= SLICE, most < 2 * SLICE]).toEqual([true, true, true]);
});

test("a wide event waits for one slice of another account, however many projects that has", async () => {
  await using it = await openTestData();
  setLimit("fanoutSliceRows", SLICE);
  const { spreader } = steppedSpreader(it);
  const { tenants } = it.data;
  const another = await tenants.createAccount({ name: "another", plan: "unlimited" });
  const made = Array.from({ length: 10 }, (_, n) => tenants.createProject(another.id, String(n), "live"));
  const projects = [...(await Promise.all(made)), it.project];
  const lists = await Promise.all(projects.map(({ id }) => idsOf(it, id, 2 * SLICE)));
  await Promise.all(projects.map(({ id }, at) => spread(it, spreader, id, lists[at] ?? [])));
  const isDone = () => !it.data.fanouts.unfinished().some(({ projectId }) => projectId === it.project.id);
  const before = it.data.store.commits;
  while (!isDone()) await it.data.store.write(() => null);
  // Its second slice comes after one of each of two of the other projects.
  expect([it.data.store.commits - before <= 6, it.data.fanouts.count() >= 9]).toEqual([true, true]);
});

test("a wide event that is ahead goes on as its deliveries go out, and those on their way have a bound", async () => {
  await using it = await openTestData();
  setLimit("fanoutAtOnceMax", 3 * SLICE);
  setLimit("fanoutSliceRows", SLICE);
  const ids = await idsOf(it, it.project.id, 10 * SLICE);
  const { spreader, dispatcher, step } = steppedSpreader(it);
  await spread(it, spreader, it.project.id, ids);
  const held: number[] = [];
  for (let turns = 0; it.data.fanouts.count() > 0 && turns < 50; turns++) {
    // Time for several transactions between two turns: it stops by itself.
    for (let n = 0; n < 5; n++) await it.data.store.write(() => null);
    held.push(dispatcher.waiting);
    await step();
  }
  const [least, most] = [Math.min(...held), Math.max(...held)];
  expect([it.data.fanouts.count(), most > 3 * SLICE, most <= 4 * SLICE]).toEqual([0, true, true]);
  // It does not wait until none are left.
  expect(least).toBeGreaterThan(SLICE);
});

test("the door of a project is opened by its own deliveries alone, for as many as there is room for", async () => {
  await using it = await openTestData();
  const { spreader, time } = heldSpreader(it);
  const most = LIMITS.fanoutWaitingMax.value;
  setLimit("fanoutDoorMax", 1000 * most);
  const leave = await spreader.waitForRoom(1, most);
  const inside: (() => void)[] = [];
  let refused = 0;
  for (let n = 0; n < 1000; n++)
    spreader.waitForRoom(1, most / 2).then(
      (leaveRoom) => inside.push(leaveRoom),
      () => refused++,
    );
  const asked = time.asked;
  for (let n = 0; n < 50; n++) (await spreader.waitForRoom(2, 5))();
  expect([time.asked - asked < 200, inside.length]).toEqual([true, 0]);
  leave();
  await nextTurn();
  expect([inside.length, refused]).toEqual([2, 0]);
  time.now = LIMITS.fanoutWaitMs.value;
  inside.pop()?.();
  await nextTurn();
  const slice = LIMITS.sliceRows.value;
  expect([inside.length, refused]).toEqual([2, slice - 1]);
  for (let n = 0; n < 1000 && inside.length > 0; n++) {
    inside.shift()?.();
    await nextTurn();
  }
  // Each opening lets one in and refuses the rest of a slice, and the last one has nobody left to refuse.
  expect([inside.length, refused > 900]).toEqual([0, true]);
  (await spreader.waitForRoom(1, most))();
});

test("what waits at a project's door has a bound, and what exceeds it is refused at once, unless it waits alone", async () => {
  await using it = await openTestData();
  const { spreader } = heldSpreader(it);
  const most = LIMITS.fanoutWaitingMax.value;
  const bound = LIMITS.fanoutDoorMax.value;
  const leave = await spreader.waitForRoom(1, most);
  const refused: number[] = [];
  const inside: (() => void)[] = [];
  const come = (name: number, rows: number) =>
    spreader.waitForRoom(1, rows).then(
      (leaveRoom) => inside.push(leaveRoom),
      () => refused.push(name),
    );
  for (let name = 0; name < 100; name++) void come(name, bound / 5);
  await nextTurn();
  expect([refused.length, refused[0], inside.length]).toEqual([95, 5, 0]);
  leave();
  for (let left = 5; left > 0; left--) {
    await nextTurn();
    inside.shift()?.();
  }
  // All have gone: the door counts nobody any more.
  const again = await spreader.waitForRoom(1, most);
  void come(100, bound + 1);
  void come(101, 1);
  await nextTurn();
  expect(refused.slice(95)).toEqual([101]);
  again();
});

test("lists are searched for an endpoint that comes to keep the order, and for no other that changes", async () => {
  await using it = await openTestData();
  const { store, endpoints, fanouts } = it.data;
  const { spreader } = heldSpreader(it);
  const [first, second] = [await it.endpoint({ ordering: "fifo" }), await it.endpoint({ ordering: "none" })];
  const ids = [first.id, second.id];
  const searches = spyOn(ids, "findLastIndex");
  const fanout = await store.write(() => {
    const id = it.insertEvent(2);
    const list = { id, endpoints: ids, ordered: 1, asOf: endpoints.changes };
    fanouts.insertList(list);
    return fanouts.insert(it.project.id, id, id + 1, list);
  });
  await spreader.add(fanout, false);
  await endpoints.change(first.id, () => ({ metadata: { of: "no account" } }));
  await endpoints.change(second.id, () => ({ metadata: { of: "no account" } }));
  await it.endpoint({ ordering: "fifo" });
  expect([searches.mock.calls.length, fanout.ordered]).toEqual([0, 1]);
  await endpoints.change(second.id, () => ({ ordering: "fifo" as const }));
  expect([searches.mock.calls.length, fanout.ordered]).toEqual([1, 2]);
});

test("of a list whose endpoints were deleted meanwhile no row is read, and those that are there keep the order", async () => {
  await using it = await openTestData();
  const { store, endpoints, fanouts } = it.data;
  const made: Endpoint[] = [];
  for (let n = 0; n < 5; n++) made.push(await it.endpoint({ ordering: "fifo" }));
  const ids = made.map(({ id }) => id);
  const asOf = endpoints.changes;
  const left = await store.write(() => [0, 1, 3, 4].map((at) => endpoints.delete(ids[at] ?? 0)));
  for (const endpoint of left) if (endpoint) endpoints.announce(endpoint);
  using read = spyOn(endpoints, "getAnyway");
  const { spreader } = heldSpreader(it);
  const fanout = await store.write(() => {
    const id = it.insertEvent(ids.length);
    const list = { id, endpoints: ids, ordered: 0, asOf };
    fanouts.insertList(list);
    return fanouts.insert(it.project.id, id, id + 1, list);
  });
  await spreader.add(fanout, false);
  expect([read.mock.calls.length, fanout.ordered]).toEqual([0, 3]);
});

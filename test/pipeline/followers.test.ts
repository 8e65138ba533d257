/** Whom wide events of a batch go to is gathered once, within bounds. */
import { afterEach, expect, spyOn, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { LIMITS } from "../../src/core/limits.ts";
import type { Endpoint } from "../../src/core/model.ts";
import * as destinations from "../../src/destinations/destinations.ts";
import { Audiences } from "../../src/pipeline/audience.ts";
import { startApi } from "../http/log-kit.ts";
import { openTestData } from "../kit/data.ts";

const NOWHERE = "http://127.0.0.1:9/";

const BOUNDS = {
  fanoutAtOnceMax: 2,
  eventRowsMax: 2,
  fanoutSliceRows: 1,
  fanoutWaitingMax: 10,
  fanoutWaitMs: 60_000,
  batchListRowsMax: 10,
  batchDeliveriesMax: 1000,
} as const;
const names = Object.keys(BOUNDS) as (keyof typeof BOUNDS)[];
const usual = names.map((name) => LIMITS[name].value);
const setLimit = (name: keyof typeof BOUNDS, value: number) => {
  (LIMITS[name] as { value: number }).value = value;
};

afterEach(() => names.forEach((name, at) => setLimit(name, usual[at] ?? 0)));

test("wide events of a batch with the same endpoints have one list, also where a filter said no", async () => {
  await using api = await startApi();
  for (let n = 0; n < 4; n++) await api.endpoint({ url: NOWHERE, status: "paused" });
  await api.endpoint({ url: NOWHERE, status: "paused", filter: { data: { n: 1 } } });
  for (const name of names) setLimit(name, BOUNDS[name]);
  const { sqlite } = api.data.store;
  sqlite.run("CREATE TABLE written (endpoints TEXT)");
  sqlite.run(
    "CREATE TRIGGER lists AFTER INSERT ON fanout_list BEGIN INSERT INTO written VALUES (new.endpoints); END",
  );
  const batch = (values: readonly number[]) =>
    api.call("POST", "/v1/events/batch", { events: values.map((n) => ({ type: "wide", data: { n } })) });
  expect((await batch([2, 3, 1, 2, 1, 4])).status).toBe(202);
  while (api.data.fanouts.count() > 0) await nextTurn();
  const lengths = sqlite.query<{ n: number }, []>("SELECT json_array_length(endpoints) AS n FROM written");
  expect(lengths.all()).toEqual([{ n: 4 }, { n: 5 }]);
  const rows = sqlite.query<{ n: number }, []>("SELECT count(*) AS n FROM delivery").get();
  expect(rows?.n).toBe(4 * 4 + 2 * 5);

  setLimit("batchListRowsMax", 8);
  const refused = await batch([2, 1]);
  expect([refused.status, refused.json["errors"]]).toMatchObject([422, [{ pointer: "/events/1" }]]);
  expect((await batch([2, 3, 4])).status).toBe(202);
});

test("the deliveries of a batch's wide events have a bound: what exceeds it is refused at its place", async () => {
  await using api = await startApi();
  for (let n = 0; n < 4; n++) await api.endpoint({ url: NOWHERE, status: "paused" });
  for (const name of names) setLimit(name, BOUNDS[name]);
  setLimit("batchDeliveriesMax", 14);
  const batch = (count: number) =>
    api.call("POST", "/v1/events/batch", {
      events: Array.from({ length: count }, () => ({ type: "wide", data: {} })),
    });
  const refused = await batch(5);
  expect([refused.status, refused.json["errors"]]).toMatchObject([422, [{ pointer: "/events/3" }]]);
  expect((await batch(3)).status).toBe(202);
  // A single event is no batch: it has as many deliveries as the project has endpoints.
  setLimit("batchDeliveriesMax", 3);
  expect((await batch(1)).status).toBe(202);
});

test("publishes of a wide event that no filter is asked about share one list, until an endpoint changes", async () => {
  await using it = await openTestData();
  setLimit("eventRowsMax", 2);
  const made: Endpoint[] = [];
  for (let n = 0; n < 4; n++) made.push(await it.endpoint());
  const audiences = new Audiences(it.data, { onExhausted() {}, onRefusedFilter() {} });
  const event = { type: "wide", timestamp: 0, consumerId: null, data: "{}" };
  const ask = async () => (await audiences.of(it.project.id, [event]))[0]?.followers;
  const lists = await Promise.all([ask(), ask(), ask()]);
  expect(new Set(lists.map((list) => list?.ids)).size).toBe(1);
  expect(new Set(lists.map((list) => list?.endpoints)).size).toBe(1);

  const { endpoints, store } = it.data;
  const last = made.at(-1)?.id ?? 0;
  const changed = await store.write(() => endpoints.update(last, () => ({ ordering: "fifo" })));
  if (changed) endpoints.announce(changed);
  const next = await ask();
  expect([next?.ids[0], next?.ordered, next?.asOf]).toEqual([last, 1, endpoints.changes]);
});

test("a list that many publishes need at once is made by one of them, while the others wait", async () => {
  await using it = await openTestData({ beginShare: () => ({ isOver: true }) });
  setLimit("eventRowsMax", 2);
  const count = 250;
  for (let n = 0; n < count; n++) await it.endpoint();
  const audiences = new Audiences(it.data, { onExhausted() {}, onRefusedFilter() {} });
  const event = { type: "wide", timestamp: 0, consumerId: null, data: "{}" };
  using looked = spyOn(destinations, "keepsOrder");
  await Promise.all(Array.from({ length: 10 }, () => audiences.of(it.project.id, [event])));
  expect(looked).toHaveBeenCalledTimes(count);
});

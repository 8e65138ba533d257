/** What a page of deliveries looks at; what it answers: test/http/deliveries/deliveries.test.ts. */
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { Cipher } from "../../../src/core/cipher.ts";
import { untriedDelivery } from "../../../src/core/delivery.ts";
import { LIMITS } from "../../../src/core/limits.ts";
import { openData } from "../../../src/store/data.ts";
import {
  type DeliveryCount,
  type DeliveryFilter,
  DeliveryList,
} from "../../../src/store/log/delivery-list.ts";
import { migrate } from "../../../src/store/migrations.ts";
import { storeParts } from "../../kit/store-parts.ts";

const DELIVERIES = 2000;
const limits = LIMITS as { listScanMax: { value: number }; searchScanMax: { value: number } };
const usual = { list: limits.listScanMax.value, search: limits.searchScanMax.value };

beforeAll(() => {
  limits.listScanMax.value = 500;
  limits.searchScanMax.value = 1000;
});

afterAll(() => {
  limits.listScanMax.value = usual.list;
  limits.searchScanMax.value = usual.search;
});

/** Events with a delivery each; `keys` of those, newest first. */
async function fill() {
  const sqlite = new Database(":memory:", { strict: true });
  migrate(sqlite);
  const data = openData(sqlite, storeParts({}), { cipher: new Cipher([new Uint8Array(32)]), cell: "00" });
  const { store, tenants, events, deliveries } = data;
  const account = await tenants.createAccount({ name: "a", plan: "free" });
  const { id: projectId } = await tenants.createProject(account.id, "live", "live");
  const keys = await store.write(() =>
    Array.from({ length: DELIVERIES }, () => {
      const id = store.takeKey(2);
      const plain = {
        type: "a.b",
        timestamp: 0,
        isTest: false,
        hops: 0,
        trace: null,
        data: "{}",
        deliveryCount: 1,
      };
      events.insert({ id, projectId, ...plain, consumerId: null, externalId: null, sourceId: null });
      const of = { id: id + 1, eventId: id, endpointId: 7, projectId, origin: "publish" as const };
      deliveries.insert(untriedDelivery({ ...of, due: 0 }), null);
      return id + 1;
    }),
  );
  const none = { status: null, endpointId: null, eventId: null, eventTypes: null, consumerId: null };
  const rest = { statusCode: null, since: null, until: null, q: null, visible: null, asOf: null };
  const any: DeliveryFilter = { projectId, ...none, ...rest };
  const ask = { before: Number.MAX_SAFE_INTEGER, count: 10, turns: store.turns };
  return { sqlite, list: new DeliveryList(data), any, ask, keys: keys.toReversed() };
}

const pendingOf = ({ points }: { points: DeliveryCount[] }) =>
  points.reduce((sum, { counts }) => sum + counts.pending, 0);

test("a page that finds nothing, and a count, end after as many as they may look at; a text search later", async () => {
  const { list, any, ask, keys } = await fill();
  for (const filter of [
    { status: ["dead", "cancelled"] },
    { statusCode: 418 },
    { eventTypes: ["other"] },
    { consumerId: "ada" },
  ] as const)
    expect([filter, await list.page({ ...any, ...filter }, ask)]).toEqual([
      filter,
      { rows: [], next: keys[499] ?? 0 },
    ]);
  const counted = await list.count(any, "day", ask);
  expect([pendingOf(counted), counted.next]).toEqual([500, keys[499] ?? 0]);
  expect(await list.page({ ...any, q: "nowhere" }, ask)).toEqual({ rows: [], next: keys[999] ?? 0 });
});

test("no event is read where the filter asks for nothing of it", async () => {
  const { sqlite, list, any, ask } = await fill();
  const count = async (filter: Partial<DeliveryFilter>) =>
    pendingOf(await list.count({ ...any, ...filter }, "day", ask));
  expect(await count({ eventTypes: ["a.*"] })).toBe(500);
  // As no event leaves: its deliveries do too, or it stands in `removal`.
  sqlite.run("DELETE FROM event");
  expect([await count({}), await count({ status: ["pending"] })]).toEqual([500, 500]);
  expect([await count({ eventTypes: ["a.*"] }), await count({ consumerId: "ada" })]).toEqual([0, 0]);
});

test("deliveries of an event that has left the log are neither listed nor counted", async () => {
  const { sqlite, list, any, ask, keys } = await fill();
  const [newest = 0, second = 0] = keys;
  sqlite.run("INSERT INTO removal (event_id) VALUES (?)", [newest - 1]);
  sqlite.run("DELETE FROM event WHERE id = ?", [newest - 1]);
  expect((await list.page({ ...any, status: ["pending"] }, ask)).rows[0]?.id).toBe(second);
  expect(pendingOf(await list.count(any, "day", ask))).toBe(499);
  expect([list.getIf(newest, any), list.getIf(second, any)?.id]).toEqual([null, second]);
});

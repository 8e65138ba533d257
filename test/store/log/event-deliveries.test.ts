import type { Database } from "bun:sqlite";
import { afterEach, beforeEach, expect, test } from "bun:test";
import { limit, LIMITS } from "../../../src/core/limits.ts";
import { EventDeliveries, wholeOf } from "../../../src/store/log/event-deliveries.ts";
import { migrate } from "../../../src/store/migrations.ts";
import { CountingDatabase } from "../../kit/counting-database.ts";
import { CountingTurns } from "../../kit/counting-turns.ts";

const EVENT = 1000;
const OTHER = 2000;
const ALL = { visible: null };
const ROWS = 10;
const usual = limit("listLimitMax");

beforeEach(() => void ((LIMITS.listLimitMax as { value: number }).value = ROWS));
afterEach(() => void ((LIMITS.listLimitMax as { value: number }).value = usual));

/**
 * `own`: came with the event, every third reopened; `added`: made by replays, among those of another event.
 */
function open(own: number, added: number) {
  const sqlite = new CountingDatabase(":memory:", { strict: true });
  migrate(sqlite);
  const plain: Database = sqlite;
  const event = plain.prepare<void, [number]>(
    "INSERT INTO event (id, project_id, type, timestamp, delivery_count, data) VALUES (?, 1, 'a.b', 0, 0, '{}')",
  );
  for (const id of [EVENT, OTHER]) event.run(id);
  const delivery = plain.prepare<void, [number, number, number, number]>(
    "INSERT INTO delivery (id, event_id, endpoint_id, project_id, status, origin) VALUES (?, ?, ?, 1, 2, ?)",
  );
  const keys: number[] = [];
  const add = (id: number, of: number, endpoint: number, origin: number) => {
    delivery.run(id, of, endpoint, origin);
    if (of === EVENT) keys.push(id);
  };
  for (let n = 1; n <= own; n++) add(EVENT + n, EVENT, n, n % 3 === 0 ? 1 : 0);
  // Replays of another event, before the next event was published.
  for (let n = 1; n <= own; n++) add(EVENT + own + n, 7, n, 1);
  for (let n = 1; n <= 2 * added; n++) add(OTHER + n, n % 2 === 0 ? EVENT : OTHER, n, 1);
  return { sqlite, keys, deliveries: new EventDeliveries({ sqlite }), turns: new CountingTurns(sqlite) };
}

test.each([
  [0, 0],
  [1, 0],
  [0, 7],
  [ROWS, ROWS],
  [ROWS + 1, 0],
  [95, 42],
  [33, 300],
])("of %d that came with it and %d added ones each is read once, a few in a turn", async (own, added) => {
  const { keys, deliveries, turns } = open(own, added);
  const read: number[] = [];
  for await (const slice of deliveries.slices(EVENT, turns))
    read.push(...deliveries.pick(EVENT, slice, ALL).map(({ id }) => id));
  expect(read).toEqual(keys);
  expect(turns.most).toBeLessThanOrEqual(2 * ROWS);
  // Those of others that stand behind the event are looked at too.
  expect(turns.given).toBeGreaterThanOrEqual(Math.max(2 * own, added) / ROWS);
  for (const before of [Number.MAX_SAFE_INTEGER, OTHER, EVENT + 5])
    for (const count of [3, 1000]) {
      const below = keys.filter((id) => id < before);
      const newest = await deliveries.newest(EVENT, turns, ALL, before, count);
      expect(newest).toEqual(below.toReversed().slice(0, count));
    }
  expect(turns.most).toBeLessThanOrEqual(2 * ROWS);
});

test("what goes to few of very many endpoints is found in as small pieces", async () => {
  const { deliveries, turns } = open(95, 42);
  const visible = new Set([2, 90]);
  const newest = await deliveries.newest(EVENT, turns, { visible }, Number.MAX_SAFE_INTEGER, 10);
  expect(newest).toEqual([OTHER + 2, EVENT + 90, EVENT + 2]);
  expect([turns.given >= 95 / ROWS, turns.most <= 2 * ROWS]).toEqual([true, true]);
});

test("is asked no further than the answer is known, and between two keys", async () => {
  const { deliveries, turns } = open(95, 42);
  expect(await deliveries.some(EVENT, turns, { ...ALL, endpointId: 2 })).toBe(true);
  expect(turns.given).toBe(1);
  const earlier = { ...wholeOf(EVENT), below: EVENT + 2 };
  expect(await deliveries.some(EVENT, turns, { ...ALL, endpointId: 2 }, earlier)).toBe(false);
  expect(turns.given).toBe(2);
  expect(await deliveries.count(EVENT, turns, ALL)).toBe(95 + 42);
  expect(await deliveries.count(EVENT, turns, { ...ALL, isReplayed: true })).toBe(31 + 42);
  expect(await deliveries.some(EVENT, turns, { ...ALL, status: "dead" })).toBe(false);
  expect(await deliveries.count(EVENT, turns, { ...ALL, status: "delivered", endpointId: 2 })).toBe(2);
  const later = { ...wholeOf(EVENT), above: EVENT + 90 };
  expect(await deliveries.count(EVENT, turns, ALL, later)).toBe(5 + 42);
});

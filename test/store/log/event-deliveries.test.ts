import type { Database } from "bun:sqlite";
import { afterEach, beforeEach, expect, test } from "bun:test";
import { limit, LIMITS } from "../../../src/core/limits.ts";
import { Cipher } from "../../../src/core/cipher.ts";
import { openData } from "../../../src/store/data.ts";
import { wholeOf } from "../../../src/store/log/event-deliveries.ts";
import { migrate } from "../../../src/store/migrations.ts";
import { CountingDatabase } from "../../kit/counting-database.ts";
import { CountingTurns } from "../../kit/counting-turns.ts";
import { storeParts } from "../../kit/store-parts.ts";

const EVENT = 1000;
const OTHER = 5000;
const ALL = { visible: null };
const ROWS = 10;
const usual = limit("listLimitMax");

beforeEach(() => void ((LIMITS.listLimitMax as { value: number }).value = ROWS));
afterEach(() => void ((LIMITS.listLimitMax as { value: number }).value = usual));

/**
 * `own`: came with the event, every third reopened; `added`: made by replays, among those of another event.
 */
async function open(own: number, added: number) {
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
  const entries: [key: number, endpoint: number][] = [];
  const add = (id: number, of: number, endpoint: number, origin: number) => {
    delivery.run(id, of, endpoint, origin);
    entries.push([id, endpoint]);
    if (of === EVENT) keys.push(id);
  };
  for (let n = 1; n <= own; n++) add(EVENT + n, EVENT, n, n % 3 === 0 ? 1 : 0);
  // Replays of another event, before the next event was published.
  for (let n = 1; n <= own; n++) add(EVENT + own + n, 7, n, 1);
  for (let n = 1; n <= 2 * added; n++) add(OTHER + n, n % 2 === 0 ? EVENT : OTHER, n, 1);
  const cipher = new Cipher([new Uint8Array(32)]);
  const { store, index, eventDeliveries } = openData(sqlite, storeParts({}), { cipher, cell: "00" });
  const half = entries.length / 2;
  for (const some of [entries.slice(0, half), entries.slice(half)]) {
    // The second half stays in memory.
    await index.settle();
    await store.write(() => some.forEach(([key, endpoint]) => index.add(key, [endpoint])));
  }
  return { keys, deliveries: eventDeliveries, turns: new CountingTurns(sqlite) };
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
  const { keys, deliveries, turns } = await open(own, added);
  const read: number[] = [];
  for await (const slice of deliveries.slices(EVENT, turns, null))
    read.push(...deliveries.pick(EVENT, slice).map(({ id }) => id));
  expect(read).toEqual(keys);
  expect(turns.most).toBeLessThanOrEqual(2 * ROWS);
  // Those of others that stand behind the event are looked at too.
  expect(turns.given).toBeGreaterThanOrEqual(Math.max(2 * own, added) / ROWS);
  for (const before of [Number.MAX_SAFE_INTEGER, OTHER, EVENT + 5])
    for (const count of [3, 1000]) {
      const below = keys.filter((id) => id < before);
      const newest = await deliveries.newest(EVENT, turns, null, before, count);
      expect(newest).toEqual(below.toReversed().slice(0, count));
    }
  expect(turns.most).toBeLessThanOrEqual(2 * ROWS);
});

test("those to some endpoints are found however many it has of others, none of which is read", async () => {
  // Endpoint 3 has one that was reopened, 2 one that was added; 5000 has none.
  const visible = new Set([3, 2, 5000]);
  const [first, second, last] = [EVENT + 2, EVENT + 3, OTHER + 2];
  const read: number[] = [];
  for (const [own, added] of [
    [3, 1],
    [95, 42],
    [900, 700],
  ] as const) {
    const { deliveries, turns } = await open(own, added);
    const sent: { id: number; endpointId: number }[] = [];
    for await (const slice of deliveries.slices(EVENT, turns, visible))
      sent.push(...deliveries.pick(EVENT, slice));
    expect(sent).toEqual([
      { id: first, endpointId: 2 },
      { id: second, endpointId: 3 },
      { id: last, endpointId: 2 },
    ]);
    const newest = (before: number, count: number) => deliveries.newest(EVENT, turns, visible, before, count);
    expect(await newest(Number.MAX_SAFE_INTEGER, 10)).toEqual([last, second, first]);
    expect(await newest(last, 1)).toEqual([second]);
    expect(await deliveries.count(EVENT, turns, { visible })).toBe(3);
    expect(await deliveries.count(EVENT, turns, { visible, isReplayed: true })).toBe(2);
    expect(await deliveries.count(EVENT, turns, { visible, endpointId: 2 })).toBe(2);
    expect(await deliveries.count(EVENT, turns, { visible, endpointId: 1 })).toBe(0);
    expect(await deliveries.some(EVENT, turns, { visible, status: "dead" })).toBe(false);
    const behind = { ...wholeOf(EVENT), above: EVENT + own };
    expect(await deliveries.count(EVENT, turns, { visible }, behind)).toBe(1);
    expect(deliveries.newestTo(EVENT, [2, 3, 5000])).toEqual(
      new Map([
        [3, second],
        [2, last],
      ]),
    );
    read.push(turns.read);
  }
  expect(read).toEqual([read[0] ?? 0, read[0] ?? 0, read[0] ?? 0]);
});

test("is asked no further than the answer is known, and between two keys", async () => {
  const { deliveries, turns } = await open(95, 42);
  expect(await deliveries.some(EVENT, turns, ALL)).toBe(true);
  expect(turns.given).toBe(1);
  const earlier = { ...wholeOf(EVENT), below: EVENT + 2 };
  expect(await deliveries.some(EVENT, turns, { ...ALL, isReplayed: true }, earlier)).toBe(false);
  expect(turns.given).toBe(2);
  expect(await deliveries.some(EVENT, turns, { ...ALL, endpointId: 2 })).toBe(true);
  expect(await deliveries.some(EVENT, turns, { ...ALL, endpointId: 2 }, earlier)).toBe(false);
  expect(await deliveries.count(EVENT, turns, ALL)).toBe(95 + 42);
  expect(await deliveries.count(EVENT, turns, { ...ALL, isReplayed: true })).toBe(31 + 42);
  expect(await deliveries.some(EVENT, turns, { ...ALL, status: "dead" })).toBe(false);
  expect(await deliveries.count(EVENT, turns, { ...ALL, status: "delivered", endpointId: 2 })).toBe(2);
  const later = { ...wholeOf(EVENT), above: EVENT + 90 };
  expect(await deliveries.count(EVENT, turns, ALL, later)).toBe(5 + 42);
});

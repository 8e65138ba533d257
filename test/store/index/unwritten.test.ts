import { afterEach, beforeEach, expect, test } from "bun:test";
import { Cipher } from "../../../src/core/cipher.ts";
import { type Data, openData } from "../../../src/store/data.ts";
import { Store } from "../../../src/store/store.ts";
import { openMemory } from "../../kit/memory.ts";
import { storeParts } from "../../kit/store-parts.ts";

const AT = Date.UTC(2026, 10, 1);
const ENDPOINT = 7;
const DONE = { status: "delivered", step: 0, due: null, deadReason: null } as const;

let data: Data;

beforeEach(() => {
  const cipher = new Cipher([new Uint8Array(32).fill(1)]);
  data = openData(openMemory(), storeParts({ now: () => AT }), { cipher, cell: "00" });
});

afterEach(() => data.store.close());

/** Inside a write: an event with one delivery; the delivery's key. */
function insert(): number {
  const { store, events, deliveries } = data;
  const eventId = store.takeKey(2);
  const place = {
    projectId: 1,
    type: "a.b",
    timestamp: AT,
    consumerId: null,
    externalId: null,
    sourceId: null,
  };
  events.insert(
    { id: eventId, ...place, isTest: false, hops: 0, deliveryCount: 1, filtered: [], data: "{}" },
    [ENDPOINT],
  );
  const delivery = { id: eventId + 1, eventId, endpointId: ENDPOINT, projectId: 1, queueOrder: null };
  deliveries.insert({ ...delivery, status: "pending", origin: "publish", due: AT }, "named");
  return delivery.id;
}

/** Inside a write: its first attempt arrived. */
function settle(id: number): string {
  const delivery = data.deliveries.get(id);
  if (delivery === null) throw new Error("there is no such delivery");
  return data.deliveries.settle(delivery, { id: data.store.takeKey(), number: 1 }, true, DONE, null);
}

function refuse(_after?: unknown): never {
  throw new Error("refused");
}

const rowsOf = (id: number) =>
  data.store.sqlite
    .query<{ status: number; attempt_count: number }, [number]>(
      "SELECT status, attempt_count FROM delivery WHERE id = ?",
    )
    .all(id);

test("it gets its row with the outcome of its first attempt", async () => {
  const id = await data.store.write(insert);
  expect([rowsOf(id), data.deliveries.get(id)?.status]).toEqual([[], "pending"]);
  expect(await data.store.write(() => settle(id))).toBe("applied");
  expect(rowsOf(id)).toEqual([{ status: 2, attempt_count: 1 }]);
  expect(data.deliveries.get(id)?.status).toBe("delivered");
});

test("a rollback takes it back, and gives back one that was taken", async () => {
  const { store, unwritten, deliveries } = data;
  const made: number[] = [];
  await store.write(() => refuse(made.push(insert()))).catch(() => {});
  expect([unwritten.size, deliveries.get(made[0] ?? 0)]).toEqual([0, null]);
  const id = await store.write(insert);
  await store.write(() => refuse(settle(id))).catch(() => {});
  expect([rowsOf(id), deliveries.get(id)?.status]).toEqual([[], "pending"]);
});

test("a write that throws beside its outcome changes nothing of it", async () => {
  const { store } = data;
  const id = await store.write(insert);
  const [outcome, thrown] = await Promise.allSettled([store.write(() => settle(id)), store.write(refuse)]);
  expect([outcome, thrown.status]).toEqual([{ status: "fulfilled", value: "applied" }, "rejected"]);
  expect(rowsOf(id)).toEqual([{ status: 2, attempt_count: 1 }]);
});

test("of very many the digest's mark passes none without a row", async () => {
  const { store, digest, unwritten } = data;
  const ids = await Promise.all(Array.from({ length: 1200 }, () => store.write(insert)));
  await digest.writeDown();
  expect([unwritten.size, ids.filter((id) => rowsOf(id).length === 0)]).toEqual([0, []]);
  expect(digest.mark).toBe(ids.at(-1) ?? 0);
});

test("keys of deliveries that have no row, or are still to be written, are not given again after a crash", async () => {
  const { store, events, fanouts } = data;
  // The first one's lists get keys too.
  await store.write(insert);
  const id = await store.write(insert);
  const afterCrash = () => new Store(store.sqlite, storeParts()).keys.last;
  expect(afterCrash()).toBe(id);
  // One of the six was erased meanwhile, so that the event has fewer.
  const last = await store.write(() => {
    const eventId = store.takeKey(7);
    const place = { projectId: 1, type: "a.b", timestamp: AT, consumerId: null, externalId: null };
    const more = { sourceId: null, isTest: false, hops: 0, deliveryCount: 5, filtered: [], data: "{}" };
    events.insert({ id: eventId, ...place, ...more }, []);
    fanouts.insert(1, eventId, eventId + 1, [1, 2, 3, 4, 5, 6], 0);
    return eventId + 6;
  });
  expect(afterCrash()).toBe(last);
});

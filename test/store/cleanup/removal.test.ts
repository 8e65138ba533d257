/** What is erased is overwritten in the file, list entries too, from the first time on. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { limit } from "../../../src/core/limits.ts";
import { type Api, startApi } from "../../http/log-kit.ts";

const LIST = 7;
const keys = Array.from({ length: 60 }, (_, at) => 2 ** 50 + 3 + at * 2 ** 33);

test("keys that were dropped securely stand nowhere in the file", async () => {
  await using api = await startApi();
  const { index, removal, store } = api.data;
  await store.write(() => keys.forEach((key) => index.addBelowMark(key, [LIST])));
  const found = () => {
    store.sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)");
    const bytes = readFileSync(store.sqlite.filename);
    return keys.filter((key) => {
      const spelled = Buffer.alloc(8);
      spelled.writeBigInt64BE(BigInt(key));
      return bytes.includes(spelled);
    }).length;
  };
  expect(found()).toBe(keys.length);
  await store.write(() =>
    removal.securely(() => {
      for (const key of keys) index.remove(LIST, key);
    }),
  );
  expect([index.isEmpty(LIST), found()]).toEqual([true, 0]);
}, 20_000);

const NOTES = 250;

/** An event with one delivery, and very many notes of it. */
async function noted(api: Api): Promise<{ eventId: number; deliveryId: number; notes: () => number }> {
  await api.endpoint({ url: api.receiver.url("noted"), eventTypes: ["noted"] });
  const { id } = await api.publish("noted");
  const [delivery] = await api.settled(id);
  const eventId = api.services.ids.decode("evt", id) ?? 0;
  const deliveryId = api.services.ids.decode("msg", delivery?.id ?? "") ?? 0;
  const { notes, store } = api.data;
  await store.write(() => {
    for (let n = 0; n < NOTES; n++) notes.add(eventId, deliveryId, "replayed");
  });
  const left = store.sqlite.prepare<{ n: number }, []>("SELECT count(*) AS n FROM note");
  return { eventId, deliveryId, notes: () => left.get()?.n ?? -1 };
}

test("notes of an event leave slice by slice, however many", async () => {
  await using api = await startApi();
  const { eventId, notes } = await noted(api);
  const { removal, store } = api.data;
  await store.write(() => removal.remove(eventId));
  const left = [notes()];
  for (let of = removal.nextWithRest(-1); of !== null; of = removal.nextWithRest(-1)) {
    const projectId = of;
    expect(removal.hasRest(projectId)).toBe(true);
    await store.write(() => removal.removeRest(projectId));
    left.push(notes());
  }
  expect(left).toEqual([250, 152, 52, 0]);
});

test("notes of a delivery that leaves its event go slice by slice before it", async () => {
  await using api = await startApi();
  const { deliveryId, notes } = await noted(api);
  const { deliveries, removal, store } = api.data;
  const left: number[] = [];
  while (deliveries.get(deliveryId) !== null) {
    await store.write(() => removal.removeDeliveries([deliveryId], limit("sliceRows")));
    left.push(notes());
  }
  expect(left).toEqual([150, 50, 0]);
});

test("what was opened again behind a slice that ended it is ended before the event counts as closed", async () => {
  await using api = await startApi();
  const endpoints: string[] = [];
  for (let n = 0; n < 2; n++)
    endpoints.push((await api.endpoint({ url: api.receiver.url("p"), status: "paused" })).publicId);
  const { id } = await api.publish("a.b");
  const eventId = api.services.ids.decode("evt", id) ?? 0;
  const { removal, store } = api.data;
  const close = (after?: number) => store.write(() => removal.close(eventId, after).map((one) => one.id));
  const closed = await close();
  expect(closed).toHaveLength(2);
  const replay = { endpoint_ids: endpoints.slice(0, 1) };
  expect((await api.call("POST", `/v1/events/${id}/replay`, replay)).status).toBe(202);
  expect([await close(closed[1]), await close(closed[0])]).toEqual([[closed[0] ?? 0], []]);
});

test("attempts of a delivery leave slice by slice, however many, the first with the others", async () => {
  await using api = await startApi();
  const { eventId, deliveryId } = await noted(api);
  const { removal, store } = api.data;
  const add = store.sqlite.prepare<void, [number, number, number]>(
    "INSERT INTO attempt (id, delivery_id, number, trigger, started_at, duration_ms, outcome) VALUES (?, ?, ?, 0, 0, 0, 1)",
  );
  await store.write(() => {
    store.sqlite.run("DELETE FROM note");
    for (let number = 2; number <= 250; number++) add.run(store.takeKey(), deliveryId, number);
    return removal.remove(eventId);
  });
  const count = store.sqlite.prepare<{ n: number }, []>("SELECT count(*) AS n FROM attempt");
  const left = [count.get()?.n];
  for (let of = removal.nextWithRest(-1); of !== null; of = removal.nextWithRest(-1)) {
    const projectId = of;
    expect(removal.hasRest(projectId)).toBe(true);
    await store.write(() => removal.removeRest(projectId));
    left.push(count.get()?.n);
  }
  expect([left, store.sqlite.query("SELECT 1 FROM delivery").all()]).toEqual([[250, 150, 50, 0], []]);
});

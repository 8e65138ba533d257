import { expect, spyOn, test } from "bun:test";
import type { AttemptFacts, Outcome } from "../../../src/core/model.ts";
import { Attempts } from "../../../src/store/log/attempts.ts";
import { Heads } from "../../../src/store/log/heads.ts";
import { ANSWERED, openTestData, type TestData } from "../../kit/data.ts";

const ALL = Number.MAX_SAFE_INTEGER;

/** Inside a write: an attempt of a delivery, settled so that its delivery knows its first one. */
function insert(it: TestData, deliveryId: number, outcome: Outcome, facts: Partial<AttemptFacts> = {}) {
  const { store, deliveries, attempts } = it.data;
  const delivery = deliveries.get(deliveryId);
  if (delivery === null) throw new Error("there is no such delivery");
  const place = { id: store.takeKey(), number: delivery.attemptCount + 1 };
  const change = { status: "retrying", step: place.number, due: 1, deadReason: null } as const;
  deliveries.settle(delivery, place, true, change, null);
  attempts.insert(
    { ...place, deliveryId, trigger: "publish", outcome, nextAttemptAt: null, deadReason: null },
    { ...ANSWERED, ...facts },
  );
  return place.id;
}

async function oneDelivery(it: TestData): Promise<{ event: number; delivery: number }> {
  const { id } = await it.endpoint();
  return it.data.store.write(() => {
    const event = it.insertEvent();
    return { event, delivery: it.insertDelivery(event, id) };
  });
}

test("an attempt is read as it was written, headers to the letter, dates that are none of ours too", async () => {
  await using it = await openTestData();
  const { delivery } = await oneDelivery(it);
  const heads: [string, string][][] = [
    [
      ["date", "Sat, 21 Nov 2026 09:30:00 GMT"],
      ["x-a", "1"],
      ["x-a", "a: b"],
    ],
    [
      ["date", "Sat, 21 Nov 2026 09:30:01 GMT"],
      ["x-a", "1"],
      ["x-a", "a: b"],
    ],
    [
      ["date", "2026-11-21"],
      ["date", "Sat, 21 Nov 2026 09:30:00 GMT"],
      ["empty", ""],
    ],
    [],
  ];
  const rest = { requestHead: "POST https://a.test/\nx: y", sentAt: 5, signature: "v1,x", truncated: true };
  const body = { requestBody: Buffer.from([0, 255]), responseBody: Buffer.from("no") };
  await it.data.store.write(() => {
    for (const responseHeaders of heads)
      insert(it, delivery, "rejected", { ...rest, ...body, responseHeaders });
  });
  await it.reopen();
  const read = [...it.data.attempts.ofDelivery(delivery, ALL, 10)];
  expect(read.map(({ responseHeaders }) => responseHeaders)).toEqual(heads.toReversed());
  expect(read[0]).toMatchObject({ ...rest, number: 4, trigger: "publish", outcome: "rejected" });
  expect(Buffer.from(read[0]?.requestBody ?? [])).toEqual(body.requestBody);
  // But for the second of its date, the head of the first two is one row.
  const rows = it.data.store.sqlite.query<{ n: number }, []>("SELECT count(*) AS n FROM head");
  expect(rows.get()?.n).toBe(4);
});

test("those of a delivery come newest first and by the page, and no other's", async () => {
  await using it = await openTestData();
  const [one, other] = [await oneDelivery(it), await oneDelivery(it)];
  const ids = await it.data.store.write(() =>
    [one, other, one, one].map(({ delivery }) => insert(it, delivery, "timeout")),
  );
  const page = (before: number, count: number) =>
    [...it.data.attempts.ofDelivery(one.delivery, before, count)].map(({ id }) => id);
  expect(page(ALL, 2)).toEqual([ids[3] ?? 0, ids[2] ?? 0]);
  expect(page(ids[2] ?? 0, 2)).toEqual([ids[0] ?? 0]);
  expect(page(ids[0] ?? 0, 2)).toEqual([]);
});

test("those of an event come oldest first, and only of the deliveries between two keys", async () => {
  await using it = await openTestData();
  const [a, b] = [await it.endpoint(), await it.endpoint()];
  const [event, ofA] = await it.data.store.write(() => {
    const made = it.insertEvent();
    const [first, second] = [it.insertDelivery(made, a.id), it.insertDelivery(made, b.id)];
    for (const delivery of [second, first, second]) insert(it, delivery, "unreachable", { statusCode: null });
    return [made, first] as const;
  });
  const { attempts } = it.data;
  const all = attempts.ofEvent(event, 0, 10);
  expect(all.map(({ endpointId, number }) => [endpointId, number])).toEqual([
    [b.id, 1],
    [a.id, 1],
    [b.id, 2],
  ]);
  expect(attempts.ofEvent(event, 0, 10, { above: ofA - 1, below: ofA + 1 })).toEqual(all.slice(1, 2));
  expect(attempts.ofEvent(event, all[0]?.id ?? 0, 1)).toEqual(all.slice(1, 2));
  expect(attempts.ofEvent(event, 0, 10, { above: ofA, below: ofA + 1 })).toEqual([]);
});

test("what was handed out has arrived once, and took no less than no time where the clock was set back", async () => {
  await using it = await openTestData();
  const { delivery } = await oneDelivery(it);
  const { store, attempts } = it.data;
  await store.write(() => insert(it, delivery, "rejected", { startedAt: 1000 }));
  await store.write(() => insert(it, delivery, "handed_out", { startedAt: 1000 }));
  const acknowledge = (number: number, now: number) =>
    store.write(() => attempts.acknowledge(delivery, number, now));
  expect([await acknowledge(1, 1500), await acknowledge(3, 1500)]).toEqual([null, null]);
  expect([await acknowledge(2, 900), await acknowledge(2, 1500)]).toEqual([0, null]);
  expect([...attempts.ofDelivery(delivery, ALL, 1)]).toMatchObject([{ outcome: "delivered", durationMs: 0 }]);
});

test("what many attempts sent alike is looked for once for a page of them", async () => {
  await using it = await openTestData();
  const { delivery } = await oneDelivery(it);
  const { store } = it.data;
  const bodies = ["a", "b", "b", "b", "b", "c", "c", "c"];
  const ids = await store.write(() =>
    bodies.map((body) => insert(it, delivery, "rejected", { requestBody: Buffer.from(body) })),
  );
  using prepared = spyOn(store.sqlite, "prepare");
  const attempts = new Attempts(store, new Heads(store));
  const [looking] = prepared.mock.calls.flatMap(([sql], at) =>
    sql.includes("octet_length(request_body) > 0") ? [prepared.mock.results[at]?.value] : [],
  );
  using looks = spyOn(looking as { get: () => unknown }, "get");
  const read = [...attempts.ofDelivery(delivery, ids[6] ?? 0, 10)];
  expect(read.map(({ requestBody }) => Buffer.from(requestBody ?? []).toString())).toEqual(
    bodies.slice(0, 6).toReversed(),
  );
  expect(looks).toHaveBeenCalledTimes(1);
  expect([...attempts.ofDelivery(delivery, ids[4] ?? 0, 3)].map(({ number }) => number)).toEqual([4, 3, 2]);
  expect(looks).toHaveBeenCalledTimes(2);
});

import { expect, test } from "bun:test";
import { NOTE_KINDS } from "../../../src/store/log/notes.ts";
import { openTestData } from "../../kit/data.ts";

test("an event has its notes in the order in which they were made, each with the endpoint of its delivery", async () => {
  await using it = await openTestData();
  const [first, second] = [await it.endpoint(), await it.endpoint()];
  const made = await it.data.store.write(() => {
    const [event, other] = [it.insertEvent(), it.insertEvent()];
    const deliveries = [first, second].map(({ id }) => it.insertDelivery(event, id));
    const elsewhere = it.insertDelivery(other, first.id);
    for (const [at, kind] of NOTE_KINDS.entries())
      it.data.notes.add(event, deliveries[at % 2] ?? 0, kind, at === 0 ? "by hand" : null);
    it.data.notes.add(other, elsewhere, "expired");
    return { event, deliveries };
  });
  await it.reopen();
  const notes = await it.data.notes.ofEvent(made.event, 0, 100, it.data.store.turns);
  expect(notes.map(({ kind, detail }) => [kind, detail])).toEqual(
    NOTE_KINDS.map((kind, at) => [kind, at === 0 ? "by hand" : null]),
  );
  expect(notes.map(({ deliveryId }) => deliveryId)).toEqual([...made.deliveries, ...made.deliveries]);
  expect(notes.map(({ endpointId }) => endpointId)).toEqual([first.id, second.id, first.id, second.id]);
  const [one = 0] = made.deliveries;
  const sent = { id: one, endpointId: first.id };
  expect(it.data.notes.ofDelivery(sent, 0, 100)).toEqual(
    notes.filter(({ deliveryId }) => deliveryId === one),
  );
  expect(it.data.notes.ofDelivery(sent, notes[0]?.id ?? 0, 1)).toEqual(notes.slice(2, 3));
  expect(it.data.notes.ofDelivery(sent, 0, 100, notes[2]?.id)).toEqual(notes.slice(0, 1));
  const keys = notes.map(({ id }) => id);
  expect(keys).toEqual(keys.toSorted((a, b) => a - b));
});

test("a note of a transaction that comes to nothing is none", async () => {
  await using it = await openTestData();
  const { store, notes } = it.data;
  let event = 0;
  const { id } = await it.endpoint();
  const broken = store.write(() => {
    event = it.insertEvent();
    notes.add(event, it.insertDelivery(event, id), "cancelled");
    throw new Error("no");
  });
  await broken.catch(() => {});
  expect(await notes.ofEvent(event, 0, 100, store.turns)).toEqual([]);
});

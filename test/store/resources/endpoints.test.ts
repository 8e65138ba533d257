/** A change of an endpoint, and how many rows it writes. */
import { expect, test } from "bun:test";
import { untriedDelivery } from "../../../src/core/delivery.ts";
import { openTestData, type TestData } from "../../kit/data.ts";

const PARKED = 50;

/** Due the later, the smaller its key. */
function park({ data, project }: TestData, endpointId: number): Promise<number[]> {
  return data.store.write(() =>
    Array.from({ length: PARKED }, (_, nth) => {
      const id = data.store.takeKey();
      const due = PARKED - nth;
      const keys = { id, eventId: id, endpointId, projectId: project.id, origin: "publish", due } as const;
      data.deliveries.insert(untriedDelivery(keys), due);
      return id;
    }),
  );
}

test("a change of the order writes no row of what is parked, which is read in the new order at once", async () => {
  await using opened = await openTestData();
  const { data } = opened;
  const { id } = await opened.endpoint();
  const parked = await park(opened, id);
  const written = () =>
    data.store.sqlite.query<{ count: number }, []>("SELECT total_changes() AS count").get();
  const before = written()?.count ?? 0;
  for (const ordering of ["fifo", "none", "fifo"] as const) {
    await data.endpoints.change(id, () => ({ ordering }));
    const expected = ordering === "fifo" ? parked : parked.toReversed();
    const first = data.deliveries.parkedOf(id, ordering, PARKED);
    expect(first.map((row) => row.id)).toEqual(expected);
    expect(data.deliveries.firstParkedOf(id, ordering)).toBe(ordering === "fifo" ? (parked[0] ?? null) : 1);
  }
  expect((written()?.count ?? 0) - before).toBe(3);
});

test("what is announced of an endpoint before a later change of the same transaction leaves that in force", async () => {
  await using it = await openTestData();
  const { endpoints, store } = it.data;
  const { id } = await it.endpoint();
  const [disabled, deleted] = await store.write(() => [
    endpoints.update(id, () => ({ status: "disabled", disabledReason: "failing" })),
    endpoints.delete(id),
  ]);
  const statusOf = () => store.write(() => endpoints.current(id)?.status);
  expect(await statusOf()).toBeUndefined();
  if (disabled) endpoints.announce(disabled);
  expect(await statusOf()).toBeUndefined();
  if (deleted) endpoints.announce(deleted);
  expect(await statusOf()).toBeUndefined();
});

/** What is fetched from the database around deliveries that are held. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { Unconfirmed } from "../../src/delivery/unconfirmed.ts";
import type { Waiting } from "../../src/core/waiting.ts";

const waiting = (id: number, endpointId = 1): Waiting => {
  return { id, endpointId, due: 0, queueOrder: id, load: null };
};

/** Rows of one endpoint, and how many were read. */
class Table {
  read = 0;

  constructor(private readonly ids: readonly number[]) {}

  readonly first = (count: number) => {
    const rows = this.ids.slice(0, count).map((id) => ({ id }));
    this.read += rows.length;
    return rows;
  };
}

test("those that are held elsewhere cost an endpoint nothing, however many they are", () => {
  const unconfirmed = new Unconfirmed();
  unconfirmed.hold(
    [],
    Array.from({ length: 20_000 }, (_, n) => waiting(1_000_000 + n, 2)),
  );
  const table = new Table(Array.from({ length: 30_000 }, (_, n) => n));
  expect(unconfirmed.leftOut(1, 1, table.first)).toEqual([{ id: 0 }]);
  expect(table.read).toBe(1);
});

test("the first that are not held are found, wherever the others stand among them", () => {
  const ids = fc.uniqueArray(fc.nat(50));
  fc.assert(
    fc.property(ids, ids, fc.integer({ min: 1, max: 20 }), (all, held, count) => {
      const unconfirmed = new Unconfirmed();
      unconfirmed.hold(
        [],
        held.map((id) => waiting(id)),
      );
      const free = all.filter((id) => !held.includes(id)).slice(0, count);
      expect(unconfirmed.leftOut(1, count, new Table(all).first).map(({ id }) => id)).toEqual(free);
    }),
  );
});

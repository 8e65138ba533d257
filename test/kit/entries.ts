import type { Database } from "bun:sqlite";
import { unpack } from "../../src/store/index/entries.ts";

/** All that the lists of a database hold on disk. */
export function entriesOf(sqlite: Database): ReadonlyMap<number, ReadonlySet<number>> {
  const rows = sqlite.query<{ list: number; id: number; more: Uint8Array | null }, []>("SELECT * FROM entry");
  const lists = new Map<number, Set<number>>();
  for (const { list, ...row } of rows.iterate()) {
    const ids = lists.get(list) ?? new Set<number>();
    lists.set(list, ids);
    for (const id of unpack(row)) ids.add(id);
  }
  return lists;
}

/** How many entries name an event or a delivery that is not there. */
export function entriesOfNothing(sqlite: Database): number {
  const rows = sqlite.query<{ id: number }, []>("SELECT id FROM event UNION ALL SELECT id FROM delivery");
  const there = new Set(rows.all().map(({ id }) => id));
  const listed = [...entriesOf(sqlite).values()].flatMap((ids) => [...ids]);
  return listed.filter((id) => !there.has(id)).length;
}

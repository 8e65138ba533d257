/** Who was left out of an event; what its timeline says of it: test/http/events/timeline.test.ts. */
import { expect, test } from "bun:test";
import { recoverIndex } from "../../../src/store/index/recovery.ts";
import { EventList } from "../../../src/store/log/event-list.ts";
import { filteredText, readFiltered } from "../../../src/store/log/filtered.ts";
import { openTestData } from "../../kit/data.ts";

test("is read as it was written, and by nobody takes no room", () => {
  for (const filtered of [
    { named: [1, 2], others: 0 },
    { named: [1, 2], others: 3 },
    { named: [], others: 0 },
  ])
    expect(readFiltered(filteredText(filtered))).toEqual(filtered);
  expect(filteredText({ named: [], others: 0 })).toBeNull();
});

test("is read for the timeline alone: not by lists, look-ups and the recovery of the index", async () => {
  await using it = await openTestData();
  const id = await it.data.store.write(() => it.insertEvent(0, { externalId: "x" }));
  // Whoever reads it as what it is throws.
  it.data.store.sqlite.run("UPDATE event SET filtered = 'none' WHERE id = ?", [id]);
  await it.reopen();
  await recoverIndex(it.data);
  const { store, events } = it.data;
  const filter = { type: null, consumerId: null, sourceId: null, endpointId: null, externalId: null };
  const more = { status: null, matched: null, since: null, until: null, q: null, visible: null };
  const { rows } = await new EventList(it.data).page(
    { projectId: it.project.id, ...filter, ...more },
    { before: Number.MAX_SAFE_INTEGER, count: 10, turns: store.turns },
  );
  expect(rows.map((row) => row.id)).toEqual([id]);
  expect([events.get(id)?.id, events.getWithData(id)?.id]).toEqual([id, id]);
  expect(() => events.filteredOf(id)).toThrow();
});

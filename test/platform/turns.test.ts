/** A work's share of a turn: by the clock first, then by the processor's time. */
import { expect, spyOn, test } from "bun:test";
import { beginArrivals, turnParts } from "../../src/platform/turns.ts";

test.each([
  ["of a work", () => turnParts.beginShare()],
  ["of arrivals", () => beginArrivals()],
])("a share %s that is over stays so, and asks nobody any more", (_whose, begin) => {
  const share = begin();
  expect(share.isOver).toBe(false);
  while (!share.isOver);
  using clock = spyOn(performance, "now");
  using processor = spyOn(process, "cpuUsage");
  for (let n = 0; n < 100; n++) expect(share.isOver).toBe(true);
  expect([clock.mock.calls, processor.mock.calls]).toEqual([[], []]);
});

test("most of a share asks for no processor time", () => {
  using processor = spyOn(process, "cpuUsage");
  for (let n = 0; n < 100; n++) expect(turnParts.beginShare().isOver).toBe(false);
  expect(processor.mock.calls).toEqual([]);
});

import { expect, test } from "bun:test";
import { HeldPolls } from "../../../src/delivery/polling/held-polls.ts";

test("whoever has none gets a place of whoever has the most, the oldest, as long as anyone has two", () => {
  const held = new HeldPolls(4);
  const [first, second] = [held.take(1), held.take(1)];
  const others = [held.take(2), held.take(1)];
  expect(held.take(1)).toBeNull();
  expect([held.take(3)?.signal.aborted, first?.signal.aborted, second?.signal.aborted]).toEqual([
    false,
    true,
    false,
  ]);
  expect([held.take(4)?.signal.aborted, second?.signal.aborted]).toEqual([false, true]);
  expect(others.map((place) => place?.signal.aborted)).toEqual([false, false]);
  expect(held.take(5)).toBeNull();
});

test("a place that is left is free, once", () => {
  const held = new HeldPolls(1);
  const place = held.take(1);
  expect(held.take(1)).toBeNull();
  if (place === null) throw new Error("there was one");
  held.leave(1, place);
  held.leave(1, place);
  expect([held.take(2) === null, held.take(2)]).toEqual([false, null]);
});

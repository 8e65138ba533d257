import { expect, test } from "bun:test";
import { RecentMap } from "../../../src/core/structures/recent-map.ts";

test("keeps what was set last, and no more than it may", () => {
  const map = new RecentMap<string, number>(2);
  map.set("a", 1).set("b", 2).set("a", 3).set("c", 4);
  expect([...map]).toEqual([
    ["a", 3],
    ["c", 4],
  ]);
});

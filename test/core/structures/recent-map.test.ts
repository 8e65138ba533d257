import { expect, test } from "bun:test";
import fc from "fast-check";
import { RecentMap } from "../../../src/core/structures/recent-map.ts";

test("keeps what was set last, and no more than it may", () => {
  const map = new RecentMap<string, number>(2);
  map.set("a", 1).set("b", 2).set("a", 3).set("c", 4);
  expect([...map]).toEqual([
    ["a", 3],
    ["c", 4],
  ]);
});

test("keeps what weighs no more than it may together, whatever is set, replaced or deleted", () => {
  const map = new RecentMap<string, string>(5, (text) => text.length);
  map.set("a", "xx").set("b", "xxx").set("c", "x");
  expect([[...map.keys()], map.weight]).toEqual([["b", "c"], 4]);
  map.set("b", "x").set("d", "xxxxxx");
  expect([[...map.keys()], map.weight]).toEqual([["c", "b"], 2]);
  map.delete("c");
  expect(map.weight).toBe(1);
  map.clear();
  expect([map.size, map.weight]).toEqual([0, 0]);
});

test("makes what it does not keep, and makes the newest what it keeps", () => {
  const map = new RecentMap<string, number>(2);
  let made = 0;
  const ask = (key: string) => map.getOrMake(key, () => ++made);
  expect([ask("a"), ask("b"), ask("a"), ask("c"), ask("b")]).toEqual([1, 2, 1, 3, 4]);
  expect([...map.keys()]).toEqual(["c", "b"]);
});

type Step = { what: "set" | "delete"; key: number; weight: number } | { what: "clear" };

const change = fc.record({
  what: fc.constantFrom("set" as const, "set" as const, "delete" as const),
  key: fc.nat(30),
  weight: fc.nat(8),
});
const steps = fc.array<Step>(fc.oneof({ weight: 50, arbitrary: change }, fc.constant({ what: "clear" })), {
  maxLength: 300,
  size: "max",
});

test("keeps the same as a list that is looked through, whatever is set, deleted and cleared", () => {
  const weightOf = (list: [number, number][]) => list.reduce((sum, [, weight]) => sum + weight, 0);
  const play = (all: readonly Step[]) => {
    const map = new RecentMap<number, number>(20, (weight) => weight);
    let list: [number, number][] = [];
    for (const step of all) {
      if (step.what === "clear") {
        map.clear();
        list = [];
        continue;
      }
      const { what, key, weight } = step;
      list = list.filter(([one]) => one !== key);
      if (what === "set") {
        map.set(key, weight);
        list.push([key, weight]);
        while (weightOf(list) > 20) list.shift();
      } else map.delete(key);
      expect([...map]).toEqual(list);
      expect(map.weight).toBe(weightOf(list));
    }
  };
  fc.assert(fc.property(steps, play));
});

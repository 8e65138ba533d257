import { expect, test } from "bun:test";
import { Lines, TimedLines } from "../../../src/core/structures/lines.ts";

/** The words of those that are let go, one after the other, until nobody waits. */
function shiftAll(lines: Lines, told: string[], before: () => void = () => {}): string {
  for (;;) {
    before();
    const resume = lines.shift();
    if (resume === undefined) return told.join(" ");
    resume();
  }
}

test("lines take turns, and those within a line too, each in its order", () => {
  const lines = new Lines();
  const told: string[] = [];
  for (const word of ["a/x/1", "a/x/2", "a/y/1", "b/z/1", "a/x/3", "b/z/2"])
    lines.push(word.split("/").slice(0, 2), () => told.push(word));
  expect(shiftAll(lines, told)).toBe("a/x/1 b/z/1 a/y/1 b/z/2 a/x/2 a/x/3");
  expect(lines.isEmpty).toBe(true);
});

test("who owes is passed over as often as that takes, and a short piece is free", () => {
  const lines = new TimedLines();
  const told: string[] = [];
  for (let at = 0; at < 4; at++) for (const name of ["a", "b"]) lines.push([name], () => told.push(name));
  lines.charge("a", 0.2);
  expect(lines.owes("a")).toBe(false);
  lines.charge("a", 0.7);
  expect(lines.owes("a")).toBe(true);
  expect(shiftAll(lines, told, () => lines.bringNext())).toBe("b b b a b a a a");
  expect(lines.owes("a")).toBe(false);
});

test("where all owe, the one that owes least comes, and each is let off what that owed", () => {
  const lines = new TimedLines();
  const told: string[] = [];
  for (const [name, ms] of [
    ["a", 40],
    ["b", 30],
    ["c", 35],
  ] as const) {
    lines.push([name], () => told.push(name));
    lines.charge(name, ms);
  }
  expect(lines.passDebtors()).toBe(false);
  expect(shiftAll(lines, told, () => lines.bringNext())).toBe("b c a");
});

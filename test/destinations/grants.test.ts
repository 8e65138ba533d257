/** What token servers grant: what is taken, and how much of it is kept. */
import { expect, test } from "bun:test";
import { limit } from "../../src/core/limits.ts";
import { Grants, readGranted } from "../../src/destinations/grants.ts";

test.each([
  ["what servers grant", "ya29.a0AfH-_~+/=", true],
  ["the longest", "a".repeat(limit("grantedLengthMax")), true],
  ["one character more", "a".repeat(limit("grantedLengthMax") + 1), false],
  ["nothing", "", false],
  ["what no header may hold", "a\nb", false],
  ["two words", "a b", false],
  ["a letter of no header", "ā", false],
  ["no text", 7, false],
  ["none", null, false],
] as const)("%s", (_name, value, isTaken) => {
  expect(readGranted(value)).toBe(isTaken ? String(value) : null);
});

test("grants have one bound, however many endpoints have one, and those used last are kept", () => {
  const grants = new Grants<{ granted: string[] }>();
  const used = { url: "used" };
  grants.set(used, { granted: ["used"] });
  const longest = "a".repeat(limit("grantedLengthMax"));
  for (let n = 0; n < 10_000; n++) {
    grants.set({ url: String(n) }, { granted: [longest] });
    expect(grants.lookUp(used)?.granted).toEqual(["used"]);
  }
  expect(grants.weight).toBeLessThanOrEqual(limit("grantsKeptBytesMax"));
  expect(grants.size).toBeGreaterThan(3000);
});

import { expect, test } from "bun:test";
import { limit } from "../../src/core/limits.ts";
import { hasLongQuery } from "../../src/core/long-query.ts";

const LENGTH = limit("queryLengthMax");
const PARTS = limit("queryPartsMax");

test("a query is bounded by its parts and its length; what stands before it is not", () => {
  const rows: [string, boolean][] = [
    ["", false],
    ["?", false],
    [`?${"x".repeat(LENGTH)}`, false],
    [`?${"x".repeat(LENGTH + 1)}`, true],
    [`?${"&".repeat(PARTS - 1)}`, false],
    [`?${"&".repeat(PARTS)}`, true],
    ["&".repeat(2 * PARTS), false],
    ["x".repeat(2 * LENGTH), false],
  ];
  for (const [rest, isLong] of rows) {
    const url = `http://a/b${rest}`;
    expect([rest.length, hasLongQuery(url)]).toEqual([rest.length, isLong]);
  }
});

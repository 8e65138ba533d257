import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { findOutOfRange } from "../../../src/core/json/range.ts";

const found = (text: string) => findOutOfRange(text, JSON.parse(text));

describe("a number that no double holds", () => {
  test.each([
    ["1e309", ""],
    ["-1e400", ""],
    ['{"a":[0,{"b/c":1E+0400}]}', "/a/1/b~1c"],
    ["1.7976931348623159e308", ""],
    [`{"n":${"9".repeat(309)}}`, "/n"],
    [`{"n":${"9".repeat(250)}e60}`, "/n"],
    [`${" ".repeat(57)}[1,-${"1".repeat(310)}.5]`, "/1"],
    [`{"__proto__":1e999}`, "/__proto__"],
  ])("%.40s is found", (text, pointer) => {
    expect(found(text)).toBe(pointer);
  });

  test.each([
    "1.7976931348623157e308",
    "1e-400",
    "0e999",
    `0.${"1".repeat(400)}`,
    '"1e400"',
    '{"1e400":1}',
    "null",
  ])("%.40s is none", (text) => {
    expect(found(text)).toBeNull();
  });

  test("is found wherever it stands, and nowhere else", () => {
    const digits = fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 0, max: 400 }));
    const number = fc
      .tuple(digits, fc.integer({ min: -420, max: 420 }), fc.constantFrom("e", "E", "none"))
      .map(([[digit, count], exponent, mark]) => {
        const mantissa = String(digit) + "3".repeat(count);
        return mark === "none" ? mantissa : mantissa + mark + String(exponent);
      });
    fc.assert(
      fc.property(fc.array(fc.oneof(number, fc.json()), { minLength: 1 }), (parts) => {
        const text = `[${parts.join()}]`;
        const first = (JSON.parse(text) as unknown[]).findIndex((value) => value === Infinity);
        expect(found(text)).toBe(first < 0 ? null : `/${first}`);
      }),
      { numRuns: 2000 },
    );
  });
});

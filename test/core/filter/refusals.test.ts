import { describe, expect, test } from "bun:test";
import { compileFilter } from "../../../src/core/filter/filter.ts";
import type { Json } from "../../../src/core/json/value.ts";
import { limit } from "../../../src/core/limits.ts";

describe("refused when saved, with a pointer", () => {
  const rows: [unknown, string][] = [
    [null, ""],
    [[], ""],
    ["type", ""],
    [undefined, ""],
    [{ a: undefined }, "/a"],
    [{ a: 1n }, "/a"],
    [{ a: Number.NaN }, "/a"],
    [{ a: { $regex: "x" } }, "/a/$regex"],
    [{ a: { $exists: true } }, "/a/$exists"],
    [{ a: { $ne: 1 } }, "/a/$ne"],
    [{ a: { $GT: 1 } }, "/a/$GT"],
    [{ a: { $: 1 } }, "/a/$"],
    [{ a: { "$a/b": 1 } }, "/a/$a~1b"],
    [{ $where: "1" }, "/$where"],
    [{ a: { $gt: null } }, "/a/$gt"],
    [{ a: { $gt: true } }, "/a/$gt"],
    [{ a: { $lte: [1] } }, "/a/$lte"],
    [{ a: { $in: 1 } }, "/a/$in"],
    [{ a: { $in: [] } }, "/a/$in"],
    [{ a: { $nin: [] } }, "/a/$nin"],
    [{ a: { $nin: { a: 1 } } }, "/a/$nin"],
    [{ a: { $startsWith: 1 } }, "/a/$startsWith"],
    [{ a: { $endsWith: null } }, "/a/$endsWith"],
    [{ a: { $contains: ["x"] } }, "/a/$contains"],
    [{ a: { $exist: 1 } }, "/a/$exist"],
    [{ a: { $exist: "true" } }, "/a/$exist"],
    [{ $and: [] }, "/$and"],
    [{ $or: [] }, "/$or"],
    [{ $or: {} }, "/$or"],
    [{ $or: [1] }, "/$or/0"],
    [{ $or: [{ a: 1 }, {}] }, "/$or/1"],
    [{ a: { $or: ["x", "y"] } }, "/a/$or/0"],
    [{ $not: [] }, "/$not"],
    [{ $not: 5 }, "/$not"],
    [{ $not: {} }, "/$not"],
    [{ a: { $not: "x" } }, "/a/$not"],
    [{ a: {} }, "/a"],
    [{ a: { b: { c: {} } } }, "/a/b/c"],
    [{ a: { $gt: 1, b: 2 } }, "/a/$gt"],
    [{ a: { b: 2, $eq: {} } }, "/a/$eq"],
    [{ $eq: {} }, "/$eq"],
    [{ $gt: 1 }, "/$gt"],
    [{ type: "x", $in: [1] }, "/$in"],
    [{ $or: [{ $exist: true }] }, "/$or/0/$exist"],
    [{ $not: { $eq: 1 } }, "/$not/$eq"],
  ];
  for (const [source, pointer] of rows) {
    test(`${Bun.inspect(source).replaceAll(/\s+/g, " ")} at "${pointer}"`, () => {
      const compiled = compileFilter(source);
      const faults = compiled.ok ? [] : compiled.faults;
      expect(faults.map((fault) => fault.pointer)).toContain(pointer);
      for (const { detail } of faults) expect(detail).toMatch(/\.$/);
    });
  }

  test("all faults at once", () => {
    const compiled = compileFilter({ a: { $gt: null }, b: { $regex: "x" }, c: {}, d: "fine" });
    expect(compiled.ok ? [] : compiled.faults.map((fault) => fault.pointer)).toEqual([
      "/a/$gt",
      "/b/$regex",
      "/c",
    ]);
  });
});

describe("the bounds", () => {
  function nested(levels: number): Json {
    return levels === 1 ? { a: 1 } : { a: nested(levels - 1) };
  }

  test("16 levels are accepted, 17 refused where the seventeenth begins", () => {
    expect(compileFilter(nested(16)).ok).toBe(true);
    const compiled = compileFilter(nested(17));
    expect(compiled.ok ? [] : compiled.faults).toEqual([
      { pointer: "/a".repeat(16), detail: "A filter nests at most 16 levels deep." },
    ]);
  });

  test("256 keys and list elements are accepted, 257 refused", () => {
    const listOf = (elements: number): Json => ({
      a: { $in: Array.from({ length: elements }, (_, index) => index) },
    });
    expect(compileFilter(listOf(254)).ok).toBe(true);
    const compiled = compileFilter(listOf(255));
    expect(compiled.ok ? [] : compiled.faults).toEqual([
      { pointer: "", detail: "A filter has at most 256 keys and list elements." },
    ]);
  });

  test("16 KiB of UTF-8 are accepted, one byte more refused", () => {
    const room = limit("filterBytesMax") - '{"a":"é"}'.length - 1;
    expect(compileFilter({ a: `é${"x".repeat(room)}` }).ok).toBe(true);
    const compiled = compileFilter({ a: `é${"x".repeat(room + 1)}` });
    expect(compiled.ok ? [] : compiled.faults.map((fault) => fault.pointer)).toEqual([""]);
  });

  test("a bomb is refused without being walked through", () => {
    const deep: Json = JSON.parse(`${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`);
    expect(compileFilter(deep).ok).toBe(false);
    expect(compileFilter({ a: { $in: Array.from({ length: 500_000 }, () => 1) } }).ok).toBe(false);
    expect(compileFilter({ a: "x".repeat(1_000_000) }).ok).toBe(false);
  });
});

import { describe, expect, test } from "bun:test";
import type { Json } from "../../../src/core/json/value.ts";
import { compileTransformations } from "../../../src/core/transform/transform.ts";

function faultsOf(source: unknown): { pointer: string; detail: string }[] {
  const compiled = compileTransformations(source);
  return compiled.ok ? [] : compiled.faults;
}

describe("refused when saved, with a pointer", () => {
  const rows: [unknown, string][] = [
    [null, ""],
    [{ op: "omit", paths: ["a"] }, ""],
    ["omit", ""],
    [undefined, ""],
    [[null], "/0"],
    [["omit"], "/0"],
    [[[]], "/0"],
    [[{}], "/0/op"],
    [[{ op: "delete", paths: ["a"] }], "/0/op"],
    [[{ op: ["pick"], paths: ["a"] }], "/0/op"],
    [[{ op: "constructor" }], "/0/op"],
    [[{ op: "__proto__" }], "/0/op"],
    [[{ op: "pick" }], "/0/paths"],
    [[{ op: "pick", paths: "a" }], "/0/paths"],
    [[{ op: "pick", paths: [] }], "/0/paths"],
    [[{ op: "omit", paths: Array.from({ length: 257 }, () => "a") }], "/0/paths"],
    [[{ op: "omit", paths: ["a", 1] }], "/0/paths/1"],
    [
      [
        { op: "omit", paths: ["a"] },
        { op: "pick", paths: ["a", ""] },
      ],
      "/1/paths/1",
    ],
    [[{ op: "pick", paths: ["a..b"] }], "/0/paths/0"],
    [[{ op: "pick", paths: [".a"] }], "/0/paths/0"],
    [[{ op: "pick", paths: ["a."] }], "/0/paths/0"],
    [[{ op: "pick", paths: ["a\\b"] }], "/0/paths/0"],
    [[{ op: "pick", paths: ["a\\\\.b"] }], "/0/paths/0"],
    [[{ op: "pick", paths: ["a\\"] }], "/0/paths/0"],
    [[{ op: "pick", paths: ["a.b*"] }], "/0/paths/0"],
    [[{ op: "pick", paths: ["**"] }], "/0/paths/0"],
    [[{ op: "omit", paths: ["\\*"] }], "/0/paths/0"],
    [[{ op: "pick", paths: [Array.from({ length: 33 }, () => "a").join(".")] }], "/0/paths/0"],
    [[{ op: "pick", paths: [Array.from({ length: 10_000 }, () => "a").join(".")] }], "/0/paths/0"],
    [[{ op: "pick", paths: ["a"], path: "a" }], "/0/path"],
    [[{ op: "rename", from: "a" }], "/0/to"],
    [[{ op: "rename", to: "a" }], "/0/from"],
    [[{ op: "rename", from: "a.*", to: "b" }], "/0/from"],
    [[{ op: "rename", from: "a", to: "b.*" }], "/0/to"],
    [[{ op: "rename", from: "a", to: "a.b" }], "/0/to"],
    [[{ op: "rename", from: "a.b", to: "a.b.c.d" }], "/0/to"],
    [[{ op: "rename", from: "a", to: "b", value: 1 }], "/0/value"],
    [[{ op: "set", path: "a" }], "/0/value"],
    [[{ op: "set", value: 1 }], "/0/path"],
    [[{ op: "set", path: 5, value: 1 }], "/0/path"],
    [[{ op: "set", path: "a.*", value: 1 }], "/0/path"],
    [[{ op: "set", path: "", value: 1 }], "/0/path"],
    [[{ op: "set", path: "a", value: undefined }], "/0/value"],
    [[{ op: "unwrap" }], "/0/path"],
    [[{ op: "unwrap", path: "*" }], "/0/path"],
    [[{ op: "unwrap", path: "" }], "/0/path"],
    [[{ op: "wrap" }], "/0/key"],
    [[{ op: "wrap", key: "" }], "/0/key"],
    [[{ op: "wrap", key: 1 }], "/0/key"],
    [[{ op: "wrap", key: "a", "x/y": 1 }], "/0/x~1y"],
    [Array.from({ length: 33 }, () => ({ op: "wrap", key: "a" })), ""],
  ];
  for (const [source, pointer] of rows) {
    test(`${Bun.inspect(source).replaceAll(/\s+/g, " ").slice(0, 100)} at "${pointer}"`, () => {
      const faults = faultsOf(source);
      expect(faults.map((fault) => fault.pointer)).toContain(pointer);
      for (const { detail } of faults) expect(detail).toMatch(/\.$/);
    });
  }

  test("all faults at once", () => {
    const source: Json = [
      { op: "pick", paths: ["", "a", "b*"] },
      { op: "set", path: "a" },
      { op: "wrap", key: "x", by: 1 },
    ];
    expect(faultsOf(source).map((fault) => fault.pointer)).toEqual([
      "/0/paths/0",
      "/0/paths/2",
      "/1/value",
      "/2/by",
    ]);
  });

  test("a fault in one path is no fault of the other", () => {
    expect(faultsOf([{ op: "rename", from: "a..b", to: "c" }]).map((fault) => fault.pointer)).toEqual([
      "/0/from",
    ]);
  });

  test("a rename beside itself is no rename into itself", () => {
    expect(faultsOf([{ op: "rename", from: "a", to: "ab.c" }])).toEqual([]);
    expect(faultsOf([{ op: "rename", from: "a.b", to: "a" }])).toEqual([]);
    expect(faultsOf([{ op: "rename", from: "a", to: "a\\.b" }])).toEqual([]);
  });
});

describe("the bounds", () => {
  test("32 operations of 32 names and 256 paths are accepted", () => {
    const path = Array.from({ length: 32 }, (_, index) => `name${index}`).join(".");
    const operation = { op: "omit", paths: Array.from({ length: 256 }, () => path) };
    expect(faultsOf([operation])).toEqual([]);
    expect(faultsOf(Array.from({ length: 32 }, () => ({ op: "set", path, value: null })))).toEqual([]);
  });

  test("a bomb is refused", () => {
    const deep: Json = JSON.parse(`${"[".repeat(50_000)}${"]".repeat(50_000)}`);
    expect(faultsOf([{ op: "set", path: "a", value: deep }])).toHaveLength(1);
    expect(faultsOf([{ op: "set", path: "a", value: "x".repeat(65_536) }])).toHaveLength(1);
  });

  function resultOf(length: number, body: Json) {
    const compiled = compileTransformations([{ op: "set", path: "v", value: "x".repeat(length) }]);
    return compiled.ok && compiled.transformation.apply(body);
  }

  test("a result of 1 MiB of UTF-8 is sent, one byte more is malformed", () => {
    const body: Json = { e: "é".repeat(500_000) };
    const room = 1_048_576 - Buffer.byteLength(JSON.stringify({ ...body, v: "" }));
    expect(resultOf(room, body)).toMatchObject({ ok: true });
    expect(resultOf(room + 1, body)).toEqual({
      ok: false,
      reason: "The transformed body is longer than 1048576 bytes.",
    });
  });

  test("a body above 1 MiB that no operation changed is sent as it is", () => {
    const body: Json = { data: { text: "x".repeat(1_100_000) } };
    const compiled = compileTransformations([
      { op: "omit", paths: ["data.secret", "items.*.x"] },
      { op: "rename", from: "a", to: "b" },
    ]);
    const transformed = compiled.ok && compiled.transformation.apply(body);
    expect(transformed && transformed.ok && transformed.body).toBe(body);
  });
});

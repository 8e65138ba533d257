import { describe, expect, test } from "bun:test";
import type { Json } from "../../../src/core/json/value.ts";
import { compileTransformations } from "../../../src/core/transform/transform.ts";
import { apply, sent, pick, omit, rename, set } from "./kit.ts";

type Row = [name: string, operations: Json, body: Json, result: Json];

function table(rows: Row[]): void {
  for (const [name, operations, body, result] of rows) {
    test(name, () => expect(sent(operations, body)).toBe(JSON.stringify(result)));
  }
}

describe("pick", () => {
  table([
    [
      "keeps fields in their places",
      pick("type", "data.id"),
      { type: "t", data: { id: 1, x: 2 }, y: 3 },
      { type: "t", data: { id: 1 } },
    ],
    ["keeps the order of the body, not of the paths", pick("b", "a"), { a: 1, b: 2, c: 3 }, { a: 1, b: 2 }],
    [
      "keeps whole values of any type",
      pick("a", "b", "c", "d"),
      { a: null, b: [], c: {}, d: false, e: 1 },
      { a: null, b: [], c: {}, d: false },
    ],
    ["leaves no empty shell for what is missing", pick("a.b.c", "x.y"), { a: { b: {} }, x: {} }, {}],
    ["leaves nothing of a scalar on the way", pick("a.b"), { a: "text" }, {}],
    ["answers an empty object where nothing is there", pick("nothing"), { a: 1 }, {}],
    [
      "takes the whole where one path goes on below another",
      pick("a.b", "a"),
      { a: { b: 1, c: 2 } },
      { a: { b: 1, c: 2 } },
    ],
    ["joins paths into one object", pick("a.b", "a.d"), { a: { b: 1, c: 2, d: 3 } }, { a: { b: 1, d: 3 } }],
    [
      "keeps every element's field",
      pick("items.*.id"),
      { items: [{ id: 1, x: 1 }, { id: 2 }] },
      { items: [{ id: 1 }, { id: 2 }] },
    ],
    [
      "makes {} of an element without the rest of the path",
      pick("items.*.id"),
      { items: [{ id: 1 }, { x: 2 }, 3, null, [4]] },
      { items: [{ id: 1 }, {}, {}, {}, {}] },
    ],
    [
      "makes {} of an indexed element without the rest",
      pick("items.1.id"),
      { items: [{ id: 1 }, { x: 2 }] },
      { items: [{}] },
    ],
    [
      "closes up kept elements",
      pick("items.0", "items.2"),
      { items: ["a", "b", "c"] },
      { items: ["a", "c"] },
    ],
    [
      "keeps elements in their order, whatever the order of the paths",
      pick("items.2", "items.0"),
      { items: ["a", "b", "c"] },
      { items: ["a", "c"] },
    ],
    ["keeps an empty array under *", pick("items.*.id"), { items: [] }, { items: [] }],
    ["keeps an empty array under a last *", pick("items.*"), { items: [] }, { items: [] }],
    ["keeps inner empty arrays under * *", pick("rows.*.*"), { rows: [[], [1]] }, { rows: [[], [1]] }],
    ["takes no shell for an empty array under an index", pick("items.0.id"), { items: [] }, {}],
    ["takes no shell for an index beyond the end", pick("items.5"), { items: [1, 2] }, {}],
    [
      "keeps whole elements under a last *",
      pick("items.*"),
      { items: [1, { a: 2 }] },
      { items: [1, { a: 2 }] },
    ],
    [
      "joins * and an index on one element",
      pick("items.*.id", "items.1.x"),
      {
        items: [
          { id: 1, x: 1 },
          { id: 2, x: 2 },
        ],
      },
      { items: [{ id: 1 }, { id: 2, x: 2 }] },
    ],
    [
      "an index that is whole beats the rest of *",
      pick("items.*.id", "items.1"),
      {
        items: [
          { id: 1, x: 1 },
          { id: 2, x: 2 },
        ],
      },
      { items: [{ id: 1 }, { id: 2, x: 2 }] },
    ],
    ["matches nothing by * over an object", pick("a.*"), { a: { b: 1 } }, {}],
    ["matches nothing by * over a field named *", pick("a.*"), { a: { "*": 1 } }, {}],
    ["matches nothing by * over a scalar or null", pick("a.*", "b.*"), { a: "text", b: null }, {}],
    [
      "matches nothing by a name over an array",
      pick("items.id", "items.length", "items.01", "items.-1"),
      { items: [{ id: 1 }] },
      {},
    ],
    [
      "reads a number as a name in an object",
      pick("a.0", "a.10"),
      { a: { "0": "x", "10": "y", "1": "z" } },
      { a: { "0": "x", "10": "y" } },
    ],
    [
      "reads \\. as a dot of the name",
      pick("a\\.b.c"),
      { "a.b": { c: 1 }, a: { b: { c: 2 } } },
      { "a.b": { c: 1 } },
    ],
    [
      "reads names of any script",
      pick("größe.数.😀"),
      { größe: { 数: { "😀": 1, x: 2 } } },
      { größe: { 数: { "😀": 1 } } },
    ],
  ]);
});

describe("omit", () => {
  table([
    ["removes fields", omit("data.secret", "x"), { data: { id: 1, secret: 2 }, x: 3 }, { data: { id: 1 } }],
    ["ignores what is missing", omit("a.b.c", "items.7", "x.0"), { a: 1, items: [1] }, { a: 1, items: [1] }],
    ["leaves the shell of what it empties", omit("a.b"), { a: { b: 1 } }, { a: {} }],
    ["closes up", omit("items.0"), { items: ["a", "b"] }, { items: ["b"] }],
    [
      "removes all at once, by their original indexes",
      omit("items.0", "items.1"),
      { items: ["a", "b", "c"] },
      { items: ["c"] },
    ],
    [
      "removes a field of every element",
      omit("items.*.x"),
      { items: [{ id: 1, x: 1 }, { x: 2 }, 3] },
      { items: [{ id: 1 }, {}, 3] },
    ],
    ["removes every element", omit("items.*"), { items: [1, 2] }, { items: [] }],
    [
      "joins * and an index",
      omit("items.*.x", "items.0"),
      { items: [{ x: 1 }, { x: 2, y: 3 }] },
      { items: [{ y: 3 }] },
    ],
    [
      "removes elements of nested arrays",
      omit("rows.*.0"),
      { rows: [[1, 2], [], [3]] },
      { rows: [[2], [], []] },
    ],
    ["leaves an object alone under *", omit("a.*"), { a: { b: 1, "*": 2 } }, { a: { b: 1, "*": 2 } }],
    ["reads a number as a name in an object", omit("a.0"), { a: { "0": 1, "1": 2 } }, { a: { "1": 2 } }],
    ["reads \\. as a dot of the name", omit("a\\.b"), { "a.b": 1, a: { b: 2 } }, { a: { b: 2 } }],
    [
      "leaves names that only look alike",
      omit("items.00", "items.+1", "items.1e0"),
      { items: [1, 2] },
      { items: [1, 2] },
    ],
  ]);
});

describe("rename", () => {
  table([
    ["moves a field", rename("data.a", "data.b"), { data: { a: 1 } }, { data: { b: 1 } }],
    ["makes objects on the way", rename("a", "x.y.z"), { a: 1 }, { x: { y: { z: 1 } } }],
    ["replaces what stands there", rename("a", "b"), { a: 1, b: { c: 2 } }, { b: 1 }],
    ["replaces a scalar on the way", rename("a", "b.c"), { a: 1, b: 5 }, { b: { c: 1 } }],
    ["leaves the shell that the value came from", rename("a.b", "c"), { a: { b: 1 } }, { a: {}, c: 1 }],
    ["replaces its own parent", rename("a.b", "a"), { a: { b: 1, c: 2 } }, { a: 1 }],
    [
      "does nothing where from is missing, even towards an array",
      rename("a.b", "items.x"),
      { a: {}, items: [] },
      { a: {}, items: [] },
    ],
    [
      "does nothing where both are the same",
      rename("items.0", "items.0"),
      { items: [1, 2] },
      { items: [1, 2] },
    ],
    ["moves null", rename("a", "b"), { a: null }, { b: null }],
    [
      "closes up an array before it puts",
      rename("items.0", "items.1"),
      { items: ["a", "b", "c"] },
      { items: ["b", "a"] },
    ],
    [
      "takes out of an array",
      rename("items.1.id", "id"),
      { items: [{}, { id: 7, x: 1 }] },
      { items: [{}, { x: 1 }], id: 7 },
    ],
    ["moves an element out", rename("items.0", "first"), { items: ["a", "b"] }, { items: ["b"], first: "a" }],
    ["reads \\. as a dot of the name", rename("a\\.b", "c\\.d.e"), { "a.b": 1 }, { "c.d": { e: 1 } }],
  ]);

  test("to the index that closing up made the end is malformed", () => {
    expect(sent(rename("items.0", "items.1"), { items: ["a", "b"] })).toMatch(/^malformed: /);
  });
});

describe("set", () => {
  table([
    ["adds a field", set("data.x", 1), { data: { a: 0 } }, { data: { a: 0, x: 1 } }],
    ["replaces in place", set("a", { n: null }), { a: 1, b: 2 }, { a: { n: null }, b: 2 }],
    ["makes objects on the way, also for a number", set("a.0.b", 1), {}, { a: { "0": { b: 1 } } }],
    ["goes through a scalar", set("a.b.c", 1), { a: "text" }, { a: { b: { c: 1 } } }],
    ["goes through null", set("a.b", 1), { a: null }, { a: { b: 1 } }],
    ["goes through an element", set("items.1.x", true), { items: [{}, {}] }, { items: [{}, { x: true }] }],
    ["replaces an element", set("items.0", [1]), { items: ["a", "b"] }, { items: [[1], "b"] }],
    ["reads a number as a name in an object", set("a.7", 1), { a: {} }, { a: { "7": 1 } }],
    ["sets null", set("a", null), {}, { a: null }],
    ["reads \\. as a dot of the name", set("a\\.b", 1), { a: {} }, { a: {}, "a.b": 1 }],
  ]);

  const malformed: [string, string, Json][] = [
    ["a name in an array", "items.x", { items: [1] }],
    ["the index after the last element", "items.1", { items: [1] }],
    ["an index in an empty array", "items.0", { items: [] }],
    ["an index far beyond", "items.99999999999999999999", { items: [1] }],
    ["a number with a leading zero", "items.00", { items: [1] }],
    ["a negative number", "items.-1", { items: [1] }],
    ["length", "items.length", { items: [1] }],
    ["a name in an array further down", "a.items.x.y", { a: { items: [] } }],
  ];
  for (const [name, path, body] of malformed) {
    test(`${name} is malformed`, () => {
      const reason = `Transformation 1 failed: ${path} meets an array where it has a name or an index beyond the end.`;
      expect(apply(set(path, 1), body)).toEqual({ ok: false, reason });
    });
  }
});

describe("unwrap and wrap", () => {
  table([
    [
      "unwrap makes the value the body",
      [{ op: "unwrap", path: "data.object" }],
      { data: { object: { id: 1 } } },
      { id: 1 },
    ],
    [
      "unwrap goes through an element",
      [{ op: "unwrap", path: "items.1" }],
      { items: [0, { id: 1 }] },
      { id: 1 },
    ],
    ["unwrap takes an empty object", [{ op: "unwrap", path: "a" }], { a: {} }, {}],
    ["wrap puts the body under one name", [{ op: "wrap", key: "event" }], { a: 1 }, { event: { a: 1 } }],
    ["wrap takes a dot as part of the name", [{ op: "wrap", key: "a.b" }], { x: 1 }, { "a.b": { x: 1 } }],
  ]);

  const malformed: [Json, string][] = [
    [{}, "missing"],
    [{ data: null }, "missing"],
    [{ data: { object: null } }, "not an object"],
    [{ data: { object: [{}] } }, "not an object"],
    [{ data: { object: "text" } }, "not an object"],
  ];
  for (const [body, what] of malformed) {
    test(`unwrap of ${JSON.stringify(body)} is malformed`, () => {
      const reason = `Transformation 2 failed: the value at data.object is ${what}.`;
      expect(
        apply(
          [
            { op: "omit", paths: ["x"] },
            { op: "unwrap", path: "data.object" },
          ],
          body,
        ),
      ).toEqual({ ok: false, reason });
    });
  }
});

describe("in turns", () => {
  test.each<[string, Json]>([
    ["a result", [...(rename("data.a", "data.b") as Json[]), ...(omit("data.c") as Json[])]],
    ["a refusal", [...(rename("data.a", "data.b") as Json[]), { op: "unwrap", path: "data.none" }]],
  ])("the same comes out (%s), and others have their turn between operations", (_name, operations) => {
    const compiled = compileTransformations(operations);
    if (!compiled.ok) throw new Error(JSON.stringify(compiled.faults));
    const body: Json = { type: "a.b", data: { a: 1, c: 2 } };
    let turns = 0;
    const parts = compiled.transformation.parts(body);
    let part = parts.next();
    for (; !part.done; part = parts.next()) turns++;
    expect(part.value).toEqual(compiled.transformation.apply(body));
    expect(turns).toBeGreaterThanOrEqual((operations as Json[]).length - 1);
  });
});

describe("a list", () => {
  const event: Json = {
    type: "order.paid",
    timestamp: "t",
    data: { customer: { id: 7, email: "x" }, secret: 1 },
  };

  test("is applied in order", () => {
    const operations: Json = [
      { op: "omit", paths: ["data.secret", "data.customer.email"] },
      { op: "rename", from: "data.customer", to: "data.buyer" },
      { op: "set", path: "data.version", value: 2 },
      { op: "unwrap", path: "data" },
      { op: "wrap", key: "payload" },
    ];
    expect(sent(operations, event)).toBe('{"payload":{"buyer":{"id":7},"version":2}}');
  });

  test("without operations gives the same body", () => {
    const transformed = apply([], event);
    expect(transformed.ok && transformed.body).toBe(event);
  });
});

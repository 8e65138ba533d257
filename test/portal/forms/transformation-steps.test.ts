/** What the editor of transformations is made of: steps, and back. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { compileTransformations } from "../../../src/core/transform/transform.ts";
import { OPERATIONS as SERVED } from "../../../src/core/transform/operations.ts";
import type { Json } from "../../../src/core/json/value.ts";
import {
  OPERATIONS,
  type Step,
  toSteps,
  toTransformations,
  turnInto,
} from "../../../src/portal/forms/transformation-steps.ts";

const json = fc.jsonValue() as fc.Arbitrary<Json>;
const path = fc.oneof(
  fc.constantFrom("data.id", "data.lines.*.sku", "data.a\\.b", "__proto__", ""),
  fc.string(),
);
const paths = fc.array(path, { maxLength: 4 });

/** As the service takes them, and near misses. */
const operation: fc.Arbitrary<Json> = fc.oneof(
  fc.record({ op: fc.constantFrom("pick", "omit"), paths }),
  fc.record({ op: fc.constant("rename"), from: path, to: path }),
  fc.record({ op: fc.constant("set"), path, value: json }),
  fc.record({ op: fc.constant("unwrap"), path }),
  fc.record({ op: fc.constant("wrap"), key: path }),
  fc.record({
    op: fc.constantFrom<Json>(...OPERATIONS, "turn", 5),
    path: json,
    paths: json,
    to: path,
    value: json,
  }),
  json,
);

describe("steps", () => {
  test("give every list back as it was, the order of its keys included", () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 5 }), (list) => {
        expect(JSON.stringify(toTransformations(toSteps(list)))).toBe(JSON.stringify(list));
      }),
      { numRuns: 1000 },
    );
  });

  test("show each operation, and keep as JSON what they cannot show", () => {
    const list: Json[] = [
      { op: "pick", paths: ["data.id", "data.total"] },
      { op: "rename", from: "data.id", to: "data.key" },
      { op: "set", path: "data.version", value: 2 },
      { op: "set", path: "data.text", value: "2" },
      { op: "unwrap", path: "data" },
      { op: "wrap", key: "body" },
      { op: "wrap", key: "body", note: "of another version" },
      { op: "turn" },
    ];
    expect(toSteps(list)).toEqual([
      { op: "pick", fields: ["data.id", "data.total"] },
      { op: "rename", fields: ["data.id", "data.key"] },
      { op: "set", fields: ["data.version", "2"] },
      { op: "set", fields: ["data.text", '"2"'] },
      { op: "unwrap", fields: ["data"] },
      { op: "wrap", fields: ["body"] },
      { op: "json", fields: [], kept: { op: "wrap", key: "body", note: "of another version" } },
      { op: "json", fields: [], kept: { op: "turn" } },
    ]);
  });

  test("that are not complete are left out, and the others stay", () => {
    const steps: Step[] = [
      { op: "pick", fields: ["", "data.id"] },
      { op: "omit", fields: [""] },
      { op: "rename", fields: ["data.id", ""] },
      { op: "set", fields: ["data.note", ""] },
      { op: "wrap", fields: ["body"] },
    ];
    expect(toTransformations(steps)).toEqual([
      { op: "pick", paths: ["data.id"] },
      { op: "wrap", key: "body" },
    ]);
    expect(toTransformations([{ op: "set", fields: ["data.note", '""'] }])).toEqual([
      { op: "set", path: "data.note", value: "" },
    ]);
  });

  test("are turned into another operation with what was typed", () => {
    const step: Step = { op: "rename", fields: ["data.id", "data.key"] };
    expect(turnInto(step, "pick").fields).toEqual(["data.id", "data.key"]);
    expect(turnInto(turnInto(step, "unwrap"), "set").fields).toEqual(["data.id", ""]);
    expect(turnInto({ op: "omit", fields: [] }, "pick").fields).toEqual([""]);
  });

  test("are those of the service, and written as it takes them", () => {
    expect(new Set<string>(OPERATIONS)).toEqual(new Set(SERVED.keys()));
    for (const op of OPERATIONS) {
      const list = toTransformations([turnInto({ op, fields: ["data", "data2"] }, op)]);
      expect([op, compileTransformations(list)]).toMatchObject([op, { ok: true }]);
    }
  });
});

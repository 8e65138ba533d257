/**
 * What the operations on one delivery may cost: steps, so that the same delivery is always rendered alike.
 */
import { describe, expect, spyOn, test } from "bun:test";
import { compileTransformations, type Transformed } from "../../../src/core/transform/transform.ts";
import type { Json } from "../../../src/core/json/value.ts";

const TOO_MANY: Transformed = { ok: false, reason: "The transformations take more than 2000000 steps." };

function apply(operations: Json, body: Json): Transformed {
  const compiled = compileTransformations(operations);
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.faults));
  return compiled.transformation.apply(body);
}

const times = (count: number, operation: (at: number) => Json): Json =>
  Array.from({ length: count }, (_, at) => operation(at));

/** Each of about a megabyte, which is what an event may have. */
const wide: Json = { data: Object.fromEntries(Array.from({ length: 90_000 }, (_, at) => [`k${at}`, 1])) };
const objects: Json = { data: { x: Array.from({ length: 100_000 }, () => ({ a: 1 })) } };
const numbers: Json = { data: { x: Array.from({ length: 400_000 }, () => 1) } };

const longName = "n".repeat(1800);
const longNames: Json = { data: { x: Array.from({ length: 560 }, () => ({ [longName]: { a: 1 } })) } };

const operations: [string, Json, (at: number) => Json][] = [
  ["rename", wide, (at) => ({ op: "rename", from: `data.k${at}`, to: `data.z${at}` })],
  ["omit", wide, (at) => ({ op: "omit", paths: [`data.k${at}`] })],
  ["set", wide, (at) => ({ op: "set", path: `data.k${at}`, value: 7 })],
  ["omit in every object of a list", objects, () => ({ op: "omit", paths: ["data.x.*.b"] })],
  ["pick of every object of a list", objects, () => ({ op: "pick", paths: ["data.x.*.a"] })],
  ["omit below a long name", longNames, () => ({ op: "omit", paths: [`data.x.*.${longName}.b`] })],
  ["pick below a long name", longNames, () => ({ op: "pick", paths: [`data.x.*.${longName}.a`] })],
  ["set in a list", numbers, (at) => ({ op: "set", path: `data.x.${at}`, value: 7 })],
  ["rename out of a list", numbers, (at) => ({ op: "rename", from: "data.x.0", to: `data.y${at}` })],
];

describe("the largest event", () => {
  test.each(operations)("%s: once is done, 32 times is refused", (_name, body, operation) => {
    expect(apply(times(1, operation), body).ok).toBe(true);
    expect(apply(times(32, operation), body)).toEqual(TOO_MANY);
  });

  test("which names are indexes is known before, and not asked for each list", () => {
    const paths = Array.from({ length: 256 }, (_, at) => `data.x.*.${at}`);
    const body: Json = { data: { x: Array.from({ length: 1000 }, () => []) } };
    const compiled = compileTransformations([
      { op: "pick", paths },
      { op: "omit", paths },
    ]);
    using tested = spyOn(RegExp.prototype, "test");
    expect(compiled.ok && compiled.transformation.apply(body)).toMatchObject({ ok: true });
    expect(tested.mock.calls.length).toBeLessThan(1000);
  });

  test("nothing is made anew for each list of a list", () => {
    const body: Json = { data: { x: Array.from({ length: 1000 }, () => [[], [1]]) } };
    using joined = spyOn(Array.prototype, "flatMap");
    using walked = spyOn(Array.prototype, "entries");
    for (const op of ["pick", "omit"])
      expect(apply([{ op, paths: ["data.x.*.*.a", "data.x.*.*.b"] }], body).ok).toBe(true);
    expect(joined.mock.calls.length + walked.mock.calls.length).toBeLessThan(100);
  });

  test.each([[[]], [{}]])("of very many %p each costs steps", (empty) => {
    const body: Json = { data: { x: Array.from({ length: 340_000 }, () => empty) } };
    for (const op of ["pick", "omit"]) expect(apply([{ op, paths: ["data.x.*.a"] }], body)).toEqual(TOO_MANY);
  });

  test("32 operations beside what is large cost nothing", () => {
    const body: Json = { data: { large: wide, small: { a: 1 } } };
    const reshape = times(32, (at) => ({
      op: "rename",
      from: `data.small.a${at || ""}`,
      to: `data.small.a${at + 1}`,
    }));
    const result = apply(reshape, body);
    expect(result.ok && (result.body as { data: { small: Json } }).data.small).toEqual({ a32: 1 });
  });
});

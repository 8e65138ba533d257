import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Json } from "../../../src/core/json/value.ts";
import { compileTransformations, type Transformed } from "../../../src/core/transform/transform.ts";
import { type JsonObject, randomJson } from "../json/random.ts";

/** These laws hold over paths without array indexes and with existing parents. */

const name = fc.constantFrom(
  "a",
  "b",
  "c",
  "x.y",
  "0",
  "12",
  "__proto__",
  "constructor",
  "prototype",
  "ö",
  "😀",
  "*",
);
const scalar = fc.constantFrom<Json>(null, true, 0, -1.5, "", "text");

const { value, object: body } = randomJson(name, scalar, 4);

/** Names that a path can say; `*` is no name there. */
const said = name.filter((word) => word !== "*");
const names = fc.array(said, { minLength: 1, maxLength: 4 });

function pathOf(words: readonly string[]): string {
  return words.map((word) => word.replaceAll(".", "\\.")).join(".");
}

function isObject(json: Json | undefined): json is JsonObject {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}

/** The field behind names, through objects only; undefined where there is none. */
function fieldAt(json: Json, words: readonly string[]): Json | undefined {
  let here: Json | undefined = json;
  for (const word of words) here = isObject(here) && Object.hasOwn(here, word) ? here[word] : undefined;
  return here;
}

function deepFreeze(json: Json): Json {
  if (typeof json === "object" && json !== null) for (const child of Object.values(json)) deepFreeze(child);
  Object.freeze(json);
  return json;
}

function apply(operations: Json, json: Json): Transformed {
  const compiled = compileTransformations(operations);
  if (!compiled.ok) throw new Error(`${JSON.stringify(operations)}: ${JSON.stringify(compiled.faults)}`);
  return compiled.transformation.apply(json);
}

function result(operations: Json, json: Json): Json {
  const transformed = apply(operations, json);
  if (!transformed.ok) throw new Error(transformed.reason);
  return transformed.body;
}

/** The same fields whatever their order, `__proto__` among them. */
function canonical(json: Json | undefined): string {
  if (Array.isArray(json)) return `[${json.map(canonical).join()}]`;
  if (!isObject(json)) return JSON.stringify(json) ?? "missing";
  const entries = Object.entries(json).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, entry]) => `${JSON.stringify(key)}:${canonical(entry)}`).join()}}`;
}

const wildcardPath = fc.array(fc.oneof(said, fc.constant("*")), { minLength: 1, maxLength: 4 }).map(pathOf);
const operation = fc.oneof<fc.Arbitrary<Json>[]>(
  fc.record({
    op: fc.constantFrom("pick", "omit"),
    paths: fc.array(wildcardPath, { minLength: 1, maxLength: 4 }),
  }),
  fc.record({ op: fc.constant("rename"), from: names.map(pathOf), to: names.map(pathOf) }),
  fc.record({ op: fc.constant("set"), path: names.map(pathOf), value }),
  fc.record({ op: fc.constant("unwrap"), path: names.map(pathOf) }),
  fc.record({ op: fc.constant("wrap"), key: name }),
);
const operations = fc.array(operation, { maxLength: 6 }).filter((list) => compileTransformations(list).ok);

const RUNS = { numRuns: 3000 };

test("pick then omit of the same paths leaves nothing of them", () => {
  fc.assert(
    fc.property(body, fc.array(names, { minLength: 1, maxLength: 4 }), (json, paths) => {
      fc.pre(!paths.some((words) => hasArrayOnTheWay(json, words)));
      const texts = paths.map(pathOf);
      const left = result(
        [
          { op: "pick", paths: texts },
          { op: "omit", paths: texts },
        ],
        json,
      );
      for (const words of paths) expect(fieldAt(left, words)).toBeUndefined();
      const again = result([{ op: "pick", paths: texts }], left);
      expect(canonical(again)).toBe("{}");
    }),
    RUNS,
  );
});

test("pick and omit of the same paths share the body between them", () => {
  fc.assert(
    fc.property(body, names, (json, words) => {
      const there = fieldAt(json, words);
      const picked = result([{ op: "pick", paths: [pathOf(words)] }], json);
      const omitted = result([{ op: "omit", paths: [pathOf(words)] }], json);
      fc.pre(!hasArrayOnTheWay(json, words));
      expect(canonical(fieldAt(picked, words))).toBe(canonical(there));
      expect(fieldAt(omitted, words)).toBeUndefined();
      if (there !== undefined)
        expect(canonical(result([{ op: "set", path: pathOf(words), value: there }], omitted))).toBe(
          canonical(json),
        );
    }),
    RUNS,
  );
});

function hasArrayOnTheWay(json: Json, words: readonly string[]): boolean {
  return words.some((_, index) => Array.isArray(fieldAt(json, words.slice(0, index))));
}

/** Every field that objects alone lead to, by its names. */
function fieldsOf(json: Json): string[][] {
  if (!isObject(json)) return [];
  return Object.entries(json).flatMap(([word, below]) => [
    [word],
    ...fieldsOf(below).map((rest) => [word, ...rest]),
  ]);
}

test("rename there and back is the identity where the target was free", () => {
  const RUN_COUNT = 2000;
  let moved = 0;
  fc.assert(
    fc.property(body, fc.nat(), fc.nat(), said, (json, one, other, newName) => {
      const fields = fieldsOf(json).filter((words) => !words.includes("*"));
      const parents = [[], ...fields.filter((words) => isObject(fieldAt(json, words)))];
      const from = fields[one % Math.max(1, fields.length)];
      const to = [...(parents[other % parents.length] ?? []), newName];
      fc.pre(
        from !== undefined &&
          fieldAt(json, to) === undefined &&
          !from.every((word, index) => word === to[index]),
      );
      moved++;
      const there: Json = { op: "rename", from: pathOf(from ?? []), to: pathOf(to) };
      const back: Json = { op: "rename", from: pathOf(to), to: pathOf(from ?? []) };
      expect(canonical(fieldAt(result([there], json), to))).toBe(canonical(fieldAt(json, from ?? [])));
      expect(canonical(result([there, back], json))).toBe(canonical(json));
    }),
    { numRuns: RUN_COUNT },
  );
  expect(moved).toBe(RUN_COUNT);
});

test("wrap then unwrap is the identity", () => {
  fc.assert(
    fc.property(body, said, (json, key) => {
      expect(
        result(
          [
            { op: "wrap", key },
            { op: "unwrap", path: pathOf([key]) },
          ],
          json,
        ),
      ).toBe(json);
    }),
    RUNS,
  );
});

test("what was set is there, and setting it again changes nothing", () => {
  fc.assert(
    fc.property(body, names, value, (json, words, put) => {
      const set: Json = { op: "set", path: pathOf(words), value: put };
      const once = apply([set], json);
      fc.pre(once.ok);
      const twice = result([set, set], json);
      if (once.ok) expect(canonical(twice)).toBe(canonical(once.body));
      if (!hasArrayOnTheWay(json, words)) expect(fieldAt(twice, words)).toBe(put);
    }),
    RUNS,
  );
});

test("pick and omit are idempotent where no path counts elements", () => {
  const uncounted = fc
    .array(wildcardPath, { minLength: 1, maxLength: 4 })
    .filter((list) => list.every((path) => !/\d/.test(path)));
  fc.assert(
    fc.property(body, uncounted, fc.constantFrom("pick", "omit"), (json, paths, op) => {
      const once = result([{ op, paths }], json);
      expect(canonical(result([{ op, paths }], once))).toBe(canonical(once));
    }),
    RUNS,
  );
});

test("neither the body nor the operations are ever changed, and no prototype is", () => {
  const inherited = Object.getOwnPropertyNames(Object.prototype).sort().join();
  fc.assert(
    fc.property(body, operations, (json, list) => {
      const before = JSON.stringify([json, list]);
      apply(deepFreeze(list), deepFreeze(json));
      expect(JSON.stringify([json, list])).toBe(before);
    }),
    RUNS,
  );
  expect(Object.getOwnPropertyNames(Object.prototype).sort().join()).toBe(inherited);
});

test("what comes out is JSON whose every field is its own and shows in its text", () => {
  fc.assert(
    fc.property(body, operations, (json, list) => {
      const transformed = apply(list, json);
      fc.pre(transformed.ok);
      if (transformed.ok) {
        expect(canonical(JSON.parse(JSON.stringify(transformed.body)))).toBe(canonical(transformed.body));
        expect(Object.getPrototypeOf(transformed.body)).toBe(Object.prototype);
      }
    }),
    RUNS,
  );
});

test("a list does what its operations do one after the other", () => {
  fc.assert(
    fc.property(body, operations, (json, list) => {
      const whole = apply(list, json);
      let one: Transformed = { ok: true, body: json };
      for (const step of list) if (one.ok) one = apply([step], one.body);
      expect(one.ok).toBe(whole.ok);
      if (one.ok && whole.ok) expect(canonical(whole.body)).toBe(canonical(one.body));
    }),
    RUNS,
  );
});

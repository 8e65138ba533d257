import { describe, expect, spyOn, test } from "bun:test";
import type { Json } from "../../../src/core/json/value.ts";
import { limit } from "../../../src/core/limits.ts";
import { compileSchema } from "../../../src/core/schema/schema.ts";

/** Schemas and data made to be slow. The budget is counted in steps, so these end alike on every machine. */

const TOO_MANY = [{ pointer: "", detail: "Judging this data by its schema takes too many steps." }];

function listOf<T>(length: number, make: (index: number) => T): T[] {
  return Array.from({ length }, (_, index) => make(index));
}

function objectOf(
  length: number,
  name: (index: number) => string,
  value: (index: number) => Json,
): { [key: string]: Json } {
  return Object.fromEntries(listOf(length, (index) => [name(index), value(index)]));
}

function nestedList(levels: number): Json {
  return levels === 0 ? 1 : [nestedList(levels - 1)];
}

/** Each definition names the next one twice: 2^n ways through n of them. */
function web(keyword: string, length: number): Json {
  const twice = (index: number): Json => {
    const next = { $ref: `#/$defs/d${index + 1}` };
    return index === length - 1 ? { type: "string" } : { [keyword]: [next, next] };
  };
  return { $ref: "#/$defs/d0", $defs: objectOf(length, (index) => `d${index}`, twice) };
}

const manyNames = objectOf(
  90_000,
  (index) => `k${index}`,
  (index) => index,
);
const manyNumbers = listOf(400_000, (index) => index % 10);

/** One part, judged over and over: a reference takes far less text than what it leads to. */
function repeated(keyword: string, times: number, one: Json): { [key: string]: Json } {
  const refs = (name: string, count: number) => listOf(count, () => ({ $ref: `#/$defs/${name}` }));
  return { $defs: { one, ten: { [keyword]: refs("one", 10) } }, [keyword]: refs("ten", times / 10) };
}

/** As an event has it: no two of its texts share their memory. */
function parsed(data: Json): Json {
  return JSON.parse(JSON.stringify(data)) as Json;
}

const megabyteName = parsed({ ["n".repeat(1_000_000)]: 1 });
/** The longest that a schema has room for. */
const longText = "n".repeat(16_000);

const BOMBS: [name: string, schema: Json, data: Json][] = [
  ["a web of anyOf", web("anyOf", 40), 1],
  ["a web of oneOf", web("oneOf", 40), "x"],
  ["a web of allOf over valid data", web("allOf", 40), "x"],
  [
    "a web of references through the data",
    {
      $ref: "#/$defs/n",
      $defs: {
        n: {
          anyOf: [
            { type: "array", items: { $ref: "#/$defs/n" } },
            { type: "array", items: { $ref: "#/$defs/n" } },
          ],
        },
      },
    },
    nestedList(60),
  ],
  [
    "a chain of references at every level",
    {
      $ref: "#/$defs/d0",
      $defs: objectOf(
        800,
        (index) => `d${index}`,
        (index) => (index === 799 ? { items: { $ref: "#/$defs/d0" } } : { $ref: `#/$defs/d${index + 1}` }),
      ),
    },
    nestedList(60),
  ],
  ["contains over and over", { allOf: listOf(500, () => ({ contains: { const: -1 } })) }, manyNumbers],
  [
    "uniqueItems over and over",
    { allOf: listOf(800, () => ({ uniqueItems: true })) },
    listOf(20_000, (index) => ({ a: index })),
  ],
  ["minProperties over and over", { allOf: listOf(1000, () => ({ minProperties: 1 })) }, manyNames],
  ["maxLength over and over", { allOf: listOf(1000, () => ({ maxLength: 2_000_000 })) }, "é".repeat(500_000)],
  [
    "enum of objects over and over",
    { allOf: listOf(600, () => ({ not: { enum: [{ a: 1 }] } })) },
    objectOf(
      5000,
      (index) => `k${index}`,
      () => 1,
    ),
  ],
  [
    "patternProperties",
    {
      patternProperties: objectOf(
        800,
        (index) => `^x${index}(a+)+$`,
        () => true,
      ),
    },
    manyNames,
  ],
  [
    "a pattern with thousands of states",
    { items: { not: { pattern: "^(a|b|c|d|e|f){1000}$" } } },
    listOf(1000, () => "ab".repeat(400)),
  ],
  ["a pattern over a long text", { pattern: "^(?:[a-z]+ ?)*$" }, "ab ".repeat(350_000)],
  ["Unicode properties over a long text", { pattern: "^(\\p{L}|\\p{N}|\\p{P})+$" }, "漢".repeat(300_000)],
  [
    "alternatives for every element",
    { items: { anyOf: listOf(1500, (index) => ({ const: -1 - index })) } },
    manyNumbers.map(() => -1500),
  ],
  [
    "unevaluatedProperties behind many alternatives",
    { allOf: [{ anyOf: listOf(800, () => ({ additionalProperties: true })) }], unevaluatedProperties: false },
    objectOf(
      5000,
      (index) => `k${index}`,
      () => 1,
    ),
  ],
  ["tiny divisors", { items: { multipleOf: 1e-300 } }, listOf(200_000, (index) => index + 0.5)],
  ["great exponents", { items: { multipleOf: 5e-324 } }, listOf(2000, () => 1.7e308)],
  ["const over a name of a megabyte", repeated("anyOf", 10, { const: { a: 0 } }), megabyteName],
  ["enum over a name of a megabyte", repeated("anyOf", 10, { enum: [{ a: 0 }, [1]] }), megabyteName],
  [
    "const over long names that begin alike",
    repeated("anyOf", 10, { const: {} }),
    objectOf(
      10,
      (index) => `${"n".repeat(100_000)}${index}`,
      () => 1,
    ),
  ],
  [
    "const of a long text, which the data has",
    repeated("allOf", 1200, { const: longText }),
    parsed(longText),
  ],
  [
    "uniqueItems over long texts that are equal",
    repeated("anyOf", 20, { uniqueItems: true }),
    parsed(["n".repeat(500_000), "n".repeat(500_000)]),
  ],
  [
    "properties of a long name, which the data has",
    repeated("allOf", 1200, { properties: { [longText]: true } }),
    parsed({ [longText]: 1 }),
  ],
  [
    "propertyNames of a long name",
    repeated("allOf", 600, { propertyNames: { const: longText } }),
    parsed({ [longText]: 1 }),
  ],
  [
    "unevaluatedProperties that a long name is kept for",
    { ...repeated("allOf", 20, { additionalProperties: true }), unevaluatedProperties: false },
    megabyteName,
  ],
  [
    "a long name that alternatives keep",
    { ...repeated("anyOf", 10, { anyOf: [{ additionalProperties: true }] }), unevaluatedProperties: false },
    megabyteName,
  ],
  [
    "a fault at a name of a megabyte",
    { additionalProperties: false },
    parsed({ ["~".repeat(1_000_000)]: 1 }),
  ],
];

describe("what would take too long is one fault", () => {
  for (const [name, schema, data] of BOMBS) {
    test(name, () => {
      const compiled = compileSchema(schema);
      expect(compiled.ok ? [] : compiled.faults).toEqual([]);
      expect(compiled.ok && compiled.schema.validate(data)).toEqual(TOO_MANY);
    });
  }
});

test("elements behind those that schemas are for are not walked", () => {
  const compiled = [
    compileSchema({ prefixItems: [true] }),
    compileSchema({ $schema: "http://json-schema.org/draft-07/schema#", items: [true] }),
  ];
  for (const one of compiled) {
    let read = 0;
    const list = new Proxy(
      listOf(1000, () => 0),
      {
        get(target, name, receiver): unknown {
          if (typeof name === "string" && /^\d+$/.test(name)) read++;
          return Reflect.get(target, name, receiver);
        },
      },
    );
    expect(one.ok && one.schema.validate(list)).toEqual([]);
    expect(read).toBeLessThan(10);
  }
});

test("many references into a schema below a long name do not walk to it each", () => {
  const references = listOf(500, () => ({ $ref: "#/$defs/one" }));
  const below: Json = { $id: "https://example.com/below", $defs: { one: true }, allOf: references };
  using replaced = spyOn(String.prototype, "replaceAll");
  const compiled = compileSchema({ properties: { [longText]: below } });
  const lengths = replaced.mock.contexts.map((text) => String(text).length);
  expect(compiled.ok).toBe(true);
  expect(lengths.reduce((sum, length) => sum + length, 0)).toBeLessThan(10 * longText.length);
});

/** Characters of all keys that maps are asked for meanwhile. */
function keyLengths(work: () => void): number {
  using got = spyOn(Map.prototype, "get");
  using set = spyOn(Map.prototype, "set");
  work();
  const keys: unknown[] = [...got.mock.calls, ...set.mock.calls].map(([key]) => key);
  return keys.reduce<number>((sum, key) => sum + (typeof key === "string" ? key.length : 0), 0);
}

test("a long name is not written out for each of the schemas below it", () => {
  const below = listOf(800, () => ({ type: "string" }));
  const schema = { properties: { [longText]: { allOf: below } } };
  expect(keyLengths(() => expect(compileSchema(schema).ok).toBe(true))).toBeLessThan(5 * longText.length);
});

test("a reference of very many names is left at the first that leads nowhere", () => {
  const names = "/a".repeat(16_340);
  const length = keyLengths(() => expect(compileSchema({ $ref: `#${names}` }).ok).toBe(false));
  expect(length).toBeLessThan(names.length);
});

test("a schema that says nothing is asked for no keywords", () => {
  using asked = spyOn(Object, "hasOwn");
  expect(compileSchema({ anyOf: listOf(1000, () => ({})) }).ok).toBe(true);
  expect(asked.mock.calls.length).toBeLessThan(1000);
});

describe("the cache has room for several of the heaviest schemas", () => {
  const weightOf = (schema: Json): number => {
    const compiled = compileSchema(schema);
    if (!compiled.ok) throw new Error(JSON.stringify(compiled.faults[0]));
    return compiled.schema.weight;
  };
  const longId = (length: number): Json => ({
    $id: `https://example.com/${longText.slice(0, 14_000)}/`,
    items: { anyOf: listOf(length, (index) => ({ $id: `${index}` })) },
  });
  const heaviest: [string, Json][] = [
    ["of empty schemas", { anyOf: listOf(10_880, () => ({})) }],
    ["of schemas below a long name", { properties: { [longText]: { anyOf: listOf(5500, () => ({})) } } }],
    ["of URIs below a long one", longId(1200)],
  ];

  test.each(heaviest)("%s", (_name, schema) => {
    expect(weightOf(schema)).toBeLessThan(limit("compiledSchemasBytesMax") / 5);
  });

  test("a URI is weighed in each that is relative to it", () => {
    expect(weightOf(longId(1000)) - weightOf(longId(500))).toBeGreaterThan(500 * 14_000);
  });
});

describe("what is large but honest is judged", () => {
  const line = (index: number): Json => ({
    sku: `SKU-${index}`,
    quantity: index % 7,
    price: index / 100,
    tags: ["a", "b"],
    id: "0190c2d4-7d3e-7c3a-9f5e-2b1f0a6c4e11",
  });
  const order: Json = {
    type: "object",
    required: ["lines"],
    properties: {
      lines: {
        type: "array",
        items: {
          type: "object",
          required: ["sku", "quantity", "price"],
          additionalProperties: false,
          properties: {
            sku: { type: "string", pattern: "^SKU-[0-9]+$", maxLength: 20 },
            quantity: { type: "integer", minimum: 0 },
            price: { type: "number", multipleOf: 0.01 },
            tags: { type: "array", uniqueItems: true, items: { enum: ["a", "b", "c"] } },
            id: { type: "string", pattern: "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$" },
          },
        },
      },
    },
  };

  test("a thousand lines with patterns, some 120 KB", () => {
    const compiled = compileSchema(order);
    expect(compiled.ok && compiled.schema.validate({ lines: listOf(1000, line) })).toEqual([]);
    const oneWrong = listOf(1000, (index) =>
      index === 998 ? { sku: "SKU-x", quantity: 1, price: 1 } : line(index),
    );
    const faults = compiled.ok ? compiled.schema.validate({ lines: oneWrong }) : [];
    expect(faults.map((fault) => fault.pointer)).toEqual(["/lines/998/sku"]);
  });

  test("a long base64 text", () => {
    const compiled = compileSchema({ pattern: "^[A-Za-z0-9+/]*={0,2}$" });
    expect(compiled.ok && compiled.schema.validate("QUJD".repeat(33_000))).toEqual([]);
  });

  test("a megabyte that a pattern gives up at the first character", () => {
    const compiled = compileSchema({ not: { pattern: "^x" } });
    expect(compiled.ok && compiled.schema.validate("a".repeat(1_000_000))).toEqual([]);
  });

  test("a text of a megabyte that is none of many short ones", () => {
    const compiled = compileSchema({ anyOf: [...listOf(500, (index) => ({ const: `c${index}` })), true] });
    expect(compiled.ok && compiled.schema.validate("a".repeat(1_000_000))).toEqual([]);
  });

  test("one const over an object with a name of a megabyte", () => {
    const compiled = compileSchema({ not: { const: { a: 0 } } });
    expect(compiled.ok && compiled.schema.validate(megabyteName)).toEqual([]);
  });

  test("a chain of references is no web", () => {
    const length = 500;
    const step = (index: number): Json =>
      index === length - 1 ? { type: "integer" } : { $ref: `#/$defs/d${index + 1}` };
    const compiled = compileSchema({
      $ref: "#/$defs/d0",
      $defs: objectOf(length, (index) => `d${index}`, step),
    });
    expect(compiled.ok && compiled.schema.validate(1)).toEqual([]);
    expect(compiled.ok && compiled.schema.validate("x")).toHaveLength(1);
  });
});

test("a wrong answer is never given for lack of steps: not and oneOf do not turn it into a pass", () => {
  const slow: Json = { pattern: "(a|b|c|d|e|f){1000}z" };
  for (const schema of [
    { not: slow },
    { oneOf: [slow, true] },
    { anyOf: [{ not: slow }, false] },
  ] as Json[]) {
    const compiled = compileSchema(schema);
    expect(compiled.ok && compiled.schema.validate("ab".repeat(5000))).toEqual(TOO_MANY);
  }
});

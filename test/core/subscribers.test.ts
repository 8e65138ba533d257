import { describe, expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { compileFilter } from "../../src/core/filter/filter.ts";
import { requirementsOf, valuesAt } from "../../src/core/filter/requirements.ts";
import type { Json } from "../../src/core/json/value.ts";
import type { Endpoint } from "../../src/core/model.ts";
import { atOnce } from "../../src/core/structures/turn-queue.ts";
import { type Subscriber, Subscribers } from "../../src/core/subscribers.ts";

function subscriber(id: number, source: Json | null): Subscriber {
  const endpoint = { id } as Endpoint;
  if (source === null) return { endpoint, filter: null };
  const compiled = compileFilter(source);
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.faults));
  return { endpoint, filter: compiled.filter };
}

function subscribersOf(sources: (Json | null)[]): Subscribers {
  return atOnce(Subscribers.of(sources.map((source, at) => subscriber(at, source))));
}

function candidatesOf(subscribers: Subscribers, envelope: Json): number[] {
  return atOnce(subscribers.candidates(envelope)).map(({ endpoint }) => endpoint.id);
}

describe("what a filter requires", () => {
  test.each<[string, Json, [string, Json][]]>([
    ["a field", { type: "a" }, [["type", "a"]]],
    [
      "fields in fields",
      { data: { customer: { id: "c", n: 7 } } },
      [
        ["data.customer.id", "c"],
        ["data.customer.n", 7],
      ],
    ],
    [
      "$eq and $and",
      { $and: [{ data: { a: { $eq: "x" } } }, { data: { b: { $and: [{ $eq: 1 }] } } }] },
      [
        ["data.a", "x"],
        ["data.b", 1],
      ],
    ],
    [
      "nothing of $or, $not and the others",
      { $or: [{ a: "x" }], $not: { b: "x" }, c: { $in: ["x"], $neq: "y" } },
      [],
    ],
    ["nothing of other values", { a: true, b: null, c: [1], d: { $eq: { $and: 5, e: "x" } } }, []],
  ])("%s", (_name, source, required) => {
    expect(requirementsOf(source).map(({ path, value }): [string, Json] => [path.join("."), value])).toEqual(
      required,
    );
  });
});

test("a long name is not kept once more for each field below it", () => {
  const long = "a".repeat(10_000);
  const fields = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`f${at}`, at]));
  const places = requirementsOf({ data: { [long]: fields, [`${long}b`]: fields } }).map(({ place }) => place);
  expect(new Set(places).size).toBe(100);
  expect(Math.max(...places.map(({ length }) => length))).toBeLessThan(250);
});

test("a long name is hashed once for all fields below it, however deep they are", () => {
  const long = "a".repeat(10_000);
  const fields = Object.fromEntries(Array.from({ length: 250 }, (_, at) => [`f${at}`, { g: at }]));
  using hashed = spyOn(Bun.CryptoHasher.prototype, "update");
  const found = requirementsOf({ data: { [long]: fields } });
  expect(hashed.mock.calls.map(([text]) => (typeof text === "string" ? text.length : null))).toEqual([
    10_006,
  ]);
  expect(new Set(found.map(({ place }) => place)).size).toBe(250);
});

test("no two paths have one place, also where a name looks like another's hash", () => {
  const long = "a".repeat(10_000);
  const place = requirementsOf({ [long]: { b: 1 } })[0]?.place ?? "";
  const names = [long, place, place.slice(0, -2), "a/b", "a~1b", "a", "", "/"];
  const source = Object.fromEntries(names.map((name) => [name, { b: 1, "": 2, "b/": { "": 3 } }]));
  expect(new Set(requirementsOf(source).map((one) => one.place)).size).toBe(3 * names.length);
});

test("values are looked for in lists too, up to a number of them", () => {
  const envelope: Json = { data: [{ a: ["x", "y"] }, { a: "z" }, { b: 1 }, 7] };
  expect(valuesAt(envelope, ["data", "a"])).toEqual(["x", "y", "z"]);
  expect(valuesAt(envelope, ["none", "a"])).toEqual([]);
  expect(valuesAt({ data: Array.from({ length: 1000 }, () => ({ a: 1 })) }, ["data", "a"])).toBeNull();
});

describe("the index", () => {
  const customers = Array.from({ length: 1000 }, (_, at) => `c_${at}`);
  const sources = customers.map((customer): Json => ({ data: { currency: "EUR", customer } }));

  test("leads to those that may match, by the rarest value that they require", () => {
    const subscribers = subscribersOf([...sources, null, { data: { total: { $gt: 1 } } }]);
    // The first of all stands under its currency: nothing was rare then.
    expect(candidatesOf(subscribers, { data: { currency: "EUR", customer: "c_7" } })).toEqual([
      1000, 1001, 0, 7,
    ]);
    expect(candidatesOf(subscribers, { data: { currency: "USD" } })).toEqual([1000, 1001]);
    expect(candidatesOf(subscribers, { data: { customer: ["c_1", "c_2", "c_1"] } })).toEqual([
      1000, 1001, 1, 2,
    ]);
  });

  test("gives way where an event has too many values to look up", () => {
    const many: Json = { data: { customer: Array.from({ length: 200 }, () => "c_1") } };
    expect(candidatesOf(subscribersOf(sources), many)).toHaveLength(999);
  });

  test("is made and asked in pieces, however many filters and paths there are", () => {
    const all = Array.from({ length: 20_000 }, (_, at) => subscriber(at, { data: { [`p${at}`]: "x" } }));
    expect([...Subscribers.of(all)].length).toBeGreaterThan(20);
    const asked = atOnce(Subscribers.of(all)).candidates({ data: { p7: "x" } });
    expect([...asked].length).toBeGreaterThan(20);
  });

  test("never leaves out one that matches", () => {
    const scalar = fc.constantFrom<Json>("a", "b", 0, 1, true, null);
    const name = fc.constantFrom("p", "q", "__proto__");
    const { filter, value } = fc.letrec<{ filter: Json; value: Json }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        scalar,
        fc.array(tie("value"), { maxLength: 3 }),
        fc
          .array(fc.tuple(name, tie("value")), { maxLength: 3 })
          .map((fields): Json => Object.fromEntries(fields)),
      ),
      filter: fc
        .array(
          fc.oneof(
            { maxDepth: 4 },
            fc.tuple(name, scalar),
            fc.tuple(
              name,
              scalar.map((operand): Json => ({ $eq: operand })),
            ),
            fc.tuple(name, tie("filter")),
            fc.tuple(fc.constantFrom("$and", "$or"), fc.array(tie("filter"), { minLength: 1, maxLength: 2 })),
            fc.tuple(fc.constant("$not"), tie("filter")),
          ),
          { minLength: 1, maxLength: 3 },
        )
        .map((fields): Json => Object.fromEntries(fields as [string, Json][])),
    }));
    const property = fc.property(
      fc.array(filter, { minLength: 32, maxLength: 40 }),
      value,
      (made, envelope) => {
        const subscribers = subscribersOf(made);
        const candidates = new Set(candidatesOf(subscribers, envelope));
        const missed = subscribers.all.filter(
          ({ endpoint, filter: one }) => one?.matches(envelope) && !candidates.has(endpoint.id),
        );
        expect(missed).toEqual([]);
      },
    );
    fc.assert(property, { numRuns: 300 });
  });
});

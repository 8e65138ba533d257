import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Endpoint } from "../../src/core/model.ts";
import { AnswerMemory, isSubscribed, Routes } from "../../src/core/routes.ts";
import { plainEndpoint } from "../kit/endpoint.ts";

const blank: Endpoint = { ...plainEndpoint, id: 0 };

function routesOf(...endpoints: Partial<Endpoint>[]): Routes {
  const routes = new Routes();
  for (const [at, fields] of endpoints.entries()) routes.set({ ...blank, id: at + 1, ...fields });
  return routes;
}

function idsOf(routes: Routes, type: string, consumerId: string | null = null): number[] {
  return routes.match(type, consumerId).all.map(({ endpoint }) => endpoint.id);
}

describe("who subscribes", () => {
  const routes = routesOf(
    {},
    { eventTypes: ["invoice.*"] },
    { eventTypes: ["invoice.paid", "invoice.*", "*"] },
    { eventTypes: ["order.paid"] },
    { eventTypes: ["invoice.*"], consumerId: "anna" },
    { consumerId: "bert" },
  );

  test.each<[string, string | null, number[]]>([
    ["invoice.paid", null, [1, 2, 3]],
    ["invoice.line.added", null, [1, 2, 3]],
    ["invoice", null, [1, 3]],
    ["order.paid", null, [1, 3, 4]],
    ["invoice.paid", "anna", [1, 2, 3, 5]],
    ["order.paid", "anna", [1, 3, 4]],
    ["a", "bert", [1, 3, 6]],
    ["a", "carl", [1, 3]],
  ])("to %s of the consumer %s", (type, consumerId, ids) => {
    expect(idsOf(routes, type, consumerId)).toEqual(ids);
    expect(idsOf(routes, type, consumerId)).toEqual(ids);
  });

  test("changes with every endpoint that is added, changed or deleted, also after it was asked", () => {
    const changing = routesOf({ eventTypes: ["a"] }, { eventTypes: ["a"] });
    expect(idsOf(changing, "a")).toEqual([1, 2]);
    changing.set({ ...blank, id: 3 });
    expect(idsOf(changing, "a")).toEqual([1, 2, 3]);
    changing.set({ ...blank, id: 1, eventTypes: ["b"] });
    expect([idsOf(changing, "a"), idsOf(changing, "b")]).toEqual([
      [2, 3],
      [1, 3],
    ]);
    changing.set({ ...blank, id: 3, consumerId: "anna" });
    expect([idsOf(changing, "a"), idsOf(changing, "a", "anna")]).toEqual([[2], [2, 3]]);
    changing.set({ ...blank, id: 2, eventTypes: ["a"], status: "deleted" });
    expect(idsOf(changing, "a")).toEqual([]);
    expect(changing.subscriber(2)).toBeNull();
  });

  test("is the same by the index and one by one, for any types and consumers", () => {
    const part = fc.constantFrom("a", "b", "c");
    const type = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("."));
    const pattern = fc.oneof(
      type,
      type.map((name) => `${name}.*`),
      fc.constant("*"),
    );
    const consumer = fc.constantFrom(null, "anna", "bert");
    const fields = fc.record({
      eventTypes: fc.option(fc.array(pattern, { minLength: 1, maxLength: 3 })),
      consumerId: consumer,
    });
    const property = fc.property(
      fc.array(fields, { maxLength: 8 }),
      type,
      consumer,
      (made, name, consumerId) => {
        const endpoints = made.map((one, at) => ({ ...blank, ...one, id: at + 1 }));
        const expected = endpoints.filter((endpoint) => isSubscribed(endpoint, { type: name, consumerId }));
        expect(idsOf(routesOf(...endpoints), name, consumerId)).toEqual(expected.map(({ id }) => id));
      },
    );
    fc.assert(property, { numRuns: 2000 });
  });
});

test("each comes with its filter, compiled", () => {
  const [plain, filtered] = routesOf({}, { filter: { type: "a" } }).match("a", null).all;
  expect(plain?.filter).toBeNull();
  expect([filtered?.filter?.matches({ type: "a" }), filtered?.filter?.matches({ type: "b" })]).toEqual([
    true,
    false,
  ]);
});

describe("an endpoint whose filter is refused", () => {
  test("subscribes without one: what it gets fails when it is sent", () => {
    const routes = new Routes();
    expect(routes.set({ ...blank, id: 1, filter: { data: { $later: 1 } } })).toBe(false);
    expect(routes.set({ ...blank, id: 2, filter: { data: { n: 1 } } })).toBe(true);
    expect(routes.match("a", null).all.map(({ endpoint, filter }) => [endpoint.id, filter === null])).toEqual(
      [
        [1, true],
        [2, false],
      ],
    );
    expect(routes.set({ ...blank, id: 1 })).toBe(true);
  });
});

describe("what was found", () => {
  test("is kept once for all consumers that have no endpoint of their own", () => {
    const routes = routesOf({}, { consumerId: "anna" });
    expect(routes.match("a", "nobody")).toBe(routes.match("a", null));
    expect(routes.match("a", "anna")).not.toBe(routes.match("a", null));
  });

  test("is kept, and forgotten together where all projects keep too much", () => {
    const memory = new AnswerMemory(1000);
    const [one, other] = [new Routes(memory), new Routes(memory)];
    const first = one.match("a", null);
    const second = other.match("a", null);
    expect([one.match("a", null) === first, other.match("a", null) === second]).toEqual([true, true]);
    other.match("b", null);
    expect([one.match("a", null) === first, other.match("a", null) === second]).toEqual([false, false]);
  });

  test("makes room for others once an endpoint changed", () => {
    const memory = new AnswerMemory(1000);
    const [one, other] = [new Routes(memory), new Routes(memory)];
    for (let n = 0; n < 10; n++) {
      one.match("a", null);
      one.set({ ...blank, id: 1 });
    }
    const first = other.match("a", null);
    one.match("a", null);
    expect(other.match("a", null)).toBe(first);
  });
});

import { describe, expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import type { Endpoint } from "../../src/core/model.ts";
import { AnswerMemory, isSubscribed, Routes } from "../../src/core/routes.ts";
import { atOnce } from "../../src/core/structures/turn-queue.ts";
import { Subscribers } from "../../src/core/subscribers.ts";
import { plainEndpoint } from "../kit/endpoint.ts";

const blank: Endpoint = { ...plainEndpoint, id: 0 };

function routesOf(...endpoints: Partial<Endpoint>[]): Routes {
  const routes = new Routes();
  for (const [at, fields] of endpoints.entries()) routes.set({ ...blank, id: at + 1, ...fields });
  return routes;
}

function manyOf(count: number, fields: Partial<Endpoint> = {}): Routes {
  return routesOf(...Array.from({ length: count }, () => fields));
}

/** Those of a list that is known or short. */
function match(routes: Routes, type: string, consumerId: string | null = null): Subscribers {
  const found = routes.match(type, consumerId);
  if (found === null) throw new Error("the list is long and not known");
  return found;
}

function keysOf({ all }: Subscribers): number[] {
  return all.map(({ endpoint }) => endpoint.id);
}

function idsOf(routes: Routes, type: string, consumerId: string | null = null): number[] {
  return keysOf(match(routes, type, consumerId));
}

/** Any types, and what endpoints may subscribe to. */
const anyType = fc
  .array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 3 })
  .map((parts) => parts.join("."));
const anyPattern = fc.oneof(
  anyType,
  anyType.map((name) => `${name}.*`),
  fc.constant("*"),
);
const anyConsumer = fc.constantFrom(null, "anna", "bert");
const anyFields = fc.record({
  eventTypes: fc.option(fc.array(anyPattern, { minLength: 1, maxLength: 3 })),
  consumerId: anyConsumer,
});

/** Found one by one. */
function expectedOf(endpoints: Iterable<Endpoint>, type: string, consumerId: string | null): number[] {
  return [...endpoints]
    .filter((endpoint) => endpoint.status !== "deleted" && isSubscribed(endpoint, { type, consumerId }))
    .map(({ id }) => id)
    .sort((a, b) => a - b);
}

describe("who subscribes", () => {
  const some = routesOf(
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
    expect(idsOf(some, type, consumerId)).toEqual(ids);
    expect(idsOf(some, type, consumerId)).toEqual(ids);
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
    const property = fc.property(
      fc.array(anyFields, { maxLength: 8 }),
      anyType,
      anyConsumer,
      (made, name, consumerId) => {
        const endpoints = made.map((one, at) => ({ ...blank, ...one, id: at + 1 }));
        expect(idsOf(routesOf(...endpoints), name, consumerId)).toEqual(
          expectedOf(endpoints, name, consumerId),
        );
      },
    );
    fc.assert(property, { numRuns: 2000 });
  });

  test("is as at one moment where it is found in pieces and endpoints change meanwhile, and later as it is then", () => {
    const crowd: Partial<Endpoint>[] = ["*", "a.*", "b.*", "a.b"].flatMap((name) =>
      Array.from({ length: 110 }, () => ({ eventTypes: [name] })),
    );
    const change = fc.record({
      ...{ id: fc.integer({ min: 1, max: 12 }), fields: anyFields, pieces: fc.nat(6) },
      status: fc.constantFrom<Endpoint["status"]>("active", "active", "deleted"),
    });
    const types = ["a", "a.b", "b.c", "a.b.c", "c"];
    const property = fc.property(
      fc.array(anyFields, { maxLength: 8 }),
      fc.array(change, { maxLength: 6 }),
      fc.constantFrom(...types),
      anyConsumer,
      (made, changes, name, consumerId) => {
        const there = new Map<number, Endpoint>();
        const routes = new Routes();
        const set = (endpoint: Endpoint) => {
          there.set(endpoint.id, endpoint);
          routes.set(endpoint);
        };
        for (const [at, one] of made.entries()) set({ ...blank, ...one, id: at + 1 });
        for (const [at, one] of crowd.entries()) set({ ...blank, ...one, id: at + 100 });
        const now = () => expectedOf(there.values(), name, consumerId);
        const moments = [now()];
        const pieces = routes.find(name, consumerId);
        for (const { pieces: count, fields: changed, ...rest } of changes) {
          for (let piece = 0; piece < count; piece++) if (pieces.next().done) return;
          set({ ...blank, ...changed, ...rest });
          moments.push(now());
        }
        expect(moments).toContainEqual(keysOf(atOnce(pieces)));
        for (const one of types)
          for (const whose of [null, "anna", "bert"])
            expect(keysOf(atOnce(routes.find(one, whose)))).toEqual(expectedOf(there.values(), one, whose));
      },
    );
    fc.assert(property, { numRuns: 300 });
  });
});

test("each comes with its filter, compiled", () => {
  const [plain, filtered] = match(routesOf({}, { filter: { type: "a" } }), "a").all;
  expect(plain?.filter).toBeNull();
  expect([filtered?.filter?.matches({ type: "a" }), filtered?.filter?.matches({ type: "b" })]).toEqual([
    true,
    false,
  ]);
});

test("a filter is compiled anew where it changed, the order of its keys too, and not with all else", () => {
  const routes = new Routes();
  const compiledOf = (filter: Endpoint["filter"], fields: Partial<Endpoint> = {}) => {
    expect(routes.set({ ...blank, id: 1, ...fields, filter: structuredClone(filter) })).toBe(true);
    return routes.subscriber(1)?.filter;
  };
  const first = compiledOf({ type: "a", data: { n: 1 } });
  expect(compiledOf({ type: "a", data: { n: 1 } }, { status: "disabled", eventTypes: ["a"] })).toBe(first);
  const second = compiledOf({ data: { n: 1 }, type: "a" });
  expect(second).not.toBe(first);
  expect(compiledOf({ type: "b" })?.matches({ type: "b" })).toBe(true);
  expect(compiledOf(null)).toBeNull();
  expect(compiledOf({ type: "a" })?.matches({ type: "b" })).toBe(false);
});

describe("an endpoint whose filter is refused", () => {
  test("subscribes without one: what it gets fails when it is sent", () => {
    const routes = new Routes();
    for (let n = 0; n < 2; n++)
      expect(routes.set({ ...blank, id: 1, filter: { data: { $later: 1 } } })).toBe(false);
    expect(routes.set({ ...blank, id: 2, filter: { data: { n: 1 } } })).toBe(true);
    expect(match(routes, "a").all.map(({ endpoint, filter }) => [endpoint.id, filter === null])).toEqual([
      [1, true],
      [2, false],
    ]);
    expect(routes.set({ ...blank, id: 1 })).toBe(true);
  });
});

describe("what was found", () => {
  test("is kept once for all consumers that have no endpoint of their own", () => {
    const routes = routesOf({}, { consumerId: "anna" });
    expect(routes.match("a", "nobody")).toBe(routes.match("a", null));
    expect(routes.match("a", "anna")).toBe(routes.match("b", "anna"));
    expect(routes.match("a", "anna")).not.toBe(routes.match("a", null));
  });

  test("is one list for all types that lead to the same endpoints, found and remembered once", () => {
    const routes = manyOf(10_000);
    using made = spyOn(Subscribers, "of");
    expect(routes.match("t.0", null)).toBeNull();
    const list = atOnce(routes.find("t.0", null));
    expect(list.all).toHaveLength(10_000);
    for (let n = 0; n < 200; n++) expect(routes.match(`t.${n}`, "anna")).toBe(list);
    expect(routes.match("t.0", null)).toBe(list);
    expect(made).toHaveBeenCalledTimes(1);
  });

  test("comes in pieces where it is long", () => {
    expect([...manyOf(20_000).find("a", null)].length).toBeGreaterThan(60);
  });

  test("is kept for those to whom it leads by then, where an endpoint came meanwhile", () => {
    const routes = manyOf(250);
    const pieces = routes.find("a", "anna");
    pieces.next();
    routes.set({ ...blank, id: 5000, consumerId: "anna" });
    expect(atOnce(pieces).all).toHaveLength(251);
    expect(idsOf(routes, "b", "anna")).toHaveLength(251);
    expect(keysOf(atOnce(routes.find("a", null)))).toHaveLength(250);
  });

  test("is not kept where an endpoint changed once all were gathered", () => {
    const routes = manyOf(1000);
    const count = [...manyOf(1000).find("a", null)].length;
    const pieces = routes.find("a", null);
    for (let piece = 0; piece < count; piece++) pieces.next();
    routes.set({ ...blank, id: 5000 });
    expect(atOnce(pieces).all).toHaveLength(1000);
    expect(routes.match("a", null)).toBeNull();
    expect(atOnce(routes.find("a", null)).all).toHaveLength(1001);
  });

  test("is kept, and forgotten together where all projects keep too much", () => {
    const memory = new AnswerMemory(1500);
    const [one, other] = [new Routes(memory), new Routes(memory)];
    const first = one.match("a", null);
    const second = other.match("a", null);
    expect([one.match("a", null) === first, other.match("a", null) === second]).toEqual([true, true]);
    // For this one all are forgotten, the list that it has with the other type too.
    other.match("b", null);
    expect([one.match("a", null) === first, other.match("a", null) === second]).toEqual([false, false]);
  });

  test("makes room for others once an endpoint changed", () => {
    const memory = new AnswerMemory(1500);
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

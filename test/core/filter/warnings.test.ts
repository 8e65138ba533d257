import { describe, expect, test } from "bun:test";
import { compileFilter } from "../../../src/core/filter/filter.ts";
import { filterWarnings } from "../../../src/core/filter/warnings.ts";
import type { JsonObject } from "../../../src/core/json/value.ts";
import { nearName } from "../../../src/core/near-name.ts";

describe("a key at the top of a filter that no event has", () => {
  const cases: [string, JsonObject, [pointer: string, instead: string][]][] = [
    ["with dots", { "data.amount": { $gte: 1 } }, [["/data.amount", 'write {"data": {"amount": …}}.']]],
    ["that is a field of the data", { amount: 1 }, [["/amount", 'write {"data": {"amount": …}}.']]],
    ["with dots, below data", { "customer.id": 1 }, [["/customer.id", '{"data": {"customer": {"id": …}}}.']]],
    ["written wrong", { dta: { a: 1 } }, [["/dta", 'write {"data": …} or {"data": {"dta": …}}.']]],
    [
      "in a list and in its opposite",
      { $or: [{ type: "a" }, { total: 1 }], $not: { $and: [{ "a/b": 2 }] } },
      [
        ["/$or/1/total", '{"data": {"total": …}}'],
        ["/$not/$and/0/a~1b", '{"data": {"a/b": …}}'],
      ],
    ],
    ["called as what every object inherits", { constructor: 1 }, [["/constructor", '{"constructor": …}']]],
  ];

  test.each(cases)(
    "%s: the filter compiles, and the place to write instead is said",
    (_name, filter, told) => {
      expect(compileFilter(filter).ok).toBe(true);
      const warnings = filterWarnings(filter);
      expect(warnings.map(({ pointer }) => pointer)).toEqual(told.map(([pointer]) => pointer));
      for (const [at, [, instead]] of told.entries()) expect(warnings[at]?.detail).toContain(instead);
    },
  );
});

test("what an event has is not warned of, whatever is below it", () => {
  const filter = {
    type: "a.b",
    timestamp: { $gt: "2026" },
    data: { "x.y": 1, $or: [{ z: 1 }, { type: 2 }] },
  };
  expect(filterWarnings(filter)).toEqual([]);
  expect(filterWarnings({})).toEqual([]);
});

test("the near name is the nearest, and none where the names have little in common", () => {
  const known = ["stripe", "svix", "strava", "github"];
  const names = ["strip", "Stripe", "strpie", "gihtub", "svx", "x", "stripe", "hubspot"];
  expect(names.map((name) => nearName(name, known))).toEqual([
    "stripe",
    "stripe",
    "stripe",
    "github",
    "svix",
    null,
    null,
    null,
  ]);
});

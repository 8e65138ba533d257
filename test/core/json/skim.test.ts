import { expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { hasNameTwice } from "../../../src/core/json/json.ts";
import { skim, type Wanted } from "../../../src/core/json/skim.ts";
import { isObject, type Json } from "../../../src/core/json/value.ts";
import { randomJson } from "./random.ts";

const WANTED: Wanted = { a: true, b: { a: true, c: true }, list: { b: { a: true } } };

/** What is wanted of the parsed value. */
function wantedOf(value: Json, wanted: true | Wanted, elementsMax: number): unknown {
  if (Array.isArray(value)) {
    const elements = wanted === true ? [] : value.slice(0, elementsMax);
    return elements.map((one) => wantedOf(one, Array.isArray(one) ? true : wanted, elementsMax));
  }
  if (!isObject(value)) return value;
  const names = wanted === true ? [] : Object.keys(wanted).filter((name) => Object.hasOwn(value, name));
  const members = names.map((name) => {
    const inner = wanted === true ? true : (wanted[name] ?? true);
    return [name, wantedOf(value[name] as Json, inner, elementsMax)];
  });
  return Object.fromEntries(members);
}

test("of a text the wanted members are read, and nothing of what stands beside them", () => {
  const text =
    ' {"x":{"a":9}, "a" : 1.50 ,"b":{"c":[1,{}],"d":"}","a":"\\u00e4\\""},"list":[{"b":{"a":1}},2,3]}';
  expect(skim(text, WANTED, 2)).toEqual({ a: 1.5, b: { c: [], a: 'ä"' }, list: [{ b: { a: 1 } }, 2] });
  using parse = spyOn(JSON, "parse");
  skim(text, WANTED, 0);
  expect(parse.mock.calls.map(([spelled]) => spelled)).toEqual(["1.50", '"\\u00e4\\""']);
});

test("a name counts however it is spelled, and another one of its length never", () => {
  expect(skim(String.raw`{"\u0061":1,"b":{"\u0041":2,"\u0063":3}}`, WANTED, 0)).toEqual({
    a: 1,
    b: { c: 3 },
  });
  const spellings = [String.raw`"\u006c\u0069st"`, String.raw`"l\u0069s\u0074"`, String.raw`"lis\u0074"`];
  for (const name of spellings) expect(skim(`{${name}:1}`, WANTED, 0)).toEqual({ list: 1 });
  for (const name of ["lisa", "lis", "list ", String.raw`l\u006Gst`, String.raw`l\x0069st`, "listtests"])
    expect(skim(`{"${name}":1}`, WANTED, 0)).toEqual({});
});

test("it is what a walk over the parsed value finds", () => {
  const name = fc.constantFrom("a", "b", "c", "list", "d", "", '"', "__proto__");
  const { value } = randomJson(name, fc.oneof(fc.integer(), fc.string(), fc.constant(null)), 4);
  fc.assert(
    fc.property(value, fc.nat(3), fc.constantFrom(0, 1), (json, elementsMax, indent) => {
      const text = JSON.stringify(json, null, indent);
      expect(skim(text, WANTED, elementsMax)).toEqual(wantedOf(json, WANTED, elementsMax));
    }),
  );
});

test("a name that stands twice ends it: only the first is parsed", () => {
  const text = `{${'"a":x,'.repeat(1000)}"b":1}`;
  expect(hasNameTwice(text)).toBe(true);
  using parse = spyOn(JSON, "parse");
  expect(skim(text, WANTED, 0)).toBeNull();
  expect(parse).toHaveBeenCalledTimes(1);
  for (const twice of ['{"b":{"c":1,"c":1}}', '[{"a":1,"\\u0061":1}]', '{"list":[{},{"b":1,"b":1}]}'])
    expect(skim(twice, WANTED, 2)).toBeNull();
  expect(skim('{"d":1,"d":1,"b":{"d":1,"d":1}}', WANTED, 0)).toEqual({ b: {} });
});

test("whatever a stranger writes is read in one pass, or a few", () => {
  const LENGTH = 2000;
  const PASSES = 20;
  const part = fc.array(
    fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      '"',
      ":",
      ",",
      "\\",
      " ",
      "1",
      '"a":',
      '"b":{',
      '"list":[',
      '"\\u0061":',
    ),
    { minLength: 1, maxLength: 6 },
  );
  const opening = fc.constantFrom("{", '{"b":{', '{"list":[', '{"list":[{"b":{', "[");
  const run = (text: string) => {
    using read = spyOn(String.prototype, "charCodeAt");
    using sought = spyOn(String.prototype, "indexOf");
    skim(text, WANTED, Infinity);
    const passed = sought.mock.calls.map(([, from = 0], at) => {
      const found = Number(sought.mock.results[at]?.value);
      return (found < 0 ? text.length : found) - from + 1;
    });
    return read.mock.calls.length + passed.reduce((sum, length) => sum + length, 0);
  };
  fc.assert(
    fc.property(opening, part, part, (open, begin, again) => {
      const text = open + begin.join("") + again.join("").repeat(LENGTH / again.join("").length);
      const steps = run(text);
      expect(steps).toBeGreaterThan(0);
      expect(steps).toBeLessThan(PASSES * text.length);
    }),
  );
});

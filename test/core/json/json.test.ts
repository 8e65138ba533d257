import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { depthOf, elementSpans, hasNameTwice, memberSpan, minify } from "../../../src/core/json/json.ts";
import { cutList, type CutText } from "../../../src/core/json/cut.ts";

function member(text: string, name: string): string | null {
  const span = memberSpan(text, name);
  return span && text.slice(span.start, span.end);
}

describe("minify", () => {
  test("removes white space between tokens and nothing else", () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom(0, 1, 4), (text, indent) => {
        const spaced = JSON.stringify(JSON.parse(text), null, indent);
        expect(minify(spaced)).toBe(JSON.stringify(JSON.parse(text)));
      }),
      { numRuns: 2000 },
    );
  });

  test("keeps the spelling of numbers, escapes and the order of keys", () => {
    const text = '{ "b" : 1.0 ,\n"a": 12345678901234567890, "t":\t"a \\" b\\\\", "u": "\\u00e9 \\ud800" }';
    expect(minify(text)).toBe('{"b":1.0,"a":12345678901234567890,"t":"a \\" b\\\\","u":"\\u00e9 \\ud800"}');
  });

  test("does the same to a long text", () => {
    fc.assert(
      fc.property(fc.array(fc.json(), { minLength: 1 }), fc.constantFrom(1, 4), (texts, indent) => {
        const part = JSON.parse(`[${texts.join()},"é 漢 😀 \\\\ \\""]`) as unknown;
        const whole = Array<unknown>(Math.ceil(100_000 / JSON.stringify(part).length)).fill(part);
        expect(minify(JSON.stringify(whole, null, indent))).toBe(JSON.stringify(whole));
      }),
      { numRuns: 20 },
    );
  });

  test("gives back a text without white space itself", () => {
    const text = '{"a":[1,2,{"b":"c d"}]}';
    expect(minify(text)).toBe(text);
  });
});

describe("memberSpan", () => {
  test("finds every member of any object", () => {
    const objects = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 6 });
    fc.assert(
      fc.property(objects, fc.constantFrom(0, 2), (object, indent) => {
        const text = ` ${JSON.stringify(object, null, indent)}`;
        const parsed = JSON.parse(text) as Record<string, unknown>;
        for (const [name, value] of Object.entries(parsed))
          expect(JSON.parse(member(text, name) ?? "")).toEqual(value);
      }),
      { numRuns: 2000 },
    );
  });

  test("takes the last of two members of one name, as JSON.parse does", () => {
    expect(member('{"a":1,"b":2,"a":{"x":[3]}}', "a")).toBe('{"x":[3]}');
  });

  test("knows a name that is written with escapes", () => {
    expect(member('{"d\\u0061ta":{"x":1}}', "data")).toBe('{"x":1}');
  });

  test("does not look into other members", () => {
    expect(member('{"x":{"data":1},"y":"\\"data\\":2"}', "data")).toBeNull();
    expect(member("{}", "data")).toBeNull();
  });
});

describe("hasNameTwice", () => {
  test("is false for whatever JSON.stringify writes", () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom(0, 2), (text, indent) => {
        expect(hasNameTwice(JSON.stringify(JSON.parse(text), null, indent))).toBe(false);
      }),
      { numRuns: 2000 },
    );
  });

  test("is true where any object, at any depth, has one name twice", () => {
    const objects = fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1, maxKeys: 6 });
    const outer = fc.constantFrom("@", "[1,@]", '{"x":{"y":@},"z":"{"}', '["\\"",{"a":1},@]');
    fc.assert(
      fc.property(objects, fc.nat(), outer, (object, seed, around) => {
        const members = Object.entries(object).map((pair) =>
          pair.map((part) => JSON.stringify(part)).join(" : "),
        );
        const again = members[seed % members.length] ?? "";
        const text = `{${[...members, again].join(" , ")}}`;
        expect(hasNameTwice(around.replace("@", () => text))).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  test("knows a name that is written with escapes, and takes no value for a name", () => {
    expect(hasNameTwice('{"eventCode":1,"\\u0065ventCode":2}')).toBe(true);
    expect(hasNameTwice('{"a\\"":1,"a\\u0022":2}')).toBe(true);
    expect(hasNameTwice('{"a":"b","b":"a","c":["a","a"],"d":{"a":1},"A":"\\"a\\":"}')).toBe(false);
    expect(hasNameTwice('{"__proto__":1,"constructor":2,"__proto__":3}')).toBe(true);
    expect(hasNameTwice('"a"')).toBe(false);
  });
});

describe("elementSpans", () => {
  test("cuts any array into its elements", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { maxLength: 6 }), fc.constantFrom(0, 2), (array, indent) => {
        const text = JSON.stringify(array, null, indent);
        const elements = elementSpans(text, 0).map(({ start, end }) => JSON.parse(text.slice(start, end)));
        expect(elements).toEqual(JSON.parse(JSON.stringify(array)));
      }),
      { numRuns: 1000 },
    );
  });
});

describe("depthOf", () => {
  test("counts the root as one and does not count brackets in strings", () => {
    expect(depthOf("1")).toBe(0);
    expect(depthOf("{}")).toBe(1);
    expect(depthOf('{"a":[{"b":"[[[["}]}')).toBe(3);
    expect(depthOf('{"a":"\\"[[[["}')).toBe(1);
  });

  test("takes half a million levels and text that is no JSON", () => {
    expect(depthOf("[".repeat(500_000))).toBe(500_000);
    expect(depthOf('{"a":"')).toBe(1);
  });
});

describe("cutList", () => {
  const bounds = { name: "events", countMax: 100, lengthMax: 10_000 };

  function cut(text: string, more = {}): CutText {
    const parts = cutList(text, { ...bounds, ...more });
    for (;;) {
      const { done, value } = parts.next();
      if (done) return value;
    }
  }

  const parses = (text: string) => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };

  const bodies = fc
    .tuple(
      fc.array(fc.tuple(fc.constantFrom("events", "x", "e"), fc.jsonValue()), { maxLength: 3 }),
      fc.array(fc.jsonValue(), { maxLength: 4 }),
      fc.constantFrom(0, 1),
    )
    .map(([others, events, indent]) => {
      const members = [...others, ["events", events] as const].map(
        ([name, value]) =>
          `${JSON.stringify(name)}${indent ? " : " : ":"}${JSON.stringify(value, null, indent)}`,
      );
      return { text: `{${members.join(indent ? " , " : ",")}}`, events };
    });

  test("cuts the last list of this name into its elements, and leaves the rest", () => {
    fc.assert(
      fc.property(bodies, ({ text, events }) => {
        const { rest, elements } = cut(text);
        const values = elements.map(({ start, end }) => JSON.parse(text.slice(start, end)));
        expect(values).toEqual(JSON.parse(JSON.stringify(events)));
        const whole = { ...JSON.parse(text), events: events.map(() => null) };
        expect(JSON.parse(rest)).toEqual(whole);
      }),
      { numRuns: 2000 },
    );
  });

  test("rest and elements are JSON if and only if the text is, whatever is wrong with it", () => {
    let broken = 0;
    const edits = fc.tuple(
      fc.nat(),
      fc.nat({ max: 3 }),
      fc.constantFrom("", ",", "]", "[", "}", "{", '"', "\\", " ", "0", ":"),
    );
    fc.assert(
      fc.property(bodies, edits, ({ text }, [place, length, inserted]) => {
        const at = place % (text.length + 1);
        const edited = text.slice(0, at) + inserted + text.slice(at + length);
        const { rest, elements, superseded } = cut(edited);
        const spans = [...superseded, ...elements];
        const all = [rest, ...spans.map(({ start, end }) => edited.slice(start, end))];
        if (!parses(edited)) broken++;
        expect(all.every(parses)).toBe(parses(edited));
      }),
      { numRuns: 10_000 },
    );
    expect(broken).toBeGreaterThan(1000);
  });

  test.each(['{"events":[{}.5]}', '{"events":[{}1]}', '{"events":[-{}]}', '{"events":[{}e5]}'])(
    "%s stays as wrong as it is",
    (text) => {
      const { rest, elements } = cut(text);
      expect([rest, ...elements.map(({ start, end }) => text.slice(start, end))].every(parses)).toBe(false);
    },
  );

  test("knows its member however it is spelled", () => {
    expect(cut('{"\\u0065vents":[1,2]}').elements.length).toBe(2);
    expect(cut('{"events\\u":[1]}').elements).toEqual([]);
  });

  test("ends behind one element too many, and behind one that is too long", () => {
    expect(cut(`{"events":[${"1,".repeat(500)}`, { countMax: 3 }).elements.length).toBe(4);
    const long = cut(`{"events":["short",[${"1,".repeat(500)}`, { lengthMax: 100 });
    expect(long.elements.map(({ start, end }) => end - start)).toEqual([7, 101]);
  });
});

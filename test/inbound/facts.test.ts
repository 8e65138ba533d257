import { describe, expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { readBody } from "../../src/inbound/body.ts";
import { hash } from "../../src/inbound/digest.ts";
import { eventName } from "../../src/inbound/event-name.ts";
import {
  all,
  bodyHash,
  claim,
  type Extractor,
  field,
  firstOf,
  header,
  joined,
  proven,
  provenHash,
  readValue,
  signedHeader,
} from "../../src/inbound/facts.ts";
import { limit } from "../../src/core/limits.ts";
import { jsonRequest, keysOf, materialOf, NOW_MS } from "./kit.ts";

async function read(
  extractor: Extractor,
  body: string,
  headers: Record<string, string> = {},
): Promise<string | null> {
  const request = jsonRequest(body, headers);
  const arrival = { request, material: materialOf([]), nowMs: NOW_MS, keys: keysOf(null) };
  const found = extractor.read({
    arrival,
    body: readBody(request),
    signedHeaders: new Map(),
    claims: { jti: "j-1" },
  });
  return found?.value ?? null;
}

describe("paths into the body", () => {
  test("name members and elements; a backslash makes a dot literal", async () => {
    const body = '{"a":{"b":[{"c":"x"}]},"d.e":"y","n":0,"t":true}';
    expect(await read(field("a.b.0.c"), body)).toBe("x");
    expect(await read(field("d\\.e"), body)).toBe("y");
    expect(await read(field("n"), body)).toBe("0");
    expect(await read(field("t"), body)).toBe("true");
  });

  test("a star takes every element, and nothing where one lacks the value", async () => {
    expect(await read(field("*.id"), '[{"id":1},{"id":"b"}]')).toBe("1,b");
    expect(await read(field("*.id"), '[{"id":1},{}]')).toBeNull();
    expect(await read(field("*.id"), "[]")).toBeNull();
    expect(await read(field("*.id"), '{"id":1}')).toBeNull();
  });

  test("what is missing, empty, null or no scalar is nothing; inherited members are not there", async () => {
    for (const path of [
      "x",
      "empty",
      "null",
      "object",
      "constructor.name",
      "__proto__.toString",
      "array.length",
    ]) {
      expect(await read(field(path), '{"empty":"","null":null,"object":{},"array":[1]}')).toBeNull();
    }
    expect(await read(field("a"), "not json")).toBeNull();
  });

  test("a star names as many as a limit says, and more are as if none were there", async () => {
    const many = (count: number) => JSON.stringify({ x: Array.from({ length: count }, () => [[1]]) });
    const max = limit("pathValuesMax");
    expect((await read(field("x.*.*.*"), many(max)))?.length).toBe(2 * max - 1);
    expect(await read(field("x.*.*.*"), many(max + 1))).toBeNull();
  });

  test("numbers beyond 2^53 keep their digits, so that two ids never become one", async () => {
    expect(await read(field("id"), '{"id":12345678901234567890}')).toBe("12345678901234567890");
    expect(await read(field("id"), '{"id":12345678901234567891}')).toBe("12345678901234567891");
    expect(await read(field("*.id"), '[{"id":9007199254740993},{"id":1}]')).toBe("9007199254740993,1");
    expect(await read(field("*.0"), "[[1.50],[true],[1e400]]")).toBe("1.50,true,1e400");
    expect(await read(field("*.0"), "[[9007199254740993],[{}]]")).toBeNull();
  });

  test("and for these digits the body is not parsed again", async () => {
    const zeros = "0,".repeat(1000) + "0";
    using parse = spyOn(JSON, "parse");
    const both = all(field("id"), field("type"));
    const body = `{"id":12345678901234567890,"type":12345678901234567891,"data":[${zeros}]}`;
    expect(await read(both, body)).toBe("12345678901234567890|12345678901234567891");
    expect(parse.mock.calls.map(([text]) => text.length)).toEqual([body.length, 20, 20]);
  });
});

test("extractors combine: the first there is, all of them, those that are there", async () => {
  const body = '{"a":"1","b":"2"}';
  expect(await read(firstOf(field("x"), header("H"), field("a")), body, { h: "3" })).toBe("3");
  expect(await read(all(field("a"), field("b")), body)).toBe("1|2");
  expect(await read(all(field("a"), field("x")), body)).toBeNull();
  expect(await read(joined(field("a"), field("x"), field("b")), body)).toBe("1.2");
  expect(await read(joined(field("x")), body)).toBeNull();
  expect(await read(claim("jti"), body)).toBe("j-1");
  expect(await read(bodyHash, body)).not.toBe(await read(bodyHash, `${body} `));
});

test("what is joined is told apart, whatever signs it holds; what holds none is joined as it stands", async () => {
  const both = all(field("a"), field("b"));
  const pairs = [
    ["1", "2"],
    ["1|2", "3"],
    ["1", "2|3"],
    ['["1|2"', '"3"]'],
    ["[1", "2"],
    ["\\", "|"],
    ["\\|", "|"],
  ];
  const joins = await Promise.all(pairs.map(([a, b]) => read(both, JSON.stringify({ a, b }))));
  expect([new Set(joins).size, joins[0]]).toEqual([pairs.length, "1|2"]);
  const lists = [["a", "b"], ["a,b"], ["a", "b,c"], ["a,b", "c"], ["[a"], ['["a', 'b"]'], ['["a,b"]']];
  const listed = await Promise.all(
    lists.map((ids) => read(field("*.id"), JSON.stringify(ids.map((id) => ({ id }))))),
  );
  expect([new Set(listed).size, listed[0]]).toEqual([lists.length, "a,b"]);
  for (const id of ["a,b", "[a,b]", "a|b"]) expect(await read(field("id"), JSON.stringify({ id }))).toBe(id);
});

test("one id and several, whatever signs they hold, are one identity only where the several are that one", async () => {
  const text = fc.string({
    unit: fc.constantFrom("a", ",", "|", "[", "]", '"', "\\"),
    minLength: 1,
    maxLength: 5,
  });
  const either = firstOf(field("id"), field("*.id"), field("ids.*"));
  const pair = firstOf(all(field("id"), field("n")), all(field("*.id"), field("*.n")));
  /** As lists, and where it is one by itself too. */
  const identitiesOf = async (extractor: Extractor, ids: readonly string[]) => {
    const list = ids.map((id) => ({ id, n: 1 }));
    const bodies = [list, ...(ids.length === 1 ? list : []), ...(extractor === either ? [{ ids }] : [])];
    return new Set(await Promise.all(bodies.map((body) => read(extractor, JSON.stringify(body)))));
  };
  const ids = fc.array(text, { minLength: 1, maxLength: 3 });
  // What a list spells, as one id, and as a list of it.
  const near = ids.chain((list) => {
    const others = [[list.join(",")], [list.join("|")], [JSON.stringify(list)]];
    return fc.tuple(fc.constant(list), fc.oneof(ids, fc.constantFrom(...others)));
  });
  await fc.assert(
    fc.asyncProperty(near, async ([one, other]) => {
      const [of, ofOther] = [await identitiesOf(either, one), await identitiesOf(either, other)];
      expect([of.size, ofOther.size, of.isSubsetOf(ofOther)]).toEqual([1, 1, Bun.deepEquals(one, other)]);
      const [pairs, others] = [await identitiesOf(pair, one), await identitiesOf(pair, other)];
      expect(pairs.isDisjointFrom(others)).toBe(!Bun.deepEquals(one, other));
    }),
    { numRuns: 1000 },
  );
});

test("the text of an extractor reads as it is read: what is one of several stands in brackets where it is joined", () => {
  const either = firstOf(field("a"), field("b"));
  expect(all(either, field("c")).text).toBe("(body a, else body b) + body c");
  expect(joined(field("c"), either).text).toBe("body c + (body a, else body b)");
  expect(firstOf(all(field("a"), field("b")), either).text).toBe("body a + body b, else body a, else body b");
  expect(firstOf(header("x"), signedHeader("x")).text).toBe("header x");
});

test("of what was read before the proof a value is a scalar that lost nothing", () => {
  const value = { a: { b: "x", n: 1, empty: "", large: 2 ** 60, part: {} } };
  expect(["a.b", "a.n"].map((path) => readValue(value, path))).toEqual(["x", "1"]);
  for (const path of ["a", "a.empty", "a.large", "a.part", "a.none", "none.b"])
    expect(readValue(value, path)).toBeNull();
  expect(readValue(undefined, "a")).toBeNull();
});

test("event names are the provider, then its own name", () => {
  expect(eventName("github", "issues.opened")).toBe("github.issues.opened");
  expect(eventName("shopify", "orders/create")).toBe("shopify.orders.create");
  expect(eventName("bitbucket", "repo:push")).toBe("bitbucket.repo.push");
  expect(eventName("gitlab", "Push Hook")).toBe("gitlab.Push_Hook");
  expect(eventName("x", "/a//b./ü😀")).toBe("x.a.b.__");
  expect(eventName("x", null)).toBe("x.unknown");
  expect(eventName("x", "./:")).toBe("x.unknown");
  expect(eventName("x", "a".repeat(500))).toHaveLength(128);
  expect(eventName("x", `${"a".repeat(125)}.b`)).toBe(`x.${"a".repeat(125)}`);
});

test("what proved a request is read of its verdict alone; an empty one is none", () => {
  const token = proven("the token");
  expect([token.text, token.read({ proven: "t" })]).toEqual(["the token", { value: "t" }]);
  expect(provenHash.read({ proven: "t" })).toEqual({ value: hash("sha256", ["t"], "hex") });
  for (const none of [{}, { proven: "" }])
    expect([token.read(none), provenHash.read(none)]).toEqual([null, null]);
});

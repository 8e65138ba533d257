/**
 * Faults of bodies and queries: each with its place and a sentence in plain words, never with what was sent.
 */
import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { expectProblem, startServer, type TestServer } from "../kit.ts";
import { Type } from "@sinclair/typebox";
import { FAULTS_MAX } from "../../../src/core/errors.ts";
import { limit } from "../../../src/core/limits.ts";
import { compileQuery } from "../../../src/http/framework/query.ts";
import { compileValidator } from "../../../src/http/framework/validate.ts";
import { testRoutes } from "../routes.ts";

let server: TestServer;

beforeAll(() => {
  server = startServer(testRoutes);
});

afterAll(() => server.stop(0));

describe("validation of a body", () => {
  const post = (json: unknown) => server.send("POST", "/v1/checked", { json });
  const faults: [string, unknown, Record<string, string>][] = [
    ["a missing field", {}, { "/name": "This field is required." }],
    ["another type", { name: 5 }, { "/name": "Expected a string of 1 to 20 characters." }],
    ["an empty name", { name: "" }, { "/name": "Expected a string of 1 to 20 characters." }],
    ["an unknown field", { name: "x", nmae: 1 }, { "/nmae": "There is no such field." }],
    ["names that need escapes", { name: "x", "a/b~c": 1 }, { "/a~1b~0c": "There is no such field." }],
    [
      "names that every object inherits",
      { name: "x", constructor: 1, toString: 2 },
      { "/constructor": "There is no such field.", "/toString": "There is no such field." },
    ],
    [
      "a number out of range",
      { name: "x", count: 251 },
      { "/count": "Expected a whole number from 1 to 250." },
    ],
    ["a fraction", { name: "x", count: 1.5 }, { "/count": "Expected a whole number from 1 to 250." }],
    [
      "a literal that is not in the list",
      { name: "x", mode: "MARKER-7" },
      { "/mode": 'Expected "live" or "test".' },
    ],
    [
      "a pattern with words of its own",
      { name: "x", color: "red" },
      { "/color": "Expected a colour such as #aabbcc." },
    ],
    ["a pattern without", { name: "x", code: "a" }, { "/code": "Expected a string that matches ^[0-9]+$." }],
    [
      "an entry of a list",
      { name: "x", tags: ["a", 5] },
      { "/tags/1": "Expected a string of at least 1 characters." },
    ],
    [
      "too long a list",
      { name: "x", tags: ["a", "b", "c"] },
      { "/tags": "Expected a list of at most 2 entries, none twice." },
    ],
    [
      "the same entry twice",
      { name: "x", tags: ["a", "a"] },
      { "/tags": "Expected a list of at most 2 entries, none twice." },
    ],
    [
      "a field of an optional object",
      { name: "x", retry: { schedule: [0] } },
      { "/retry/schedule/0": "Expected a whole number of at least 1." },
    ],
    [
      "an unknown field of it",
      { name: "x", retry: { schedule: [], x: 1 } },
      { "/retry/x": "There is no such field." },
    ],
    ["another type for it", { name: "x", retry: 5 }, { "/retry": "Expected an object or null." }],
    [
      "a variant by its kind",
      { name: "x", target: { kind: "b", size: "1" } },
      { "/target/size": "Expected a number." },
    ],
    ["a value of a map", { name: "x", labels: { a: true } }, { "/labels/a": "Expected a string." }],
    ["a key of a map", { name: "x", labels: { "a\nb": "c" } }, { "/labels/a\nb": "There is no such field." }],
    ["no object", ["x"], { "": "Expected an object." }],
    [
      "several faults at once",
      { count: "1", on: "true", x: 1 },
      {
        "/name": "This field is required.",
        "/count": "Expected a whole number from 1 to 250.",
        "/on": "Expected true or false.",
        "/x": "There is no such field.",
      },
    ],
  ];

  test.each(faults)("points at %s", async (_name, json, expected) => {
    const reply = await post(json);
    expectProblem(reply, 422, "invalid_request");
    const found = Object.fromEntries(
      (reply.json.errors ?? []).map(({ pointer, detail }) => [pointer, detail]),
    );
    expect(found).toEqual(expected);
    expect(reply.text).not.toContain("MARKER-7");
  });

  test("takes what the schema allows, and hands it on as it came", async () => {
    const json = {
      name: "x",
      count: 250,
      mode: "live",
      tags: ["a"],
      retry: null,
      target: { kind: "a" },
      labels: { __proto: "x" },
    };
    const reply = await post(json);
    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({ body: json });
  });

  test("refuses __proto__ as an unknown field and leaves every prototype alone", async () => {
    const body = '{"name":"x","__proto__":{"polluted":"yes"}}';
    const reply = await server.send("POST", "/v1/checked", {
      body,
      headers: { "content-type": "application/json" },
    });
    expectProblem(reply, 422, "invalid_request");
    expect(reply.json.errors).toEqual([{ pointer: "/__proto__", detail: "There is no such field." }]);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });

  test("takes no number that no double holds", async () => {
    const reply = await server.send("POST", "/v1/checked", {
      body: '{"name":"x","target":{"kind":"b","size":1e400}}',
      headers: { "content-type": "application/json" },
    });
    const detail = "Expected a number within the range of a double.";
    expect(reply.json.errors).toEqual([{ pointer: "/target/size", detail }]);
  });

  test("stays short under a body that is wrong in thousands of places", async () => {
    const wrong = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`field${at}`, at]));
    expect((await post(wrong)).json.errors).toHaveLength(50);
    const entries = Array.from({ length: 5000 }, () => 0);
    expect((await post({ name: "x", retry: { schedule: entries } })).json.errors).toHaveLength(50);
    const long = await post({ name: "x", ["y".repeat(5000)]: 1 });
    expect(long.json.errors).toEqual([
      { pointer: "", detail: "This object has a field that does not exist." },
    ]);
  });

  test("a route without a body schema takes {} and nothing and no fields", async () => {
    expect((await server.send("POST", "/v1/empty")).status).toBe(200);
    expect((await server.send("POST", "/v1/empty", { json: {} })).status).toBe(200);
    expect((await server.send("POST", "/v1/empty", { json: { x: 1 } })).json.errors).toEqual([
      { pointer: "/x", detail: "There is no such field." },
    ]);
  });

  test("leaves the body of a GET or DELETE unread", async () => {
    expect((await server.send("DELETE", "/v1/things/a", { json: { x: 1 } })).status).toBe(204);
  });
});

describe("a list that is longer than it may be", () => {
  const ids = Type.Array(Type.String(), { maxItems: 2, uniqueItems: true });
  const nullable = Type.Union([ids, Type.Null()]);
  const inner = Type.Object({ ids: Type.Optional(nullable) }, { additionalProperties: false });
  const lists = Type.Array(inner, { maxItems: 5 });
  const validate = compileValidator(
    Type.Object(
      { ids: Type.Optional(ids), inner: Type.Optional(inner), lists: Type.Optional(lists) },
      { additionalProperties: false },
    ),
  );

  /** A list of texts, and how many of them were looked at. */
  function counted(length: number) {
    const seen = { count: 0 };
    const list = Array.from({ length }, (_, at) => `id${at}`);
    const get = (target: string[], name: string | symbol) => {
      if (typeof name === "string" && name !== "length") seen.count++;
      return Reflect.get(target, name) as unknown;
    };
    return { list: new Proxy(list, { get }), seen };
  }

  test.each([
    ["/ids", (list: string[]) => ({ ids: list })],
    ["/inner/ids", (list: string[]) => ({ inner: { ids: list } })],
    ["/lists/1/ids", (list: string[]) => ({ lists: [{}, { ids: list }] })],
  ])("at %s is refused before any of its entries is looked at", (pointer, bodyOf) => {
    const { list, seen } = counted(1000);
    expect(validate(bodyOf(list))).toEqual([
      { pointer, detail: "Expected a list of at most 2 entries, none twice." },
    ]);
    expect(seen.count).toBe(0);
  });

  test.each([
    ["a list", Type.Array(Type.String())],
    ["a list whose entries are told apart", Type.Array(Type.String(), { uniqueItems: true })],
    ["a list in what a field may be", Type.Union([Type.Array(Type.String()), Type.Null()])],
  ])("is not known of %s without a bound: no route can have that", (_, field) => {
    const schema = Type.Object({ field }, { additionalProperties: false });
    expect(() => compileValidator(schema)).toThrow("needs `maxItems`");
  });
});

describe("a list that may have no entry twice", () => {
  const ids = Type.Array(Type.String(), { maxItems: 3, uniqueItems: true });
  const field = Type.Optional(Type.Union([ids, Type.Null()]));
  const inner = Type.Object({ ids: field }, { additionalProperties: false });
  const validate = compileValidator(
    Type.Object({ ids: field, inners: Type.Array(inner, { maxItems: 2 }) }, { additionalProperties: false }),
  );
  const detail = "Expected a list of at most 3 entries, none twice.";

  /** How many characters are read one by one, as by a hash. */
  function charactersRead(run: () => unknown): number {
    const read = spyOn(String.prototype, "charCodeAt");
    run();
    const count = read.mock.calls.length;
    read.mockRestore();
    return count;
  }

  test("is refused with one, wherever it stands", () => {
    expect(validate({ ids: ["a", "b", "a"], inners: [] })).toEqual([{ pointer: "/ids", detail }]);
    const inners = [{ ids: null }, { ids: ["a", "a"] }];
    expect(validate({ ids: ["a", "b"], inners })).toEqual([{ pointer: "/inners/1/ids", detail }]);
    expect(validate({ ids: ["a", "b", "c"], inners: [{ ids: ["a"] }, {}] })).toEqual([]);
  });

  test("is told as such where it is another value", () => {
    expect(validate({ ids: "a", inners: [{ ids: [1] }] })).toEqual([
      { pointer: "/ids", detail: `${detail.slice(0, -1)} or null.` },
      { pointer: "/inners/0/ids/0", detail: "Expected a string." },
    ]);
  });

  test("is compared without a hash of its entries, be they right or wrong", () => {
    const long = "x".repeat(1000);
    expect(charactersRead(() => validate({ ids: [long, `${long}y`], inners: [] }))).toBeLessThan(1000);
    const wrong = { ids: [long, [long]], inners: [{ ids: [{ [long]: 1 }] }] };
    expect(charactersRead(() => validate(wrong))).toBeLessThan(1000);
  });
});

describe("an object with more fields of any name than it may have", () => {
  const texts = Type.Object({}, { additionalProperties: Type.String(), maxProperties: 2 });
  const inner = Type.Object({ texts: Type.Union([texts, Type.Null()]) }, { additionalProperties: false });
  const validate = compileValidator(inner);

  test("is refused before any of its values is looked at", () => {
    const seen: (string | symbol)[] = [];
    const get = (target: Record<string, unknown>, name: string) => {
      seen.push(name);
      return target[name];
    };
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`name${at}`, at]));
    expect(validate({ texts: new Proxy(many, { get }) })).toEqual([
      { pointer: "/texts", detail: "Expected an object of at most 2 fields." },
    ]);
    expect(seen).toEqual([]);
    expect(validate({ texts: { a: "1", b: 2 } }).map(({ pointer }) => pointer)).toEqual(["/texts/b"]);
  });

  test.each([
    ["each value is held to a schema", Type.Object({}, { additionalProperties: Type.String() })],
    [
      "each name is held to a pattern",
      Type.Record(Type.String(), Type.String(), { additionalProperties: false }),
    ],
  ])("is not known where %s and there is no bound: no route can have that", (_, schema) => {
    expect(() => compileValidator(schema)).toThrow("needs `maxProperties`");
  });
});

describe("the query", () => {
  const values: [string, unknown][] = [
    ["", {}],
    ["?", {}],
    ["?limit=10&on=true&mode=live", { limit: 10, on: true, mode: "live" }],
    ["?on=false&limit=1", { on: false, limit: 1 }],
    ["?text=a%20b+c%2Bd&", { text: "a b c+d" }],
    ["?text=", { text: "" }],
    ["?text=a=b", { text: "a=b" }],
    ["?text=12", { text: "12" }],
  ];

  test.each(values)("%s is decoded by the schema", async (query, expected) => {
    const reply = await server.send("GET", `/v1/query${query}`);
    expect(reply.status).toBe(200);
    expect(reply.json.query).toEqual(expected);
  });

  const limitFault = "Expected a whole number from 1 to 250.";
  const faults: [string, Record<string, string>][] = [
    ["?limit=0", { limit: limitFault }],
    ["?limit=251", { limit: limitFault }],
    ["?limit=", { limit: limitFault }],
    ["?limit", { limit: limitFault }],
    ["?limit=1.0", { limit: limitFault }],
    ["?limit=1e1", { limit: limitFault }],
    ["?limit=+1", { limit: limitFault }],
    ["?limit=0x1", { limit: limitFault }],
    ["?limit=01", { limit: limitFault }],
    ["?limit=99999999999999999999", { limit: limitFault }],
    ["?on=1", { on: "Expected true or false." }],
    ["?on=TRUE", { on: "Expected true or false." }],
    ["?mode=dead", { mode: 'Expected "live" or "test".' }],
    ["?limits=5", { limits: "There is no such parameter." }],
    ["?Limit=5", { Limit: "There is no such parameter." }],
    ["?__proto__=5", { __proto__: "There is no such parameter." }],
    ["?a%2Fb~=5", { "a/b~": "There is no such parameter." }],
    ["?limit=5&limit=5", { limit: "This parameter may stand once only." }],
    ["?text=a&limit=1&text=b", { text: "This parameter may stand once only." }],
    ["?text=%zz", { text: "This is not valid percent-encoding of UTF-8." }],
    ["?text=%ff", { text: "This is not valid percent-encoding of UTF-8." }],
    ["?%zz=1", { "%zz": "This is not valid percent-encoding of UTF-8." }],
    ["?limit=0&x=1", { limit: limitFault, x: "There is no such parameter." }],
  ];

  test.each(faults)("%s is 422 and named", async (query, expected) => {
    const reply = await server.send("GET", `/v1/query${query}`);
    expectProblem(reply, 422, "invalid_request");
    expect(reply.json.errors).toEqual(
      expect.arrayContaining(Object.entries(expected).map(([pointer, detail]) => ({ pointer, detail }))),
    );
    expect(reply.json.errors).toHaveLength(Object.keys(expected).length || 1);
  });

  test("of many broken parts is read no further than what is told of them; a longer one is not read", async () => {
    const decodings = spyOn(globalThis, "decodeURIComponent");
    const read = compileQuery(Type.Object({}, { additionalProperties: false }));
    const seen = (query: string) => {
      decodings.mockClear();
      return [read(`http://a/?${query}`).faults.length, decodings.mock.calls.length];
    };
    try {
      expect(seen("%&".repeat(limit("queryPartsMax") - 1))).toEqual([FAULTS_MAX, FAULTS_MAX]);
      expect(seen("%&".repeat(limit("queryPartsMax")))).toEqual([1, 0]);
      expect(seen("%".repeat(limit("queryLengthMax") + 1))).toEqual([1, 0]);
    } finally {
      decodings.mockRestore();
    }
  });

  test("that is too long is one fault", async () => {
    for (const query of ["a&".repeat(limit("queryPartsMax")), "x".repeat(limit("queryLengthMax") + 1)]) {
      const reply = await server.send("GET", `/v1/query?${query}`);
      expectProblem(reply, 422, "invalid_request");
      const detail = "Expected a query of at most 100 parameters and 8192 characters.";
      expect(reply.json.errors).toEqual([{ pointer: "", detail }]);
    }
  });

  test("that lacks a required parameter is 422", async () => {
    const reply = await server.send("GET", "/v1/required");
    expect(reply.json.errors).toEqual([{ pointer: "day", detail: "This parameter is required." }]);
  });

  test("of a route that declares none is refused, raw ones included", async () => {
    expectProblem(await server.send("GET", "/v1/things/a?x=1"), 422, "invalid_request");
    expectProblem(await server.send("POST", "/v1/raw?x=1", { json: {} }), 422, "invalid_request");
  });

  test("and the body are judged together", async () => {
    const reply = await server.send("POST", "/v1/checked?x=1", { json: {} });
    expect(reply.json.errors?.map(({ pointer }) => pointer)).toEqual(["x", "/name"]);
  });
});

import { expect, test } from "bun:test";
import { readBounded } from "../../../src/core/json/bounded.ts";

const BOUNDS = { bytesMax: 40, depthMax: 3, nodesMax: 5 };
const read = (source: unknown) => readBounded(source, "A filter", BOUNDS);

test("a document within its bounds is what was given", () => {
  expect(read({ a: [1, null] })).toEqual({ ok: true, json: { a: [1, null] } });
});

test.each([
  ["nests too deep", { a: { b: { c: {} } } }, "/a/b/c", "A filter nests at most 3 levels deep."],
  ["has too many parts", [1, 2, 3, 4, 5, 6], "", "A filter has at most 5 keys and list elements."],
  ["weighs too much", "ä".repeat(20), "", "A filter is at most 40 bytes of JSON."],
  ["holds what JSON has not", { a: [Number.NaN] }, "/a/0", "This is not a JSON value."],
  ["holds nothing where a value belongs", { a: undefined }, "/a", "This is not a JSON value."],
] as const)("a document that %s is told where", (_, source, pointer, detail) => {
  expect(read(source)).toEqual({ ok: false, fault: { pointer, detail } });
});

/** The document, and the names and indexes that were read of it or listed. */
function counted<Document extends object>(document: Document): { document: Document; reads: string[] } {
  const reads: string[] = [];
  const handler: ProxyHandler<Document> = {
    get(target, name) {
      if (typeof name === "string" && name !== "length") reads.push(name);
      return Reflect.get(target, name);
    },
    ownKeys(target) {
      if (Array.isArray(target)) reads.push("all indexes");
      return Reflect.ownKeys(target);
    },
  };
  return { document: new Proxy(document, handler), reads };
}

test("a list with too many elements is refused by its length: none of them is looked at", () => {
  const { document, reads } = counted(Array.from({ length: 500_000 }, () => 1));
  expect(read({ a: document })).toMatchObject({ ok: false, fault: { pointer: "" } });
  expect(reads.filter((name) => name !== "toJSON")).toEqual([]);
});

test("of an object with too many names no more values are read than are allowed", () => {
  const names = Array.from({ length: 1000 }, (_, at) => [`a${at}`, 1]);
  const { document, reads } = counted(Object.fromEntries(names));
  readBounded(document, "A filter", { ...BOUNDS, bytesMax: 1_000_000 });
  expect(reads).toHaveLength(BOUNDS.nodesMax);
});

test("nothing is read behind the texts that are too long already, and no long name is told", () => {
  const { document, reads } = counted(["x".repeat(20), "x".repeat(20), 1]);
  expect(read(document)).toMatchObject({ ok: false, fault: { pointer: "" } });
  expect(reads).toEqual(["0", "1"]);
  const fault = { pointer: "", detail: "A filter is at most 40 bytes of JSON." };
  expect(read({ ["x".repeat(50)]: { a: { b: {} } } })).toEqual({ ok: false, fault });
});

test("what is counted on the way is never more than the document has", () => {
  for (const [document, text] of [
    [[1, 2, [3]], "[1,2,[3]]"],
    [{ "": "", a: [] }, '{"":"","a":[]}'],
    [["", "ä", "\ud800"], '["","ä","\\ud800"]'],
    ["", '""'],
  ] as const) {
    const bytes = Buffer.byteLength(text);
    const bounds = { ...BOUNDS, bytesMax: bytes };
    expect(readBounded(document, "It", bounds)).toEqual({ ok: true, json: document as never });
    expect(readBounded(document, "It", { ...bounds, bytesMax: bytes - 1 }).ok).toBe(false);
  }
});

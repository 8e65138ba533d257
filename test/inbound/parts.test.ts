/** Of a form in parts nothing is lost: what no name can be read of stands there as it came. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { readBody } from "../../src/inbound/body.ts";
import { bodyHash } from "../../src/inbound/facts.ts";
import { readParts } from "../../src/inbound/parts.ts";
import { jsonRequest, keysOf, materialOf, NOW_MS, withBody } from "./kit.ts";

interface Part {
  head: string;
  content: Buffer;
}

const SIMPLE = 'Content-Disposition: form-data; name="a"';

function written(parts: readonly Part[], boundary = "b", end = "--\r\n"): Buffer {
  const all = parts.flatMap(({ head, content }) => [
    Buffer.from(`--${boundary}\r\n${head}\r\n\r\n`),
    content,
    Buffer.from("\r\n"),
  ]);
  return Buffer.concat([...all, Buffer.from(`--${boundary}${end}`)]);
}

function written1(head: string, content = "x", end = "--\r\n"): Buffer {
  return written([{ head, content: Buffer.from(content) }], "b", end);
}

function hashOf(body: Uint8Array): string | undefined {
  const request = withBody(jsonRequest("", {}), body);
  const arrival = { request, material: materialOf([]), nowMs: NOW_MS, keys: keysOf(null) };
  return bodyHash.read({ arrival, body: readBody(request), signedHeaders: new Map(), claims: {} })?.value;
}

/** Every text and every file in `data`, by the name of its field. */
function contentsIn(data: Record<string, unknown>): [string, Buffer][] {
  return Object.entries(data).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((each: unknown): [string, Buffer] => {
      const isText = typeof each === "string";
      return [name, isText ? Buffer.from(each) : Buffer.from((each as { base64: string }).base64, "base64")];
    }),
  );
}

const HEADS = [
  SIMPLE,
  'content-disposition: form-data; name="a"; filename="f.txt"\r\ncontent-type: text/plain',
  "Content-Disposition: form-data; name=b",
  'Content-Disposition: form-data; name=""',
  'Content-Disposition: form-data; name="b"; filename=""',
  "Content-Disposition: form-data",
  'Content-Disposition: form-data; filename="f"',
  'Content-Disposition: form-data; name="a"; name="b"',
  `Content-Disposition: form-data; name="a"; filename*=utf-8''f`,
  'Content-Disposition: attachment; filename="f"',
  'Content-Disposition: attachment; name="a"',
  "Content-Type: application/json",
  "X-Other: 1",
  `${SIMPLE}\r\nX-Other: 1`,
  `${SIMPLE}\r\n${SIMPLE}`,
  `${SIMPLE}\r\nContent-Transfer-Encoding: base64`,
  `${SIMPLE}\r\nContent-Transfer-Encoding: binary\r\nContent-Length: 1`,
];
const content = fc.oneof(
  fc
    .string({ unit: fc.constantFrom("x", "{", '"', "é", "\r\n", "-", "--b", "\0") })
    .map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes)),
);
/** What holds the boundary is cut there. */
const uncut = content.filter((bytes) => !`\r\n${bytes.toString("latin1")}`.includes("\r\n--b"));
const part = fc.record({ head: fc.constantFrom(...HEADS), content: uncut });
const end = fc.constantFrom("--\r\n", "--", "", "--\r\nmore", "\r\n", "--x", "--\r\n\r\n");

/** One disposition with one name. */
const NAMED = /^content-disposition: form-data; name="?([^";\r]*)(?!.*; name)(?![^]*content-disposition)/i;

test("every part stands in data under its name, or all of the body does as text", () => {
  let asForm = 0;
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 3 }), end, (parts, ending) => {
      const body = written(parts, "b", ending);
      const { kind, data } = readBody({ body });
      const value = JSON.parse(data) as Record<string, unknown>;
      if (kind === "text") return expect(value).toEqual({ raw: new TextDecoder().decode(body) });
      asForm++;
      const sent = parts.map(({ head, content: bytes }): [string, Buffer] => {
        const [, name] = NAMED.exec(head) ?? [];
        return name === undefined
          ? ["", Buffer.concat([Buffer.from(`${head}\r\n\r\n`), bytes])]
          : [name, bytes];
      });
      const byName = (pairs: [string, Buffer][]) => pairs.toSorted(([a], [b]) => a.localeCompare(b));
      expect(byName(contentsIn(value))).toEqual(byName(sent));
    }),
    { numRuns: 2000 },
  );
  expect(asForm).toBeGreaterThan(50);
});

test("two bodies whose parts differ have two hashes, whatever parts them", () => {
  const parts = fc.array(fc.record({ head: fc.constantFrom(...HEADS.slice(0, 4)), content }), {
    minLength: 1,
    maxLength: 2,
  });
  fc.assert(
    fc.property(parts, parts, (one, other) => {
      fc.pre(!Bun.deepEquals(one, other));
      expect(hashOf(written(one))).not.toBe(hashOf(written(other)));
    }),
    { numRuns: 2000 },
  );
  const json = (text: string) => ({
    head: 'Content-Disposition: form-data; name="json"',
    content: Buffer.from(text),
  });
  const file = {
    head: 'Content-Disposition: form-data; name="json"; filename="f"',
    content: Buffer.from("x"),
  };
  const spelled = json('{"filename":"f","content_type":"","base64":"eA=="}');
  expect(readBody({ body: written([file]) }).data).toBe(readBody({ body: written([spelled]) }).data);
  expect(hashOf(written([file]))).not.toBe(hashOf(written([spelled])));
  expect(hashOf(written([json("[1,2]")]))).not.toBe(hashOf(written([json("1"), json("2")])));
  expect(hashOf(written([file, spelled], "one"))).toBe(hashOf(written([file, spelled], "other")));
});

describe("a form's part", () => {
  test.each([
    [SIMPLE, { name: "a", filename: null, contentType: "" }],
    ["content-disposition: form-data; name=a", { name: "a", filename: null }],
    ['Content-Disposition: form-data; name=""', { name: "" }],
    [`${SIMPLE}\r\nContent-Length: 1\r\nContent-Transfer-Encoding: 8bit`, { name: "a" }],
    [
      `${SIMPLE}; filename="a \\"b\\".txt"\r\nContent-Type: text/plain`,
      { filename: 'a \\"b\\".txt', contentType: "text/plain" },
    ],
    [`${SIMPLE}; filename=""`, { filename: "" }],
    [`${SIMPLE}; filename="f\\"`, { name: "a", filename: "f\\", head: null }],
    [`${SIMPLE}\r\nX-Other: 1\r\nContent-Description: more`, { name: "a", head: null }],
    ...[
      `${SIMPLE}; filename*=utf-8''f`,
      `${SIMPLE}\r\nContent-Transfer-Encoding: base64`,
      `${SIMPLE}\r\nContent-Length: 2`,
      `${SIMPLE}; filename="f"\r\nX-Other: 1`,
      `${SIMPLE}; filename="f"; size=1`,
    ].map((head) => [head, { name: "a", head, content: Buffer.from("x") }] as const),
  ])("may have the head %j", (head, wanted) => {
    expect(readParts(written1(head))).toMatchObject([wanted]);
  });

  test.each([
    ...HEADS.slice(5, 8),
    ...HEADS.slice(9, 13),
    `${SIMPLE}\r\n${SIMPLE}`,
    "",
    `${SIMPLE}\r\n folded`,
    `${SIMPLE}; filename="${"f".repeat(5000)}"`,
    'Content-Disposition: form-data; name="a',
    'Content-Disposition: form-data; name="a"more',
  ])("is none with the head %j, and beside another it is kept whole", (head) => {
    expect(readParts(written1(head))).toBeNull();
    const both = [head, SIMPLE].map((each) => ({ head: each, content: Buffer.from("x") }));
    const whole = Buffer.from(`${head}\r\n\r\nx`);
    expect(readParts(written(both))).toMatchObject([{ name: "", content: whole }, { name: "a" }]);
  });

  test("that is no UTF-8 keeps its bytes", () => {
    const bytes = Buffer.of(0x61, 0xff);
    const body = written([{ head: SIMPLE, content: bytes }]);
    const file = { filename: null, content_type: "", base64: bytes.toString("base64") };
    expect(JSON.parse(readBody({ body }).data)).toEqual({ a: file });
  });
});

test("nothing stands before the first boundary nor behind the last", () => {
  for (const ending of ["--", "--\r\n"]) expect(readParts(written1(SIMPLE, "x", ending))).toHaveLength(1);
  expect(readParts(written1(SIMPLE, "--b\r\n\r\nmore"))).toBeNull();
  const more = { name: "", content: Buffer.from("more") };
  expect(readParts(written1(SIMPLE, "x\r\n--b\r\nmore"))).toMatchObject([{ name: "a" }, more]);
  for (const ending of ["", "\r\n", "--\r\nmore", "--more", "--\r\n\r\n", "x--"])
    expect(readParts(written1(SIMPLE, "x", ending))).toBeNull();
  for (const text of [
    "",
    "--b\r\n",
    "--b--\r\n",
    `\r\n${written1(SIMPLE).toString()}`,
    `--\r\n${SIMPLE}\r\n\r\nx\r\n----`,
  ])
    expect(readParts(Buffer.from(text))).toBeNull();
});

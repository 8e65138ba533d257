import { isUtf8 } from "node:buffer";
import { expect, test } from "bun:test";
import fc from "fast-check";
import { limit } from "../../src/core/limits.ts";
import { readBody, readUnparsedFields, readUnproven } from "../../src/inbound/body.ts";
import { onlyOne } from "../../src/inbound/form.ts";

function dataOf(body: string | Uint8Array): string {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  return readBody({ body: bytes }).data;
}

test("a JSON object stays as it came, spelling of numbers and order of keys included", () => {
  const body = '{"z":12345678901234567890,"a":1.0,"b":1e2}';
  expect(dataOf(body)).toBe(body);
  expect(dataOf(` ${body}\r\n`)).toBe(body);
});

test("an array becomes items, a scalar becomes value, an object that holds a list stays", () => {
  expect(dataOf('[1.0,{"a":2}]')).toBe('{"items":[1.0,{"a":2}]}');
  expect(dataOf("12345678901234567890")).toBe('{"value":12345678901234567890}');
  expect(dataOf("null")).toBe('{"value":null}');
  expect(dataOf('{"events":[]}')).toBe('{"events":[]}');
});

test("a form becomes an object of its fields; a name that comes again an array", () => {
  expect(dataOf("a=1&b=x+y&a=2&__proto__=p")).toBe('{"a":["1","2"],"b":"x y","__proto__":"p"}');
  expect(dataOf("data[id]=1&text=not encoded")).toBe('{"data[id]":"1","text":"not encoded"}');
});

test("payload, json and mandrill_events of a form are parsed where they are JSON, and only these", () => {
  const fields = new URLSearchParams({ payload: '{"n":1.0}', json: "no json", other: "{}" }).toString();
  expect(dataOf(fields)).toBe('{"payload":{"n":1.0},"json":"no json","other":"{}"}');
  expect(dataOf("mandrill_events=%5B%5D")).toBe('{"mandrill_events":[]}');
});

test("no JSON is a form, however many ampersands and signs of equality it holds, and no other text is", () => {
  const many = JSON.stringify({ "a=b": "&".repeat(limit("formFieldsMax") + 1) });
  for (const json of [' {"id":"a=b","n":1.0}', '["a=b"]', many]) expect(dataOf(json)).not.toContain("raw");
  for (const text of [
    "{broken=",
    "notjson",
    "<a b=1>",
    "https://a.example/?b=c",
    "a log: b=c",
    "--a=b",
    "&a=b",
  ])
    expect(dataOf(text)).toBe(JSON.stringify({ raw: text }));
});

test("a multipart form is read, its files in base64", () => {
  const part = (name: string, rest: string) =>
    `--b\r\nContent-Disposition: form-data; name="${name}"${rest}\r\n`;
  const body = `${part("json", "\r\n\r\n{}")}${part("f", '; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\nhi')}--b--\r\n`;
  const data: unknown = JSON.parse(dataOf(body));
  expect(data).toEqual({
    json: {},
    f: { filename: "a.txt", content_type: "text/plain", base64: "aGk=" },
  });
});

test.each([
  ["a form", (count: number) => "a=1&".repeat(count - 1) + "a=1"],
  [
    "a multipart form",
    (count: number) =>
      `${'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'.repeat(count)}--b--\r\n`,
  ],
])("%s of more fields than are worked through is kept as raw text", (_, formOf) => {
  const most = limit("formFieldsMax");
  expect(dataOf(formOf(most))).toBe(JSON.stringify({ a: Array(most).fill("1") }));
  expect(dataOf(formOf(most + 1))).toBe(JSON.stringify({ raw: formOf(most + 1) }));
});

test("paths are read from what the text of a form's fields spells", () => {
  const form =
    'b=x+y&a=1&a=2&__proto__=p&7=n&payload=%20{"z":[1,{"__proto__":2}],"z":3}&payload={&json=[1.0]&=';
  const parts = ["a", "__proto__", "json"].map(
    (name) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n[1]\r\n`,
  );
  const file = '--b\r\nContent-Disposition: form-data; name="a"; filename="f"\r\n\r\nx\r\n--b--\r\n';
  for (const [kind, body] of [
    ["form", form],
    ["parts", `${parts.join("")}${file}`],
  ] as const) {
    const read = readBody({ body: new TextEncoder().encode(body) });
    expect(read.kind).toBe(kind);
    expect(JSON.stringify(read.value)).toBe(JSON.stringify(JSON.parse(read.text)));
    expect(read.value).toStrictEqual(JSON.parse(read.text));
  }
});

test("whatever else a signed body is, it is kept as raw text", () => {
  const tooDeep = "[".repeat(65) + "]".repeat(65);
  const deepest = "[".repeat(64) + "]".repeat(64);
  expect(dataOf("")).toBe('{"raw":""}');
  expect(dataOf("{broken")).toBe('{"raw":"{broken"}');
  expect(dataOf(tooDeep)).toBe(JSON.stringify({ raw: tooDeep }));
  expect(dataOf(deepest)).toBe(`{"items":${deepest}}`);
  expect(dataOf(new Uint8Array([0x22, 0xff, 0x22]))).toBe('{"raw":"\\"\uFFFD\\""}');
  expect(dataOf("\uFEFF{}")).toBe("{}");
  expect(dataOf("--no\r\nparts")).toBe('{"raw":"--no\\r\\nparts"}');
  expect(dataOf(new Uint8Array([0x61, 0x3d, 0xff]))).toStartWith('{"raw":');
});

test("before the proof only what is asked for is read of a body, and of what is no UTF-8 nothing", () => {
  const read = (body: string | Uint8Array) => readUnproven(Buffer.from(body), { a: true }, 0);
  expect(read('\ufeff {"b":{"a":2},"a":1} ')).toEqual({ a: 1 });
  expect(
    read(Buffer.concat([Buffer.from('{"a":1,"b":"'), Buffer.of(0xff), Buffer.from('"}')])),
  ).toBeUndefined();
});

test("the texts of a form's fields are read unparsed, of either kind of form, and a file counts as one", () => {
  const fields = (body: string) => {
    const read = readUnparsedFields({ body: new TextEncoder().encode(body) });
    return read && Object.fromEntries(read);
  };
  expect(fields("json=%7B%7D&a=1&a=2")).toEqual({ json: ["{}"], a: ["1", "2"] });
  const part = (more: string, text: string) =>
    `--b\r\ncontent-disposition: form-data; ${more}\r\n\r\n${text}\r\n`;
  const parts = `${part('name="json"', "{}")}${part('name="f"; filename="f"', "x")}--b--\r\n`;
  const { json = [], f: [file] = [] } = fields(parts) ?? {};
  expect(json).toEqual(["{}"]);
  expect(file).toMatchObject({ name: "f", filename: "f", content: Buffer.from("x") });
  expect([onlyOne([file]), onlyOne(["a", file]), onlyOne([file, "a"])]).toEqual([null, null, null]);
  expect([fields('{"json":1}'), fields("text")]).toEqual([null, null]);
  expect([onlyOne(["a"]), onlyOne(["a", "b"]), onlyOne([]), onlyOne()]).toEqual(["a", null, null, null]);
});

/** What stands behind the escapes of a form's text. */
function unescaped(text: string): Buffer {
  const latin1 = Buffer.from(text).toString("latin1").replaceAll("+", " ");
  const bytes = latin1.replace(/%([0-9A-Fa-f]{2})/g, (_all, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(bytes, "latin1");
}

/** As a text where it is one; else a name as it was written, and a value as its bytes. */
function fieldSent(field: string): [string, unknown] {
  const [name = "", ...values] = field.split("=");
  const [nameBytes, valueBytes] = [unescaped(name), unescaped(values.join("="))];
  const value = isUtf8(valueBytes) ? valueBytes.toString() : { base64: valueBytes.toString("base64") };
  return [isUtf8(nameBytes) ? nameBytes.toString() : name, value];
}

test("every byte of a form stands in its fields", () => {
  const piece = fc.constantFrom(
    "a",
    "b",
    "%61",
    "%C3%A9",
    "é",
    "%C3",
    "%A9",
    "%ff",
    "%ED%A0%80",
    "%zz",
    "%",
    "+",
    "=",
    "&",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const text = `a=${pieces.join("")}`;
      const { kind, value } = readBody({ body: Buffer.from(text) });
      const fields = Object.entries(value as Record<string, unknown>);
      const read = fields.flatMap(([name, values]) => [values].flat().map((each) => [name, each]));
      const sent = text
        .split("&")
        .filter((field) => field !== "")
        .map(fieldSent);
      const inOrder = (pairs: unknown[]) => pairs.map((pair) => JSON.stringify(pair)).sort();
      expect([kind, inOrder(read)]).toEqual(["form", inOrder(sent)]);
    }),
    { numRuns: 2000 },
  );
});

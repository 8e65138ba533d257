import { expect, test } from "bun:test";
import { limit } from "../../src/core/limits.ts";
import { readBody } from "../../src/inbound/body.ts";

function read(body: string | Uint8Array, contentType = "application/json") {
  return readBody(typeof body === "string" ? new TextEncoder().encode(body) : body, contentType);
}

async function dataOf(body: string | Uint8Array, contentType?: string): Promise<string> {
  return (await read(body, contentType)).data;
}

test("a JSON object stays as it came, spelling of numbers and order of keys included", async () => {
  const body = '{"z":12345678901234567890,"a":1.0,"b":1e2}';
  expect(await dataOf(body)).toBe(body);
  expect(await dataOf(` ${body}\r\n`)).toBe(body);
  expect(await dataOf(body, "text/plain; charset=UTF-8")).toBe(body);
});

test("an array becomes items, a scalar becomes value, an object that holds a list stays", async () => {
  expect(await dataOf('[1.0,{"a":2}]')).toBe('{"items":[1.0,{"a":2}]}');
  expect(await dataOf("12345678901234567890")).toBe('{"value":12345678901234567890}');
  expect(await dataOf("null")).toBe('{"value":null}');
  expect(await dataOf('{"events":[]}')).toBe('{"events":[]}');
});

test("a form becomes an object of its fields; a name that comes again an array", async () => {
  const form = "application/x-www-form-urlencoded; charset=utf-8";
  expect(await dataOf("a=1&b=x+y&a=2&__proto__=p", form)).toBe('{"a":["1","2"],"b":"x y","__proto__":"p"}');
});

test("payload, json and mandrill_events of a form are parsed where they are JSON, and only these", async () => {
  const form = "application/x-www-form-urlencoded";
  const fields = new URLSearchParams({ payload: '{"n":1.0}', json: "no json", other: "{}" }).toString();
  expect(await dataOf(fields, form)).toBe('{"payload":{"n":1.0},"json":"no json","other":"{}"}');
  expect(await dataOf("mandrill_events=%5B%5D", form)).toBe('{"mandrill_events":[]}');
});

test("JSON that is called a form is the JSON that it is", async () => {
  const form = "application/x-www-form-urlencoded";
  expect(await dataOf(' {"id":"a","n":1.0}', form)).toBe('{"id":"a","n":1.0}');
  expect(await dataOf("[1]", form)).toBe('{"items":[1]}');
  expect(await dataOf("{broken", form)).toBe('{"{broken":""}');
  expect(await dataOf("17", form)).toBe('{"17":""}');
});

test("a multipart form is read, its files in base64", async () => {
  const part = (name: string, rest: string) =>
    `--b\r\nContent-Disposition: form-data; name="${name}"${rest}\r\n`;
  const body = `${part("json", "\r\n\r\n{}")}${part("f", '; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\nhi')}--b--\r\n`;
  const data: unknown = JSON.parse(await dataOf(body, "multipart/form-data; boundary=b"));
  expect(data).toEqual({
    json: {},
    f: { filename: "a.txt", content_type: expect.stringMatching("text/plain"), base64: "aGk=" },
  });
});

test.each([
  ["a form", "application/x-www-form-urlencoded", (count: number) => "a=1&".repeat(count - 1) + "a=1"],
  [
    "a multipart form",
    "multipart/form-data; boundary=b",
    (count: number) =>
      `${'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'.repeat(count)}--b--\r\n`,
  ],
])("%s of more fields than are worked through is kept as raw text", async (_, contentType, formOf) => {
  const most = limit("formFieldsMax");
  expect(await dataOf(formOf(most), contentType)).toBe(JSON.stringify({ a: Array(most).fill("1") }));
  expect(await dataOf(formOf(most + 1), contentType)).toBe(JSON.stringify({ raw: formOf(most + 1) }));
});

test("whatever else a signed body is, it is kept as raw text", async () => {
  const tooDeep = "[".repeat(65) + "]".repeat(65);
  const deepest = "[".repeat(64) + "]".repeat(64);
  expect(await dataOf("")).toBe('{"raw":""}');
  expect(await dataOf("{broken")).toBe('{"raw":"{broken"}');
  expect(await dataOf(tooDeep)).toBe(JSON.stringify({ raw: tooDeep }));
  expect(await dataOf(deepest)).toBe(`{"items":${deepest}}`);
  expect(await dataOf(new Uint8Array([0x22, 0xff, 0x22]))).toBe('{"raw":"\\"\uFFFD\\""}');
  expect(await dataOf("\uFEFF{}")).toBe("{}");
  expect(await dataOf("no parts", "multipart/form-data")).toBe('{"raw":"no parts"}');
  expect(await dataOf(new Uint8Array([0x61, 0x3d, 0xff]), "application/x-www-form-urlencoded")).toStartWith(
    '{"raw":',
  );
});

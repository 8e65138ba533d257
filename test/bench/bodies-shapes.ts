/** What the bodies bench sends: values and bodies of nearly a megabyte, and the longest queries. */

const BYTES = 1_040_000;
/** A request line of 16 KiB is refused before it is read. */
const QUERY_LENGTH = 14_000;

const filled = (part: string, bytes = BYTES) => part.repeat(Math.floor(bytes / Buffer.byteLength(part)));
const text = (part: string) => `"${filled(part)}"`;
const list = (part: string) => `[${filled(`${part},`)}${part}]`;
const numbered = (count: number, one: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => one(at));
const named = (count: number, value: string) => `{${numbered(count, (at) => `"k${at}":${value}`).join(",")}}`;

/** JSON texts that stand for one field of a body. */
export const VALUES: Readonly<Record<string, string>> = {
  numbers: list("1"),
  "empty texts": list('""'),
  "empty objects": list("{}"),
  "empty lists": list("[]"),
  "nested lists": `${"[".repeat(60)}${list("1")}${"]".repeat(60)}`,
  fields: named(90_000, "1"),
  "fields of objects": named(50_000, '{"a":[1]}'),
  texts: `[${numbered(90_000, (at) => `"k${at}.a"`).join(",")}]`,
  operations: list('{"op":"pick","paths":["a"]}'),
  "a long name": `{"${filled("n")}":1}`,
  "a long number": filled("1"),
  "a text": text("x"),
  escapes: text("\\u0000"),
  umlauts: text("ä"),
  pointers: text("/~"),
  dots: text("a."),
  digits: text("1"),
  spaces: `"${filled(" ")}x"`,
  "equals signs": text("="),
  "a certificate": `"-----BEGIN CERTIFICATE-----${filled("\\n")}"`,
  "a secret": `"whsec_${filled("A")}"`,
  placeholders: text("{a}"),
  braces: text("{"),
  "an escaped address": `"http://a/${filled("%41")}"`,
  "a long host": `"http://${filled("a.")}com/"`,
  colons: text(":"),
};

const JSON_TYPE = "application/json";
const FORM_TYPE = "application/x-www-form-urlencoded";
const PARTS_TYPE = "multipart/form-data; boundary=x";
const DISPOSITION = 'content-disposition: form-data; name="a"';

/** Whole bodies for the doors of sources: a content type, a name and the body. */
export const DOOR_BODIES: readonly (readonly [type: string, name: string, body: string])[] = [
  [JSON_TYPE, "fields", named(90_000, "1")],
  [JSON_TYPE, "numbers", list("1")],
  [JSON_TYPE, "empty objects", list("{}")],
  [JSON_TYPE, "escapes", `{"a":${text("\\u0000")}}`],
  [JSON_TYPE, "deep", filled("[")],
  [JSON_TYPE, "events", `{"events":${list('{"a":"b","c":[1,2]}')}}`],
  [FORM_TYPE, "ampersands", filled("&")],
  [FORM_TYPE, "fields", filled("a=1&")],
  [FORM_TYPE, "escapes", `a=${filled("%41")}`],
  [FORM_TYPE, "plus signs", `payload=${filled("+")}`],
  [FORM_TYPE, "escaped JSON", `payload=%7B${filled("%22a%22:1,")}}`],
  [FORM_TYPE, "brackets", filled("a[b][c]=1&")],
  [PARTS_TYPE, "parts", filled(`--x\r\n${DISPOSITION}\r\n\r\n1\r\n`)],
  [PARTS_TYPE, "dashes", filled("\r\n--")],
  [PARTS_TYPE, "heads", `--x\r\n${filled("content-disposition:\n")}`],
  ["text/plain", "lines", filled("\n")],
  ["text/plain", "tags", filled("<a>")],
  ["text/plain", "zeros and umlauts", filled("\u0000ä")],
  ["text/plain", "dots", filled("a.b.")],
  ["application/xml", "tags", filled("<kind>")],
  ["application/jwt", "a token", `${filled("a")}.bbbb`],
];

const longQuery = (part: string) => filled(part, QUERY_LENGTH);

/** Of the header that counts deliveries. */
export const LONG_HOPS = longQuery("1,");

/** What stands for one parameter of a query, or for an id in a path. */
export const QUERY_VALUES: Readonly<Record<string, string>> = {
  "a text": longQuery("x"),
  digits: longQuery("1"),
  commas: longQuery("a,"),
  dots: longQuery("a."),
  escapes: longQuery("%41"),
  "escaped zeros": longQuery("%00"),
  "escaped umlauts": longQuery("%C3%A4"),
  "plus signs": longQuery("+"),
  "stars and blanks": longQuery("*%20"),
};

/** Whole queries. `name` is a parameter that the route has. */
export const QUERIES: Readonly<Record<string, (name: string) => string>> = {
  "the same one": (name) => longQuery(`${name}=1&`),
  "many names": () =>
    numbered(2000, (at) => `k${at}=&`)
      .join("")
      .slice(0, QUERY_LENGTH),
  ampersands: () => longQuery("&"),
  "equals signs": () => longQuery("="),
  "broken escapes": () => longQuery("%&"),
  "short names": () => longQuery("a&"),
  "as many names as are let in": () =>
    `${numbered(99, (at) => `k${at}&`).join("")}a=${filled("%41+=", 7000)}`,
  brackets: (name) => longQuery(`${name}[]=1&`),
};

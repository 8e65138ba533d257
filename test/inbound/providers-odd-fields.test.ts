/**
 * A proof that stands in a form is found beside whatever else is odd: what a stranger wrote into a mail, or
 * called its files, is no reason to lose the mail.
 */
import { describe, expect, test } from "bun:test";
import type { InboundRequest } from "../../src/inbound/provider.ts";
import { PROVIDER_ROWS } from "../../src/inbound/providers.ts";
import { CASES } from "./cases.ts";
import { hexMac } from "./recompute.ts";
import { NOW_SECONDS, requestOf } from "./kit.ts";
import { genuine, materialFor, receive } from "./outcome.ts";

const ROWS = PROVIDER_ROWS.filter(({ proofs, form }) => proofs && form).map(({ key }) => key);

/** The fields of a genuine form; of a row that is sent JSON too, those of its form. */
async function fieldsOf(key: string): Promise<[string, string][]> {
  if (key === "mailgun") {
    const [timestamp, token] = [String(NOW_SECONDS), "t-1"];
    const signature = hexMac(CASES[key]?.secrets[0] ?? "", timestamp + token);
    return Object.entries({ sender: "ann@example.com", timestamp, token, signature });
  }
  const { headers, body } = await genuine(key);
  const type = headers.get("content-type") ?? "";
  const form = await new Response(body.slice(), { headers: { "content-type": type } }).formData();
  return [...form].flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : []));
}

function inForm(fields: [string, string][], more: string): InboundRequest {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  return requestOf({ body: `${new URLSearchParams(fields).toString()}&${more}`, headers });
}

function inParts(fields: [string, string][], more: Buffer): InboundRequest {
  const parts = fields.map(
    ([name, text]) => `--b0\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`,
  );
  const body = Buffer.concat([Buffer.from(`${parts.join("")}--b0\r\n`), more, Buffer.from("\r\n--b0--\r\n")]);
  return requestOf({ body, headers: { "content-type": "multipart/form-data; boundary=b0" } });
}

async function dataOf(key: string, request: InboundRequest): Promise<Record<string, unknown>> {
  const reception = await receive(key, request, materialFor(key));
  if (reception.kind !== "event") throw new Error(JSON.stringify(reception));
  return JSON.parse(reception.data) as Record<string, unknown>;
}

const FILE = 'Content-Disposition: form-data; name="odd"; filename="f.png"';
const HI = Buffer.from("hi").toString("base64");
const file = (filename: string | null, head?: string, content_type = "") => ({
  odd: { filename, content_type, base64: HI, ...(head !== undefined && { head }) },
});

/** Each with all that stays of it in `data`. */
const HEADS: [string, Record<string, unknown>][] = [
  [`${FILE}; filename*=utf-8''f.png`, file("f.png", `${FILE}; filename*=utf-8''f.png`)],
  [
    `Content-Disposition: form-data; name="odd"; filename*=utf-8''f.png`,
    file(null, `Content-Disposition: form-data; name="odd"; filename*=utf-8''f.png`),
  ],
  [
    `${FILE}\r\nContent-Type: image/png\r\nContent-ID: <1@x>`,
    file("f.png", `${FILE}\r\nContent-Type: image/png\r\nContent-ID: <1@x>`, "image/png"),
  ],
  [`${FILE}\r\nX-Foo: 1`, file("f.png", `${FILE}\r\nX-Foo: 1`)],
  [FILE.replace("f.png", "caf\xe9.png"), file("caf\xe9.png", FILE.replace("f.png", "caf\xe9.png"))],
  [FILE.replace("f.png", "f\\"), file("f\\")],
  [FILE.replace("; ", ";\r\n "), file("f.png")],
  ['Content-Disposition: form-data; name="odd"\r\nMIME-Version: 1.0\r\nX-Foo: 1', { odd: "hi" }],
  [
    'Content-Disposition: form-data; name="odd"\r\nContent-Transfer-Encoding: base64',
    file(null, 'Content-Disposition: form-data; name="odd"\r\nContent-Transfer-Encoding: base64'),
  ],
  ...[
    "Content-Disposition: attachment",
    'Content-Disposition: form-data; name="x"; name="odd"',
    'Content-Disposition: form-data; name="odd',
    `${FILE}\r\nno line of a head`,
    `${FILE}; size="${"1".repeat(5000)}"`,
  ].map((head): [string, Record<string, unknown>] => [head, { "": `${head}\r\n\r\nhi` }]),
];

test("every row whose proof stands in a form is walked", () =>
  expect(ROWS.sort()).toEqual(["braintree", "dropbox_sign", "mailgun"]));

describe.each(ROWS)("%s is proven", (key) => {
  const named = HEADS.map(([head, wanted]) => [head.slice(0, 120), head, wanted] as const);
  test.each(named)("beside a part with the head %j, of which nothing is lost", async (_, head, wanted) => {
    const fields = await fieldsOf(key);
    const plain = await dataOf(key, inForm(fields, ""));
    const odd = Buffer.from(`${head}\r\n\r\nhi`, "latin1");
    expect(await dataOf(key, inParts(fields, odd))).toEqual({ ...plain, ...wanted });
  });

  test.each([
    [
      "odd=caf%E9+au%20lait%",
      { odd: { base64: Buffer.from("caf\xe9 au lait%", "latin1").toString("base64") } },
    ],
    [
      "odd=caf%E9&odd=%C3%A9",
      { odd: [{ base64: Buffer.from("caf\xe9", "latin1").toString("base64") }, "é"] },
    ],
    ["caf%E9=1", { "caf%E9": "1" }],
    ["%E9&?odd=1&%6Fdd=a=b", { "%E9": "", "?odd": "1", odd: "a=b" }],
  ])("beside the field %s, which alone is no text", async (field, wanted) => {
    const fields = await fieldsOf(key);
    const plain = await dataOf(key, inForm(fields, ""));
    expect(await dataOf(key, inForm(fields, field))).toEqual({ ...plain, ...wanted });
  });

  test("not by a field that came again as no text", async () => {
    const fields = await fieldsOf(key);
    const names = fields.map(([name]) => name).filter((name) => name !== "sender");
    for (const name of names) {
      const again = inForm(fields, `${name}=%E9`);
      expect((await receive(key, again, materialFor(key))).kind).toBe("refused");
      const head = `Content-Disposition: form-data; name="${name}"; filename*=x\r\n\r\n`;
      const twice = inParts(fields, Buffer.from(head));
      expect((await receive(key, twice, materialFor(key))).kind).toBe("refused");
    }
  });
});

/**
 * Every reader of foreign text that has no property test beside it: what is written in its form is read back,
 * whatever else comes is refused without a throw, and a second reading says the same.
 */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { readConfig } from "../src/config.ts";
import { parseMonth } from "../src/core/plans.ts";
import { readRetryAfter } from "../src/core/retry.ts";
import { makePrivateKey, makeSecret, readPrivateKey, readSecret } from "../src/core/signing.ts";
import { isWellFormedToken, makeToken } from "../src/core/tokens.ts";
import { parsePath } from "../src/core/transform/path.ts";
import { readForm } from "../src/inbound/form.ts";
import { pairs } from "../src/inbound/schemes/layouts.ts";
import { parseTemplate, render } from "../src/inbound/template.ts";
import { readTimestamp } from "../src/inbound/window.ts";
import { isInside, parseAddress, parseCidr } from "../src/transport/addresses.ts";
import { readCode, readElement } from "../src/destinations/aws/answers.ts";
import { readObject } from "../src/destinations/answers.ts";
import { faultOf, readConnectionString } from "../src/destinations/connection-string.ts";
import { objectKeyOf, OBJECT_KEY_FIELDS } from "../src/destinations/object-key.ts";
import { renderHead } from "../src/transport/request.ts";

const NOW = Date.UTC(2026, 10, 21, 9);
const DAY_MS = 86_400_000;
const utf8 = (text: string) => new TextEncoder().encode(text);
const word = fc.stringMatching(/^[A-Za-z][A-Za-z0-9]{0,11}$/);

/** Its parts, or the one sentence by which it is refused. */
function readConnection(text: string) {
  const fault = faultOf(() => readConnectionString(text));
  if (fault === null) return [...readConnectionString(text)];
  expect(fault).toBe("The connection string has one part twice.");
  return fault;
}

/** Each with the characters that mean something to it, so that chance comes near its form. */
const READERS: { name: string; letters: string; read: (text: string) => unknown }[] = [
  { name: "a connection string", letters: "=; aB/", read: readConnection },
  { name: "a template", letters: "{}bodyid.", read: parseTemplate },
  { name: "a form", letters: "a=&%2B+é", read: (text) => readForm(utf8(text)) },
  { name: "a timestamp in seconds", letters: "0123456789-", read: (text) => readTimestamp(text, "s") },
  { name: "a timestamp in ISO", letters: "0123456789-:TZ.+", read: (text) => readTimestamp(text, "iso") },
  { name: "retry-after", letters: "0129 Nov,:GMTSatday-", read: (text) => readRetryAfter(text, NOW) },
  { name: "a month", letters: "0129-", read: parseMonth },
  { name: "a token", letters: "sp_live_00aZ9", read: isWellFormedToken },
  { name: "a signing secret", letters: "whsec_AB+/=", read: readSecret },
  { name: "a private key", letters: "whsk_AB+/=", read: (text) => readPrivateKey(text) === null },
  { name: "a path", letters: "a.\\*0", read: (text) => parsePath(text, true) },
  { name: "a signature header", letters: "tv1=, ", read: pairs(",", "t", "v1") },
  { name: "an address", letters: "0123456789abcdef.:%", read: (text) => parseAddress(text)?.toString() },
  {
    name: "a block of addresses",
    letters: "0123456789abcdef.:/",
    read: (text) => parseCidr(text)?.prefixLength,
  },
  { name: "an error of AWS", letters: "<Code>/&amp;", read: (text) => readElement(utf8(text), "Code") },
  { name: "an error code of AWS", letters: "com.amazonaws#Code:http", read: readCode },
  { name: "an answer's object", letters: '{}[]":,0a\\', read: (text) => readObject(utf8(text)) },
  { name: "a port", letters: "0123456789-", read: (text) => readConfig({ SEALPOST_PORT: text }).ok },
  { name: "plans", letters: '{}":,0deliveries', read: (text) => readConfig({ SEALPOST_PLANS: text }).ok },
  { name: "keys", letters: "AB+/=,", read: (text) => readConfig({ SEALPOST_SECRET_KEY: text }).ok },
];

describe.each(READERS)("$name", ({ letters, read }) => {
  test("never throws, and is read alike twice, whatever the text", () => {
    const near = fc.string({ unit: fc.constantFrom(...letters), maxLength: 60 });
    fc.assert(
      fc.property(fc.oneof(near, fc.string({ unit: "binary", maxLength: 60 })), (text) => {
        expect(read(text)).toEqual(read(text));
      }),
      { numRuns: 500 },
    );
  });
});

describe("what is written in a form is read back", () => {
  test("a connection string: names in any case, values that hold =", () => {
    const value = fc.stringMatching(/^[A-Za-z0-9=/+]{1,20}$/);
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.tuple(word, value), { selector: ([name]) => name.toLowerCase() }),
        (parts) => {
          const text = parts.map(([name, own]) => `${name}=${own}`).join(";");
          expect([...readConnectionString(text)]).toEqual(
            parts.map(([name, own]) => [name.toLowerCase(), own]),
          );
        },
      ),
    );
  });

  test("a template", () => {
    const piece = fc.oneof(
      fc.constantFrom("{body}", "{timestamp}", "{id}", "{url}"),
      fc.stringMatching(/^[v0:.]{1,4}$/),
    );
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const template = parseTemplate(pieces.join(""));
        const written = template && render(template, (name) => `{${name}}`);
        expect(written?.join("")).toBe(pieces.join(""));
      }),
    );
  });

  test("a form, as the platform writes it", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string(), fc.string()), { maxLength: 20 }), (fields) => {
        const read = readForm(utf8(new URLSearchParams(fields).toString()));
        const expected = Map.groupBy(fields, ([name]) => name);
        expect([...(read ?? [])]).toEqual(
          [...expected].map(([name, own]) => [name, own.map(([, value]) => value)]),
        );
      }),
    );
  });

  test("a timestamp, in each unit", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_102_444_800 }), (seconds) => {
        expect(readTimestamp(String(seconds), "s")).toBe(seconds * 1000);
        expect(readTimestamp(String(seconds * 1000), "ms")).toBe(seconds * 1000);
        expect(readTimestamp(new Date(seconds * 1000).toISOString(), "iso")).toBe(seconds * 1000);
      }),
    );
  });

  test("retry-after: seconds and dates, never in the past, at most a day ahead", () => {
    fc.assert(
      fc.property(fc.integer({ min: -10 * 86_400, max: 10 * 86_400 }), (seconds) => {
        const expected = seconds > 0 ? NOW + Math.min(seconds * 1000, DAY_MS) : null;
        expect(readRetryAfter(String(seconds), NOW)).toBe(expected);
        expect(readRetryAfter(new Date(NOW + seconds * 1000).toUTCString(), NOW)).toBe(expected);
      }),
    );
  });

  test("a path: names with dots in them", () => {
    const name = fc.stringMatching(/^[a-z0-9.]{1,6}$/);
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 8 }), (path) => {
        const text = path.map((own) => own.replaceAll(".", "\\.")).join(".");
        expect(parsePath(text, false)).toEqual({ ok: true, path });
      }),
    );
  });

  test("a signature header: the timestamp and every signature, among parts of other names", () => {
    const hex = fc.stringMatching(/^[0-9a-f]{64}$/);
    fc.assert(
      fc.property(
        fc.nat(),
        fc.array(hex, { maxLength: 5 }),
        fc.array(hex, { maxLength: 3 }),
        (t, own, others) => {
          const parts = [`t=${t}`, ...own.map((one) => `v1=${one}`), ...others.map((one) => `v0=${one}`)];
          expect(pairs(",", "t", "v1")(parts.join(","))).toEqual({ timestamp: String(t), signatures: own });
        },
      ),
    );
  });
});

test("a token with one other character is none", () => {
  const token = makeToken("sp_live_", "00");
  const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  expect(isWellFormedToken(token)).toBe(true);
  fc.assert(
    fc.property(fc.integer({ min: 8, max: token.length - 1 }), fc.constantFrom(...letters), (at, letter) => {
      const changed = token.slice(0, at) + letter + token.slice(at + 1);
      expect(isWellFormedToken(changed)).toBe(changed === token);
    }),
  );
});

test("a secret and a private key that are cut are none", () => {
  const [secret, key] = [makeSecret(), makePrivateKey()];
  expect([readSecret(secret)?.length, readPrivateKey(key) === null]).toEqual([32, false]);
  for (let length = 0; length < "whsec_".length + 30; length++)
    expect(readSecret(secret.slice(0, length))).toBeNull();
  for (let length = 0; length < key.length; length++) expect(readPrivateKey(key.slice(0, length))).toBeNull();
});

test("an address is inside a block exactly where their first bits are the same", () => {
  const ipv4 = fc.tuple(fc.nat(0xffff_ffff), fc.nat(0xffff_ffff), fc.nat(32));
  const spell = (bits: number) => [24, 16, 8, 0].map((by) => (bits >>> by) & 255).join(".");
  fc.assert(
    fc.property(ipv4, ([address, network, length]) => {
      const read = parseAddress(spell(address));
      const block = parseCidr(`${spell(network)}/${length}`);
      const mask = length === 0 ? 0 : (-1 << (32 - length)) >>> 0;
      const isSame = ((address ^ network) & mask) === 0;
      expect(read && block && isInside(read, block)).toBe(isSame);
    }),
  );
});

test("a request's head has a line for each header and no other, or is refused", () => {
  const text = fc.string({
    unit: fc.constantFrom("a", "Z", "-", ":", " ", "\r", "\n", "\0", "é", "€", "\t"),
    maxLength: 8,
  });
  fc.assert(
    fc.property(fc.array(fc.tuple(text, text), { maxLength: 4 }), (headers) => {
      const url = new URL("http://receiver.test/hook");
      let head: string;
      try {
        head = renderHead({ method: "POST", url, headers, body: utf8("{}") });
      } catch (error) {
        expect(error).toBeInstanceOf(TypeError);
        return;
      }
      const lines = [
        "POST /hook HTTP/1.1",
        "host: receiver.test",
        ...headers.map(([name, value]) => `${name}: ${value}`),
      ];
      expect(head).toBe([...lines, "content-length: 2", "", ""].join("\r\n"));
    }),
    { numRuns: 2000 },
  );
});

test("a template that is taken makes keys that hold the message's id and have no empty name", () => {
  const piece = fc.constantFrom(
    "{id}",
    "{date}",
    "{hour}",
    "{type}",
    "{endpoint_id}",
    "/",
    ".",
    "a",
    "é",
    "..",
    "{x}",
    "\n",
  );
  const message = { id: "msg_1", type: "order.paid", endpointId: "ep_1", createdAt: NOW } as Parameters<
    typeof objectKeyOf
  >[1];
  const fieldFault = (name: string, text: string) =>
    OBJECT_KEY_FIELDS.find((field) => field.name === name)?.check?.(text) ?? null;
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 6 }), (pieces) => {
      const template = pieces.join("");
      if (fieldFault("key_template", template) !== null) return;
      const key = objectKeyOf({ key_template: template }, message);
      expect(key).toContain("msg_1");
      expect(key.replace(/\/$/, "").split("/")).not.toContain("");
    }),
    { numRuns: 2000 },
  );
});

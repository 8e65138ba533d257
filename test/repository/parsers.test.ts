/**
 * Every reader of foreign text that has no property test beside it: what is written in its form is read back,
 * whatever else comes is refused without a throw, and a second reading says the same.
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { readConfig } from "../../src/config.ts";
import { Problem } from "../../src/core/errors.ts";
import { HOPS_HEADER, readHops } from "../../src/core/hops.ts";
import { IdCodec } from "../../src/core/ids.ts";
import { parseMonth } from "../../src/core/plans.ts";
import { readRetryAfter } from "../../src/core/retry.ts";
import { makePrivateKey, makeSecret, readPrivateKey, readSecret } from "../../src/core/signing.ts";
import { isWellFormedToken, makeToken } from "../../src/core/tokens.ts";
import { readTraceparent } from "../../src/core/trace-context.ts";
import { parsePath } from "../../src/core/transform/path.ts";
import { readCursor, writeCursor } from "../../src/http/shared/paging.ts";
import { readBody } from "../../src/inbound/body.ts";
import { readForm } from "../../src/inbound/form.ts";
import { BRAINTREE } from "../../src/inbound/providers/braintree.ts";
import { pairs } from "../../src/inbound/schemes/layouts.ts";
import { parseTemplate, render } from "../../src/inbound/template.ts";
import { readTimestamp } from "../../src/inbound/window.ts";
import { isInside, parseAddress, parseCidr } from "../../src/transport/addresses.ts";
import { readCode, readElement } from "../../src/destinations/aws/answers.ts";
import { readObject } from "../../src/destinations/answers.ts";
import { faultOf, readConnectionString } from "../../src/destinations/connection-string.ts";
import { readServiceAccount } from "../../src/destinations/google-tokens.ts";
import { objectKeyOf, OBJECT_KEY_FIELDS } from "../../src/destinations/object-key.ts";
import { readMark } from "../../src/replica/mark.ts";
import { renderHead } from "../../src/transport/request.ts";
import { serviceAccount } from "../destinations/kinds/google.ts";
import { keysOf, materialOf, NOW_MS, requestOf } from "../inbound/kit.ts";

/** The long form: how many times as much is tried. */
const RUNS = Number(process.env["PROPERTY_RUNS"] ?? 1);
fc.configureGlobal({ numRuns: 100 * RUNS });
if (RUNS > 1) setDefaultTimeout(5000 * RUNS);

const NOW = Date.UTC(2026, 10, 21, 9);
const DAY_MS = 86_400_000;
const SENDER = "sealpost@acme-1.iam.example.com";
const utf8 = (text: string) => new TextEncoder().encode(text);
const word = fc.stringMatching(/^[A-Za-z][A-Za-z0-9]{0,11}$/);

/** Its parts, or the one sentence by which it is refused. */
function readConnection(text: string) {
  const fault = faultOf(() => readConnectionString(text));
  if (fault === null) return [...readConnectionString(text)];
  expect(fault).toBe("The connection string has one part twice.");
  return fault;
}

/** Its address, or the one sentence by which it is refused, which repeats nothing of it. */
function readAccount(text: string) {
  try {
    return readServiceAccount(text).email;
  } catch (error) {
    expect(String(error)).toMatch(/^Error: (Expected the JSON key file|The key file's \w+ is)/);
    return null;
  }
}

const services = { ids: new IdCodec("00", new Uint8Array(16)) };

/** Its key, or the pointer of the refusal. */
function readCursorText(text: string) {
  try {
    return readCursor(services, "evt", text);
  } catch (error) {
    expect(error).toBeInstanceOf(Problem);
    return null;
  }
}

/** Type and identity of a notification of Braintree. */
function readNotification(xml: string) {
  const value = { bt_payload: Buffer.from(xml).toString("base64") };
  const body = new URLSearchParams(value).toString();
  const arrival = {
    request: requestOf({ body }),
    material: materialOf([]),
    nowMs: NOW_MS,
    keys: keysOf(null),
  };
  const read = { kind: "form", value, text: "{}", data: "{}" } as const;
  const facts = { arrival, body: read, claims: {}, signedHeaders: new Map<string, string>() };
  return [BRAINTREE.eventType, BRAINTREE.deliveryId].map((each) => each.read(facts)?.value ?? null);
}

/** The number of a header that names one, as a server has it. */
function readHopsText(text: string) {
  const sendable = text.replaceAll(/[^\x20-\x7e]/g, "");
  return readHops(new Headers({ [HOPS_HEADER]: sendable }));
}

const BOUNDARY = "xYz";
const DISPOSITION = "content-disposition: form-data; name=";

/** Each with the characters that mean something to it, so that chance comes near its form. */
const READERS: { name: string; letters: string; read: (text: string) => unknown }[] = [
  { name: "a connection string", letters: "=; aB/", read: readConnection },
  { name: "a template", letters: "{}bodyid.", read: parseTemplate },
  { name: "a form", letters: "a=&%2B+é", read: (text) => readForm({ body: utf8(text) }) },
  { name: "a timestamp in seconds", letters: "0123456789-", read: (text) => readTimestamp(text, "s") },
  { name: "a timestamp in ISO", letters: "0123456789-:TZ.+", read: (text) => readTimestamp(text, "iso") },
  {
    name: "retry-after",
    letters: "0129 Nov,:GMTSatday-",
    read: (text) =>
      readRetryAfter(text, undefined, NOW) ?? readRetryAfter("Sun, 06 Nov 1994 08:49:37 GMT", text, NOW),
  },
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
  { name: "a number of hops", letters: "0123456789 -+.e", read: readHopsText },
  { name: "a traceparent", letters: "00-123456789abcdefA", read: readTraceparent },
  {
    name: "a replica's mark",
    letters: '{}":,0[]nul',
    read: readMark,
  },
  { name: "a service account", letters: '{}":,client_emailprivate_key', read: readAccount },
  { name: "a cursor", letters: "ZXZ0XzAxabc-_", read: readCursorText },
  { name: "a notification of Braintree", letters: "<id>kin/timesap ", read: readNotification },
  { name: "a port", letters: "0123456789-", read: (text) => readConfig({ SEALPOST_PORT: text }).ok },
  { name: "plans", letters: '{}":,0deliveries', read: (text) => readConfig({ SEALPOST_PLANS: text }).ok },
  {
    name: "headers of a collector",
    letters: "a=,%2B +é",
    read: (text) => readConfig({ OTEL_EXPORTER_OTLP_HEADERS: text }),
  },
  { name: "keys", letters: "AB+/=,", read: (text) => readConfig({ SEALPOST_SECRET_KEY: text }).ok },
];

describe.each(READERS)("$name", ({ letters, read }) => {
  test("never throws, and is read alike twice, whatever the text", () => {
    const near = fc.string({ unit: fc.constantFrom(...letters), maxLength: 60 });
    fc.assert(
      fc.property(fc.oneof(near, fc.string({ unit: "binary", maxLength: 60 })), (text) => {
        expect(read(text)).toEqual(read(text));
      }),
      { numRuns: 500 * RUNS },
    );
  });
});

test("a form in parts: no text makes it throw, it is an object of JSON, and is read alike twice", async () => {
  const piece = fc.constantFrom(
    `--${BOUNDARY}`,
    "--",
    "\r\n",
    "\r\n\r\n",
    `${DISPOSITION}"a"`,
    `${DISPOSITION}"__proto__"; filename="f"`,
    `${DISPOSITION}payload`,
    "content-type: text/plain",
    '{"a":1}',
    "é",
    "\0",
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 20 }), async (pieces) => {
      const bytes = utf8(`--${BOUNDARY}\r\n${pieces.join("")}`);
      const [one, other] = [readBody({ body: bytes }), readBody({ body: bytes })];
      expect(JSON.parse(one.data)).toBeObject();
      expect(one).toEqual(other);
    }),
    { numRuns: 500 * RUNS },
  );
});

describe("what is written in a form is read back", () => {
  test("a form in parts, as the platform writes it", async () => {
    // A form's line ends are CRLF, and its names know no quotes.
    const text = fc.string({ unit: fc.constantFrom("a", "Z", "=", "&", "é", "😀", " ", "-", "{", "}") });
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.tuple(word, text), { selector: ([name]) => name }),
        async (fields) => {
          fc.pre(fields.every(([name]) => name !== "payload" && name !== "json"));
          const form = new FormData();
          for (const [name, value] of fields) form.append(name, value);
          const written = new Response(form);
          const { value } = readBody({ body: new Uint8Array(await written.arrayBuffer()) });
          if (fields.length > 0) expect(value).toEqual(Object.fromEntries(fields));
        },
      ),
    );
  });

  test("a number of hops, a cursor, a replica's mark", () => {
    const mark = fc.record({
      installation: fc.string(),
      writer: fc.string(),
      host: fc.string(),
      start: fc.nat(),
      beat: fc.nat(),
      ended: fc.boolean(),
      at: fc.string(),
    });
    fc.assert(
      fc.property(fc.nat(999_999), fc.nat(Number.MAX_SAFE_INTEGER), mark, (hops, key, written) => {
        expect(readHopsText(String(hops))).toBe(hops);
        expect(readCursorText(writeCursor(services, "evt", key) ?? "")).toBe(key);
        expect(readCursor(services, "evt", undefined)).toBe(Number.MAX_SAFE_INTEGER);
        expect(readMark(JSON.stringify(written))).toEqual(written);
      }),
    );
  });

  test("a service account, and not without one of its parts", () => {
    const text = serviceAccount("https://token.example.com/");
    expect(readAccount(text)).toBe(SENDER);
    const values = fc.oneof(fc.string(), fc.integer(), fc.constant(null), fc.constant([]));
    fc.assert(
      fc.property(fc.constantFrom("client_email", "private_key", "token_uri"), values, (name, value) => {
        const read = readAccount(JSON.stringify({ ...JSON.parse(text), [name]: value }));
        const isAny = typeof value === "string" && (name === "client_email" || URL.canParse(value));
        expect(read).toBe(
          isAny && name !== "private_key" ? (name === "client_email" ? value : SENDER) : null,
        );
      }),
    );
  });

  test("a notification of Braintree: its own kind, wherever another stands", () => {
    const own = fc.stringMatching(/^[A-Za-z0-9:_-]{1,20}$/);
    fc.assert(
      fc.property(own, own, fc.boolean(), (kind, other, isFirst) => {
        const parts = [`<kind>${kind}</kind>`, `<subject><plan><kind>${other}</kind></plan></subject>`];
        const xml = `<notification>${(isFirst ? parts : parts.toReversed()).join("")}</notification>`;
        expect(readNotification(xml)).toEqual([kind, expect.stringMatching(/^[0-9a-f]{64}$/)]);
      }),
    );
  });

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
        const [[first] = ["a"]] = fields;
        // No form that anybody sends begins with a field without a name, and parts begin with dashes.
        fc.pre(first !== "" && !first.startsWith("--"));
        const read = readForm({ body: utf8(new URLSearchParams(fields).toString()) });
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

  test("retry-after: seconds and dates, never in the past, at most a day", () => {
    fc.assert(
      fc.property(fc.integer({ min: -10 * 86_400, max: 10 * 86_400 }), (seconds) => {
        const expected = seconds > 0 ? Math.min(seconds * 1000, DAY_MS) : null;
        expect(readRetryAfter(String(seconds), undefined, NOW)).toBe(expected);
        expect(readRetryAfter(new Date(NOW + seconds * 1000).toUTCString(), undefined, NOW)).toBe(expected);
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
    { numRuns: 2000 * RUNS },
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
    { numRuns: 2000 * RUNS },
  );
});

/**
 * Whoever has a source's secret may sign what he likes: reading it costs what its bytes do. A walk over the
 * rows counts the text that is parsed and copied after the proof, for bodies of very many parts.
 */
import { describe, expect, spyOn, test } from "bun:test";
import { readBody } from "../../src/inbound/body.ts";
import type { Facts } from "../../src/inbound/facts.ts";
import { masked } from "../../src/inbound/mask.ts";
import { findProvider, PROVIDER_ROWS } from "../../src/inbound/providers.ts";
import type { InboundRequest } from "../../src/inbound/provider.ts";
import { limit } from "../../src/core/limits.ts";
import { isObject } from "../../src/core/json/value.ts";
import { CASES } from "./cases.ts";
import { headersOf, jsonRequest, keysOf, materialOf, NOW_MS, requestOf, textOf, withBody } from "./kit.ts";
import { genuine, materialFor, outcome } from "./outcome.ts";
import { base64Mac } from "./recompute.ts";

const PARTS = 2000;
/** Of what is parsed and copied, in lengths of the body. */
const TIMES_MAX = 4;

/** Outer lists are long, and numbers are such that no double holds them. */
function swollen(value: unknown, parts = PARTS): unknown {
  if (typeof value === "number") return "#number#";
  if (Array.isArray(value)) return Array.from({ length: parts }, () => swollen(value[0] ?? 0, 1));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, swollen(member, parts)]));
}

function textOfSwollen(text: string): string | null {
  try {
    const value: unknown = JSON.parse(text);
    const padded = isObject(value) ? { ...value, padding: [0] } : value;
    return JSON.stringify(swollen(padded)).replaceAll('"#number#"', "12345678901234567890");
  } catch {
    return null;
  }
}

async function factsOf(key: string): Promise<Facts | null> {
  const proof = CASES[key];
  if (!proof) throw new Error(`${key} has no case`);
  const request = await proof.sign(proof.secrets[0] ?? "", NOW_MS);
  const text = textOfSwollen(textOf(request));
  if (text === null) return null;
  const { credentials = {}, config = {} } = proof;
  const large = withBody(request, text);
  return {
    signedHeaders: headersOf(request),
    arrival: {
      request: large,
      material: materialOf([], { credentials, config }),
      nowMs: NOW_MS,
      keys: keysOf(null),
    },
    body: await readBody(large.body),
    claims: {},
  };
}

describe("a signed body of very many parts is read a few times, and its parts are not copied again and again", () => {
  test.each(PROVIDER_ROWS.map((row) => [row.key, row] as const))("%s", async (key, row) => {
    const facts = await factsOf(key);
    if (facts === null) return;
    using parse = spyOn(JSON, "parse");
    using slice = spyOn(String.prototype, "slice");
    row.deliveryId.read(facts);
    row.eventType.read(facts);
    if (row.proofs) masked(facts.body.data, row.proofs);
    row.answer?.(facts);
    const parsed = parse.mock.calls.reduce((sum, [text]) => sum + text.length, 0);
    const copied = slice.mock.results.reduce((sum, { value }) => sum + String(value).length, 0);
    expect((parsed + copied) / facts.body.text.length).toBeLessThan(TIMES_MAX);
    // A reviver is asked about each part.
    expect(parse.mock.calls.filter(([, reviver]) => reviver !== undefined)).toEqual([]);
  });
});

/** Sends the body of a case with very many parts in it, which its proof does not cover. */
async function bodyParsesOf(key: string, swell: (request: InboundRequest) => InboundRequest) {
  const request = swell(await genuine(key));
  using parse = spyOn(JSON, "parse");
  const kind = await outcome(key, request, materialFor(key));
  // What is no JSON, as a form, ends at its first character.
  const whole = parse.mock.calls.filter((_, at) => parse.mock.results[at]?.type === "return");
  const parsed = whole.reduce((sum, [text]) => sum + text.length, 0);
  return { kind, times: Number((parsed / request.body.length).toFixed(1)) };
}

const PADDING = JSON.stringify(Array.from({ length: PARTS }, () => []));
const padded = (request: InboundRequest) =>
  withBody(
    request,
    textOf(request).replace("{", () => `{"padding":${PADDING},`),
  );

/** The same in a form, of which one field holds JSON. */
function asForm(request: InboundRequest): InboundRequest {
  const [text = ""] = /\{.*\}/.exec(textOf(padded(request))) ?? [];
  return withBody(request, `json=${text.replaceAll("+", "%2B").replaceAll("&", "%26")}`);
}

/** An Adyen item without `pspReference`, whose identity is what is signed. */
function withoutReference(): InboundRequest {
  const key = Buffer.from(CASES["adyen"]?.secrets[0] ?? "", "hex");
  const additionalData = { hmacSignature: base64Mac(key, "::::::CAPTURE:true") };
  const item = { eventCode: "CAPTURE", success: "true", additionalData };
  const body = { notificationItems: [{ NotificationRequestItem: item }] };
  return padded(jsonRequest(JSON.stringify(body), {}));
}

describe("a body in which its proof stands is parsed once, for the proof and for what is read then", () => {
  test.each([
    ["adyen", padded],
    ["adyen", withoutReference],
    ["mailgun", padded],
    ["dropbox_sign", padded],
    ["dropbox_sign", asForm],
  ] as const)("%s", async (key, swell) => {
    expect(await bodyParsesOf(key, swell)).toEqual({ kind: "event", times: 1 });
  });

  test("one that is forged too", async () => {
    const forge = (request: InboundRequest) =>
      withBody(request, textOf(padded(request)).replace(/("event_hash":")./, "$1x"));
    expect(await bodyParsesOf("dropbox_sign", forge)).toEqual({ kind: "bad_signature", times: 1 });
  });
});

test("of what a stranger says is SNS' no more members are read than are signed or required", async () => {
  const others = Object.fromEntries(Array.from({ length: PARTS }, (_, at) => [`n${at}`, "text"]));
  const request = await genuine("aws_sns");
  const forged = withBody(
    request,
    JSON.stringify({ ...others, ...JSON.parse(textOf(request)), Signature: "" }),
  );
  let read = 0;
  const { parse } = JSON;
  using _ = spyOn(JSON, "parse").mockImplementation((text: string) => {
    const value: unknown = parse(text);
    const get = (all: object, name: string) => (read++, Reflect.get(all, name) as unknown);
    return text.length > 1 && isObject(value) ? new Proxy(value, { get }) : value;
  });
  expect(await outcome("aws_sns", forged, materialFor("aws_sns"))).not.toBe("event");
  expect(read).toBeGreaterThan(0);
  expect(read).toBeLessThan(50);
});

test("the form of a verified request of Braintree is taken apart for its proof and for its event alone", async () => {
  const request = await genuine("braintree");
  const Real = URLSearchParams;
  using apart = spyOn(globalThis, "URLSearchParams").mockImplementation(
    ((text: string) => new Real(text)) as never,
  );
  expect(await outcome("braintree", request, materialFor("braintree"))).toBe("event");
  expect(apart).toHaveBeenCalledTimes(2);
});

describe("a heavy body is read in another turn than that of its verification", () => {
  /** How often it was parsed before each turn that it gave away. */
  async function parsesAtTurns(length: number, token = "the token"): Promise<number[]> {
    const body = JSON.stringify({ text: "x".repeat(length) });
    const request = requestOf({ body, headers: { "x-service-token": token } });
    using parse = spyOn(JSON, "parse");
    const found: number[] = [];
    const giveWay = (bytes?: number) => {
      expect(bytes).toBe(body.length);
      found.push(parse.mock.calls.length);
      return Promise.resolve();
    };
    await findProvider("service")?.receive(request, materialOf(["the token"]), NOW_MS, keysOf(null), {
      giveWay,
    });
    return found;
  }

  test("a genuine one", async () => {
    expect(await parsesAtTurns(limit("lightBodyBytesMax"))).toEqual([0]);
    expect(await parsesAtTurns(1000)).toEqual([]);
  });

  test("a stranger takes no turns", async () => {
    expect(await parsesAtTurns(limit("lightBodyBytesMax"), "another token")).toEqual([]);
  });
});

/** Of a token, which comes in a header. */
const POOL_BYTES_MAX = 16_384;

describe("no large body goes through the thread pool, in which the fsync of a commit waits", () => {
  test.each(Object.keys(CASES))("%s", async (key) => {
    const request = await genuine(key);
    const large = withBody(request, textOf(request).padEnd(POOL_BYTES_MAX * 4));
    using verified = spyOn(crypto.subtle, "verify");
    using signed = spyOn(crypto.subtle, "sign");
    using hashed = spyOn(crypto.subtle, "digest");
    const [document = null] = Object.values(CASES[key]?.keyDocuments ?? {});
    await outcome(key, large, materialFor(key), keysOf(document));
    const given = [verified, signed, hashed].flatMap(({ mock }) => mock.calls.map((args) => args.at(-1)));
    const sizes = given.map((data) => (ArrayBuffer.isView(data) ? data.byteLength : Number.NaN));
    expect(sizes.filter((size) => !(size <= POOL_BYTES_MAX))).toEqual([]);
  });
});

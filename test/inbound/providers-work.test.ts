/**
 * Whoever has a source's secret may sign what he likes: reading it costs what its bytes do. A walk over the
 * rows counts the text that is parsed and copied after the proof, for bodies of very many parts.
 */
import { describe, expect, spyOn, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { readBody } from "../../src/inbound/body.ts";
import type { Facts } from "../../src/inbound/facts.ts";
import { masked } from "../../src/inbound/mask.ts";
import { findProvider, PROVIDER_ROWS } from "../../src/inbound/providers.ts";
import type { InboundRequest, ReadingMeans, SourceMaterial } from "../../src/inbound/provider.ts";
import { limit } from "../../src/core/limits.ts";
import { isHeavy, TurnQueue } from "../../src/core/structures/turn-queue.ts";
import { isObject } from "../../src/core/json/value.ts";
import { CASES } from "./cases.ts";
import { headersOf, jsonRequest, keysOf, materialOf, NOW_MS, requestOf, textOf, withBody } from "./kit.ts";
import { genuine, materialFor, outcome } from "./outcome.ts";
import { base64Mac, macOf } from "./recompute.ts";

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
    signedHeaders: new Map(Object.entries(headersOf(request))),
    arrival: {
      request: large,
      material: materialOf([], { credentials, config }),
      nowMs: NOW_MS,
      keys: keysOf(null),
    },
    body: readBody(large),
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
    await masked(facts.body.data, [...(row.proofs ?? []), ...(row.secrets ?? [])]);
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
  return { kind, times: Number((lengthParsed(parse) / request.body.length).toFixed(1)) };
}

/** What is no JSON, as a form, ends at its first character. */
function lengthParsed({ mock }: ReturnType<typeof spyOn<JSON, "parse">>): number {
  const whole = mock.calls.filter((_, at) => mock.results[at]?.type === "return");
  return whole.reduce((sum, [text]) => sum + text.length, 0);
}

/** With so many empty lists in front, which no proof of these covers. */
const paddedWith = (parts: number) => (request: InboundRequest) =>
  withBody(
    request,
    textOf(request).replace(
      "{",
      () => `{"padding":${JSON.stringify(Array.from({ length: parts }, () => []))},`,
    ),
  );
const padded = paddedWith(PARTS);

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

describe("a body in which its proof stands is parsed once, when that holds", () => {
  test.each([
    ["adyen", padded],
    ["adyen", withoutReference],
    ["mailgun", padded],
    ["dropbox_sign", padded],
    ["dropbox_sign", asForm],
  ] as const)("%s", async (key, swell) => {
    expect(await bodyParsesOf(key, swell)).toEqual({ kind: "event", times: 1 });
  });
});

/** Of what `run` parses of long texts, the most that is alive at one time when `look` is called. */
async function mostAlive(
  run: (look: () => void) => Promise<void>,
): Promise<{ parsed: number; most: number }> {
  const values: WeakRef<object>[] = [];
  const { parse } = JSON;
  let most = 0;
  const look = () => {
    Bun.gc(true);
    most = Math.max(most, values.filter((value) => value.deref() !== undefined).length);
  };
  JSON.parse = (text: string) => {
    const value: unknown = parse(text);
    if (isHeavy(text.length) && isObject(value)) values.push(new WeakRef(value));
    return value;
  };
  try {
    await run(look);
  } finally {
    JSON.parse = parse;
  }
  return { parsed: values.length, most };
}

const AT_ONCE = 12;
/** Whoever looks collects all garbage first, which takes long. */
const CALLS_PER_LOOK = AT_ONCE / 2;

test.each(["adyen", "aws_sns", "dropbox_sign", "mailgun", "microsoft_graph"])(
  "%s: whoever waits for a turn holds no parsed body, however many wait",
  async (key) => {
    const turns = new TurnQueue({ schedule: setImmediate, beginShare: () => ({ isOver: false }) });
    const request = paddedWith(limit("lightBodyBytesMax") / 2)(await genuine(key));
    const keys = keysOf(Object.values(CASES[key]?.keyDocuments ?? {})[0] ?? null);
    const provider = findProvider(key);
    const { parsed, most } = await mostAlive(async (look) => {
      let calls = 0;
      const means: ReadingMeans = {
        async giveWay(bytes) {
          await turns.giveWay(bytes);
          if (++calls % CALLS_PER_LOOK === 0) look();
        },
        takeRoom: () => {},
      };
      const receive = async () => {
        await turns.ownTurn();
        return provider?.receive(withBody(request, request.body), materialFor(key), NOW_MS, keys, means);
      };
      const receptions = await Promise.all(Array.from({ length: AT_ONCE }, receive));
      expect(new Set(receptions.map((reception) => reception?.kind))).toEqual(new Set(["event"]));
    });
    expect(parsed).toBeGreaterThanOrEqual(AT_ONCE);
    // The stack is read conservatively: what was dropped may be seen once more.
    expect(most).toBeLessThanOrEqual(3);
  },
);

test("the form of a verified request of Braintree is taken apart once, for its proof and its event", async () => {
  // A request of its own: that of all tests may have been read already.
  const request = { ...(await genuine("braintree")) };
  const Real = URLSearchParams;
  using apart = spyOn(globalThis, "URLSearchParams").mockImplementation(
    ((text: string) => new Real(text)) as never,
  );
  expect(await outcome("braintree", request, materialFor("braintree"))).toBe("event");
  expect(apart).toHaveBeenCalledTimes(1);
});

/** Longer than what is light. */
const HEAVY_PADDING = JSON.stringify(Array.from({ length: 30_000 }, () => []));

/** As it is verified where its secret, or what else proves it, is another. */
function wrongFor(key: string): SourceMaterial {
  const { secrets = [], wrong = {} } = CASES[key] ?? {};
  return { ...materialFor(key), secrets: secrets.slice(1), ...wrong };
}

describe("of what is forged nothing of its size is parsed, nor written anew: only what its proof needs", () => {
  const bodies = (text: string): string[] => {
    const padding = `{"padding":${HEAVY_PADDING},`;
    const heavy = text.replace("{", () => padding);
    const inner = text.replace(/\{(?!.*\{)/, () => padding);
    return [heavy, inner, `[${heavy}]`, `[${heavy},${text}]`, `[[${HEAVY_PADDING}],${text}]`];
  };
  /** Whoever knows the address may send: nothing is forged. */
  const keys = Object.keys(CASES).filter((key) => !CASES[key]?.isUnsigned);

  test.each(keys)("%s", async (key) => {
    const request = await genuine(key);
    const [document = null] = Object.values(CASES[key]?.keyDocuments ?? {});
    for (const body of bodies(textOf(request))) {
      for (const material of [materialFor(key), wrongFor(key)]) {
        using parse = spyOn(JSON, "parse");
        using write = spyOn(JSON, "stringify");
        const kind = await outcome(key, withBody(request, body), material, keysOf(document));
        // What no proof covers is read once it holds, which is work of another turn.
        if (kind === "event") continue;
        const parsed = lengthParsed(parse);
        const written = write.mock.results.reduce((sum, { value }) => sum + String(value).length, 0);
        expect([kind, parsed + written < HEAVY_PADDING.length / 10]).toEqual([kind, true]);
      }
      expect(await outcome(key, withBody(request, body), wrongFor(key), keysOf(document))).not.toBe("event");
    }
  });

  test("of a batch of Segment, which is genuine, nothing either", async () => {
    const element = `{"type":"track","padding":${HEAVY_PADDING}}`;
    const signature = { "x-signature": macOf("sha1", "s", "hex", element) };
    using parse = spyOn(JSON, "parse");
    const body = `[${element},{}]`;
    expect(await outcome("segment", jsonRequest(body, signature), materialOf(["s"]))).toBe("event");
    expect(parse.mock.calls.map(([text]) => text.length)).toEqual([body.length]);
    const cut = jsonRequest(`[${element},{"forged"`, signature);
    expect(await outcome("segment", cut, materialOf(["s"]))).toBe("malformed");
  });
});

/** Notes what `count` says before each turn that is given away, and the room that is taken. */
function noting(count: () => number) {
  const turns: { bytes: number | undefined; count: number }[] = [];
  const room: number[] = [];
  const giveWay = (bytes?: number) => {
    turns.push({ bytes, count: count() });
    return Promise.resolve();
  };
  return { turns, room, giveWay, takeRoom: (bytes: number) => void room.push(bytes) };
}

describe("a heavy body is gone through in many turns", () => {
  const STRINGS = 30_000;
  const TEXTS = JSON.stringify(Array.from({ length: STRINGS }, () => "x"));
  /** For what is found in a value, and where that stands. */
  const TIMES_IN_TURN_MAX = 2;
  const swell = (request: InboundRequest) =>
    withBody(
      request,
      textOf(request).includes("{")
        ? textOf(request).replace("{", () => `{"padding":${TEXTS},`)
        : `${textOf(request)}&payload=${encodeURIComponent(TEXTS)}`,
    );

  test.each(PROVIDER_ROWS.flatMap(({ key, proofs }) => (proofs ? [key] : [])))("%s", async (key) => {
    const request = swell(await genuine(key));
    const [document = null] = Object.values(CASES[key]?.keyDocuments ?? {});
    using sought = spyOn(String.prototype, "indexOf");
    const count = () => sought.mock.calls.filter(([text]) => text === '"').length;
    const means = noting(count);
    const provider = findProvider(key);
    const reception = await provider?.receive(request, materialFor(key), NOW_MS, keysOf(document), means);
    expect(reception?.kind).toBe("event");
    const ends = [...means.turns.map((turn) => turn.count), count()];
    const times = ends.map((end, at) => Math.floor((end - (ends[at - 1] ?? 0)) / STRINGS));
    expect(times.filter((each) => each > TIMES_IN_TURN_MAX)).toEqual([]);
  });
});

describe("a compressed body", () => {
  const heavy = JSON.stringify(Array.from({ length: 20_000 }, (_, at) => at * 7919));
  const requestFor = (text: string) =>
    withBody(
      jsonRequest("", { "content-encoding": "gzip", "x-signature": macOf("sha256", "s", "hex", text) }),
      gzipSync(text),
    );
  async function receive(request: InboundRequest, secret = "s") {
    using hashed = spyOn(Bun.CryptoHasher.prototype, "update");
    const means = noting(() => hashed.mock.calls.length);
    const material = materialOf([secret]);
    const reception = await findProvider("stream")?.receive(request, material, NOW_MS, keysOf(null), means);
    const kind: string | undefined = reception?.kind === "refused" ? reception.reason : reception?.kind;
    return { kind, turns: means.turns.map(({ bytes, count }) => [bytes, count > 0]), room: means.room };
  }

  test("that is heavy once unpacked is unpacked in a turn of its own, and takes room where it is genuine", async () => {
    const unpacking = [heavy.length, false];
    expect(await receive(requestFor(heavy))).toEqual({
      kind: "event",
      turns: [unpacking, [heavy.length, true]],
      room: [heavy.length],
    });
    const forged = await receive(requestFor(heavy), "another");
    expect(forged).toEqual({ kind: "bad_signature", turns: [unpacking], room: [] });
  });

  test("that is light takes no turn, and its room", async () => {
    const text = `{"text":"${"x".repeat(20_000)}"}`;
    expect(await receive(requestFor(text))).toEqual({ kind: "event", turns: [], room: [text.length] });
  });

  test("is refused unread where it says that it is no gzip of a body, or unpacks to very much", async () => {
    const malformed = { kind: "malformed", turns: [], room: [] };
    const bomb = requestFor(`"${"x".repeat(limit("lightBodyBytesMax"))}"`);
    expect(await receive(bomb)).toEqual(malformed);
    const large = requestFor(heavy.repeat(12));
    expect([await receive(large), await receive(withBody(large, "short"))]).toEqual([malformed, malformed]);
  });

  test("that holds more than it says is read no further", async () => {
    const lying = requestFor(heavy);
    lying.body.set([1, 0, 0, 0], lying.body.length - 4);
    expect(await receive(lying)).toEqual({ kind: "malformed", turns: [], room: [] });
  });
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
    const means = { giveWay, takeRoom: () => {} };
    await findProvider("service")?.receive(request, materialOf(["the token"]), NOW_MS, keysOf(null), means);
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

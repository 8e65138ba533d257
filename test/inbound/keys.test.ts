import { expect, test } from "bun:test";
import { TurnQueue } from "../../src/core/structures/turn-queue.ts";
import { type Fetched, type FetchDocument, KeyCache } from "../../src/inbound/keys.ts";
import type { KeyAnswer } from "../../src/inbound/provider.ts";
import { turnParts } from "../../src/platform/turns.ts";
import { TurnCounter } from "../kit/turn-counter.ts";

const DOCUMENT = { url: "https://keys.example.com/jwks.json" };
const TURNS = new TurnQueue(turnParts);

async function textOf(answer: Promise<KeyAnswer>): Promise<string | null> {
  const { kind, ...rest } = await answer;
  return "text" in rest ? rest.text : kind === "unavailable" ? null : kind;
}

/** A cache over a fetch that counts, under a clock that the test moves. */
function cacheOver(fetchDocument: FetchDocument) {
  const clock = { nowMs: 1_000_000 };
  const counted = { fetches: 0 };
  const shared = new KeyCache({
    monotonicMs: () => clock.nowMs,
    fetchDocument: (document) => {
      counted.fetches++;
      return fetchDocument(document);
    },
  });
  return { cache: shared.readerFor(1, TURNS), shared, clock, counted };
}

function answering(text: string, maxAgeSeconds: number | null = null): FetchDocument {
  return () => Promise.resolve({ kind: "document", text, maxAgeSeconds });
}

test("a document is fetched once, and again when it has expired", async () => {
  const { cache, clock, counted } = cacheOver(answering("keys", 600));
  expect([await textOf(cache.read(DOCUMENT)), await textOf(cache.read(DOCUMENT))]).toEqual(["keys", "keys"]);
  expect(counted.fetches).toBe(1);
  clock.nowMs += 599_999;
  await cache.read(DOCUMENT);
  expect(counted.fetches).toBe(1);
  clock.nowMs += 1;
  await cache.read(DOCUMENT);
  expect(counted.fetches).toBe(2);
});

test("an age that says nothing is an hour, a silly one is bounded", async () => {
  for (const [maxAge, kept] of [
    [null, 3600],
    [0, 60],
    [10 ** 9, 86_400],
  ] as const) {
    const { cache, clock, counted } = cacheOver(answering("keys", maxAge));
    await cache.read(DOCUMENT);
    clock.nowMs += kept * 1000 - 1;
    await cache.read(DOCUMENT);
    expect(counted.fetches).toBe(1);
    clock.nowMs += 1;
    await cache.read(DOCUMENT);
    expect(counted.fetches).toBe(2);
  }
});

test("requests that come together share one fetch", async () => {
  const { promise, resolve } = Promise.withResolvers<Fetched>();
  const { cache, counted } = cacheOver(() => promise);
  const reads = Array.from({ length: 50 }, () => textOf(cache.read(DOCUMENT)));
  resolve({ kind: "document", text: "keys", maxAgeSeconds: null });
  expect(new Set(await Promise.all(reads))).toEqual(new Set(["keys"]));
  expect(counted.fetches).toBe(1);
});

test("requests that waited for one fetch go on in as many turns as their work takes", async () => {
  const { promise, resolve } = Promise.withResolvers<Fetched>();
  const counter = new TurnCounter(5);
  const reader = cacheOver(() => promise).shared.readerFor(1, counter.turns);
  const reads = Array.from({ length: 50 }, () => reader.read(DOCUMENT).then(() => counter.work()));
  resolve({ kind: "document", text: "keys", maxAgeSeconds: null });
  await Promise.all(reads);
  // What was resumed works some microtasks later, beside the next ones.
  expect([counter.all, counter.most <= 10]).toEqual([50, true]);
});

test("a failure is not remembered", async () => {
  const outcomes: FetchDocument[] = [
    () => Promise.resolve({ kind: "unavailable" }),
    () => Promise.reject(new Error("refused")),
    answering("keys"),
  ];
  const { cache, counted } = cacheOver((document) => (outcomes.shift() ?? answering("keys"))(document));
  const reads = async () => [
    await textOf(cache.read(DOCUMENT)),
    await textOf(cache.read(DOCUMENT)),
    await textOf(cache.read(DOCUMENT)),
  ];
  expect(await reads()).toEqual([null, null, "keys"]);
  expect(counted.fetches).toBe(3);
});

test("an unknown key id renews the document, at most once a minute", async () => {
  const { cache, clock, counted } = cacheOver(answering("keys"));
  await cache.read(DOCUMENT);
  await cache.read(DOCUMENT, true);
  expect(counted.fetches).toBe(1);
  clock.nowMs += 60_000;
  await cache.read(DOCUMENT, true);
  await cache.read(DOCUMENT, true);
  expect(counted.fetches).toBe(2);
});

test("forged key ids cannot drive more than 30 fetches a minute, and use up only those of their own source", async () => {
  const { cache, shared, clock, counted } = cacheOver(answering("{}"));
  for (let index = 0; index < 100; index++) await cache.read({ ...DOCUMENT, post: `key-${index}` });
  expect(counted.fetches).toBe(30);
  expect(await textOf(cache.read({ url: "https://keys.example.com/another" }))).toBeNull();
  expect(await textOf(shared.readerFor(2, TURNS).read({ ...DOCUMENT, post: "key-100" }))).toBe("{}");
  expect(await textOf(cache.read({ ...DOCUMENT, post: "key-0" }))).toBe("{}");
  clock.nowMs += 60_000;
  expect(await textOf(cache.read({ ...DOCUMENT, post: "key-101" }))).toBe("{}");
});

test("a document that the provider does not know is asked for once a minute, by all sources together", async () => {
  const { cache, shared, clock, counted } = cacheOver(() => Promise.resolve({ kind: "unknown" }));
  for (let index = 0; index < 10; index++) expect(await textOf(cache.read(DOCUMENT, true))).toBe("unknown");
  expect(await textOf(shared.readerFor(2, TURNS).read(DOCUMENT))).toBe("unknown");
  expect(counted.fetches).toBe(1);
  clock.nowMs += 60_000;
  expect(await textOf(cache.read(DOCUMENT))).toBe("unknown");
  expect(counted.fetches).toBe(2);
});

test("however many unknown documents are asked for, a known one is kept", async () => {
  const { cache, clock, counted } = cacheOver(({ url }) =>
    Promise.resolve(
      url === DOCUMENT.url ? { kind: "document", text: "keys", maxAgeSeconds: 86_400 } : { kind: "unknown" },
    ),
  );
  await cache.read(DOCUMENT);
  for (let index = 0; index < 1500; index++) {
    clock.nowMs += 2001;
    await cache.read({ url: `https://keys.example.com/${index}` });
  }
  expect(counted.fetches).toBe(1501);
  expect(await textOf(cache.read(DOCUMENT))).toBe("keys");
  expect(counted.fetches).toBe(1501);
});

test("documents that differ in what is posted are different ones", async () => {
  const { cache } = cacheOver(({ post }) =>
    Promise.resolve({ kind: "document", text: post ?? "", maxAgeSeconds: null }),
  );
  expect(await textOf(cache.read({ ...DOCUMENT, post: "a" }))).toBe("a");
  expect(await textOf(cache.read({ ...DOCUMENT, post: "b" }))).toBe("b");
});

test("a document that was had before has a budget of its own, which an outage does not exceed either", async () => {
  let isDown = false;
  const { cache, clock, counted } = cacheOver(({ url }) =>
    Promise.resolve(
      isDown || url !== DOCUMENT.url
        ? { kind: "unavailable" }
        : { kind: "document", text: "keys", maxAgeSeconds: 60 },
    ),
  );
  await cache.read(DOCUMENT);
  clock.nowMs += 60_000;
  for (let number = 0; number < 100; number++) await cache.read({ url: `${DOCUMENT.url}?${number}` });
  expect(counted.fetches).toBe(31);
  expect(await textOf(cache.read(DOCUMENT))).toBe("keys");
  isDown = true;
  clock.nowMs += 60_000;
  for (let number = 0; number < 100; number++) expect(await textOf(cache.read(DOCUMENT))).toBeNull();
  expect(counted.fetches).toBe(62);
});

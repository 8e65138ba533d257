import { expect, test } from "bun:test";
import { createKeyCache, type FetchDocument } from "../../src/inbound/keys.ts";

const DOCUMENT = { url: "https://keys.example.com/jwks.json" };

/** A cache over a fetch that counts, under a clock that the test moves. */
function cacheOver(fetchDocument: FetchDocument) {
  const clock = { nowMs: 1_000_000 };
  const counted = { fetches: 0 };
  const cache = createKeyCache({
    nowMs: () => clock.nowMs,
    fetchDocument: (document) => {
      counted.fetches++;
      return fetchDocument(document);
    },
  });
  return { cache, clock, counted };
}

function answering(text: string, maxAgeSeconds: number | null = null): FetchDocument {
  return () => Promise.resolve({ text, maxAgeSeconds });
}

test("a document is fetched once, and again when it has expired", async () => {
  const { cache, clock, counted } = cacheOver(answering("keys", 600));
  expect([await cache.read(DOCUMENT), await cache.read(DOCUMENT)]).toEqual(["keys", "keys"]);
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
  const { promise, resolve } = Promise.withResolvers<{ text: string; maxAgeSeconds: null }>();
  const { cache, counted } = cacheOver(() => promise);
  const reads = Array.from({ length: 50 }, () => cache.read(DOCUMENT));
  resolve({ text: "keys", maxAgeSeconds: null });
  expect(new Set(await Promise.all(reads))).toEqual(new Set(["keys"]));
  expect(counted.fetches).toBe(1);
});

test("a failure is null and is not remembered", async () => {
  const outcomes: FetchDocument[] = [
    () => Promise.resolve(null),
    () => Promise.reject(new Error("refused")),
    answering("keys"),
  ];
  const { cache, counted } = cacheOver((document) => (outcomes.shift() ?? answering("keys"))(document));
  expect([await cache.read(DOCUMENT), await cache.read(DOCUMENT), await cache.read(DOCUMENT)]).toEqual([
    null,
    null,
    "keys",
  ]);
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

test("forged key ids cannot drive more than 30 fetches a minute from one address", async () => {
  const { cache, clock, counted } = cacheOver(answering("{}"));
  for (let index = 0; index < 100; index++) await cache.read({ ...DOCUMENT, post: `key-${index}` });
  expect(counted.fetches).toBe(30);
  expect(await cache.read({ ...DOCUMENT, post: "key-100" })).toBeNull();
  clock.nowMs += 60_000;
  expect(await cache.read({ ...DOCUMENT, post: "key-101" })).toBe("{}");
});

test("documents that differ in what is posted are different ones", async () => {
  const { cache } = cacheOver(({ post }) => Promise.resolve({ text: post ?? "", maxAgeSeconds: null }));
  expect(await cache.read({ ...DOCUMENT, post: "a" })).toBe("a");
  expect(await cache.read({ ...DOCUMENT, post: "b" })).toBe("b");
});

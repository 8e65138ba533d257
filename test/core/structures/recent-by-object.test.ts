import { expect, test } from "bun:test";
import { RecentByObject } from "../../../src/core/structures/recent-by-object.ts";

const newCache = () => new RecentByObject<{ text: string }, { weight: number }>(100, ({ weight }) => weight);

test("keeps what was used last, as much as its bound allows", () => {
  const cache = newCache();
  const keys = Array.from({ length: 12 }, (_, n) => ({ text: String(n) }));
  for (const key of keys) {
    cache.getOrMake(key, () => ({ weight: 10 }));
    expect(cache.getOrMake(keys[0] ?? key, () => ({ weight: 11 }))).toEqual({ weight: 10 });
  }
  expect([cache.weight, cache.size]).toEqual([100, 10]);
  expect(keys.map((key) => cache.has(key))).toEqual(keys.map((_, n) => n === 0 || n > 2));
  expect(cache.get({ text: "0" })).toBeUndefined();
});

test("a copy of a key is another key", () => {
  const cache = newCache();
  const key = { text: "a" };
  cache.set(key, { weight: 1 });
  expect(cache.get({ ...key })).toBeUndefined();
});

test("keys go when nothing else holds them, and what they have is kept within the bound", async () => {
  const cache = newCache();
  const keys: WeakRef<object>[] = [];
  for (let n = 0; n < 50; n++) {
    const key = { text: "x".repeat(100_000) + n };
    cache.set(key, { weight: 1 });
    keys.push(new WeakRef(key));
  }
  await Bun.sleep(0);
  Bun.gc(true);
  // The stack may still show a few.
  expect(keys.filter((key) => key.deref() !== undefined).length).toBeLessThan(10);
  expect(cache.size).toBe(50);
});

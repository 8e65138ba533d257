import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  firstKeyAt,
  ID_KINDS,
  IdCodec,
  KeySequence,
  keyTime,
  speckDecrypt,
  speckEncrypt,
  speckKeys,
} from "../../src/core/ids.ts";

const secret = Uint8Array.from({ length: 16 }, (_, at) => at * 7);
const codec = new IdCodec("7K", secret);
const someKey = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

describe("the permutation", () => {
  test("holds the published vector of Speck64/128", () => {
    const key = new Uint8Array(new Uint32Array([0x03020100, 0x0b0a0908, 0x13121110, 0x1b1a1918]).buffer);
    const words: [number, number] = [0x3b726574, 0x7475432d];
    speckEncrypt(speckKeys(key), words);
    expect(words.map((word) => word >>> 0)).toEqual([0x8c6fa548, 0x454e028b]);
    speckDecrypt(speckKeys(key), words);
    expect(words.map((word) => word >>> 0)).toEqual([0x3b726574, 0x7475432d]);
  });
});

describe("an id of a cell that began with a copy of others", () => {
  const past = [
    { cell: "1A", lastKey: 1_000_000 },
    { cell: "2B", lastKey: 2_000_000 },
  ];
  const third = new IdCodec("3C", secret, past);

  test("has the characters of the cell that gave out its key, and no others", () => {
    const cells = [1, 1_000_000, 1_000_001, 2_000_000, 2_000_001, 1].map((key) => third.encode("evt", key));
    expect(cells.map((id) => id.slice(14, 16))).toEqual(["1A", "1A", "2B", "2B", "3C", "1A"]);
    for (const [at, key] of [1, 1_000_000, 1_000_001, 2_000_000, 2_000_001].entries())
      expect(third.decode("evt", cells[at] ?? "")).toBe(key);
    expect(["1A", "2B", "3C"].map((cell) => third.hasBeen(cell))).toEqual([true, true, false]);
    const first = new IdCodec("1A", secret);
    expect(first.encode("evt", 1)).toBe(cells[0] ?? "");
    // What the first cell gave out since, nobody took along.
    expect(third.decode("evt", first.encode("evt", 1_000_001))).toBeNull();
  });
});

describe("an id", () => {
  test("leads back to its key, for every kind", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...ID_KINDS),
        someKey,
        (kind, key) => codec.decode(kind, codec.encode(kind, key)) === key,
      ),
    );
  });

  test("has the prefix, ten characters of time, the cell, and fourteen more in Crockford base32", () => {
    const key = firstKeyAt(Date.UTC(2026, 10, 21, 9)) + 5;
    const id = codec.encode("evt", key);
    expect(id).toMatch(/^evt_[0-9A-HJKMNP-TV-Z]{26}$/);
    const time = [...id.slice(4, 14)].reduce(
      (sum, char) => sum * 32 + "0123456789ABCDEFGHJKMNPQRSTVWXYZ".indexOf(char),
      0,
    );
    expect(new Date(time).toISOString()).toBe("2026-11-21T09:00:00.000Z");
    expect(id.slice(14, 16)).toBe("7K");
  });

  test("is read in either case", () => {
    const id = codec.encode("msg", 123_456_789);
    expect(codec.decode("msg", `msg_${id.slice(4).toLowerCase()}`)).toBe(123_456_789);
  });

  test("has one spelling, and a text that is no id keeps its own", () => {
    const id = codec.encode("ep", 123_456_789);
    const lower = id.toLowerCase();
    expect([id, lower].map((text) => codec.spelled(text))).toEqual([id, id]);
    for (const name of ["invoice.paid", "ep_", "ep_a.b", `msg_${lower.slice(3)}`, `${lower}0`, ""])
      expect(codec.spelled(name)).toBe(name);
  });

  test("with a letter beyond ASCII is none, whatever that is in upper case", () => {
    const key = Array.from({ length: 100 }, (_, at) => at).find((at) =>
      codec.encode("msg", at).includes("S"),
    );
    const id = codec.encode("msg", key ?? 0);
    expect(id).toContain("S");
    expect(codec.decode("msg", id)).toBe(key ?? null);
    expect(codec.decode("msg", id.replace("S", "ſ"))).toBeNull();
  });

  test("of one kind is none of another", () => {
    const body = codec.encode("evt", 99).slice(4);
    for (const kind of ID_KINDS)
      expect(codec.decode(kind, `${kind}_${body}`)).toBe(kind === "evt" ? 99 : null);
  });

  test("of another cell or another database is unknown", () => {
    const id = codec.encode("ep", 424_242);
    expect(new IdCodec("00", secret).decode("ep", id)).toBeNull();
    expect(new IdCodec("7K", new Uint8Array(16)).decode("ep", id)).toBeNull();
  });

  test("with any one character changed is unknown", () => {
    const id = codec.encode("evt", firstKeyAt(Date.UTC(2026, 5, 1)));
    for (let at = 4; at < id.length; at++) {
      for (const char of "0123456789ABCDEFGHJKMNPQRSTVWXYZ") {
        const changed = id.slice(0, at) + char + id.slice(at + 1);
        if (changed !== id) expect(codec.decode("evt", changed)).toBeNull();
      }
    }
  });

  test("of a neighbouring key shares nothing behind the time and the cell", () => {
    const key = firstKeyAt(Date.UTC(2026, 5, 1));
    const [a, b] = [codec.encode("evt", key), codec.encode("evt", key + 1)];
    expect(a.slice(0, 16)).toBe(b.slice(0, 16));
    const same = [...a.slice(16)].filter((char, at) => char === b[16 + at]);
    expect(same.length).toBeLessThan(5);
  });

  test("is null for what has no form of an id", () => {
    for (const text of [
      "",
      "evt_",
      "evt",
      "evt_0",
      `evt_${"I".repeat(26)}`,
      `evt_${"0".repeat(27)}`,
      `evt-${"0".repeat(26)}`,
    ]) {
      expect(codec.decode("evt", text)).toBeNull();
    }
  });
});

describe("the sequence of keys", () => {
  test("only grows, also when the clock steps back", () => {
    const keys = new KeySequence(0);
    const first = keys.take(Date.UTC(2026, 0, 2), 3);
    const second = keys.take(Date.UTC(2026, 0, 1));
    expect(second).toBe(first + 3);
    expect(keys.last).toBe(second);
  });

  test("goes on above the largest key in use", () => {
    const last = firstKeyAt(Date.UTC(2030, 0, 1));
    expect(new KeySequence(last).take(Date.UTC(2026, 0, 1))).toBe(last + 1);
  });

  test("carries the instant", () => {
    const at = Date.UTC(2026, 3, 5, 6, 7, 8, 9);
    expect(keyTime(new KeySequence(0).take(at))).toBe(at);
  });
});

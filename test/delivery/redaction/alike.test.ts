/** Of needles that begin alike the longest that stands at a place is found, and those that begin it. */
import { expect, test } from "bun:test";
import { Alike } from "../../../src/delivery/redaction/alike.ts";
import { Hashes } from "../../../src/delivery/redaction/hashes.ts";

function found(texts: readonly string[], text: string, at: number): string[] {
  const alike = new Alike([...texts.keys()], (needle) => texts[needle] as string);
  const needles: string[] = [];
  let needle = alike.longestAt(new Hashes(text), at);
  for (; needle >= 0; needle = alike.shorter(needle)) needles.push(texts[needle] as string);
  return needles;
}

/** All words of two letters up to a length, so that very many begin each other. */
const words = (length: number): string[] =>
  length === 0 ? [""] : words(length - 1).flatMap((word) => [`${word}a`, `${word}b`]);
const ALL = [1, 2, 3, 4, 5].flatMap((length) => words(length));

test("any needles, in any text, at any place", () => {
  let state = 9;
  const chance = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  for (let round = 0; round < 2000; round++) {
    const texts = ALL.filter(() => chance(8) === 0).sort(() => chance(3) - 1);
    const text = Array.from({ length: 12 }, () => "ab"[chance(2)]).join("");
    for (let at = 0; at < text.length; at++) {
      const standing = texts.filter((one) => text.startsWith(one, at)).sort((a, b) => b.length - a.length);
      expect([texts, text, at, found(texts, text, at)]).toEqual([texts, text, at, standing]);
    }
  }
});

test("the same text twice is found twice", () => {
  expect(found(["abc", "abc", "ab"], "abcd", 0)).toEqual(["abc", "abc", "ab"]);
});

import { describe, expect, test } from "bun:test";
import { hashToken, isWellFormedToken, makeToken, shownPrefix } from "../../src/core/tokens.ts";

describe("a token", () => {
  for (const prefix of ["sp_live_", "sp_test_", "spl_"] as const) {
    test(`${prefix} carries the cell, 43 random characters and 6 of check`, () => {
      const token = makeToken(prefix, "7K");
      expect(token).toMatch(new RegExp(`^${prefix}7K[0-9A-Za-z]{49}$`));
      expect(isWellFormedToken(token)).toBe(true);
    });
  }

  test("is another one each time", () => {
    const tokens = Array.from({ length: 1000 }, () => makeToken("sp_live_", "00"));
    expect(new Set(tokens).size).toBe(1000);
  });

  test("with one character changed is refused without a look-up", () => {
    const token = makeToken("sp_test_", "00");
    for (let at = 0; at < token.length; at++) {
      const other = token[at] === "a" ? "b" : "a";
      expect(isWellFormedToken(token.slice(0, at) + other + token.slice(at + 1))).toBe(false);
    }
  });

  test("is stored as a hash of 32 bytes and shown by a prefix that is no secret", () => {
    const token = makeToken("sp_live_", "00");
    expect(hashToken(token).length).toBe(32);
    expect(shownPrefix(token).length).toBe(14);
  });
});

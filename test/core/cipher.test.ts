import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { Cipher, keyIdOf } from "../../src/core/cipher.ts";

const key = new Uint8Array(randomBytes(32));
const other = new Uint8Array(randomBytes(32));

describe("a sealed value", () => {
  test("opens at its own place", () => {
    const cipher = new Cipher([key]);
    expect(cipher.open(cipher.seal("whsec_ä", "endpoint|1|sealed"), "endpoint|1|sealed")).toBe("whsec_ä");
  });

  test("does not open at another place, nor after any change", () => {
    const cipher = new Cipher([key]);
    const sealed = cipher.seal("secret", "endpoint|1|sealed");
    expect(() => cipher.open(sealed, "endpoint|2|sealed")).toThrow();
    for (let at = 4; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => cipher.open(changed, "endpoint|1|sealed")).toThrow();
    }
  });

  test("differs each time and holds nothing of its text", () => {
    const cipher = new Cipher([key]);
    const [a, b] = [cipher.seal("secret", "x"), cipher.seal("secret", "x")];
    expect(Buffer.from(a).equals(Buffer.from(b))).toBe(false);
    expect(Buffer.from(a).includes("secret")).toBe(false);
  });

  test("of an older key opens while that key is still given, and names it when it is not", () => {
    const sealed = new Cipher([key]).seal("secret", "x");
    expect(new Cipher([other, key]).open(sealed, "x")).toBe("secret");
    expect(() => new Cipher([other]).open(sealed, "x")).toThrow(keyIdOf(key));
  });
});

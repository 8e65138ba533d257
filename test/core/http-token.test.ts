import { expect, test } from "bun:test";
import { HTTP_TOKEN } from "../../src/core/http-token.ts";

/** RFC 9110, section 5.6.2: `tchar`. */
const OTHERS = "!#$%&'*+-.^_`|~";

test("a token has digits, letters and the fifteen others of the RFC, and at least one of them", () => {
  const taken = Array.from({ length: 0x180 }, (_, code) => String.fromCharCode(code)).filter((character) =>
    HTTP_TOKEN.test(`x${character}y`),
  );
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  expect(taken.sort()).toEqual([...`0123456789${letters}${letters.toLowerCase()}${OTHERS}`].sort());
  expect(HTTP_TOKEN.test("")).toBe(false);
  expect(HTTP_TOKEN.test("x-name\n")).toBe(false);
});

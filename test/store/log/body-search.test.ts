import { expect, test } from "bun:test";
import { holdsText } from "../../../src/store/log/body-search.ts";

test.each([
  ['{"t":"Grüße"}', "grüße", true],
  ['{"t":"Gr\\u00fc\\u00dfe"}', "Grüße", true],
  ['{"t":"a\\/b"}', "a/b", true],
  ['{"t":"say \\"hi\\""}', 'say "hi"', true],
  ['{"n":12345678901234567890}', "345678", true],
  ['{"t":"plain"}', "other", false],
  ['{"t":"back\\\\slash"}', "nothing", false],
])("%p is searched for %p as a reader would: %p", (json, text, expected) => {
  expect(holdsText(json, text)).toBe(expected);
});

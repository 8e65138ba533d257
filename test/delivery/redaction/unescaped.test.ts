/** One form for all spellings of a text, and where each of its characters was written. */
import { expect, test } from "bun:test";
import {
  ESCAPE_BEGUN_MAX,
  hasEscapes,
  placeOf,
  unescaped,
} from "../../../src/delivery/redaction/unescaped.ts";

const KEY = "a/b+c&d";

test.each([
  ["as it is", "a/b+c&d"],
  ["JSON of PHP", "a\\/b+c&d"],
  ["JSON of .NET", "a/b\\u002Bc\\u0026d"],
  ["JSON in JSON", "a\\\\/b\\\\u002bc&d"],
  ["HTML", "a&#x2F;b&#43;c&amp;d"],
  ["HTML in HTML", "a/b&amp;#43;c&amp;amp;d"],
  ["a URL", "a%2fb%2Bc%26d"],
  ["a URL in a URL", "a%252Fb%252bc%2526d"],
])("%s has the form of the text itself", (_name, written) => {
  expect(unescaped(written).text).toBe(unescaped(KEY).text);
});

test("a place is that of the escape's first character", () => {
  const written = 'say "x%2Fy&amp;z" twice';
  const view = unescaped(written);
  expect(view.text).toBe('say "x/y&z" twice');
  const places = ["x", "/", "y", "&", "z"].map((one) => placeOf(view, view.text.indexOf(one)));
  expect(places).toEqual(["x", "%2F", "y", "&amp;", "z"].map((one) => written.indexOf(one)));
  expect(placeOf(view, view.text.length)).toBe(written.length);
});

test("of an escape that is cut off few characters are left", () => {
  for (const begun of ["%2", "\\u00", "\\\\\\u002", "&#x002", "&amp;amp;am", "%25252", "&#0000037"])
    expect(unescaped(`abc${begun}`).text.length).toBeLessThan(3 + ESCAPE_BEGUN_MAX);
});

test("a text without one has no other spelling", () => {
  expect(["plain", "a-b_c.d~e"].map(hasEscapes)).toEqual([false, false]);
  expect(["a%b", "a\\b", "a&b", "a+b"].map(hasEscapes)).toEqual([true, true, true, true]);
});

/** Each language has the same texts, with the same places in them. */
import { describe, expect, test } from "bun:test";
import { Glob } from "bun";
import { join } from "node:path";
import { fill, language as spoken, preferredLanguage, speak, type Text } from "../../src/portal/i18n.ts";
import { de } from "../../src/portal/locales/de.ts";
import { en } from "../../src/portal/locales/en.ts";
import { INHERITED } from "../kit/respelled.ts";

const portal = join(import.meta.dir, "../../src/portal");
const LANGUAGES: Record<string, Record<string, Text>> = { en, de };
const forms = (text: Text) => (typeof text === "string" ? [text] : Object.values(text));
const places = (text: Text) =>
  [...new Set(forms(text).flatMap((form) => form.match(/\{\w+\}/g) ?? []))].sort();

test("every file of a language is compared here", () => {
  const files = [...new Glob("*.ts").scanSync(join(portal, "locales"))]
    .filter((name) => !name.includes(".fields."))
    .map((name) => name.replace(".ts", ""));
  expect(files.sort()).toEqual(Object.keys(LANGUAGES).sort());
});

describe.each(Object.keys(LANGUAGES))("%s", (language) => {
  const texts = LANGUAGES[language] ?? {};

  test("has the keys of English, in its order", () => {
    expect(Object.keys(texts)).toEqual(Object.keys(en));
  });

  test("has the same places in each text, and none is empty", () => {
    for (const [key, text] of Object.entries(texts)) {
      expect([key, places(text)]).toEqual([key, places(en[key as keyof typeof en])]);
      for (const form of forms(text)) expect([key, form.trim().length > 0]).toEqual([key, true]);
    }
  });

  test("does not shout", () => {
    for (const text of Object.values(texts)) for (const form of forms(text)) expect(form).not.toContain("!");
  });
});

test("a name that every object has is no language", async () => {
  expect(preferredLanguage([...INHERITED, "de"])).toBe("de");
  for (const name of INHERITED) await speak(name);
  expect(spoken.value).toBe("en");
});

test("every text is used somewhere", async () => {
  const sources = await Promise.all(
    [...new Glob("**/*.{ts,tsx}").scanSync(portal)]
      .filter((path) => !path.startsWith("locales/"))
      .map((path) => Bun.file(join(portal, path)).text()),
  );
  const all = sources.join("\n");
  // Keys that are put together at run time: `theme.${one}`.
  const patterns = [...all.matchAll(/`((?:\w+\.)+\$\{[^`]*)`/g)].map(
    ([, text = ""]) =>
      new RegExp(
        `^${text
          .split(/\$\{[^}]*\}/)
          .map((part) => RegExp.escape(part))
          .join(".+")}$`,
      ),
  );
  const unused = Object.keys(en).filter(
    (key) => !all.includes(`"${key}"`) && !patterns.some((pattern) => pattern.test(key)),
  );
  expect(unused).toEqual([]);
});

test("a text is filled, its numbers written as the language has it, its plural chosen", () => {
  const text = { one: "{count} event", other: "{count} events of {name}" };
  expect(fill(text, { count: 1, name: "x" }, "en")).toBe("1 event");
  expect(fill(text, { count: 1284, name: "x" }, "en")).toBe("1,284 events of x");
  expect(fill(text, { count: 1284, name: "x" }, "de")).toBe("1.284 events of x");
  expect(fill("{a} {b}", { a: "{b}" }, "en")).toBe("{b} {b}");
});

test("the first language of the reader that there is, is spoken; else English", () => {
  expect(preferredLanguage(["fr-FR", "de-AT", "en"])).toBe("de");
  expect(preferredLanguage(["fr"])).toBe("en");
});

/**
 * The fields of destinations and providers are shown in the reader's language too: what the API answers in
 * English has its words there.
 */
import { describe, expect, test } from "bun:test";
import { listProviders } from "../../src/inbound/providers.ts";
import { listKinds } from "../../src/destinations/destinations.ts";
import { LANGUAGES, translated } from "../../src/portal/i18n.ts";

const fields = [
  ...listKinds().flatMap((kind) => kind.fields),
  ...listProviders().flatMap((provider) => [...provider.fields, ...provider.configFields]),
];
/** Labels and helps of GET /v1/destination-kinds and GET /v1/providers. */
const texts = [...new Set(fields.flatMap(({ label, help }) => [label, help]))].filter((text) => text !== "");
/** Names of kinds are shown too; those that are a product's own are the same in every language. */
const names = listKinds().map(({ name }) => name);
const languages = Object.keys(LANGUAGES).filter((language) => language !== "en");

describe.each(languages)("%s", (language) => {
  const load = async (): Promise<Readonly<Record<string, string>>> =>
    (await LANGUAGES[language]?.loadFields()) ?? {};

  test("has every label and help; what is missing goes beside its row, as `german`", async () => {
    const known = await load();
    expect(texts.filter((text) => translated(text, known) === null)).toEqual([]);
  });

  test("has nothing else: what a row no longer says goes from beside its row too", async () => {
    const known = await load();
    const isUsed = (key: string) => {
      const { [key]: _, ...others } = known;
      const holding = [...texts, ...names].filter((text) => text.includes(key));
      return holding.some((text) => translated(text, others) !== translated(text, known));
    };
    expect(Object.keys(known).filter((key) => !isUsed(key))).toEqual([]);
  });

  test("says something of each", async () => {
    for (const [text, said] of Object.entries(await load()))
      expect([text, /^\S.*\S$/.test(said)]).toEqual([text, true]);
  });
});

test("a text is found as a whole, or sentence by sentence, and never in part", () => {
  const known = { "One. Two.": "Eins zwei.", "One.": "Eins.", "Three.": "Drei." };
  expect(translated("One. Two.", known)).toBe("Eins zwei.");
  expect(translated("One. Three.", known)).toBe("Eins. Drei.");
  expect(translated("One. Three. One. Two.", known)).toBe("Eins. Drei. Eins zwei.");
  expect([translated("Three. Two.", known), translated("constructor", known)]).toEqual([null, null]);
});

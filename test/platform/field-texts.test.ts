/**
 * The fields of destinations and providers are shown in the reader's language too: what the API answers in
 * English has its words there.
 */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { listProviders } from "../../src/inbound/providers.ts";
import { listKinds } from "../../src/destinations/destinations.ts";
import { LANGUAGES, translated } from "../../src/portal/i18n.ts";

const root = join(import.meta.dir, "../..");
const fields = [
  ...listKinds().flatMap((kind) => kind.fields),
  ...listProviders().flatMap((provider) => [...provider.fields, ...provider.configFields]),
];
/** Labels and helps of GET /v1/destination-kinds and GET /v1/providers. */
const texts = [...new Set(fields.flatMap(({ label, help }) => [label, help]))].filter((text) => text !== "");
/** Names of kinds are shown too; one that is a product's own is its own German. */
const names = listKinds().map(({ name }) => name);
const sources = await Promise.all(
  [...new Bun.Glob("src/{inbound,destinations}/**/*.ts").scanSync(root)]
    .toSorted()
    .map(async (path) => ({ path, source: await Bun.file(join(root, path)).text() })),
);
const germans = await Promise.all(
  sources.map(async ({ path }) => {
    const { german = {} } = (await import(join(root, path))) as { german?: Readonly<Record<string, string>> };
    return { path, german };
  }),
);
const languages = [...LANGUAGES.keys()].filter((language) => language !== "en");

describe.each(languages)("%s", (language) => {
  const load = async (): Promise<Readonly<Record<string, string>>> =>
    (await LANGUAGES.get(language)?.loadFields()) ?? {};

  test("has every label, help and name of a kind; what is missing goes into `german` of its file", async () => {
    const known = await load();
    expect([...texts, ...names].flatMap((text) => missingOf(text, known)).map(placed)).toEqual([]);
  });

  test("has nothing else: what no row says goes from `german` of its file, or its row is in no table yet", async () => {
    const known = await load();
    const isUsed = (key: string) => {
      const { [key]: _, ...others } = known;
      const holding = [...texts, ...names].filter((text) => text.includes(key));
      return holding.some((text) => translated(text, others) !== translated(text, known));
    };
    const unused = Object.keys(known).filter((key) => !isUsed(key));
    expect(unused.map((key) => `${filesOf(key).join(", ")}: ${key}`)).toEqual([]);
  });

  test("says something of each", async () => {
    for (const [text, said] of Object.entries(await load()))
      expect([text, /^\S.*\S$/.test(said)]).toEqual([text, true]);
  });
});

/** The sentences of a text that have no translation; the whole where they have one, but do not join. */
function missingOf(text: string, known: Readonly<Record<string, string>>): string[] {
  if (translated(text, known) !== null) return [];
  const missing = text.split(/(?<=\.) /).filter((sentence) => translated(sentence, known) === null);
  return missing.length > 0 ? missing : [text];
}

/** A sentence with the file that has it in English: as a text of its own, else within one. */
function placed(sentence: string): string {
  const written = sentence.replaceAll('"', '\\"');
  const holding = (text: string) => sources.find(({ source }) => source.includes(text));
  const found = holding(`"${written}"`) ?? holding(written);
  return `${found?.path ?? "beside its row"}: ${sentence}`;
}

/** The files whose `german` has a text. */
function filesOf(key: string): string[] {
  return germans.flatMap(({ path, german }) => (Object.hasOwn(german, key) ? [path] : []));
}

test("a text that nothing says is told with its file", () => {
  expect(filesOf("32 hexadecimal digits: not the queue's name.")).toEqual([
    "src/destinations/kinds/cloudflare-queues.ts",
  ]);
});

test("what is missing is told by sentence, with its file", () => {
  const known = { "One.": "Eins." };
  expect([missingOf("One. Two.", known), missingOf("One.", known)]).toEqual([["Two."], []]);
  expect(placed("User name")).toBe("src/destinations/basic-auth.ts: User name");
  expect(placed("URL")).toBe("src/destinations/kinds/http.ts: URL");
});

test("a text is found as a whole, or sentence by sentence, and never in part", () => {
  const known = { "One. Two.": "Eins zwei.", "One.": "Eins.", "Three.": "Drei." };
  expect(translated("One. Two.", known)).toBe("Eins zwei.");
  expect(translated("One. Three.", known)).toBe("Eins. Drei.");
  expect(translated("One. Three. One. Two.", known)).toBe("Eins. Drei. Eins zwei.");
  expect([translated("Three. Two.", known), translated("constructor", known)]).toEqual([null, null]);
});

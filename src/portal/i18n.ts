import { signal } from "@preact/signals";
import { en, type Key, type Messages, type Text } from "./locales/en.ts";

/**
 * Words. English is in the first load, as what another language lacks would be read from it; the others
 * come when they are chosen. A text may hold `{name}`, and one that counts has a form for each plural of
 * its language.
 */
export type { Key, Text };
export type Values = Readonly<Record<string, string | number>>;

/** The words of the service's own fields, by their English; what is not there stays English. */
type FieldTexts = Readonly<Record<string, string>>;

interface Language {
  name: string;
  load: () => Promise<Messages>;
  loadFields: () => Promise<FieldTexts>;
}

export const LANGUAGES: ReadonlyMap<string, Language> = new Map([
  ["en", { name: "English", load: async () => en, loadFields: async () => ({}) }],
  [
    "de",
    {
      name: "Deutsch",
      load: async () => (await import("./locales/de.ts")).de,
      loadFields: async () => (await import("./locales/de.fields.ts")).fields,
    },
  ],
]);

export const language = signal("en");
/** How numbers and times are written: as where the reader is, in the language that is spoken (`en-GB`). */
export const locale = signal("en");
const messages = signal<Messages>(en);
const fieldTexts = signal<FieldTexts>({});
/** Whose they are, or are about to be: they are asked for with the first field that is shown. */
let fieldLanguage = "en";

export async function speak(wanted: string, readers: readonly string[] = []): Promise<void> {
  const known = LANGUAGES.has(wanted) ? wanted : "en";
  messages.value = (await LANGUAGES.get(known)?.load()) ?? en;
  language.value = known;
  locale.value = readers.find((tag) => tag.split("-")[0] === known) ?? known;
}

/** The first of the reader's languages that there is. */
export function preferredLanguage(wanted: readonly string[]): string {
  const short = wanted.map((tag) => tag.split("-")[0] ?? "");
  return short.find((tag) => LANGUAGES.has(tag)) ?? "en";
}

/** The text in the reader's language; `count` chooses the plural. */
export function t(key: Key, values: Values = {}): string {
  return fill(messages.value[key], values, locale.value);
}

/**
 * The text that stands under a name made at run time, such as `error.tls_expired`; null where there is none.
 */
export function maybe(key: string, values: Values = {}): string | null {
  return Object.hasOwn(en, key) ? t(key as Key, values) : null;
}

/** A label or help that the service answers in English, in the reader's language where it is known there. */
export function fieldText(text: string): string {
  if (fieldLanguage !== language.value) void loadFields(language.value);
  return translated(text, fieldTexts.value) ?? text;
}

async function loadFields(wanted: string): Promise<void> {
  fieldLanguage = wanted;
  const loaded =
    (await LANGUAGES.get(wanted)
      ?.loadFields()
      .catch(() => ({}))) ?? {};
  if (fieldLanguage === wanted) fieldTexts.value = loaded;
}

/** As a whole, or sentence by sentence; null where a part of it is missing. */
export function translated(text: string, texts: FieldTexts): string | null {
  const whole = Object.hasOwn(texts, text) ? texts[text] : undefined;
  if (whole !== undefined) return whole;
  for (const { index } of text.matchAll(/\. /g)) {
    const first = text.slice(0, index + 1);
    const known = Object.hasOwn(texts, first) ? texts[first] : undefined;
    const rest = known === undefined ? null : translated(text.slice(index + 2), texts);
    if (rest !== null) return `${known} ${rest}`;
  }
  return null;
}

export function fill(text: Text, values: Values, lang: string): string {
  const count = values["count"];
  const form =
    typeof text === "string" ? text : (text[new Intl.PluralRules(lang).select(Number(count))] ?? text.other);
  return form.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    if (value === undefined) return whole;
    return typeof value === "number" ? new Intl.NumberFormat(lang).format(value) : value;
  });
}

import type { IdentityOrigin } from "../core/delivery-identity.ts";
import { spansAt } from "../core/json/spans.ts";
import { limit } from "../core/limits.ts";
import type { Body } from "./body.ts";
import { hash } from "./digest.ts";
import type { Arrival, SignedHeaders } from "./schemes/scheme.ts";
import type { Reading } from "./template.ts";

/** What is known of a verified request. `claims`: those of its signed token, where it has one. */
export interface Facts {
  /** Headers that the proof covers. */
  readonly signedHeaders: SignedHeaders;
  readonly arrival: Arrival;
  readonly body: Body;
  readonly claims: Readonly<Record<string, unknown>>;
  /** See `Verdict`. */
  readonly proven?: string | undefined;
  /** See `Verdict`. */
  readonly reading?: Reading | undefined;
}

/** What was read. */
export interface Found {
  readonly value: string;
  /** Where it is no signed id, what it is as an identity. That of a body holds for a short time only. */
  readonly origin?: Extract<IdentityOrigin, "body" | "header">;
}

/** Reads one fact; `text` says in words what it reads, for the docs page and the API. */
export interface Extractor {
  readonly text: string;
  /** Headers that it reads and that no proof covers. */
  readonly unsigned?: readonly string[];
  /** It reads several values as one text. */
  readonly isList?: boolean;
  read(facts: Facts): Found | null;
}

/**
 * Reads what proved the request, of the verdict alone: looked up again in the request, it could be found in
 * another place than where it was verified.
 */
export interface ProvenReader {
  readonly text: string;
  readonly read: (facts: Pick<Facts, "proven">) => Found | null;
}

/** Own members only, so that `__proto__` and `constructor` are plain names; of an array its elements. */
function member(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return Array.isArray(value) && !/^\d+$/.test(name) ? undefined : Reflect.get(value, name);
}

/** Values at a path; `*` stands for every element of an array. null where one is missing, or are too many. */
function valuesAt(value: unknown, path: readonly string[]): unknown[] | null {
  const values: unknown[] = [];
  return collect(value, path, 0, values) ? values : null;
}

/** Into one list: what a body names may be half a million values, each behind many levels. */
function collect(value: unknown, path: readonly string[], at: number, values: unknown[]): boolean {
  const name = path[at];
  if (value === undefined) return false;
  if (name === undefined) return values.push(value) <= limit("pathValuesMax");
  if (name !== "*") return collect(member(value, name), path, at + 1, values);
  if (!Array.isArray(value) || value.length === 0) return false;
  return value.every((element) => collect(element, path, at + 1, values));
}

function scalarText(value: unknown): string | null {
  if (typeof value === "string") return value === "" ? null : value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : null;
}

function isInexact(value: unknown): boolean {
  return typeof value === "number" && !Number.isSafeInteger(value);
}

/**
 * A number beyond 2^53 loses digits in JSON.parse, and two ids would become one: its spelling is taken from
 * the text. The text is not parsed again, which takes long where it has very many values.
 */
function spelledAt(text: string, path: readonly string[]): (string | null)[] {
  return spansAt(text, path).map(({ start, end }) => {
    const spelled = text.slice(start, end);
    const value: unknown = JSON.parse(spelled);
    return isInexact(value) ? spelled : scalarText(value);
  });
}

/** The scalar at a path of what was read before the proof; none where it is a number that lost digits. */
export function readValue(value: unknown, dotted: string): string | null {
  const [only, ...others] = valuesAt(value, parsePath(dotted)) ?? [];
  return others.length > 0 || isInexact(only) ? null : scalarText(only);
}

/** The names of a dotted path; `\.` is a literal dot. */
export function parsePath(dotted: string): string[] {
  return dotted.split(/(?<!\\)\./).map((name) => name.replaceAll("\\.", "."));
}

/**
 * Texts as one, of which no others make the same: joined by a sign; as JSON where one of them holds that, or
 * the first begins as such JSON does.
 */
function joinedBy(sign: string, texts: readonly string[]): string {
  const isPlain = !texts[0]?.startsWith("[") && !texts.some((text) => text.includes(sign));
  return isPlain ? texts.join(sign) : JSON.stringify(texts);
}

/** The scalar at a path, or all of them joined by commas where the path holds `*`. */
function readNames(body: Body, path: readonly string[]): string | null {
  const values = valuesAt(body.value, path);
  const texts = values?.some(isInexact) ? spelledAt(body.text, path) : values?.map(scalarText);
  if (!texts?.every((text) => text !== null)) return null;
  return path.includes("*") ? joinedBy(",", texts) : texts.join("");
}

/** As `field` reads it, for code of a single provider. */
export function readPath(body: Body, dotted: string): string | null {
  return readNames(body, parsePath(dotted));
}

/** A field of the body: `data.id`, `0.event` (first element), `*.id` (every element). */
export function field(path: string): Extractor {
  const names = parsePath(path);
  const one = derived(`body ${path}`, (facts) => readNames(facts.body, names));
  return { ...one, isList: names.includes("*") };
}

/** A header that the provider does not sign. */
export function header(name: string): Extractor {
  const key = name.toLowerCase();
  const read = ({ arrival }: Facts) => arrival.request.headers.get(key) || null;
  return { ...derived(`header ${name}`, read), unsigned: [name] };
}

/** A header where the proof of this request covers it; else it is as if it were not there. */
export function signedHeader(name: string): Extractor {
  const key = name.toLowerCase();
  return derived(`header ${name}`, ({ signedHeaders }) => signedHeaders.get(key) || null);
}

function unsignedOf(extractors: readonly Extractor[]): readonly string[] {
  return extractors.flatMap(({ unsigned = [] }) => unsigned);
}

/** A claim of the signed token. */
export function claim(name: string): Extractor {
  return derived(`claim ${name}`, (facts) => scalarText(member(facts.claims, name)));
}

/** For what no other extractor says. */
export function derived(text: string, read: (facts: Facts) => string | null): Extractor {
  return {
    text,
    read(facts) {
      const value = read(facts);
      return value === null ? null : { value };
    },
  };
}

/**
 * The first that is there. Where one of them is signed, what another one reads of an unsigned header is
 * another identity than the same text would be that was signed: who writes that header could take the place
 * of an event that is still to come. Where one of them reads a list, any other is a list of one: a single id
 * may be spelled as several are.
 */
export function firstOf(...extractors: readonly Extractor[]): Extractor {
  const isMixed = extractors.some((one) => !isUnsigned(one) && one !== bodyHash);
  const isList = hasList(extractors);
  return {
    text: [...new Set(extractors.map((extractor) => extractor.text))].join(", else "),
    unsigned: unsignedOf(extractors),
    isList,
    read(facts) {
      for (const extractor of extractors) {
        const found = extractor.read(facts);
        if (found === null) continue;
        const value = isList && !extractor.isList ? joinedBy(",", [found.value]) : found.value;
        return { ...found, value, ...(isMixed && isUnsigned(extractor) && { origin: "header" }) };
      }
      return null;
    },
  };
}

function hasList(extractors: readonly Extractor[]): boolean {
  return extractors.some(({ isList }) => isList);
}

function isUnsigned({ unsigned = [] }: Extractor): boolean {
  return unsigned.length > 0;
}

/** What they say, in brackets where only a part of it would be understood as joined. */
function joinedText(extractors: readonly Extractor[]): string {
  return extractors.map(({ text }) => (text.includes(", else ") ? `(${text})` : text)).join(" + ");
}

function valuesOf(extractors: readonly Extractor[], facts: Facts): string[] {
  return extractors.flatMap((extractor) => extractor.read(facts)?.value ?? []);
}

/** All of them joined; null unless every one is there. For identities. */
export function all(...extractors: readonly Extractor[]): Extractor {
  const read = (facts: Facts) => {
    const parts = valuesOf(extractors, facts);
    return parts.length === extractors.length ? joinedBy("|", parts) : null;
  };
  const joinedParts = derived(joinedText(extractors), read);
  return { ...joinedParts, unsigned: unsignedOf(extractors), isList: hasList(extractors) };
}

/** The values that are there, joined by a dot. For types. */
export function joined(...extractors: readonly Extractor[]): Extractor {
  const read = (facts: Facts) => valuesOf(extractors, facts).join(".") || null;
  return { ...derived(joinedText(extractors), read), unsigned: unsignedOf(extractors) };
}

/**
 * `extractor`, but for what `is` is true of: nothing tells two of those apart, so each is an event of its
 * own.
 */
export function except(text: string, is: (facts: Facts) => boolean, extractor: Extractor): Extractor {
  return {
    ...extractor,
    text: `${extractor.text}; none for ${text}`,
    read: (facts) => (is(facts) ? null : extractor.read(facts)),
  };
}

/** The hash of a body's bytes; of a form in parts without what parts them, which is another at each try. */
export function hashOf({ arrival, body }: Facts): string {
  const hashed = body.parts?.flatMap(({ bytes }) => [`${bytes.length}\n`, bytes]) ?? [arrival.request.body];
  return hash("sha256", hashed, "hex");
}

/** Identity where the provider gives none: equal bytes within ten minutes are one delivery. */
export const bodyHash: Extractor = {
  text: "hash of the body, for 10 minutes",
  read: (facts) => ({ value: hashOf(facts), origin: "body" }),
};

/** The body's hash as one part of an identity, beside parts that tell equal bodies apart. */
export const bodyDigest = derived("hash of the body", hashOf);

/**
 * The hash of what is signed, for forms whose names and values are signed as one text: wherever that is cut,
 * it is one event.
 */
export function signedText(textOf: (facts: Facts) => string | null): Extractor {
  return derived("hash of the signed text", (facts) => {
    const text = textOf(facts);
    return text === null ? null : hash("sha256", [text], "hex");
  });
}

/** What proved the request, as it is; `text` names it. */
export function proven(text: string): ProvenReader {
  return { text, read: (facts) => (facts.proven ? { value: facts.proven } : null) };
}

/** Its hash, where it may be long. */
export const provenHash: ProvenReader = {
  text: "hash of the signed text",
  read: (facts) => (facts.proven ? { value: hash("sha256", [facts.proven], "hex") } : null),
};

export const nothing = derived("none", () => null);

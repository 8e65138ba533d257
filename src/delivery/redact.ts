import type { AttemptError } from "../core/attempt-error.ts";
import { isUtf8 } from "node:buffer";
import { limit } from "../core/limits.ts";
import type { AttemptFacts } from "../core/model.ts";
import { once } from "../core/structures/once.ts";
import { isCredentialHeader, MASK } from "../destinations/credential-headers.ts";
import { hasEscapes, placeOf, unescaped, type View } from "./unescaped.ts";

/**
 * Hides credentials in what a server said. Some repeat what they were sent: S3 answers a wrong signature with
 * the whole canonical request, session token included, once as text and once as bytes in hexadecimal.
 */

/** Shorter ones are words, which a server says for reasons of its own. */
const LENGTH_MIN = 4;
/** A header may be called like a credential and hold none, such as `x-key-format: json`. */
const HEADER_LENGTH_MIN = 8;

type Headers = readonly (readonly [string, string])[];

/**
 * What the headers of an endpoint carry that nobody may read: their values, without the word for the scheme;
 * of several parts (parameters, cookies, a list, a user with a password) each that is long enough; of a user
 * and a password in base64, as in `Basic` (RFC 7617), both as they are read.
 */
export function headerSecrets(headers: Headers): string[] {
  return headers.filter(([name]) => isCredentialHeader(name)).flatMap(([, value]) => secretsIn(value));
}

function secretsIn(value: string): string[] {
  // White space around a value is no part of it (RFC 9110, 5.5).
  const whole = value.trim();
  const [scheme = "", rest = whole] = SCHEME.exec(whole)?.slice(1) ?? [];
  const credential = /\s/.test(rest) ? whole : rest;
  const max = limit("headerPartsMax");
  const parameters = [...whole.matchAll(PARAMETER).take(max)].map(
    ([, quoted, plain]) => quoted ?? plain ?? "",
  );
  const pieces = whole.slice(scheme.length).split(SEPARATORS).filter(isLong).slice(0, max);
  const parts = pieces.map((part) => part.replace(NAME_BEFORE, ""));
  const decoded = [credential, ...parts].flatMap((part) => decodedOf(part, scheme));
  const passwords = decoded.map((text) => text.slice(text.indexOf(":") + 1));
  const written = [credential, ...parameters, ...parts, ...parts.flatMap(besideColons)].filter(isLong);
  // A key may stand in place of the user.
  return [
    ...new Set([...written, ...decoded, ...passwords, ...decoded.flatMap(besideColons).filter(isLong)]),
  ];
}

function isLong({ length }: string): boolean {
  return length >= HEADER_LENGTH_MIN;
}

/**
 * A word for the scheme and what follows: a token of RFC 9110 that is words with a number at most, such as
 * `AWS4-HMAC-SHA256`. What looks otherwise may be a credential itself.
 */
const SCHEME = /^([A-Za-z]+\d{0,3}(?:[-._][A-Za-z]+\d{0,3})*) +(.+)$/;
/** Between the parts of a value. */
const SEPARATORS = /[\s,;&|"'<>()[\]{}]+/;
/** The name of a parameter; what ends with `=` is base64. */
const NAME_BEFORE = /^[\w!#$%'*+.^`|~-]+=(?=[^=])/;

/** A user and a password in base64, as text; under another scheme than `Basic` it may be anything else. */
function decodedOf(credential: string, scheme: string): string[] {
  const bytes = Buffer.from(credential, "base64");
  const text = bytes.toString(isUtf8(bytes) ? "utf8" : "latin1");
  const isRead = scheme.toLowerCase() === "basic" || PRINTABLE.test(text);
  return isRead && text.includes(":") ? [text] : [];
}

const PRINTABLE = /^[\x20-\x7e]*$/;

/** A user, a signature, a nonce and a time are four. */
const COLON_PIECES_MAX = 8;

/** What stands between the colons, and all that follows the first, which may be a password with some. */
function besideColons(text: string): string[] {
  const pieces = text.split(":");
  return pieces.length === 1 ? [] : [text.slice(text.indexOf(":") + 1), ...pieces.slice(0, COLON_PIECES_MAX)];
}

/** What an attempt's row shows of the server's words, without these secrets. */
export function hideInFacts<
  Facts extends Pick<AttemptFacts, "error" | "responseHeaders" | "responseBody" | "truncated">,
>(facts: Facts, secrets: readonly string[]): Facts {
  if (secrets.length === 0) return facts;
  return {
    ...facts,
    error: facts.error && hideInError(facts.error, secrets),
    responseHeaders: hideSecretHeaders(facts.responseHeaders, secrets),
    responseBody: facts.responseBody && hideSecretBytes(facts.responseBody, secrets, facts.truncated),
  };
}

function hideInError({ code, detail }: AttemptError, secrets: readonly string[]): AttemptError {
  const isCut = detail !== null && detail.length >= limit("errorDetailLengthMax");
  return { code, detail: detail && hideSecrets(detail, secrets, isCut) };
}

/** A name and its value, in quotes or plain. It begins with the name, so that a long text is read once. */
const PARAMETER = /(?<![\w!#$%'*+.^`|~-])[\w!#$%'*+.^`|~-]+ ?= ?(?:"([^"]*)"|([^\s;,&"]+))/g;

/**
 * In whatever spelling, and in base64 or hexadecimal digits, alone or within more; what overlaps is hidden as
 * one. `isCut`: more was said, so the end may be the beginning of a secret.
 */
export function hideSecrets(text: string, secrets: readonly string[], isCut = false): string {
  const { written, meant } = needlesOf(secrets);
  // Cut off in the midst of an escape, it ends with the letters of that, or without them.
  const views = hasEscapes(text) ? [unescaped(text), ...(isCut ? [unescaped(text, true)] : [])] : [];
  const places = [
    ...placesIn({ text, origin: null }, written, isCut),
    ...views.flatMap((view) => placesIn(view, meant, isCut)),
  ];
  return places.length === 0 ? text : masked(text, places);
}

/** The same list where nothing had to be hidden. */
export function hideSecretHeaders(headers: Headers, secrets: readonly string[]): Headers {
  const text = headers.map(([, value]) => value).join("\n");
  if (hideSecrets(text, secrets) === text) return headers;
  return headers.map(([name, value]) => [name, hideSecrets(value, secrets)]);
}

/** The same bytes where nothing had to be hidden; `isCut` as for `hideSecrets`. */
export function hideSecretBytes(body: Uint8Array, secrets: readonly string[], isCut = false): Uint8Array {
  if (body.length === 0 || secrets.length === 0) return body;
  // Latin-1 keeps every byte, whatever the body is.
  const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString("latin1");
  const shown = hideSecrets(text, secrets, isCut);
  return shown === text ? body : Buffer.from(shown, "latin1");
}

/** What is searched for. `before` and `after` are characters beside it that have some of its bits. */
interface Needle {
  text: string;
  before: 0 | 1;
  after: 0 | 1;
}

/** From here, up to there. */
type Place = readonly [from: number, to: number];

/** Kept with the list: as they are looked for in a text as it is written, and as it is meant. */
const needlesOf = once((secrets: readonly string[]) => {
  const written = distinct(secrets.flatMap(asLatin1).flatMap(needlesOfOne));
  const meant = written.map((needle) => ({ ...needle, text: unescaped(needle.text).text }));
  return { written, meant: distinct(meant) };
});

function distinct(needles: readonly Needle[]): Needle[] {
  const known = new Map(needles.map((needle) => [needle.text, needle]));
  return [...known.values()].filter(({ text }) => text.length >= LENGTH_MIN);
}

/**
 * Its bytes in UTF-8 as Latin-1 shows them and, as headers are sent in Latin-1, itself; also without white
 * space around it, as who repeats a value may leave that out.
 */
function asLatin1(secret: string): string[] {
  const texts = [secret, secret.trim()];
  return [...new Set([...texts.map((text) => Buffer.from(text).toString("latin1")), ...texts])];
}

/** As text, in base64, and in hexadecimal digits, with spaces or without. */
function needlesOfOne(secret: string): Needle[] {
  if (secret.length < LENGTH_MIN) return [];
  const encoded = Buffer.from(secret, "latin1");
  const hex = encoded.toString("hex");
  const bytes = hex.match(/../g)?.join(" ") ?? hex;
  const whole = [secret, encoded.toString("base64"), hex, hex.toUpperCase(), bytes, bytes.toUpperCase()];
  return [...whole.map((text): Needle => ({ text, before: 0, after: 0 })), ...[0, 1, 2].flatMap(within)];

  /** In base64 of a longer text, where so many bytes of a group of three stand before it. */
  function within(count: number): Needle[] {
    const bits = (count + encoded.length) * 8;
    const base64 = Buffer.concat([Buffer.alloc(count), encoded]).toString("base64");
    const text = base64.slice(Math.ceil((count * 8) / 6), Math.floor(bits / 6));
    const edges = { before: count === 0 ? 0 : 1, after: bits % 6 === 0 ? 0 : 1 } as const;
    const ofAddresses = text.replaceAll("+", "-").replaceAll("/", "_");
    return [text, ofAddresses].map((spelled) => ({ text: spelled, ...edges }));
  }
}

/** Where the needles stand in what was written. */
function placesIn(view: View, needles: readonly Needle[], isCut: boolean): Place[] {
  const places: Place[] = [];
  for (const { text, before, after } of needles) {
    let index = view.text.indexOf(text);
    for (; index >= 0; index = view.text.indexOf(text, index + text.length))
      places.push([placeOf(view, index - before), placeOf(view, index + text.length + after)]);
    const begun = isCut ? begunAt(view.text, text) : -1;
    if (begun >= 0) places.push([placeOf(view, begun - before), Infinity]);
  }
  return places;
}

/** Where the text ends with the beginning of a needle; -1 where it does not. */
function begunAt(text: string, needle: string): number {
  const start = needle.slice(0, LENGTH_MIN);
  let index = text.indexOf(start, Math.max(0, text.length - needle.length + 1));
  while (index >= 0 && !needle.startsWith(text.slice(index))) index = text.indexOf(start, index + 1);
  return index;
}

function masked(text: string, places: Place[]): string {
  let shown = "";
  let end = 0;
  for (const [from, to] of places.sort(([one], [other]) => one - other)) {
    if (from > end || shown === "") shown += text.slice(end, from) + MASK;
    end = Math.max(end, to);
  }
  return shown + text.slice(end);
}

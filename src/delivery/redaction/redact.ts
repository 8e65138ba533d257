import type { AttemptError } from "../../core/attempt-error.ts";
import { isUtf8 } from "node:buffer";
import { limit } from "../../core/limits.ts";
import type { AttemptFacts } from "../../core/model.ts";
import { once } from "../../core/structures/once.ts";
import { isCredentialHeader, MASK } from "../../destinations/credential-headers.ts";
import { LENGTH_MIN, Needles, type Place } from "./needles.ts";
import { ESCAPE_BEGUN_MAX, hasEscapes, placeOf, unescaped, type View } from "./unescaped.ts";

/**
 * Hides credentials in what a server said. Some repeat what they were sent: S3 answers a wrong signature with
 * the whole canonical request, session token included, once as text and once as bytes in hexadecimal.
 */

/** A header may be called like a credential and hold none, such as `x-key-format: json`. */
const HEADER_LENGTH_MIN = 8;

type Headers = readonly (readonly [string, string])[];

/** Needles are kept with the list, so that of `kept` they are made once; `made` is of one attempt. */
export type Secrets = readonly string[] | { kept: readonly string[]; made: readonly string[] };

/**
 * What the headers of an endpoint carry that nobody may read: their values, without the word for the scheme;
 * of several parts (parameters, cookies, a list, a user with a password) each that is long enough; of a user
 * and a password in base64, as in `Basic` (RFC 7617), both as they are read. All whole values, and of their
 * parts as many as a limit says, from each header in turn.
 */
export function headerSecrets(headers: Headers): string[] {
  const values = headers.filter(([name]) => isCredentialHeader(name)).map(([, value]) => readValue(value));
  const wholes = new Set(values.map(({ whole }) => whole).filter(isLong));
  const parts = new Set<string>();
  let readers = values.map(({ parts: some }) => some);
  while (readers.length > 0) {
    readers = readers.filter((reader) => {
      const { value: part, done = false } = reader.next();
      if (part && !wholes.has(part) && parts.size < limit("headerPartsMax")) parts.add(part);
      return !done && parts.size < limit("headerPartsMax");
    });
  }
  return [...wholes, ...parts];
}

function readValue(value: string): { whole: string; parts: Iterator<string, undefined> } {
  // White space around a value is no part of it (RFC 9110, 5.5).
  const trimmed = value.trim();
  const [scheme = "", rest = trimmed] = SCHEME.exec(trimmed)?.slice(1) ?? [];
  const whole = /\s/.test(rest) ? trimmed : rest;
  return { whole, parts: partsOf(trimmed, scheme, whole) };
}

/** Read as far as they are asked for. */
function* partsOf(value: string, scheme: string, whole: string): Generator<string, undefined> {
  yield* decodedParts(whole, scheme);
  for (const [, quoted, plain] of value.matchAll(PARAMETER).take(limit("headerPartsMax")))
    yield* [quoted ?? plain ?? ""].filter(isLong);
  const pieces = value.slice(scheme.length).split(SEPARATORS).filter(isLong);
  for (const piece of pieces.slice(0, limit("headerPartsMax"))) {
    const part = piece.replace(NAME_BEFORE, "");
    yield* [part, ...besideColons(part)].filter(isLong);
    if (part !== whole) yield* decodedParts(part, scheme);
  }
}

/** A user and a password, each alone too: a key may stand in place of the user. */
function decodedParts(text: string, scheme: string): string[] {
  const decoded = decodedOf(text, scheme);
  const passwords = decoded.map((read) => read.slice(read.indexOf(":") + 1));
  return [...decoded, ...passwords, ...decoded.flatMap(besideColons).filter(isLong)];
}

function isLong({ length }: string): boolean {
  return length >= HEADER_LENGTH_MIN;
}

/**
 * A word for the scheme and what follows: a token of RFC 9110 that is words with a number at most, such as
 * `AWS4-HMAC-SHA256`. What looks otherwise may be a credential itself.
 */
const SCHEME = /^([A-Za-z]+\d{0,3}(?:[-._][A-Za-z]+\d{0,3})*) +([^ \n].*)$/;
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

/** What an attempt's row shows of the server's words: without secrets, which are asked for if it said any. */
export function hideInFacts<
  Facts extends Pick<AttemptFacts, "error" | "responseHeaders" | "responseBody" | "truncated">,
>(facts: Facts, secretsOf: () => Secrets): Facts {
  const { error, responseHeaders, responseBody } = facts;
  const isLongEnough = (said: { length: number } | null | undefined) => (said?.length ?? 0) >= LENGTH_MIN;
  const hasSaid = facts.truncated || isLongEnough(responseBody) || isLongEnough(error?.detail);
  if (!hasSaid && !responseHeaders.some(([, value]) => isLongEnough(value))) return facts;
  const secrets = secretsOf();
  if (listsOf(secrets).length === 0) return facts;
  return {
    ...facts,
    error: error && hideInError(error, secrets),
    responseHeaders: hideSecretHeaders(responseHeaders, secrets),
    responseBody: responseBody && hideSecretBytes(responseBody, secrets, facts.truncated),
  };
}

function hideInError({ code, detail }: AttemptError, secrets: Secrets): AttemptError {
  const isCut = detail !== null && detail.length >= limit("errorDetailLengthMax");
  return { code, detail: detail && hideSecrets(detail, secrets, isCut) };
}

/** A name and its value, in quotes or plain. It begins with the name, so that a long text is read once. */
const PARAMETER = /(?<![\w!#$%'*+.^`|~-])[\w!#$%'*+.^`|~-]+ ?= ?(?:"([^"]*)"|([^\s;,&"]+))/g;

/**
 * In whatever spelling, and in base64 or hexadecimal digits, alone or within more; what overlaps is hidden as
 * one. `isCut`: more was said, so the end may be the beginning of a secret, and is hidden whatever it is.
 */
export function hideSecrets(text: string, secrets: Secrets, isCut = false): string {
  return masked(text, placesOf(text, secrets, isCut));
}

function placesOf(text: string, secrets: Secrets, isCut = false): Place[] {
  const needles = listsOf(secrets).map(needlesOf);
  if (needles.every(({ count }) => count === 0)) return [];
  const written: View = { text, origin: null };
  const meant = hasEscapes(text) ? unescaped(text) : null;
  const repeats = { left: limit("secretRepeatsMax") };
  return [
    ...(isCut ? [tailOf([written, ...(meant ? [meant] : [])], needles)] : []),
    ...needles.flatMap((some) => [
      ...some.placesIn(written, repeats),
      ...(meant ? some.resolved.placesIn(meant, repeats) : []),
    ]),
  ];
}

/** Lengths of tails are multiples of it, so that they do not tell the length of a secret. */
const TAIL_STEP = 256;

/**
 * The end of a text that is cut off: all in which the beginning of a form can stand, in any spelling. It
 * depends on no letter of a secret: a mask that hides what looks like one answers whoever chose the text.
 */
function tailOf(views: readonly View[], needles: readonly Needles[]): Place {
  const longest = Math.max(...needles.map((some) => some.longest)) + ESCAPE_BEGUN_MAX;
  const length = Math.ceil(longest / TAIL_STEP) * TAIL_STEP;
  return [Math.min(...views.map((view) => placeOf(view, view.text.length - length))), Infinity];
}

/** Without those that are empty: of most endpoints none is left. */
function listsOf(secrets: Secrets): (readonly string[])[] {
  const lists = "kept" in secrets ? [secrets.kept, secrets.made] : [secrets];
  return lists.filter(({ length }) => length > 0);
}

/** The same list where nothing had to be hidden. */
export function hideSecretHeaders(headers: Headers, secrets: Secrets): Headers {
  // A line for each value, which has no line feed itself: they are searched as one text.
  const text = headers.map(([, value]) => value).join("\n");
  const places = placesOf(text, secrets);
  if (places.length === 0) return headers;
  const hideLines = (hidden: string) => hidden.replace(/[^\n]+/g, MASK);
  const lines = masked(text, places, hideLines).split("\n");
  return headers.map(([name], at) => [name, lines[at] ?? MASK]);
}

/** The same bytes where nothing had to be hidden; `isCut` as for `hideSecrets`. */
export function hideSecretBytes(body: Uint8Array, secrets: Secrets, isCut = false): Uint8Array {
  if (body.length === 0) return body;
  // Latin-1 keeps every byte, whatever the body is.
  const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString("latin1");
  const shown = hideSecrets(text, secrets, isCut);
  return shown === text ? body : Buffer.from(shown, "latin1");
}

/** Made once for each list. */
const needlesOf = once((secrets: readonly string[]) => {
  const distinct = new Set(secrets.flatMap(asLatin1).filter(({ length }) => length >= LENGTH_MIN));
  return new Needles([...distinct]);
});

/**
 * Its bytes in UTF-8 as Latin-1 shows them and, as headers are sent in Latin-1, itself; also without white
 * space around it, as who repeats a value may leave that out.
 */
function asLatin1(secret: string): string[] {
  const texts = [secret, secret.trim()];
  return [...texts, ...texts.map((text) => Buffer.from(text).toString("latin1"))];
}

function masked(text: string, places: Place[], hide = (_hidden: string) => MASK): string {
  let shown = "";
  let from = 0;
  let to = 0;
  for (const place of [...places.sort(([one], [other]) => one - other), END]) {
    if (place[0] > to) {
      shown += (from < to ? hide(text.slice(from, to)) : "") + text.slice(to, place[0]);
      from = place[0];
    }
    to = Math.max(to, Math.min(place[1], text.length));
  }
  return shown;
}

/** Behind every text. */
const END: Place = [Infinity, Infinity];

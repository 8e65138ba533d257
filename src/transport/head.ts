/** The head of an HTTP/1.1 answer: where it ends, what it says, and how long its body is (RFC 9112). Pure. */

import { once } from "../core/structures/once.ts";

export type Headers = ReadonlyArray<readonly [name: string, value: string]>;

export interface Head {
  readonly status: number;
  /** The whole of it, from which `headersOf` reads. */
  readonly text: string;
  /** Whether it lets the connection live on: HTTP/1.1 without `connection: close`. */
  readonly isPersistent: boolean;
  /** How a body behind it ends; null where a `content-length` is invalid or two differ. */
  readonly framing: Framing | null;
}

/** What is wrong with a head. */
export type HeadFailure = "invalid_response" | "head_too_large";

/** How the body is delimited (RFC 9112 section 6.3), and whether the connection can outlive it. */
export type Framing = { isReusable: boolean } & (
  | { kind: "length"; bytes: number }
  | { kind: "chunked" }
  | { kind: "until_close" }
);

/** A head above this is `head_too_large`. */
export const HEAD_MAX_BYTES = 16_384;
/** And so is one of more lines: 128 headers, the status, the end. Of two bytes each it might have 5,000. */
const LINES_MAX = 128 + 3;
/** How many informational heads may stand before it; one more makes it `head_too_large`. */
export const INFORMATIONAL_HEADS_MAX = 8;
/** The beginning of one that is skipped: of status 1xx, but for a switch of protocols. */
const INFORMATIONAL = /^HTTP\/1\.\d 1(?!01)\d\d(?: |\r?\n)/;
const INFORMATIONAL_CHARS = "HTTP/1.1 100\r\n".length;
/** So long are those together that say how the body ends: each of their commas makes a member. */
const FRAMING_CHARS_MAX = 1024;
const FRAMING = /^(?:connection|content-length|transfer-encoding):/i;
const FRAMING_NAME_CHARS = "transfer-encoding:".length;

const PREFIX = "HTTP/1.";
/** How much of a head has to be there before its beginning needs no look any more. */
export const PREFIX_CHARS = PREFIX.length;
/** The empty line; a lone LF ends a line too, as RFC 9112 section 2.2 allows. */
const EMPTY_LINE = /\n\r?\n/;
/** So much of the empty line may have come before its last byte. */
export const EMPTY_LINE_CHARS = 2;
/** A whole head. Linear: no character can belong to two of its parts. */
const HEAD =
  /^HTTP\/1\.\d \d{3}(?: [\t\x20-\x7e\x80-\xff]*)?\r?\n(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*\r?\n)*\r?\n$/;
const DIGITS = /^\d+$/;

/**
 * Looks for the end of a head in the first `maxBytes` of what has come, as Latin-1: its length, the empty
 * line included; `more` while it may still come; or what is wrong with it. What does not begin like HTTP/1 is
 * wrong at its first differing byte.
 */
export function findHeadEnd(text: string, maxBytes: number): number | "more" | HeadFailure {
  const isHttp = text.startsWith(PREFIX) || PREFIX.startsWith(text);
  if (!isHttp) return "invalid_response";
  return findEmptyLine(text) ?? (text.length < maxBytes ? "more" : "head_too_large");
}

/** Where the first empty line ends; null where there is none. */
export function findEmptyLine(text: string): number | null {
  const empty = EMPTY_LINE.exec(text);
  return empty && empty.index + empty[0].length;
}

/** Whether it is a head before the final one. Nothing else of it is read: it says nothing that is used. */
export function isInformational(text: string): boolean {
  return INFORMATIONAL.test(text.slice(0, INFORMATIONAL_CHARS));
}

/**
 * Heads as they were read: a receiver answers alike, the date apart, so that most heads of a busy second
 * are known.
 */
const known = new Map<string, Head | HeadFailure>();
const KNOWN_MAX = 1000;
const KNOWN_CHARS_MAX = 1024;

/** Reads a head, its empty line included; `invalid_response` where a line is not what RFC 9112 allows. */
export function readHead(text: string): Head | HeadFailure {
  const before = known.get(text);
  if (before !== undefined) return before;
  if (text.length > KNOWN_CHARS_MAX) return parseHead(text);
  // A copy: a slice keeps the body alive that it was cut from.
  const own = Buffer.from(text, "latin1").toString("latin1");
  const head = parseHead(own);
  if (known.size >= KNOWN_MAX) known.clear();
  known.set(own, head);
  return head;
}

function parseHead(text: string): Head | HeadFailure {
  const lines = text.split("\n", LINES_MAX + 1);
  if (lines.length > LINES_MAX) return "head_too_large";
  const status = Number(text.slice(9, 12));
  if (!HEAD.test(text) || status < 100) return "invalid_response";
  const lists = lines.filter((line) => FRAMING.test(line.slice(0, FRAMING_NAME_CHARS))).map(readHeader);
  if (lists.reduce((sum, [, { length }]) => sum + length, 0) > FRAMING_CHARS_MAX) return "invalid_response";
  const isOld = text[7] === "0";
  const isPersistent = !isOld && !findValues(lists, "connection").includes("close");
  return { status, text, isPersistent, framing: frame(status, lists, isPersistent) };
}

/**
 * In the order received; names in lower case. Read once they are asked for: they take many times the bytes of
 * the head, which may wait long for its body.
 */
export const headersOf = once(({ text }: Head): Headers => text.split("\n").slice(1, -2).map(readHeader));

function readHeader(line: string): Headers[number] {
  const colon = line.indexOf(":");
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}

/**
 * `transfer-encoding` overrides `content-length`, and an answer with both ends its connection, as the pair
 * may be an attempt at response splitting (RFC 9112 section 6.3, rule 3). HTTP/1.0 connections are
 * not reused.
 */
function frame(status: number, headers: Headers, isPersistent: boolean): Framing | null {
  const lengths = findValues(headers, "content-length");
  const [length] = lengths;
  if (lengths.some((value) => !DIGITS.test(value) || Number(value) !== Number(length))) return null;
  if (status === 204 || status === 304) return { kind: "length", bytes: 0, isReusable: isPersistent };
  const codings = findValues(headers, "transfer-encoding");
  if (codings.at(-1) === "chunked") {
    return { kind: "chunked", isReusable: isPersistent && codings.length === 1 && length === undefined };
  }
  if (codings.length > 0 || length === undefined) return { kind: "until_close", isReusable: false };
  return { kind: "length", bytes: Number(length), isReusable: isPersistent };
}

/** How the body of an answer to `method` is delimited; null where its length is invalid. */
export function framingFor(method: string, { framing, isPersistent }: Head): Framing | null {
  if (method !== "HEAD" || framing === null) return framing;
  return { kind: "length", bytes: 0, isReusable: isPersistent };
}

/** The members of a list header, over all its lines, in lower case. */
function findValues(headers: Headers, name: string): string[] {
  const values: string[] = [];
  for (const [key, value] of headers) {
    if (key === name)
      values.push(
        ...value
          .toLowerCase()
          .split(",")
          .map((member) => member.trim()),
      );
  }
  return values;
}

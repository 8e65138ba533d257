import { limit } from "../core/limits.ts";
import { decodeUtf8 } from "./utf8.ts";

/**
 * Forms in parts (multipart/form-data, RFC 7578), of which nothing may be lost, and which one odd part does
 * not spoil: a proof may stand in another.
 */

export interface FormPart {
  /** Empty of a part that no name can be read of, which is content as a whole. */
  readonly name: string;
  /** null of what is no file. */
  readonly filename: string | null;
  /** As the part says it; empty where it says none. */
  readonly contentType: string;
  /** Where it says more than that. */
  readonly head: string | null;
  readonly content: Uint8Array;
  /** Its head and its content: where all of them are equal, so are two forms, whatever parts them. */
  readonly bytes: Uint8Array;
}

/** The first line says what parts them (RFC 2046 5.1.1). */
const FIRST_LINE = /^--([0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-])\r\n/;
const FIRST_LINE_LENGTH_MAX = 74;
const LINE_END = "\r\n";
const HEAD_END = "\r\n\r\n";
/** A name, a filename and a type. */
const HEAD_LENGTH_MAX = 4096;

const HEAD_LINE = /^([^\s:]+):(.*)$/;
/** A long line goes on in the next. */
const FOLD = /\r\n[ \t]+/g;
const KEY = "[a-z][a-z0-9*-]*";
const BARE = '[^\\s";,\\\\]+';
/** In quotes a backslash escapes (RFC 2045), or is a character as any other, as browsers have it. */
const DISPOSITIONS = ['(?:[^"\\\\]|\\\\.)*', '[^"]*'].map((quoted) => ({
  whole: new RegExp(`^form-data(?:; *${KEY}=(?:"${quoted}"|${BARE}))+$`, "i"),
  parameter: new RegExp(`; *(${KEY})=(?:"(${quoted})"|(${BARE}))`, "gi"),
}));
/** The content is the bytes themselves. */
const AS_IT_IS = /^(?:7bit|8bit|binary)$/i;

/** The parts in order, none of which is parsed; null where none of them is a field, or they are too many. */
export function readParts(body: Uint8Array): readonly FormPart[] | null {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  const [, boundary] = FIRST_LINE.exec(bytes.toString("latin1", 0, FIRST_LINE_LENGTH_MAX)) ?? [];
  if (boundary === undefined) return null;
  const delimiter = `${LINE_END}--${boundary}`;
  const parts: FormPart[] = [];
  let hasField = false;
  let at = delimiter.length - LINE_END.length;
  while (startsAt(bytes, LINE_END, at)) {
    const start = at + LINE_END.length;
    const end = bytes.indexOf(delimiter, start);
    if (end < 0) return null;
    const part = bytes.subarray(start, end);
    const field = readPart(part);
    hasField ||= field !== null;
    if (parts.push(field ?? wholePart(part)) > limit("formFieldsMax")) return null;
    at = end + delimiter.length;
  }
  const rest = bytes.toString("latin1", at, at + 5);
  return hasField && (rest === "--" || rest === `--${LINE_END}`) ? parts : null;
}

function startsAt(bytes: Buffer, text: string, at: number): boolean {
  return bytes.toString("latin1", at, at + text.length) === text;
}

function wholePart(bytes: Buffer): FormPart {
  return { name: "", filename: null, contentType: "", head: null, content: bytes, bytes };
}

/** null where no name can be read. */
function readPart(bytes: Buffer): FormPart | null {
  const headEnd = bytes.subarray(0, HEAD_LENGTH_MAX).indexOf(HEAD_END);
  if (headEnd < 0) return null;
  const content = bytes.subarray(headEnd + HEAD_END.length);
  const utf8 = decodeUtf8(bytes.subarray(0, headEnd));
  const head = utf8 ?? bytes.toString("latin1", 0, headEnd);
  const lines = linesOf(head);
  const field = fieldIn(lines?.get("content-disposition") ?? "");
  if (!lines || field === null) return null;
  const { name, filename, saysMore } = field;
  const isKeptOf = ([line, value]: [string, string]) => isKept(line, value, filename, content);
  const isAll = utf8 !== null && !saysMore && [...lines].every(isKeptOf);
  const contentType = lines.get("content-type") ?? "";
  return { name, filename, contentType, head: isAll ? null : head, content, bytes };
}

/** By name; null where one of them is none, or comes again. */
function linesOf(head: string): Map<string, string> | null {
  const lines = new Map<string, string>();
  for (const line of head.replace(FOLD, " ").split(LINE_END)) {
    const [, name = "", value = ""] = HEAD_LINE.exec(line) ?? [];
    if (name === "" || lines.has(name.toLowerCase())) return null;
    lines.set(name.toLowerCase(), value.trim());
  }
  return lines;
}

/** True where a line of the head says no more than is kept of the part without it. */
function isKept(line: string, value: string, filename: string | null, content: Uint8Array): boolean {
  if (line === "content-length") return value === String(content.length);
  if (line === "content-transfer-encoding") return AS_IT_IS.test(value);
  // Others are ignored (RFC 7578 4.8); beside a file there is room for them.
  return filename === null || line === "content-disposition" || line === "content-type";
}

interface Disposition {
  readonly name: string;
  readonly filename: string | null;
  readonly saysMore: boolean;
}

/** As they are written, escapes too; null where there is no name, or one of them twice. */
function fieldIn(disposition: string): Disposition | null {
  const read = DISPOSITIONS.find(({ whole }) => whole.test(disposition));
  if (!read) return null;
  const said = new Map<string, string>();
  for (const [, key = "", quoted, bare] of disposition.matchAll(read.parameter)) {
    if (said.has(key.toLowerCase())) return null;
    said.set(key.toLowerCase(), quoted ?? bare ?? "");
  }
  const name = said.get("name");
  const filename = said.get("filename") ?? null;
  return name === undefined ? null : { name, filename, saysMore: said.size > (filename === null ? 1 : 2) };
}

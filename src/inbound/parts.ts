import { limit } from "../core/limits.ts";
import { decodeUtf8 } from "./utf8.ts";

/**
 * Forms in parts (multipart/form-data, RFC 7578), of which nothing may be lost: what holds more than fields
 * of a form is none.
 */

export interface FormPart {
  readonly name: string;
  /** null of what is no file. */
  readonly filename: string | null;
  /** As the part says it; empty where it says none. */
  readonly contentType: string;
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

/** All that is read of a head: what else stood there would be lost. */
const HEAD_LINE = /^(content-[a-z-]+):(.*)$/i;
const DISPOSITION = /^form-data(?:; *[a-z]+=(?:"(?:[^"\\]|\\.)*"|[^\s";,\\]+))+$/i;
const PARAMETER = /; *([a-z]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s";,\\]+))/gi;
/** The content is the bytes themselves. */
const AS_IT_IS = /^(?:7bit|8bit|binary)$/i;

/** The parts in order, none of which is parsed; null where it is no such form, or has too many. */
export function readParts(body: Uint8Array): readonly FormPart[] | null {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  const [, boundary] = FIRST_LINE.exec(bytes.toString("latin1", 0, FIRST_LINE_LENGTH_MAX)) ?? [];
  if (boundary === undefined) return null;
  const delimiter = `${LINE_END}--${boundary}`;
  const parts: FormPart[] = [];
  let at = delimiter.length - LINE_END.length;
  while (startsAt(bytes, LINE_END, at)) {
    const start = at + LINE_END.length;
    const end = bytes.indexOf(delimiter, start);
    const part = end < 0 ? null : readPart(bytes.subarray(start, end));
    if (part === null || parts.push(part) > limit("formFieldsMax")) return null;
    at = end + delimiter.length;
  }
  const rest = bytes.toString("latin1", at, at + 5);
  return rest === "--" || rest === `--${LINE_END}` ? parts : null;
}

function startsAt(bytes: Buffer, text: string, at: number): boolean {
  return bytes.toString("latin1", at, at + text.length) === text;
}

function readPart(bytes: Buffer): FormPart | null {
  const headEnd = bytes.subarray(0, HEAD_LENGTH_MAX).indexOf(HEAD_END);
  if (headEnd < 0) return null;
  const content = bytes.subarray(headEnd + HEAD_END.length);
  const lines = decodeUtf8(bytes.subarray(0, headEnd))?.split(LINE_END) ?? [];
  const head = new Map<string, string>();
  for (const line of lines) {
    const [, name = "", value = ""] = HEAD_LINE.exec(line) ?? [];
    if (head.has(name.toLowerCase())) return null;
    head.set(name.toLowerCase(), value.trim());
  }
  const field = fieldIn(head.get("content-disposition") ?? "");
  if (field === null || ![...head].every(([name, value]) => isKnown(name, value, content))) return null;
  return { ...field, contentType: head.get("content-type") ?? "", content, bytes };
}

/** True where it says no more than is kept of the part. */
function isKnown(name: string, value: string, content: Uint8Array): boolean {
  if (name === "content-length") return value === String(content.length);
  if (name === "content-transfer-encoding") return AS_IT_IS.test(value);
  return name === "content-disposition" || name === "content-type";
}

/** As they are written, escapes too; null where there is no name, one of them twice, or anything else. */
function fieldIn(disposition: string): Pick<FormPart, "name" | "filename"> | null {
  if (!DISPOSITION.test(disposition)) return null;
  let name: string | null = null;
  let filename: string | null = null;
  for (const [, key = "", quoted, bare] of disposition.matchAll(PARAMETER)) {
    const value = quoted ?? bare ?? "";
    if (key.toLowerCase() === "name" && name === null) name = value;
    else if (key.toLowerCase() === "filename" && filename === null) filename = value;
    else return null;
  }
  return name === null ? null : { name, filename };
}

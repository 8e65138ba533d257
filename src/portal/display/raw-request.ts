import { isObject } from "../../core/json/value.ts";

/**
 * A request as people paste it: whole, as it went over the wire, or its headers alone. Line breaks come as a
 * text field leaves them: \n.
 */
export interface RawRequest {
  method: string;
  /** With its question mark; empty where there is none. */
  search: string;
  headers: Record<string, string>;
  body: string;
}

/** Why it cannot be read: the line that is no header, counted from 1; 0: nothing is there. */
export interface RawFault {
  line: number;
}

const REQUEST_LINE = /^([A-Z]{3,10}) (\S+)(?: HTTP\/[\d.]+)?$/;
const HEADER = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*((?:[^ \t].*)?)$/;

/** `POST /path HTTP/1.1`, headers, an empty line, the body. The first line may be missing. */
export function readRequest(text: string): RawRequest | RawFault {
  const start = text.length - text.trimStart().length;
  const skipped = text.slice(0, start).split("\n").length - 1;
  const whole = text.slice(start);
  const end = whole.indexOf("\n\n");
  const head = end < 0 ? whole.trimEnd() : whole.slice(0, end);
  const lines = head.split("\n");
  const [, method = "POST", target = ""] = REQUEST_LINE.exec(lines[0]?.trimEnd() ?? "") ?? [];
  const hasLine = target !== "";
  const headers = readLines(hasLine ? lines.slice(1) : lines, skipped + (hasLine ? 2 : 1));
  if ("line" in headers) return headers;
  return {
    method,
    search: searchOf(target),
    headers: headers.read,
    body: end < 0 ? "" : whole.slice(end + 2),
  };
}

/** Headers as lines `name: value`, or as a JSON object, which logs often have. */
export function readHeaders(text: string): { read: Record<string, string> } | RawFault {
  if (text.trim() === "") return { line: 0 };
  return readJson(text) ?? readLines(text.split("\n"), 1);
}

function readJson(text: string): { read: Record<string, string> } | null {
  try {
    const value = JSON.parse(text) as unknown;
    if (!isObject(value)) return null;
    const entries = Object.entries(value).map(([name, one]) => [name, [one].flat().join(", ")]);
    return { read: Object.fromEntries(entries) as Record<string, string> };
  } catch {
    return null;
  }
}

function readLines(lines: readonly string[], first: number): { read: Record<string, string> } | RawFault {
  const read = new Map<string, string>();
  for (const [at, line] of lines.entries()) {
    if (line.trim() === "") continue;
    const [, name, value = ""] = HEADER.exec(line.trimEnd()) ?? [];
    if (name === undefined) return { line: first + at };
    const key = name.toLowerCase();
    const before = read.get(key);
    read.set(key, before === undefined ? value : `${before}, ${value}`);
  }
  return read.size === 0 ? { line: 0 } : { read: Object.fromEntries(read) };
}

function searchOf(target: string): string {
  const mark = target.indexOf("?");
  return mark < 0 ? "" : target.slice(mark);
}

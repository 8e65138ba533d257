import { parseObject } from "../core/json/value.ts";

/** A request as somebody has kept it: its headers by their names in lower case, and the bytes of its body. */
export interface Captured {
  headers: ReadonlyMap<string, string>;
  body: Uint8Array;
}

/** A request line, its headers, an empty line and the body, with line ends of either kind. */
export function readRequest(bytes: Uint8Array): Captured {
  const text = Buffer.from(bytes).toString("latin1");
  const { index, 0: gap } = /\r?\n\r?\n/.exec(text) ?? { index: text.length, 0: "" };
  return { headers: readHeaders(text.slice(0, index)), body: bytes.subarray(index + gap.length) };
}

/** Headers one a line, also as `curl -v` prints them, or as a JSON object. Other lines are left out. */
export function readHeaders(text: string): Map<string, string> {
  const pairs = text.trimStart().startsWith("{") ? pairsOfJson(text) : pairsOfLines(text);
  const headers = new Map<string, string>();
  for (const [name, value] of pairs) {
    const before = headers.get(name.toLowerCase());
    headers.set(name.toLowerCase(), before === undefined ? value : `${before} ${value}`);
  }
  return headers;
}

function pairsOfLines(text: string): [string, string][] {
  return text.split("\n").flatMap((line): [string, string][] => {
    const [, name, value] = /^(?:> )?([A-Za-z0-9-]+):(.*)$/.exec(line.trimEnd()) ?? [];
    return name === undefined || value === undefined ? [] : [[name, value.trim()]];
  });
}

function pairsOfJson(text: string): [string, string][] {
  return Object.entries(parseObject(text) ?? {}).map(([name, value]) => [name, String(value)]);
}

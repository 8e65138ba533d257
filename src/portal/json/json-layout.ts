/**
 * The text laid out, or null where it is no JSON. Numbers keep their spelling, so it is not parsed and
 * written again.
 */
export function layOut(text: string): string | null {
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  let out = "";
  let depth = 0;
  const line = () => `\n${"  ".repeat(depth)}`;
  for (const [token] of text.matchAll(/"(?:\\.|[^"\\])*"|[{}[\],:]|[^\s{}[\],:"]+/g)) {
    const isEmpty = (token === "}" && out.endsWith("{")) || (token === "]" && out.endsWith("["));
    if (token === "}" || token === "]") depth--;
    if (/[[{]$/.test(out) && !isEmpty) out += line();
    else if (token === "}" || token === "]") out += isEmpty ? "" : line();
    out += token === ":" ? ": " : token;
    if (token === "{" || token === "[") depth++;
    if (token === ",") out += line();
  }
  return out;
}

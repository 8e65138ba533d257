import { OPEN_BRACE } from "../core/json/json.ts";
import { spansAt } from "../core/json/spans.ts";
import { parsePath } from "./facts.ts";

/** What stands in `data` in place of a proof. */
const MASK = '"***"';

/**
 * `data` with `***` at every one of the paths, otherwise as it came; null where there is nothing at any of
 * them: then what was verified stands elsewhere, and would be shown.
 */
export function masked(data: string, paths: readonly string[]): string | null {
  const found = paths.flatMap((path) => spansAt(data, parsePath(path)));
  // An object holds proofs, it is none; a field that came twice is a list.
  const spans = found.filter(({ start }) => data.charCodeAt(start) !== OPEN_BRACE);
  if (spans.length === 0) return null;
  // Of two paths one may lead to the other's end, or into it.
  const inOrder = spans.toSorted((a, b) => a.start - b.start);
  const pieces: string[] = [];
  let from = 0;
  for (const { start, end } of inOrder) {
    if (start < from) continue;
    pieces.push(data.slice(from, start), MASK);
    from = end;
  }
  return pieces.join("") + data.slice(from);
}

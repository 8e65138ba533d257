import { OPEN_BRACE, type Span } from "../core/json/json.ts";
import { spansAt } from "../core/json/spans.ts";
import { parsePath } from "./facts.ts";

/** What stands in `data` in place of a proof. */
const MASK = '"***"';

/**
 * `data` with `***` at every one of the paths, otherwise as it came; null where there is nothing at any of
 * them. It is read once for each path, and `nextPath` is waited for before.
 */
export async function masked(
  data: string,
  paths: readonly string[],
  nextPath: () => Promise<void> | undefined = () => undefined,
): Promise<string | null> {
  const found: Span[] = [];
  for (const path of paths) {
    await nextPath();
    for (const span of spansAt(data, parsePath(path))) found.push(span);
  }
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

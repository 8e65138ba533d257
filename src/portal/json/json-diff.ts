/** What changed between two texts, line by line. */
export interface DiffLine {
  kind: "same" | "gone" | "new";
  text: string;
}

/**
 * Above it, comparing each line with each costs more than a page bears: then all of the one is gone, and all
 * of the other new.
 */
const LINES_MAX = 600;

export function diffLines(before: string, after: string): DiffLine[] {
  const [a, b] = [before.split("\n"), after.split("\n")];
  if (a.length > LINES_MAX || b.length > LINES_MAX) {
    if (before === after) return a.map((text) => ({ kind: "same", text }));
    return [...a.map(toLine("gone")), ...b.map(toLine("new"))];
  }
  return walk(a, b, lengthsOf(a, b));
}

function toLine(kind: DiffLine["kind"]): (text: string) => DiffLine {
  return (text) => ({ kind, text });
}

/** For each pair of places the length of the longest common rest. */
function lengthsOf(a: readonly string[], b: readonly string[]): Uint16Array[] {
  const rows = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    const [row, next] = [rows[i] as Uint16Array, rows[i + 1] as Uint16Array];
    for (let j = b.length - 1; j >= 0; j--)
      row[j] = a[i] === b[j] ? (next[j + 1] ?? 0) + 1 : Math.max(next[j] ?? 0, row[j + 1] ?? 0);
  }
  return rows;
}

function walk(a: readonly string[], b: readonly string[], lengths: readonly Uint16Array[]): DiffLine[] {
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const [left, right] = [a[i], b[j]];
    if (left !== undefined && left === right) {
      lines.push({ kind: "same", text: left });
      i++;
      j++;
    } else if (
      right === undefined ||
      (left !== undefined && (lengths[i + 1]?.[j] ?? 0) >= (lengths[i]?.[j + 1] ?? 0))
    ) {
      lines.push({ kind: "gone", text: left ?? "" });
      i++;
    } else {
      lines.push({ kind: "new", text: right });
      j++;
    }
  }
  return lines;
}

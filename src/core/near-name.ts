/**
 * The known name that was most likely meant by one that is not known, such as `stripe` by `strip`; null where
 * none is near.
 */
export function nearName(name: string, known: Iterable<string>): string | null {
  let nearest: string | null = null;
  let least = Math.min(2, (name.length - 1) / 2) + 1;
  for (const one of known) {
    if (Math.abs(one.length - name.length) >= least) continue;
    const distance = distanceOf(name, one);
    if (distance >= least || distance === 0) continue;
    nearest = one;
    least = distance;
  }
  return nearest;
}

/**
 * How many letters have to be changed, added or left out to come from one name to the other (Levenshtein).
 */
function distanceOf(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (const [line, letter] of [...from].entries()) {
    const next = [line + 1];
    for (const [at, other] of [...to].entries()) {
      const changed = (row[at] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(changed, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}

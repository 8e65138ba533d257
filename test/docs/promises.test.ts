/** The page of promises names only what there is, and has a figure in each row. */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import page from "../../src/docs/promises.md" with { type: "text" };

const root = join(import.meta.dir, "../..");
const rows = page
  .split("\n")
  .filter((line) => line.startsWith("| ") && !line.startsWith("| Bar ") && !line.startsWith("| ---"))
  .map((line) => line.split("|").map((cell) => cell.trim()));

/** Files that a row's commands run: of `bun test a`, `bun a --b`, and suites by their names. */
function filesOf(cells: readonly string[]): string[] {
  const text = cells.join(" ");
  const commands = [...text.matchAll(/`bun (?:test )?(test\/[\w./-]+)/g)].map(([, path = ""]) => path);
  const suites = [...text.matchAll(/suite `([\w-]+)`|--suite ([\w-]+)/g)].map(
    ([, named, asked]) => `test/slow/${named ?? asked}.slow.ts`,
  );
  return [...commands, ...suites];
}

test("has a row for each of at least 25 bars", () => expect(rows.length).toBeGreaterThanOrEqual(25));

describe.each(rows.map((cells) => [cells[1] ?? "", cells] as const))("%s", (_bar, cells) => {
  test("names what shows it, and all of that is there", () => {
    const files = filesOf(cells.slice(3, 5));
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });

  test("has a figure, and where a long form has measured it, the day", () => {
    expect(cells[5]).toMatch(/\d/);
    if (cells[4] !== "the same") expect(cells[5]).toMatch(/\(\d{4}-\d{2}-\d{2}\)$/);
  });
});

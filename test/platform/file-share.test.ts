import { expect, test } from "bun:test";
import { join } from "node:path";

const MODULE = join(import.meta.dir, "../../src/platform/file-share.ts");

/** What is answered in a process that may open so many files. */
async function sharesOf(files: number, max: number): Promise<unknown> {
  const script = `
    const { shareOfFiles } = await import(${JSON.stringify(MODULE)});
    console.log(JSON.stringify([shareOfFiles("attempts", ${max}), shareOfFiles("polls", ${max})]));`;
  const child = Bun.spawn(
    ["bash", "-c", `ulimit -n ${files} && exec "$0" -e "$1"`, process.execPath, script],
    {
      stdout: "pipe",
      stderr: "inherit",
    },
  );
  return JSON.parse(await child.stdout.text());
}

test("attempts and polls have a part of few files, and leave the rest to what comes in", async () => {
  expect(await sharesOf(200, 1000)).toEqual([120, 40]);
});

test("where there are many files nobody has more than was asked for", async () => {
  expect(await sharesOf(200, 30)).toEqual([30, 30]);
});

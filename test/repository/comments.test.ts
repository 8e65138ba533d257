/** Comments are as wide as the code, and cite only what a reader of this repository can open. */
import { expect, test } from "bun:test";
import { join } from "node:path";

const WIDTH_MAX = 110;
const repository = join(import.meta.dir, "../..");
const folders = ["src", "test", "sdk/typescript/src", "sdk/build"];
const list = (folder: string, pattern: string) => [
  ...new Bun.Glob(`${folder}/**/${pattern}`).scanSync({ cwd: repository }),
];
const files = folders.flatMap((folder) => list(folder, "*.{ts,tsx}"));
const texts = await Promise.all(
  files.map(async (path) => ({ path, text: await Bun.file(join(repository, path)).text() })),
);
const isComment = (line: string) => /^\s*(\/\/|\/?\*)/.test(line);

test("no comment is wider than code, but for tables", () => {
  expect(files.length).toBeGreaterThan(500);
  const isTable = (line: string) => /^\s*\* \|/.test(line);
  const wide = texts.flatMap(({ path, text }) =>
    text
      .split("\n")
      .flatMap((line, at) =>
        isComment(line) && !isTable(line) && line.length > WIDTH_MAX ? [`${path}:${at + 1}`] : [],
      ),
  );
  expect(wide).toEqual([]);
});

test("a file that a comment names is there", () => {
  const all = [...folders, "drizzle"].flatMap((folder) => list(folder, "*")).map((path) => `/${path}`);
  const named = /(?<![\w/.@:-])((?:[\w-]+\/)*[\w-]+\.(?:tsx?|sql|md))(?![\w/])/g;
  const missing = texts.flatMap(({ path, text }) =>
    text
      .split("\n")
      .filter((line) => isComment(line))
      .flatMap((line) => [...line.matchAll(named)].map(([, name = ""]) => name))
      .filter((name) => !all.some((one) => one.endsWith(`/${name}`)))
      .map((name) => `${path}: ${name}`),
  );
  expect(missing).toEqual([]);
});

test("no comment cites a section of a document that is not here", () => {
  const cited = texts.flatMap(({ path, text }) =>
    text
      .split("\n")
      .flatMap((line, at) =>
        isComment(line) && /contract,? section/i.test(line) ? [`${path}:${at + 1}`] : [],
      ),
  );
  expect(cited).toEqual([]);
});

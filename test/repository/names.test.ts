/**
 * A test lies where its subject is found by name: for `src/delivery/queue.ts`,
 * `test/delivery/queue.test.ts`; for a file of `sdk/build` or `sdk/typescript`, in `test/sdk`. What is Python
 * has its tests in `test/sdk/python`, which `test/sdk/python-sources.test.ts` runs, one for each module.
 */
import { expect, test } from "bun:test";
import { join } from "node:path";

/** Files of src/ that no test has the name of. It only falls: a new file comes with its test. */
const UNNAMED_MAX = 220;
/**
 * Rows and words, which the tests of their tables walk over, screens, which Chromium opens, and pages. The
 * build of the packages is run by `test/slow/sdk.slow.ts`.
 */
const WALKED =
  /^(portal\/views|portal\/locales|inbound\/providers|destinations\/kinds|docs|http\/docs)\/|^sdk\/build$/;
/** Folders and files whose subject is the repository, the tests themselves, or all of the service at once. */
const OTHERS =
  /^(bench|docs|kit|readme|repository|simulation|destinations\/kinds|http\/isolation|http\/statuses)\/|^run$/;

const repository = join(import.meta.dir, "../..");
const list = (folder: string, pattern: string) =>
  [...new Bun.Glob(pattern).scanSync({ cwd: join(repository, folder) })].toSorted();
const sources = list("src", "**/*.{ts,tsx}").filter((path) => !path.endsWith(".d.ts"));
const packaged = [...list("sdk/typescript/src", "*.ts"), ...list("sdk/build", "*.ts")].map(
  (path) => `sdk/${path}`,
);
const subjects = new Set([...sources, ...packaged].map((path) => path.replace(/\.tsx?$/, "")));
const tests = list("test", "**/*.test.ts").map((path) => path.replace(/\.test\.ts$/, ""));

/** Its file, or a part of that after a dash, or the file that its folder is named after. */
function isAboutASubject(name: string): boolean {
  const parts = name.split("-");
  const folder = name.split("/").slice(0, -1);
  const wholes = parts.map((_, at) => parts.slice(0, at + 1).join("-"));
  return wholes.some((whole) => subjects.has(whole)) || subjects.has([...folder, folder.at(-1)].join("/"));
}

test("every test has the name of what it is about, in its folder", () => {
  expect(tests.filter((name) => !OTHERS.test(name) && !isAboutASubject(name))).toEqual([]);
});

test("files without a test of their name become fewer", () => {
  const named = new Set(tests);
  const unnamed = [...subjects].filter((name) => !WALKED.test(name) && !named.has(name));
  expect(subjects.size).toBeGreaterThan(500);
  expect(unnamed.length).toBeLessThanOrEqual(UNNAMED_MAX);
});

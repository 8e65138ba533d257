import { afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import { requireTool } from "./tools.ts";

const inCi = process.env["CI"];
const repository = join(import.meta.dir, "../..");

afterEach(() => {
  if (inCi === undefined) delete process.env["CI"];
  else process.env["CI"] = inCi;
});

test("a tool that is installed is there, in CI and elsewhere", () => {
  expect(requireTool("env", "apt-get install coreutils")).toBe(true);
});

test("a missing tool fails in CI, and elsewhere skips", () => {
  process.env["CI"] = "true";
  expect(() => requireTool("no-such-tool", "apt-get install x")).toThrow(
    "no-such-tool is not installed: apt-get install x",
  );
  delete process.env["CI"];
  expect(requireTool("no-such-tool", "apt-get install x")).toBe(false);
});

test("whatever tool a test looks for, .ci/run installs", async () => {
  const script = await Bun.file(join(repository, ".ci/run")).text();
  const paths = [...new Bun.Glob("test/**/*.ts").scanSync(repository)].filter(
    (path) => !path.endsWith("tools.test.ts"),
  );
  const texts = await Promise.all(paths.map((path) => Bun.file(join(repository, path)).text()));
  const required = texts.flatMap((text) =>
    [...text.matchAll(/\b(?:requireTool|Bun\.which)\("([\w.-]+)"/g)].map(([, name]) => name ?? ""),
  );
  expect(required.filter((name) => !script.includes(`\n  ${name}:`))).toEqual([]);
});

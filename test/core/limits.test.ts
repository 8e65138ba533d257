import { expect, test } from "bun:test";
import { join } from "node:path";
import { LIMITS } from "../../src/core/limits.ts";

const IN_NAME = { bytes: /Bytes/, ms: /Ms/, seconds: /Seconds/, hours: /Hours/ } as const;
const isNamed = (name: string, unit: string) => IN_NAME[unit as keyof typeof IN_NAME]?.test(name) ?? true;

test("a limit of bytes or of time has its unit in its name", () => {
  const unnamed = Object.entries(LIMITS).filter(([name, { unit }]) => !isNamed(name, unit));
  expect(unnamed.map(([name]) => name)).toEqual([]);
});

test("every limit is read by the service", async () => {
  const root = join(import.meta.dir, "../../src");
  const paths = [...new Bun.Glob("**/*.{ts,tsx}").scanSync({ cwd: root })].filter(
    (path) => path !== "core/limits.ts",
  );
  const texts = await Promise.all(paths.map((path) => Bun.file(join(root, path)).text()));
  const all = texts.join("\n");
  expect(paths.length).toBeGreaterThan(300);
  expect(Object.keys(LIMITS).filter((name) => !new RegExp(`["'.]${name}\\b`).test(all))).toEqual([]);
});

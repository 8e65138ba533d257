/** Every version is pinned in one place; whoever else names it must agree. */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json";

const repository = join(import.meta.dir, "../..");
const read = (path: string) => Bun.file(join(repository, path)).text();
const pinned = manifest.packageManager.replace("bun@", "");

/** Files outside the tests that may name a version. */
const documents = [
  ...new Bun.Glob("{README.md,Dockerfile,litestream.yml,.ci/run,deploy/**/*,src/**/*.{md,html,ts}}").scanSync(
    {
      cwd: repository,
      dot: true,
    },
  ),
];

async function findMentions(pattern: RegExp): Promise<string[]> {
  const texts = await Promise.all(documents.map(read));
  return texts.flatMap((text) => [...text.matchAll(pattern)].map(([, version]) => version ?? ""));
}

describe("Bun", () => {
  test("is pinned exactly, in package.json's packageManager alone", () => {
    expect(manifest.packageManager).toMatch(/^bun@\d+\.\d+\.\d+$/);
    expect(Object.keys(manifest)).not.toContain("engines");
    expect([".bun-version", ".tool-versions"].filter((name) => existsSync(join(repository, name)))).toEqual(
      [],
    );
  });

  test("runs these tests in the pinned version, with the types of that version", () => {
    expect(Bun.version).toBe(pinned);
    expect(manifest.devDependencies["bun-types"]).toBe(pinned);
  });

  test("is named in no other version by README, documentation, Dockerfile or .ci/run", async () => {
    const mentions = await findMentions(/\bbun@([\w.-]*\w)/g);
    expect(mentions.filter((version) => version !== pinned)).toEqual([]);
  });

  test("is what the README's commands for start and test run", async () => {
    const readme = await read("README.md");
    expect(readme).toContain(`npx -y bun@${pinned} run start`);
    expect(readme).toContain(`npx -y bun@${pinned} run test`);
  });

  test("comes into the image and into CI from packageManager, not from a copy of the number", async () => {
    for (const path of ["Dockerfile", ".ci/run"]) {
      const text = await read(path);
      expect(text).toContain("packageManager");
      expect(text).not.toContain(pinned);
    }
  });
});

describe("the image's bases", () => {
  test("are named by version and digest, and the Dockerfile has no other", async () => {
    const dockerfile = await read("Dockerfile");
    const digests = /^ARG ([A-Z]+)=[a-z]+:[\w.-]+@sha256:[0-9a-f]{64}$/gm;
    const names = [...dockerfile.matchAll(digests)].map(([, name]) => `\${${name}}`);
    const bases = [...dockerfile.matchAll(/^FROM (?:--\S+ )?(\S+)/gm)].map(([, base]) => base);
    expect(bases).toEqual(names);
    expect(bases).toHaveLength(3);
  });
});

describe("Litestream", () => {
  test("is named in one version everywhere: the one that the Dockerfile builds", async () => {
    const [, built] = (await read("Dockerfile")).match(/^ARG LITESTREAM_VERSION=v(\d+\.\d+\.\d+)$/m) ?? [];
    expect(built).toBeDefined();
    const mentions = await findMentions(/\blitestream[ @]v(\d+\.\d+\.\d+)/gi);
    expect(mentions.filter((version) => version !== built)).toEqual([]);
  });
});

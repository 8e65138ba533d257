/** The list of the executable's parts: valid, whole, and nothing that only tests need. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import manifest from "../../package.json";
import { listParts } from "../../src/platform/parts-list.ts";
import { bundlePortal } from "../../src/platform/portal-build.ts";
import { validateParts } from "../kit/parts-schema.ts";

const SOURCES = join(import.meta.dir, "../../src");
const [portal, service] = await Promise.all([
  bundlePortal(),
  Bun.build({ entrypoints: [join(SOURCES, "main.ts")], target: "bun", metafile: true }),
]);
const metafiles = [portal.metafile, service.metafile].filter((one) => one !== undefined);
const list = listParts(metafiles);
const names = list.components.map(({ name }) => name);

/** What a package needs, by the names of both. */
function needsOf(ref: string): string[] {
  const found = list.dependencies.find((one) => one.ref === ref);
  return (found?.dependsOn ?? []).map(
    (other) => list.components.find((one) => one["bom-ref"] === other)?.name ?? "",
  );
}

describe("the list of parts", () => {
  test("is what the schema of CycloneDX takes, and the schema tells", async () => {
    expect(await validateParts(list)).toBeNull();
    const [first, ...others] = list.components;
    const wrong = { ...list, components: [{ ...first, licence: "MIT" }, ...others] };
    expect(await validateParts(wrong)).not.toBeNull();
  });

  test("names what is depended on, with what that needs, and nothing of the tests", () => {
    expect(names).toEqual(expect.arrayContaining(Object.keys(manifest.dependencies)));
    expect(names).toEqual(expect.arrayContaining(["bun", "swagger-ui-dist", "@smithy/core"]));
    const testsOnly = Object.keys(manifest.devDependencies);
    expect(names.filter((name) => testsOnly.includes(name))).toEqual([]);
    expect(needsOf("pkg:generic/sealpost@0.1.0")).toEqual(
      expect.arrayContaining(["elysia", "preact", "bun", "swagger-ui-dist"]),
    );
    expect(needsOf(`pkg:npm/%40preact/signals@${manifest.dependencies["@preact/signals"]}`)).toContain(
      "preact",
    );
  });

  test("says of each package its version, its licence, and the hash that bun.lock has", async () => {
    const elysia = list.components.find(({ name }) => name === "elysia");
    const lock = await Bun.file(join(SOURCES, "../bun.lock")).text();
    const [, integrity = ""] = lock.match(/"elysia": \["elysia@.*"sha512-([^"]+)"\]/) ?? [];
    expect(elysia).toMatchObject({
      version: manifest.dependencies.elysia,
      licenses: [{ expression: "MIT" }],
      purl: `pkg:npm/elysia@${manifest.dependencies.elysia}`,
      hashes: [{ alg: "SHA-512", content: Buffer.from(integrity, "base64").toString("hex") }],
    });
    const bare = list.components.filter(({ licenses, version }) => licenses === undefined || version === "");
    expect(bare.map(({ name }) => name)).toEqual([]);
  });

  test("has what Bun contains, SQLite for one", () => {
    const bun = list.components.find(({ name }) => name === "bun");
    expect(bun?.version).toBe(Bun.version);
    expect(bun?.components).toContainEqual(
      expect.objectContaining({ name: "sqlite", version: process.versions["sqlite"] }),
    );
  });

  test("is not made of a package that bun.lock does not know", () => {
    const stray = join(SOURCES, "../node_modules/no-such-package/index.js");
    const outputs = {
      "main.js": { bytes: 1, inputs: { [stray]: { bytesInOutput: 1 } }, imports: [], exports: [] },
    };
    expect(() => listParts([{ inputs: {}, outputs }])).toThrow("no-such-package is no package");
  });
});

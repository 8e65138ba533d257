/**
 * Builds all that a release consists of: `bun run release [folder]`, by default `dist/release`. An executable
 * for each target, the list of their parts, and the SHA-256 sums of these as `sha256sum --check` reads them.
 */
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { buildExecutable } from "./build.ts";
import { writePartsList } from "./parts-list.ts";
import { bundlePortal } from "./portal-build.ts";

/** Where Sealpost can run. The plain ones of Linux need glibc 2.17 or later; `musl` is Alpine's C library. */
export const TARGETS = [
  "bun-linux-x64",
  "bun-linux-arm64",
  "bun-linux-x64-musl",
  "bun-linux-arm64-musl",
  "bun-darwin-x64",
  "bun-darwin-arm64",
  "bun-windows-x64",
  "bun-windows-arm64",
] as const satisfies Bun.Build.CompileTarget[];

/** The name of its executable, such as `sealpost-linux-x64`. */
export function fileNameOf(target: (typeof TARGETS)[number]): string {
  return target.replace(/^bun/, "sealpost") + (target.includes("windows") ? ".exe" : "");
}

export const PARTS_FILE = "sealpost.cdx.json";
export const SUMS_FILE = "SHA256SUMS";

async function sumOf(path: string): Promise<string> {
  const hasher = new Bun.CryptoHasher("sha256");
  for await (const chunk of Bun.file(path).stream()) hasher.update(chunk);
  return hasher.digest("hex");
}

async function release(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  // The bundler leaves its source maps beside what it builds.
  const workshop = mkdtempSync(join(folder, ".build-"));
  try {
    const portal = await bundlePortal();
    let metafiles: Bun.BuildMetafile[] = [];
    for (const target of TARGETS) {
      const name = fileNameOf(target);
      metafiles = await buildExecutable(join(workshop, name), target, portal);
      renameSync(join(workshop, name), join(folder, name));
      console.log(`built ${name} (${Math.round(statSync(join(folder, name)).size / 2 ** 20)} MiB)`);
    }
    await writePartsList(metafiles, join(folder, PARTS_FILE));
  } finally {
    rmSync(workshop, { recursive: true });
  }
  const names = [...TARGETS.map(fileNameOf), PARTS_FILE];
  const lines = await Promise.all(names.map(async (name) => `${await sumOf(join(folder, name))}  ${name}\n`));
  await Bun.write(join(folder, SUMS_FILE), lines.join(""));
  console.log(`${folder} holds ${readdirSync(folder).length} files, with their sums in ${SUMS_FILE}`);
}

if (import.meta.main) await release(resolve(process.argv[2] ?? join(import.meta.dir, "../../dist/release")));

/**
 * Makes the package of the service's OpenAPI document: `bun sdk/typescript/build/build.ts [FOLDER]`, by
 * default in `dist/sdk`. There `npm pack` makes one file of it. Nothing that is generated lies in `sdk/`.
 */
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import service from "../../../package.json";
import { openApi } from "../../../test/kit/app.ts";
import { runCommand } from "../../../test/kit/real-server.ts";
import manifest from "../package.json";
import type { Document } from "./document.ts";
import { writeIndex } from "./methods.ts";

const home = join(import.meta.dir, "..");
const repository = join(home, "../..");

/** Makes the package in a folder, which is emptied first. */
export async function build(folder: string): Promise<void> {
  const document = (await openApi()) as unknown as Document;
  const source = join(folder, "src");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(source, { recursive: true });
  await runCommand([process.execPath, "install", "--frozen-lockfile", "--no-summary"], {}, home);
  cpSync(join(home, "src"), source, { recursive: true });
  await Bun.write(join(folder, "openapi.json"), JSON.stringify(document));
  await Bun.write(join(source, "index.ts"), writeIndex(document));
  await generateTypes(folder);
  await compile(folder);
  // The readers of a package have no use for what its build needs.
  const { devDependencies: _, ...rest } = manifest;
  const written = { ...rest, version: service.version };
  await Bun.write(join(folder, "package.json"), `${JSON.stringify(written, null, 2)}\n`);
  for (const file of [join(home, "README.md"), join(repository, "LICENSE")])
    cpSync(file, inFolder(folder, file));
}

function inFolder(folder: string, file: string): string {
  return join(folder, file.slice(file.lastIndexOf("/") + 1));
}

async function generateTypes(folder: string): Promise<void> {
  const generated = join(folder, "generated");
  const config = join(folder, "generator.mjs");
  const settings = {
    input: join(folder, "openapi.json"),
    output: generated,
    plugins: ["@hey-api/typescript"],
  };
  await Bun.write(config, `export default ${JSON.stringify(settings)};`);
  await runCommand(
    ["node", join(home, "node_modules/@hey-api/openapi-ts/bin/run.js"), "-f", config],
    {},
    folder,
  );
  cpSync(join(generated, "types.gen.ts"), join(folder, "src/types.gen.ts"));
}

async function compile(folder: string): Promise<void> {
  const options = {
    noEmit: false,
    declaration: true,
    outDir: join(folder, "lib"),
    rootDir: join(folder, "src"),
  };
  const config = { extends: join(home, "tsconfig.json"), compilerOptions: options, include: ["src"] };
  await Bun.write(join(folder, "tsconfig.json"), JSON.stringify(config));
  await runCommand(["node", join(home, "node_modules/typescript/bin/tsc"), "-p", folder], {}, folder);
}

if (import.meta.main) {
  const folder = resolve(process.argv[2] ?? join(repository, "dist/sdk"));
  await build(folder);
  console.log(folder);
  process.exit(0);
}

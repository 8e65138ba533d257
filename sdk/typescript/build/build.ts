/**
 * Makes the package of the service's OpenAPI document, in `dist/sdk`: `bun run sdk`. There `npm pack` makes
 * one file of it. Nothing that is generated lies in `sdk/`.
 */
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import service from "../../../package.json";
import { openApi } from "../../../test/kit/app.ts";
import { runCommand } from "../../../test/kit/real-server.ts";
import manifest from "../package.json";
import type { Document } from "./document.ts";
import { writeIndex } from "./methods.ts";

const home = join(import.meta.dir, "..");
const repository = join(home, "../..");
const folder = join(repository, "dist/sdk");
const source = join(folder, "src");

/** The types of the document, by the generator. */
async function generateTypes(document: Document): Promise<void> {
  const [input, output, config] = ["openapi.json", "generated", "generator.mjs"].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  const settings = { input, output, plugins: ["@hey-api/typescript"] };
  await Bun.write(input, JSON.stringify(document));
  await Bun.write(config, `export default ${JSON.stringify(settings)};`);
  await runTool("@hey-api/openapi-ts/bin/run.js", "-f", config);
  cpSync(join(output, "types.gen.ts"), join(source, "types.gen.ts"));
}

async function compile(): Promise<void> {
  const options = { noEmit: false, declaration: true, outDir: join(folder, "lib"), rootDir: source };
  const config = { extends: join(home, "tsconfig.json"), compilerOptions: options, include: ["src"] };
  await Bun.write(join(folder, "tsconfig.json"), JSON.stringify(config));
  await runTool("typescript/bin/tsc", "-p", folder);
}

/** A program of the package's own `devDependencies`. */
async function runTool(path: string, ...args: string[]): Promise<void> {
  await runCommand(["node", join(home, "node_modules", path), ...args], {}, folder);
}

async function writeManifest(): Promise<void> {
  // Who installs the package has no use for what its build needs.
  const { devDependencies: _, ...rest } = manifest;
  const written = { ...rest, version: service.version };
  await Bun.write(join(folder, "package.json"), `${JSON.stringify(written, null, 2)}\n`);
}

rmSync(folder, { recursive: true, force: true });
mkdirSync(source, { recursive: true });
await runCommand([process.execPath, "install", "--frozen-lockfile", "--no-summary"], {}, home);
const made = (await openApi()) as unknown as Document;
cpSync(join(home, "src"), source, { recursive: true });
await Bun.write(join(source, "index.ts"), writeIndex(made));
await generateTypes(made);
await compile();
await writeManifest();
cpSync(join(home, "README.md"), join(folder, "README.md"));
cpSync(join(repository, "LICENSE"), join(folder, "LICENSE"));
console.log(folder);
process.exit(0);

/**
 * Makes the packages of the service's OpenAPI document: `bun run sdk`. That of TypeScript lies in `dist/sdk`,
 * where `npm pack` makes one file of it, and that of Python is a wheel in `dist/sdk-python`. Nothing that is
 * generated lies in `sdk/`.
 */
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import service from "../../package.json";
import { openApi } from "../../test/kit/app.ts";
import { installPython, PYTHON_HINT } from "../../test/kit/python.ts";
import { runCommand } from "../../test/kit/real-server.ts";
import manifest from "../typescript/package.json";
import type { Document } from "./document.ts";
import { writeMethods } from "./python.ts";
import { writeTypes } from "./python-types.ts";
import { writeIndex } from "./typescript.ts";

const repository = join(import.meta.dir, "../..");
const made = {
  typescript: join(repository, "dist/sdk"),
  python: join(repository, "dist/sdk-python"),
};

/** A folder with the sources that are written by hand. */
function begin(language: keyof typeof made): { folder: string; home: string; source: string } {
  const home = join(repository, "sdk", language);
  const folder = made[language];
  mkdirSync(folder, { recursive: true });
  cpSync(join(home, "src"), join(folder, "src"), { recursive: true });
  cpSync(join(home, "README.md"), join(folder, "README.md"));
  cpSync(join(repository, "LICENSE"), join(folder, "LICENSE"));
  return { folder, home, source: join(folder, "src") };
}

/** The folder of the package. */
async function makeTypescript(document: Document): Promise<string> {
  const { folder, home, source } = begin("typescript");
  /** A program of the package's own `devDependencies`. */
  const runTool = (path: string, ...args: string[]) =>
    runCommand(["node", join(home, "node_modules", path), ...args], {}, folder);
  await runCommand([process.execPath, "install", "--frozen-lockfile", "--no-summary"], {}, home);
  await Bun.write(join(source, "index.ts"), writeIndex(document));

  const [input, output, config] = ["openapi.json", "generated", "generator.mjs"].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  await Bun.write(input, JSON.stringify(document));
  const settings = { input, output, plugins: ["@hey-api/typescript"] };
  await Bun.write(config, `export default ${JSON.stringify(settings)};`);
  await runTool("@hey-api/openapi-ts/bin/run.js", "-f", config);
  cpSync(join(output, "types.gen.ts"), join(source, "types.gen.ts"));

  const options = { noEmit: false, declaration: true, outDir: join(folder, "lib"), rootDir: source };
  const compiler = { extends: join(home, "tsconfig.json"), compilerOptions: options, include: ["src"] };
  await Bun.write(join(folder, "tsconfig.json"), JSON.stringify(compiler));
  await runTool("typescript/bin/tsc", "-p", folder);

  // Who installs the package has no use for what its build needs.
  const { devDependencies: _, ...rest } = manifest;
  const written = { ...rest, version: service.version };
  await Bun.write(join(folder, "package.json"), `${JSON.stringify(written, null, 2)}\n`);
  return folder;
}

/** The wheel. */
async function makePython(document: Document): Promise<string> {
  const { folder, home, source } = begin("python");
  await Bun.write(join(source, "sealpost/methods.py"), writeMethods(document));
  await Bun.write(join(source, "sealpost/types.py"), writeTypes(document));
  const project = await Bun.file(join(home, "pyproject.toml")).text();
  const versioned = project.replace("[project]\n", `[project]\nversion = "${service.version}"\n`);
  await Bun.write(join(folder, "pyproject.toml"), versioned);
  const [, builder = ""] = /requires = \["(.*)"\]/.exec(project) ?? [];
  const python = join(await installPython([builder]), "bin/python");
  await runCommand([python, "-m", "flit_core.wheel", "--outdir", folder], {}, folder);
  const [wheel = ""] = new Bun.Glob("*.whl").scanSync(folder);
  return join(folder, wheel);
}

// What an earlier build has made is no package of this one, also where python3 is missing now.
for (const folder of Object.values(made)) rmSync(folder, { recursive: true, force: true });
const api = (await openApi()) as unknown as Document;
console.log(await makeTypescript(api));
if (Bun.which("python3") === null)
  console.error(`The package for Python is not made, as python3 is not installed: ${PYTHON_HINT}`);
else console.log(await makePython(api));
process.exit(0);

/** A project that has installed the packed file, as anybody else's has. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { build } from "../../sdk/typescript/build/build.ts";
import manifest from "../../sdk/typescript/package.json";
import { runCommand } from "../kit/real-server.ts";

const BESIDE = [`typescript@${manifest.devDependencies.typescript}`, "@types/node@20.19.0"];
const QUIET = ["--ignore-scripts", "--no-audit", "--no-fund", "--silent"];

/** Of `npm pack`, in bytes. */
export interface Packed {
  filename: string;
  size: number;
  files: { path: string }[];
}

export class Project {
  readonly folder: string;
  packed: Packed = { filename: "", size: 0, files: [] };

  constructor(private readonly home: string) {
    this.folder = join(home, "project");
  }

  /** Builds the package, packs it, and installs the packed file. */
  async install(): Promise<void> {
    const made = join(this.home, "package");
    await build(made);
    const [packed] = JSON.parse(await runCommand(["npm", "pack", "--json", made], {}, this.home)) as Packed[];
    if (packed === undefined) throw new Error("npm packed nothing");
    this.packed = packed;
    mkdirSync(this.folder);
    await this.write("package.json", JSON.stringify({ private: true, type: "module" }));
    await runCommand(
      ["npm", "install", ...QUIET, join(this.home, packed.filename), ...BESIDE],
      {},
      this.folder,
    );
  }

  /** Writes a file of the project; its path. */
  async write(name: string, text: string): Promise<string> {
    const path = join(this.folder, name);
    await Bun.write(path, text);
    return path;
  }

  /** Compiles programs under the strictest types, with those of Node, the package's own included. */
  async compile(programs: Record<string, string>): Promise<void> {
    const strict = {
      ...{ strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true },
      ...{ skipLibCheck: false, module: "nodenext", target: "es2022", lib: ["es2022"], types: ["node"] },
    };
    for (const [name, text] of Object.entries(programs)) await this.write(name, text);
    await this.#tsc(strict, Object.keys(programs));
  }

  /** Checks a program as a bundler of a page does, with the types of a browser and none of Node. */
  async checkForBrowsers(name: string, text: string): Promise<void> {
    await this.write(name, text);
    const browser = {
      ...{ strict: true, noEmit: true, skipLibCheck: false, module: "esnext", moduleResolution: "bundler" },
      ...{ target: "es2022", lib: ["es2022", "dom"], types: [] },
    };
    await this.#tsc(browser, [name]);
  }

  /** Runs a command in the project; what it printed. */
  run(command: string[], env: Record<string, string> = {}): Promise<string> {
    return runCommand(command, env, this.folder);
  }

  async #tsc(compilerOptions: object, files: readonly string[]): Promise<void> {
    await this.write("tsconfig.json", JSON.stringify({ compilerOptions, files }));
    await this.run(["node", "node_modules/typescript/bin/tsc", "-p", "."]);
  }
}

/** A project that has installed the packed file, as anybody else's has. */
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../sdk/typescript/package.json";
import { runCommand } from "../kit/real-server.ts";

const repository = join(import.meta.dir, "../..");
const BESIDE = [`typescript@${manifest.devDependencies.typescript}`, "@types/node@20.19.0"];

export class Project {
  readonly folder: string;
  /** The packed file, and the paths within it. */
  packed = { path: "", files: [] as string[] };

  constructor(home: string) {
    this.folder = join(home, "project");
  }

  /** Packs by the commands of a reader in the checkout, and installs by those of one in a project. */
  async install(toPack: string, toInstall: string): Promise<void> {
    const printed = await runCommand(["bash", "-ec", toPack], {}, repository);
    const [name = ""] = /\S+\.tgz$/.exec(printed.trim()) ?? [];
    const path = join(this.folder, name);
    cpSync(join(repository, name), path);
    rmSync(join(repository, name));
    await this.write("package.json", JSON.stringify({ private: true, type: "module" }));
    await this.run(["bash", "-ec", toInstall]);
    await this.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", ...BESIDE]);
    const listed = (await this.run(["tar", "--list", "--file", path])).trim().split("\n");
    this.packed = { path, files: listed.map((file) => file.replace("package/", "")) };
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

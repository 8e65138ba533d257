/** A project that has installed the wheel in a fresh environment, as anybody else's has. */
import { cpSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../kit/real-server.ts";

const repository = join(import.meta.dir, "../..");
const made = join(repository, "dist/sdk-python");
const MYPY = "mypy==2.4.1";

export class PythonProject {
  readonly folder: string;
  /** The wheel, and the paths within it. */
  packed = { path: "", files: [] as string[] };

  constructor(home: string) {
    this.folder = join(home, "python");
  }

  /** Installs the wheel that was made last, by the commands of a reader, and then what `v1a` needs. */
  async install(toInstall: string): Promise<void> {
    const [wheel = ""] = new Bun.Glob("*.whl").scanSync(made);
    const path = join(this.folder, wheel);
    await this.write("empty", "");
    cpSync(join(made, wheel), path);
    await this.run(["bash", "-ec", toInstall]);
    const listed = await this.run([".venv/bin/python", "-m", "zipfile", "--list", path]);
    const rows = listed.trim().split("\n").slice(1);
    this.packed = { path, files: rows.map((row) => row.split(" ")[0] ?? "") };
  }

  /** Installs what the wheel's extra names, and the type checker. */
  async installMore(): Promise<void> {
    await this.run([".venv/bin/pip", "install", "--quiet", `${this.packed.path}[ed25519]`, MYPY]);
  }

  /**
   * Checks programs, and then the package itself, under the strictest types, by which a comment that ignores
   * no error is one. Only what comes of JSON may be anything.
   */
  async check(...programs: string[]): Promise<void> {
    for (const subject of [programs, ["-p", "sealpost"]])
      await this.run([".venv/bin/mypy", "--strict", "--no-warn-return-any", ...subject]);
  }

  async write(name: string, text: string): Promise<void> {
    await Bun.write(join(this.folder, name), text);
  }

  /** Runs a program in the project; what it printed. A warning is an error. */
  python(args: string[], env: Record<string, string> = {}): Promise<string> {
    return this.run([".venv/bin/python", "-W", "error", ...args], env);
  }

  /** Runs a command in the project; what it printed. */
  run(command: string[], env: Record<string, string> = {}): Promise<string> {
    return runCommand(command, env, this.folder);
  }
}

/**
 * The wheels that are there after a build where python3 is missing, which follows one where it was there.
 * `programs`: a folder that is not there yet, for the programs that the build finds.
 */
export async function wheelsWithoutPython(programs: string): Promise<string[]> {
  await Bun.write(join(made, "sealpost_sdk-0.0.1-py3-none-any.whl"), "of an earlier build");
  mkdirSync(programs, { recursive: true });
  await runCommand(["bash", "-ec", 'ln -s "$(command -v node)" "$0"', programs]);
  await runCommand([process.execPath, "sdk/build/build.ts"], { PATH: programs }, repository);
  return existsSync(made) ? Array.from(new Bun.Glob("*.whl").scanSync(made)) : [];
}

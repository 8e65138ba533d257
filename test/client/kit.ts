/** Somebody's own folder of settings, with commands that are typed by them. */
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Ended, type Env, sealpost } from "../cli/kit.ts";

export class Person implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), "sealpost-person-"));
  readonly env: Env;

  constructor(env: Env = {}) {
    this.env = { HOME: this.folder, ...env };
  }

  /** Runs a command to its end. */
  types(words: readonly string[], stdin = "", env: Env = {}): Promise<Ended> {
    return sealpost(words, { ...this.env, ...env }, stdin);
  }

  /** A file of the folder of settings. */
  kept(name: string) {
    const path = join(this.folder, ".config/sealpost", name);
    return { text: () => readFileSync(path, "utf8"), mode: () => statSync(path).mode & 0o777 };
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

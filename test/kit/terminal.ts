/** A real terminal, by tmux: what a person types, and the screen as text. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { requireTool } from "./tools.ts";

export const hasTmux = requireTool("tmux", "apt-get install tmux");

const SIZE = ["-x", "120", "-y", "30"];
const SEEN_MS_MAX = 15_000;

export class Terminal implements AsyncDisposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "sealpost-tmux-"));
  readonly #env: Readonly<Record<string, string>>;

  private constructor(env: Readonly<Record<string, string>>) {
    this.#env = env;
  }

  /** A shell in a terminal of 120 by 30, with this environment beside PATH and TERM. */
  static async open(env: Readonly<Record<string, string>>): Promise<Terminal> {
    const terminal = new Terminal({ PATH: process.env["PATH"] ?? "", TERM: "screen-256color", ...env });
    const shell = ["env", "PS1=$ ", "bash", "--noprofile", "--norc"];
    await terminal.#tmux("-f", "/dev/null", "new-session", "-d", ...SIZE, ...shell);
    try {
      await terminal.prompts();
      return terminal;
    } catch (error) {
      await terminal[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Types a line, or with `keys` single ones, such as `r` or `C-c`. */
  async type(line: string): Promise<void> {
    await this.#tmux("send-keys", "-l", line);
    await this.press("Enter");
  }

  async press(...keys: string[]): Promise<void> {
    await this.#tmux("send-keys", ...keys);
  }

  /** The screen as text; with `isColoured` with the escapes that colour it. */
  screen(isColoured = false): Promise<string> {
    return this.#tmux("capture-pane", "-p", ...(isColoured ? ["-e"] : []));
  }

  /** Resolves with the screen once this is on it, and rejects with the screen where it does not come. */
  async shows(text: string | RegExp): Promise<string> {
    const deadline = performance.now() + SEEN_MS_MAX;
    const isThere = (screen: string) =>
      typeof text === "string" ? screen.includes(text) : text.test(screen);
    let screen = await this.screen();
    while (!isThere(screen)) {
      if (performance.now() > deadline) throw new Error(`${String(text)} does not come:\n${screen}`);
      await Bun.sleep(50);
      screen = await this.screen();
    }
    return screen;
  }

  /** Resolves once the shell waits for a line: what is typed before that may go to the command. */
  prompts(): Promise<string> {
    return this.shows(/(?:^|\n)\$\n*$/);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tmux("kill-server");
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #tmux(...words: string[]): Promise<string> {
    const command = ["tmux", "-S", join(this.#folder, "socket"), ...words];
    const child = Bun.spawn(command, { env: this.#env, stdout: "pipe", stderr: "pipe" });
    const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
    if ((await child.exited) !== 0) throw new Error(`tmux ${words.join(" ")}: ${stderr}`);
    return stdout;
  }
}

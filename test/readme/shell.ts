/**
 * One bash that stays, as the reader's terminal does: variables, functions, folder and jobs outlive a block.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Ran {
  exitCode: number;
  stdout: string;
  /** What the commands complained about, and every command that failed, also in the middle of a pipe. */
  stderr: string;
}

/** Jobs get a process group of their own, as in a terminal; each command that fails is named. */
const BEGIN = `set -m -o pipefail -o errtrace
trap 'echo "exit code $? of: $BASH_COMMAND" >&2' ERR
`;
const blockDeadlineMs = 10_000;

export class Shell implements AsyncDisposable {
  /** `mktemp` makes its folders in here. */
  readonly #home = mkdtempSync(join(tmpdir(), "sealpost-readme-"));
  readonly #bash: Bun.Subprocess<"pipe", "pipe", "ignore">;
  readonly #lines: AsyncIterator<string>;
  /** What runs in the background; each leads a process group. */
  #jobs: number[] = [];

  constructor() {
    const { PATH = "", HOME = "" } = process.env;
    this.#bash = Bun.spawn(["bash", "--noprofile", "--norc"], {
      cwd: this.#home,
      env: { PATH, HOME, TMPDIR: this.#home },
      stdin: "pipe",
      stdout: "pipe",
      stderr: "ignore",
    });
    this.#lines = readLines(this.#bash.stdout);
    void this.#bash.stdin.write(BEGIN);
  }

  /** Runs a block of lines to its end. Throws where it does not end in time. */
  async run(block: string): Promise<Ran> {
    const file = (name: string) => join(this.#home, name);
    await Bun.write(file("block"), block);
    const redirected = `< /dev/null > ${file("stdout")} 2> ${file("stderr")}`;
    void this.#bash.stdin.write(`. ${file("block")} ${redirected}; echo $? $(jobs -p)\n`);
    await this.#bash.stdin.flush();
    const timer = setTimeout(() => this.#bash.kill("SIGKILL"), blockDeadlineMs);
    const line = await this.#lines.next();
    clearTimeout(timer);
    if (line.done) {
      await this.#bash.exited;
      throw new Error(`this does not end in ${blockDeadlineMs} ms, or ends the shell:\n${block}`);
    }
    const [exitCode = 1, ...jobs] = line.value.split(" ").map(Number);
    this.#jobs = jobs;
    return {
      exitCode,
      stdout: readFileSync(file("stdout"), "utf8"),
      stderr: readFileSync(file("stderr"), "utf8"),
    };
  }

  /** Ends what runs in the background, then the shell. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const job of this.#jobs) endGroup(job);
    if (this.#bash.exitCode === null && this.#bash.signalCode === null) {
      void this.#bash.stdin.write("wait\n");
      await this.#bash.stdin.end();
    }
    await this.#bash.exited;
    rmSync(this.#home, { recursive: true, force: true });
  }
}

function endGroup(leader: number): void {
  try {
    process.kill(-leader, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

async function* readLines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}

import { StartError } from "../platform/start-error.ts";

const LIST_MS = 60_000;

/** A file of a replica: some transactions, and when they were uploaded. */
export interface ReplicaFile {
  lastTransaction: number;
  /** In Unix milliseconds, by the second. */
  at: number;
}

interface ListedFile {
  max_txid: string;
  timestamp: string;
}

/** Litestream's command line, as far as it reads replicas. */
export class LitestreamCommand {
  private constructor(private readonly path: string) {}

  /** Null where the PATH leads to none. */
  static find(): LitestreamCommand | null {
    const path = Bun.which("litestream");
    return path === null ? null : new LitestreamCommand(path);
  }

  /** Every file of a replica; none where nothing was written there. Throws StartError. */
  async files(url: string): Promise<ReplicaFile[]> {
    const text = await this.#run(
      "The replica cannot be listed",
      ["ltx", "-json", "-level", "all", url],
      LIST_MS,
    );
    const files = JSON.parse(text || "[]") as ListedFile[] | null;
    return (files ?? []).map(({ max_txid, timestamp }) => ({
      lastTransaction: Number.parseInt(max_txid, 16),
      at: Date.parse(timestamp),
    }));
  }

  /**
   * Writes the database to `path`, whole or not at all: as the replica has it, or as it was before an instant
   * (Unix milliseconds) for which a file is older and another one is not. Throws StartError.
   */
  async restore(url: string, path: string, before: number | null): Promise<void> {
    const moment = before === null ? [] : ["-timestamp", new Date(before).toISOString()];
    await this.#run("The replica cannot be restored", ["restore", ...moment, "-o", path, url]);
  }

  async #run(hint: string, words: readonly string[], timeout?: number): Promise<string> {
    const child = Bun.spawn([this.path, ...words], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      ...(timeout !== undefined && { timeout, killSignal: "SIGKILL" as const }),
    });
    // A child would go on without its parent.
    const kill = () => child.kill("SIGKILL");
    process.on("exit", kill);
    const [out, said] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    const code = await child.exited;
    process.off("exit", kill);
    if (code !== 0) throw new StartError(`${hint}: ${said.trim().slice(-300)}`);
    return out;
  }
}

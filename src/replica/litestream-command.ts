import { litestreamAbove } from "./litestream.ts";
import { StartError } from "../platform/start-error.ts";

const LIST_MS = 10_000;
/** Of a month, by the steps of litestream.yml, some 90,000. */
const LIST_ALL_MS = 300_000;
const FOLLOW_INTERVAL = "200ms";

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

export type Child = Bun.Subprocess<"ignore", "ignore" | "pipe", "pipe">;

/** One of the problems of a SettingsError. */
export const NO_LITESTREAM = "PATH must lead to litestream, for example PATH=/usr/local/bin:$PATH";

/** Litestream's command line, as far as it reads replicas. */
export class LitestreamCommand {
  private constructor(readonly path: string) {}

  /** Null where the PATH leads to none. */
  static find(): LitestreamCommand | null {
    const path = Bun.which("litestream");
    return path === null ? null : new LitestreamCommand(path);
  }

  /** That of the Litestream which has started this process; null where there is none above. */
  static above(): LitestreamCommand | null {
    const pid = litestreamAbove();
    return pid === null ? null : new LitestreamCommand(`/proc/${pid}/exe`);
  }

  /** Every file of a replica; none where nothing was written there. Throws StartError. */
  files(url: string): Promise<ReplicaFile[]> {
    return this.#list(url, "all", LIST_ALL_MS);
  }

  /** The last transaction in a replica; 0 where there is none. Throws StartError. */
  async endOf(url: string): Promise<number> {
    // The first level has the newest, unless it was put together into the others.
    const newest = await this.#list(url, "0", LIST_MS);
    const files = newest.length > 0 ? newest : await this.files(url);
    return Math.max(0, ...files.map((file) => file.lastTransaction));
  }

  async holdsAny(url: string): Promise<boolean> {
    return (await this.endOf(url)) > 0;
  }

  async #list(url: string, level: string, withinMs: number): Promise<ReplicaFile[]> {
    const text = await this.#run("listed", ["ltx", "-json", "-level", level, url], withinMs);
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
  async restore(url: string, path: string, { before = null, timeoutMs }: RestoreOptions = {}): Promise<void> {
    const moment = before === null ? [] : ["-timestamp", new Date(before).toISOString()];
    await this.#run("restored", ["restore", ...moment, "-o", path, url], timeoutMs);
  }

  /** Writes the database to `path`, and goes on with what comes. */
  follow(url: string, path: string): Child {
    const words = ["restore", "-f", "-follow-interval", FOLLOW_INTERVAL, "-o", path, url];
    return this.#spawn(words, { stdout: "ignore" });
  }

  /** Answers what it prints. `done` is the verb of what cannot be done where it fails. */
  async #run(done: string, words: readonly string[], timeout?: number): Promise<string> {
    const child = this.#spawn(words, { stdout: "pipe", ...(timeout !== undefined && { timeout }) });
    // A child would go on without its parent.
    const kill = () => child.kill("SIGKILL");
    process.prependListener("exit", kill);
    const { code, out, said } = await outcomeOf(child).finally(() => process.off("exit", kill));
    if (code !== 0)
      throw new StartError(
        `The replica cannot be ${done}: ${said || `Litestream took longer than ${timeout} ms`}`,
      );
    return out;
  }

  #spawn(words: readonly string[], options: { stdout: "ignore" | "pipe"; timeout?: number }): Child {
    const all = { ...options, stdin: "ignore", stderr: "pipe", killSignal: "SIGKILL" } as const;
    return Bun.spawn([this.path, ...words], all);
  }
}

interface RestoreOptions {
  before?: number | null;
  timeoutMs?: number;
}

/** The exit code, what was printed, and the last words of what is wrong. */
export async function outcomeOf({ stdout, stderr, exited }: Child) {
  const [out, error] = await Promise.all([new Response(stdout).text(), new Response(stderr).text()]);
  return { code: await exited, out, said: withoutPassword(error.trim().slice(-300)) };
}

/** URLs as they may be shown: a password in one is for nobody's log. */
export function withoutPassword(text: string): string {
  return text.replaceAll(/\/\/([^/\s:@]*):[^/\n]*@/g, "//$1:***@");
}

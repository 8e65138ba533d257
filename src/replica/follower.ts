import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Child, type LitestreamCommand, outcomeOf } from "./litestream-command.ts";

type Log = (level: "info" | "warn", msg: string, fields?: Record<string, string | number>) => void;

const HOME = "following";
const FILE = "sealpost.db";
const PID_FILE = "pid";
const LOOK_MS = 50;
/** How long a copy that is followed may take to the replica's end, before it is restored anew. */
const CATCH_UP_MS = 20_000;
const RESTORE_MS = 1_800_000;
const STOP_MS = 3000;
/** After a copy that could not be made: twice as long each time. */
const PAUSE_MS = 500;
const PAUSE_MS_MAX = 30_000;
const TELL_MS = 30_000;

/**
 * A copy of the database that `litestream restore -f` keeps up to date, below the data directory. It may be
 * read meanwhile. Each copy has a folder of its own: what another process has left is of who knows which
 * generation, and a child that outlived its parent writes to what is removed.
 */
export class Follower {
  #child: Child | null = null;
  #url: string | null = null;
  #folder: string | null = null;
  /** Copies that could not be made, one after the other. */
  #failures = 0;
  /** In monotonic time: when the next one is tried, and when it is told again that none can be made. */
  #nextAt = 0;
  #tellAt = 0;

  constructor(
    private readonly litestream: Pick<LitestreamCommand, "endOf" | "follow" | "restore">,
    private readonly dir: string,
    private readonly log: Log,
  ) {}

  get #home(): string {
    return join(this.dir, HOME);
  }

  /** The last transaction in the copy; 0 where there is no copy. */
  get position(): number {
    if (this.#folder === null) return 0;
    try {
      return Number.parseInt(readFileSync(join(this.#folder, `${FILE}-txid`), "latin1").trim(), 16) || 0;
    } catch {
      return 0;
    }
  }

  /** Where the copy is; null where there is none. */
  get path(): string | null {
    return this.#folder === null ? null : join(this.#folder, FILE);
  }

  /** Ends what an earlier process has left, and removes it. */
  clear(): void {
    const names = existsSync(this.#home) ? readdirSync(this.#home) : [];
    for (const name of names) endOrphan(join(this.#home, name));
    rmSync(this.#home, { recursive: true, force: true });
    this.#folder = null;
  }

  /** Goes on following the replica at `url`; of another one than before it begins anew. */
  async follow(url: string): Promise<void> {
    if (this.#url !== url) await this.end();
    this.#url = url;
    if (this.#child !== null || performance.now() < this.#nextAt) return;
    const folder = this.#folder ?? this.#makeFolder();
    const child = this.litestream.follow(url, join(folder, FILE));
    writeFileSync(join(folder, PID_FILE), String(child.pid));
    this.#child = child;
    void this.#watch(child);
  }

  /** A copy that Litestream cannot go on with is made anew. */
  async #watch(child: Child): Promise<void> {
    const { code, said } = await outcomeOf(child);
    if (this.#child !== child) return;
    const had = this.position;
    this.#child = null;
    this.#remove();
    if (had === 0) return this.#fail({ code, said });
    this.#failures = 0;
    this.log("warn", "the copy is made anew: Litestream has stopped following", { code, said });
  }

  /** Once is nothing: a primary that has just begun has uploaded nothing yet. */
  #fail(why: { code: number; said: string }): void {
    const now = performance.now();
    this.#nextAt = now + Math.min(PAUSE_MS * 2 ** this.#failures, PAUSE_MS_MAX);
    this.#failures++;
    if (this.#failures === 1 || now < this.#tellAt) return;
    this.#tellAt = now + TELL_MS;
    this.log("warn", "the replica cannot be copied: this machine could not take over", why);
  }

  /** Resolves once the copy has all that the replica holds at this call, and nothing follows it any more. */
  async catchUp(url: string): Promise<void> {
    const deadline = performance.now() + CATCH_UP_MS;
    let end = await this.litestream.endOf(url);
    while (performance.now() < deadline) {
      this.#nextAt = 0;
      await this.follow(url);
      while (this.position < end && this.#child !== null && performance.now() < deadline)
        await Bun.sleep(LOOK_MS);
      await this.#stop();
      // It may have been in the middle of a file that has come since: then it has to take that once more.
      end = await this.litestream.endOf(url);
      if (this.position >= end) return;
    }
    await this.#restore(url);
  }

  async #restore(url: string): Promise<void> {
    this.log("warn", "the copy has not caught up: the replica is restored whole");
    this.#remove();
    const path = join(this.#makeFolder(), FILE);
    try {
      await this.litestream.restore(url, path, { timeoutMs: RESTORE_MS });
    } catch (error) {
      this.#remove();
      throw error;
    }
  }

  /** Puts the copy, which nothing follows any more, in the place of the database. */
  install(): void {
    if (this.#folder === null) throw new Error("there is no copy to install");
    renameSync(join(this.#folder, FILE), join(this.dir, FILE));
    this.clear();
  }

  /** Ends, and removes the copy. */
  async end(): Promise<void> {
    await this.#stop();
    this.#url = null;
    this.#failures = this.#nextAt = this.#tellAt = 0;
    this.#remove();
  }

  /** At once: the process ends. */
  kill(): void {
    this.#child?.kill("SIGKILL");
  }

  #makeFolder(): string {
    this.#folder = join(this.#home, randomBytes(8).toString("hex"));
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    return this.#folder;
  }

  #remove(): void {
    if (this.#folder !== null) rmSync(this.#folder, { recursive: true, force: true });
    this.#folder = null;
  }

  async #stop(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null) return;
    child.kill("SIGINT");
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    await child.exited;
    clearTimeout(timer);
  }
}

/** A child whose parent was killed goes on. Its pid may be another process's by now. */
function endOrphan(folder: string): void {
  try {
    const pid = Number(readFileSync(join(folder, PID_FILE), "utf8"));
    if (readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(folder)) process.kill(pid, "SIGKILL");
  } catch {}
}

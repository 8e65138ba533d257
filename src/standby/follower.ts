import { mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { StartError } from "../platform/start-error.ts";

type Log = (level: "info" | "warn", msg: string, fields?: Record<string, string | number>) => void;

const FOLDER = "following";
const FILE = "sealpost.db";
const INTERVAL = "200ms";
const LOOK_MS = 50;
/** How long a copy that is followed may take to the replica's end, before it is restored anew. */
const CATCH_UP_MS = 20_000;

/**
 * A copy of the database that `litestream restore -f` keeps up to date, in a folder of its own below the data
 * directory. It may be read meanwhile.
 */
export class Follower {
  #child: Bun.Subprocess<"ignore", "ignore", "pipe"> | null = null;
  #url: string | null = null;

  constructor(
    private readonly litestream: string,
    private readonly dir: string,
    private readonly log: Log,
  ) {}

  get #folder(): string {
    return join(this.dir, FOLDER);
  }

  get path(): string {
    return join(this.#folder, FILE);
  }

  /** The last transaction in the copy; 0 where there is no copy. */
  get position(): number {
    try {
      return Number.parseInt(readFileSync(`${this.path}-txid`, "latin1").trim(), 16) || 0;
    } catch {
      return 0;
    }
  }

  /** Goes on following the replica at `url`; of another one than before it begins anew. */
  async follow(url: string): Promise<void> {
    if (this.#url !== url && this.#url !== null) await this.forget();
    this.#url = url;
    if (this.#child !== null) return;
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const command = [this.litestream, "restore", "-f", "-follow-interval", INTERVAL, "-o", this.path, url];
    const child = Bun.spawn(command, { stdin: "ignore", stdout: "ignore", stderr: "pipe" });
    this.#child = child;
    void this.#watch(child);
  }

  /** A copy that Litestream cannot go on with is made anew. */
  async #watch(child: Bun.Subprocess<"ignore", "ignore", "pipe">): Promise<void> {
    const text = await new Response(child.stderr).text();
    const code = await child.exited;
    if (this.#child !== child) return;
    this.#child = null;
    if (this.position === 0) return;
    this.log("warn", "the copy is made anew: Litestream has stopped following", {
      code,
      said: text.trim().slice(-300),
    });
    this.#remove();
  }

  async holdsAny(url: string): Promise<boolean> {
    return (await this.#endOf(url)) > 0;
  }

  /** Resolves once the copy has all that the replica holds at this call, and nothing follows it any more. */
  async catchUp(url: string): Promise<void> {
    const end = await this.#endOf(url);
    await this.follow(url);
    const deadline = performance.now() + CATCH_UP_MS;
    while (this.position < end && this.#child !== null && performance.now() < deadline)
      await Bun.sleep(LOOK_MS);
    await this.#stop();
    if (this.position < end) await this.#restore(url);
  }

  /** The last transaction in the replica; 0 where there is none. */
  async #endOf(url: string): Promise<number> {
    for (const level of ["0", "all"]) {
      const listed = Bun.spawn([this.litestream, "ltx", "-json", "-level", level, url], {
        stdin: "ignore",
        stdout: "pipe",
        stderr: "pipe",
      });
      const [out, error] = await Promise.all([
        new Response(listed.stdout).text(),
        new Response(listed.stderr).text(),
      ]);
      if ((await listed.exited) !== 0)
        throw new StartError(`the replica cannot be listed: ${error.trim().slice(-300)}`);
      const files = JSON.parse(out || "[]") as { max_txid: string }[];
      if (files.length > 0) return Math.max(...files.map((file) => Number.parseInt(file.max_txid, 16)));
    }
    return 0;
  }

  async #restore(url: string): Promise<void> {
    this.log("warn", "the copy has not caught up: the replica is restored whole");
    this.#remove();
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const child = Bun.spawn([this.litestream, "restore", "-o", this.path, url], {
      stdin: "ignore",
      stdout: "ignore",
      stderr: "pipe",
    });
    const error = await new Response(child.stderr).text();
    if ((await child.exited) !== 0)
      throw new StartError(`the replica cannot be restored: ${error.trim().slice(-300)}`);
  }

  /** Puts the copy, which nothing follows any more, in the place of the database. */
  install(): void {
    renameSync(this.path, join(this.dir, FILE));
    this.#remove();
  }

  /** Ends, and removes the copy. */
  async forget(): Promise<void> {
    await this.#stop();
    this.#url = null;
    this.#remove();
  }

  #remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #stop(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    child?.kill("SIGINT");
    await child?.exited;
  }
}

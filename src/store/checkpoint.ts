import { Database, SQLiteError } from "bun:sqlite";
import type { Store } from "./store.ts";

/**
 * Checkpoints copy pages from the WAL into the database and sync both: the longest work that the disk is
 * asked for (up to 100 ms at full load). They run on a thread of their own, over a connection of their own,
 * so that the event loop never waits for them.
 *
 * A checkpoint beside running commits never reaches the WAL's end, and only from there it is written anew
 * from its start. So where the WAL has grown, commits are held for the short rest: writes wait some
 * milliseconds, the loop does not.
 *
 * What is new in the WAL needs room in the database as well. Where a full disk has none, everything stays in
 * the WAL, which is as safe, and a checkpoint is tried until there is room; that one gives back all that the
 * WAL took.
 */

/** Pages of the WAL, and how many of them are in the database. */
export interface CheckpointResult {
  log: number;
  checkpointed: number;
}

export interface Checkpointer {
  /** Null where the disk has no room for it, or it did not cut the WAL as it was to. */
  run(): Promise<CheckpointResult | null>;
}

/** Below this the WAL may grow on: 16 MiB of pages. */
const PAGES_TO_RESTART = 4000;
const TAIL_PAGES_MAX = 500;
const PASSES_MAX = 3;

export class Checkpoints {
  #commits = 0;
  #running = false;
  /** False from one that found none until one that has cut the WAL. */
  #hadRoom = true;

  constructor(
    private readonly store: Store,
    private readonly checkpointer: Checkpointer,
    /** True while Litestream does it: between two of its reads we must not let the WAL start anew. */
    private readonly isAttended: () => boolean = () => false,
  ) {}

  /** One checkpoint, if anything was written since the last, or that had no room; one at a time. */
  async run(): Promise<void> {
    const isDone = this.#hadRoom && this.store.commits === this.#commits;
    if (this.isAttended() || this.#running || isDone) return;
    this.#running = true;
    this.#commits = this.store.commits;
    try {
      // Before anything that is written takes the room that has come, and as the WAL is cut then.
      if (!this.#hadRoom) return await this.store.holdCommits(() => this.#checkpoint());
      let { log, checkpointed } = await this.#checkpoint();
      if (log < PAGES_TO_RESTART) return;
      // What was written meanwhile is a tail that shrinks with each pass; commits are held for a short
      // one only.
      for (let pass = 0; pass < PASSES_MAX && log - checkpointed > TAIL_PAGES_MAX; pass++) {
        ({ log, checkpointed } = await this.#checkpoint());
      }
      await this.store.holdCommits(() => this.#checkpoint());
    } finally {
      this.#running = false;
    }
  }

  async #checkpoint(): Promise<CheckpointResult> {
    const result = await this.checkpointer.run();
    this.#hadRoom = result !== null;
    return result ?? NOTHING;
  }
}

/** What the thread does with the database at `path`: one passive checkpoint a run. */
export function openCheckpointer(path: string): { run(): CheckpointResult | null; close(): void } {
  const sqlite = new Database(path);
  let hadRoom = true;
  const run = () => {
    const result = checkpoint(sqlite, hadRoom ? "PASSIVE" : "TRUNCATE");
    hadRoom = result !== null;
    return result;
  };
  return { run, close: () => sqlite.close() };
}

const NOTHING: CheckpointResult = { log: 0, checkpointed: 0 };

/**
 * Null on a full disk. `TRUNCATE` cuts the WAL once all of it is in the database; null where a reader keeps
 * it from that, as neither waits for a lock.
 */
export function checkpoint(sqlite: Database, mode: "PASSIVE" | "TRUNCATE"): CheckpointResult | null {
  try {
    const result = sqlite
      .query<CheckpointResult & { busy: number }, []>(`PRAGMA wal_checkpoint(${mode})`)
      .get();
    return mode === "TRUNCATE" && result?.busy !== 0 ? null : (result ?? NOTHING);
  } catch (error) {
    if (error instanceof SQLiteError && error.code === "SQLITE_FULL") return null;
    throw error;
  }
}

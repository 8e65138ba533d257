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
 */

/** Pages of the WAL, and how many of them are in the database. */
export interface CheckpointResult {
  log: number;
  checkpointed: number;
}

export interface Checkpointer {
  run(): Promise<CheckpointResult>;
}

/** Below this the WAL may grow on: 16 MiB of pages. */
const PAGES_TO_RESTART = 4000;
const TAIL_PAGES_MAX = 500;
const PASSES_MAX = 3;

export class Checkpoints {
  #commits = 0;
  #running = false;

  constructor(
    private readonly store: Store,
    private readonly checkpointer: Checkpointer,
    /** True while Litestream does it: between two of its reads we must not let the WAL start anew. */
    private readonly isAttended: () => boolean = () => false,
  ) {}

  /** One checkpoint, if anything was written since the last; one at a time. */
  async run(): Promise<void> {
    if (this.isAttended() || this.#running || this.store.commits === this.#commits) return;
    this.#running = true;
    this.#commits = this.store.commits;
    try {
      let { log, checkpointed } = await this.checkpointer.run();
      if (log < PAGES_TO_RESTART) return;
      // What was written meanwhile is a tail that shrinks with each pass; commits are held for a short
      // one only.
      for (let pass = 0; pass < PASSES_MAX && log - checkpointed > TAIL_PAGES_MAX; pass++) {
        ({ log, checkpointed } = await this.checkpointer.run());
      }
      await this.store.holdCommits(() => this.checkpointer.run());
    } finally {
      this.#running = false;
    }
  }
}

/** What the thread does with the database at `path`: one passive checkpoint a run. */
export function openCheckpointer(path: string): { run(): CheckpointResult; close(): void } {
  const sqlite = new Database(path);
  return { run: () => checkpointPassively(sqlite), close: () => sqlite.close() };
}

const NOTHING: CheckpointResult = { log: 0, checkpointed: 0 };

/** On a full disk there may be no room for it: then everything stays in the WAL, which is as safe. */
export function checkpointPassively(sqlite: Database): CheckpointResult {
  try {
    return sqlite.query<CheckpointResult, []>("PRAGMA wal_checkpoint(PASSIVE)").get() ?? NOTHING;
  } catch (error) {
    if (error instanceof SQLiteError && error.code === "SQLITE_FULL") return NOTHING;
    throw error;
  }
}

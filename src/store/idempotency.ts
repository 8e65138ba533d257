import { limit } from "../core/limits.ts";
import type { Store } from "./store.ts";

/** What a kept answer takes its bytes of. */
export type Room = "keptChangedBytesMax" | "keptUnchangedBytesMax";

const DAY_MS = 86_400_000;
const CALLERS_MAX = 10_000;

/** Answers kept under an Idempotency-Key, per project and consumer, for a day. */
export class Idempotency {
  readonly #find;
  readonly #save;
  readonly #expire;
  readonly #hasPast;
  /** Bytes of today's answers, by caller and room; after a restart they are counted anew. */
  readonly #taken = new Map<string, number>();
  #day = 0;

  constructor(private readonly store: Store) {
    const { sqlite } = store;
    this.#find = sqlite.prepare<
      { fingerprint: string; status: number; body: string },
      [number, string, string, number]
    >(
      "SELECT fingerprint, status, body FROM idempotency WHERE project_id = ? AND consumer_id = ? AND key = ? AND created_at > ?",
    );
    this.#save = sqlite.prepare<void, [number, string, string, string, number, string, number]>(
      "INSERT OR REPLACE INTO idempotency VALUES (?, ?, ?, ?, ?, ?, ?)",
    );
    this.#hasPast = sqlite.prepare<object, [number]>(
      "SELECT 1 FROM idempotency WHERE created_at <= ? LIMIT 1",
    );
    this.#expire = sqlite.prepare<void, [number, number]>(
      `DELETE FROM idempotency WHERE (project_id, consumer_id, key) IN
       (SELECT project_id, consumer_id, key FROM idempotency WHERE created_at <= ? LIMIT ?)`,
    );
  }

  find(
    projectId: number,
    consumerId: string | null,
    key: string,
  ): { fingerprint: string; status: number; body: string } | null {
    return this.#find.get(projectId, consumerId ?? "", key, this.store.now() - limit("idempotencyKeptMs"));
  }

  /** Whether an answer of so many bytes may be kept: a caller has so much of each room a day. */
  takeRoom(projectId: number, consumerId: string | null, room: Room, bytes: number): boolean {
    const day = Math.floor(this.store.now() / DAY_MS);
    if (day !== this.#day) this.#taken.clear();
    this.#day = day;
    const caller = `${room} ${projectId} ${consumerId ?? ""}`;
    const taken = (this.#taken.get(caller) ?? 0) + bytes;
    if (taken > limit(room) || this.#taken.size > CALLERS_MAX) return false;
    this.#taken.set(caller, taken);
    return true;
  }

  /** Inside a write. */
  save(
    projectId: number,
    consumerId: string | null,
    key: string,
    fingerprint: string,
    status: number,
    body: string,
  ): void {
    this.#save.run(projectId, consumerId ?? "", key, fingerprint, status, body, this.store.now());
  }

  /** Removes a slice of what is past its day; answers how many. */
  async expire(): Promise<number> {
    const before = this.store.now() - limit("idempotencyKeptMs");
    if (!this.#hasPast.get(before)) return 0;
    return this.store.write(() => this.#expire.run(before, limit("sliceRows")).changes);
  }
}

import { limit } from "../core/limits.ts";
import type { Store } from "./store.ts";

const DAY_MS = 86_400_000;
const CALLERS_MAX = 10_000;

/** Whose key it is. */
export interface KeyOwner {
  projectId: number;
  consumerId: string | null;
}

/** What a key of an owner stands for. */
export interface KeptAnswer {
  /** Of the request. */
  fingerprint: string;
  status: number;
  /** JSON, or empty. */
  body: string;
}

/**
 * Answers kept under an Idempotency-Key for a day: those of changes on the disk, with the change; those of
 * calls that changed nothing in memory, as asking again after a restart does no harm.
 */
export class Idempotency {
  readonly #find;
  readonly #save;
  readonly #expire;
  readonly #hasPast;
  readonly #unchanging = new Map<string, KeptAnswer>();
  /** Bytes of today's answers, by caller and whether they changed something; a restart begins anew. */
  readonly #taken = new Map<string, number>();
  #unchangingBytes = 0;
  #day = 0;

  constructor(private readonly store: Store) {
    const { sqlite } = store;
    this.#find = sqlite.prepare<KeptAnswer, [number, string, string, number]>(
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

  find(owner: KeyOwner, key: string): KeptAnswer | null {
    this.#beginDay();
    const known = this.#unchanging.get(nameOf(owner, key));
    if (known) return known;
    const since = this.store.now() - limit("idempotencyKeptMs");
    return this.#find.get(owner.projectId, owner.consumerId ?? "", key, since);
  }

  /** Whether the answer of a change may have so many bytes: a caller has so many of them a day. */
  takeRoom(owner: KeyOwner, bytes: number): boolean {
    return this.#take(`changed ${nameOf(owner, "")}`, bytes, limit("keptChangedBytesMax"));
  }

  /** Inside a write: the answer of a change. */
  save(owner: KeyOwner, key: string, { fingerprint, status, body }: KeptAnswer): void {
    const { projectId, consumerId } = owner;
    this.#save.run(projectId, consumerId ?? "", key, fingerprint, status, body, this.store.now());
  }

  /** The answer of a call that changed nothing, where there is room for it. */
  keepUnchanging(owner: KeyOwner, key: string, kept: KeptAnswer): void {
    const bytes = kept.body.length;
    if (this.#unchangingBytes + bytes > limit("keptUnchangedTotalBytesMax")) return;
    if (!this.#take(nameOf(owner, ""), bytes, limit("keptUnchangedBytesMax"))) return;
    this.#unchangingBytes += bytes;
    this.#unchanging.set(nameOf(owner, key), kept);
  }

  /** Something is erased, which answers of calls that changed nothing may show. */
  forgetUnchanging(): void {
    this.#unchanging.clear();
    this.#unchangingBytes = 0;
  }

  /** Removes a slice of what is past its day; answers how many. */
  async expire(): Promise<number> {
    const before = this.store.now() - limit("idempotencyKeptMs");
    if (!this.#hasPast.get(before)) return 0;
    return this.store.write(() => this.#expire.run(before, limit("sliceRows")).changes);
  }

  #take(caller: string, bytes: number, max: number): boolean {
    this.#beginDay();
    const taken = (this.#taken.get(caller) ?? 0) + bytes;
    if (taken > max || this.#taken.size > CALLERS_MAX) return false;
    this.#taken.set(caller, taken);
    return true;
  }

  #beginDay(): void {
    const day = Math.floor(this.store.now() / DAY_MS);
    if (day === this.#day) return;
    this.#day = day;
    this.#taken.clear();
    this.forgetUnchanging();
  }
}

/** One text for a key of an owner. */
export function nameOf({ projectId, consumerId }: KeyOwner, key: string): string {
  return JSON.stringify([projectId, consumerId, key]);
}

import { createHash } from "node:crypto";
import { exactBytes } from "../../core/exact-bytes.ts";
import { limit } from "../../core/limits.ts";
import type { Store } from "../store.ts";

const HASH_BYTES = 16;

/** Which deliveries of a provider were seen, per source; outlives the events themselves. */
export class Dedup {
  readonly #find;
  readonly #save;
  readonly #expire;
  readonly #hasPast;

  constructor(private readonly store: Store) {
    const { sqlite } = store;
    this.#find = sqlite.prepare<{ event_id: number }, [number, Uint8Array, number]>(
      "SELECT event_id FROM dedup WHERE source_id = ? AND hash = ? AND expires_at > ?",
    );
    this.#save = sqlite.prepare<void, [number, Uint8Array, number, number]>(
      "INSERT OR REPLACE INTO dedup VALUES (?, ?, ?, ?)",
    );
    this.#hasPast = sqlite.prepare<object, [number]>("SELECT 1 FROM dedup WHERE expires_at <= ? LIMIT 1");
    this.#expire = sqlite.prepare<void, [number, number]>(
      "DELETE FROM dedup WHERE (source_id, hash) IN (SELECT source_id, hash FROM dedup WHERE expires_at <= ? LIMIT ?)",
    );
  }

  /** The event that this delivery made, or null where it is new. */
  find(sourceId: number, deliveryId: string): number | null {
    return this.#find.get(sourceId, hashOf(deliveryId), this.store.now())?.event_id ?? null;
  }

  /** Inside a write. */
  save(sourceId: number, deliveryId: string, eventId: number, keptSeconds: number): void {
    this.#save.run(sourceId, hashOf(deliveryId), eventId, this.store.now() + keptSeconds * 1000);
  }

  /** Removes a slice of what is past its time; answers how many. */
  async expire(): Promise<number> {
    const now = this.store.now();
    if (!this.#hasPast.get(now)) return 0;
    return this.store.write(() => this.#expire.run(now, limit("sliceRows")).changes);
  }
}

/** 128 bits of SHA-256: provider ids have any length. */
function hashOf(deliveryId: string): Uint8Array {
  return createHash("sha256").update(exactBytes(deliveryId)).digest().subarray(0, HASH_BYTES);
}

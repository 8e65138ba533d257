import { Cipher } from "../../core/cipher.ts";
import type { Store } from "../store.ts";

/** Every table whose rows hold a ciphertext in `sealed`. */
export const SEALED_TABLES = ["endpoint", "source"] as const;
type SealedTable = (typeof SEALED_TABLES)[number];
/** Rows that one step reads; those that it encrypts anew cost some 20 µs each. */
const ROWS_AT_ONCE = 50;

export interface SealedRow {
  id: number;
  sealed: Uint8Array;
}

/** What the table of a step still has to do. */
interface Position {
  table: SealedTable;
  after: number;
}

/** What the ciphertext of a row is bound to (Cipher). */
export function sealedPlace(table: SealedTable, id: number): string {
  return `${table}|${id}|sealed`;
}

/**
 * Encrypts anew, by the first key, what other keys encrypted: also what is deleted, as history names it. Each
 * step is one write, and what a crash leaves is found again at the next start.
 */
export class Sealing {
  readonly #statements;
  /** Rows that need a key other than the first. */
  #left: number;
  #position: Position | null;

  constructor(
    private readonly store: Store,
    private readonly cipher: Cipher,
  ) {
    this.#statements = new Map(SEALED_TABLES.map((table) => [table, prepare(store, table)]));
    this.#left = this.#count();
    this.#position = this.#left > 0 ? { table: SEALED_TABLES[0], after: 0 } : null;
  }

  /** Ciphertexts that need a key other than the first. */
  get left(): number {
    return this.#left;
  }

  /** False where every row was looked at. */
  get isDue(): boolean {
    return this.#position !== null;
  }

  /** Encrypts some rows anew; answers how many. */
  async step(): Promise<number> {
    const position = this.#position;
    if (position === null) return 0;
    const { table, after } = position;
    const { rows, changed } = await this.store.write(() => {
      const read = this.#of(table).read.all(after, ROWS_AT_ONCE);
      return { rows: read, changed: read.filter((row) => this.#reseal(table, row)).length };
    });
    this.#left -= changed;
    const last = rows.at(-1);
    const next = SEALED_TABLES[SEALED_TABLES.indexOf(table) + 1];
    if (last !== undefined) this.#position = { table, after: last.id };
    else if (next !== undefined) this.#position = { table: next, after: 0 };
    else this.#end();
    return changed;
  }

  /** Counts once more: some rows may have gone meanwhile. */
  #end(): void {
    this.#position = null;
    this.#left = this.#count();
  }

  #count(): number {
    const counts = SEALED_TABLES.map((table) => this.#of(table).count.get(this.#keyId)?.rows ?? 0);
    return counts.reduce((sum, rows) => sum + rows, 0);
  }

  /** False where it is encrypted by the first key, or by one that is not there. */
  #reseal(table: SealedTable, { id, sealed }: SealedRow): boolean {
    const keyId = Cipher.keyId(sealed);
    if (keyId === this.cipher.currentKeyId || !this.cipher.has(keyId)) return false;
    const place = sealedPlace(table, id);
    this.#of(table).write.run(Buffer.from(this.cipher.seal(this.cipher.open(sealed, place), place)), id);
    return true;
  }

  get #keyId(): Buffer {
    return Buffer.from(this.cipher.currentKeyId, "hex");
  }

  #of(table: SealedTable): ReturnType<typeof prepare> {
    const statements = this.#statements.get(table);
    if (!statements) throw new Error(`no statements for ${table}`);
    return statements;
  }
}

function prepare({ sqlite }: Store, table: SealedTable) {
  return {
    count: sqlite.prepare<{ rows: number }, [Uint8Array]>(
      `SELECT count(*) AS rows FROM ${table} WHERE substr(sealed, 1, 4) <> ?`,
    ),
    read: sqlite.prepare<SealedRow, [number, number]>(
      `SELECT id, sealed FROM ${table} WHERE id > ? ORDER BY id LIMIT ?`,
    ),
    write: sqlite.prepare<void, [Uint8Array, number]>(`UPDATE ${table} SET sealed = ? WHERE id = ?`),
  };
}

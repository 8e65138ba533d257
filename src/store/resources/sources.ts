import { eq, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { Cipher } from "../../core/cipher.ts";
import { keyTime } from "../../core/ids.ts";
import type { Source, SourceSecrets } from "../../core/model.ts";
import { weightOf } from "../../core/json/weight.ts";
import { type ReadonlyShelf, Shelves } from "../../core/structures/shelf.ts";
import { source as table } from "../schema.ts";
import type { Store } from "../store.ts";
import { sealedPlace } from "./sealing.ts";

export type NewSource = Omit<Source, "id">;

/** What is left to know of a source that is deleted. */
export type DeletedSource = Pick<Source, "id" | "projectId"> & { status: "deleted" };

/**
 * What a source's settings take in memory, about, also at rest. The secret before, which holds for a while,
 * is no larger than its own.
 */
export function sourceWeight({ name, config, credentials, signingSecret }: NewSource): number {
  return weightOf([name, config, credentials, signingSecret]);
}

/** Sources: all that are not deleted stand in memory beside their table. */
export class Sources {
  readonly #all = new Map<number, Source>();
  readonly #ofProject = new Shelves<number, Source>();
  readonly #onDelete: ((id: number) => void)[] = [];
  readonly #delete;

  constructor(
    private readonly store: Store,
    private readonly db: BunSQLiteDatabase,
    private readonly cipher: Cipher,
  ) {
    this.#delete = store.sqlite.prepare<{ project_id: number }, [number, number]>(
      "UPDATE source SET status = 'deleted', updated_at = ? WHERE id = ? AND status <> 'deleted' RETURNING project_id",
    );
    for (const row of db.select().from(table).where(sql`status <> 'deleted'`).orderBy(table.id).all())
      this.remember(this.#open(row));
  }

  get(id: number): Source | undefined {
    return this.#all.get(id);
  }

  all(): Iterable<Source> {
    return this.#all.values();
  }

  /** Calls `listener` with the key of each source that is deleted. */
  onDelete(listener: (id: number) => void): void {
    this.#onDelete.push(listener);
  }

  /** In the order of their keys; what they weigh is their settings. */
  ofProject(projectId: number): ReadonlyShelf<Source> {
    return this.#ofProject.of(projectId);
  }

  /** Inside a write; `remember` afterwards. */
  insert(fields: NewSource): Source {
    const id = this.store.takeKey();
    const made: Source = { ...fields, id, updatedAt: keyTime(id) };
    this.db.insert(table).values(this.#seal(made)).run();
    return made;
  }

  /** Inside a write; `remember` afterwards. Changes what the source is at that moment. */
  update(id: number, change: (current: Source) => Partial<Source>): Source | null {
    const row = this.db.select().from(table).where(eq(table.id, id)).get();
    if (!row || row.status === "deleted") return null;
    const old = this.#open(row);
    const made: Source = { ...old, updatedAt: this.store.now(), ...change(old), id };
    this.db.update(table).set(this.#seal(made)).where(eq(table.id, id)).run();
    return made;
  }

  /** Inside a write; `remember` afterwards. Only the status changes: nothing is encrypted anew. */
  delete(id: number): DeletedSource | null {
    const found = this.#delete.get(this.store.now(), id);
    return found && { id, projectId: found.project_id, status: "deleted" };
  }

  /**
   * After the commit: from now on everyone sees this one. At once, as of endpoints: a later change may share
   * the transaction.
   */
  remember(changed: Source | DeletedSource): void {
    const { id, projectId } = changed;
    if (changed.status === "deleted") {
      this.#all.delete(id);
      this.#ofProject.delete(projectId, id);
      for (const listener of this.#onDelete) listener(id);
    } else {
      this.#all.set(id, changed);
      this.#ofProject.set(projectId, changed, sourceWeight(changed));
    }
  }

  #seal(made: Source): typeof table.$inferInsert {
    const {
      secret,
      previousSecret,
      signingSecret,
      previousSigningSecret,
      previousExpiresAt,
      credentials,
      ...rest
    } = made;
    const { pendingVerificationToken, ...open } = rest;
    const secrets: SourceSecrets = {
      secret,
      previousSecret,
      signingSecret,
      previousSigningSecret,
      previousExpiresAt,
      credentials,
      pendingVerificationToken,
    };
    return {
      ...open,
      sealed: Buffer.from(this.cipher.seal(JSON.stringify(secrets), sealedPlace("source", made.id))),
    };
  }

  #open({ sealed, ...open }: typeof table.$inferSelect): Source {
    const secrets = JSON.parse(this.cipher.open(sealed, sealedPlace("source", open.id))) as SourceSecrets;
    return { ...open, ...secrets };
  }
}

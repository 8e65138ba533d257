import { eq } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { Cipher } from "../../core/cipher.ts";
import { keyTime } from "../../core/ids.ts";
import type { Source, SourceSecrets } from "../../core/model.ts";
import { source as table } from "../schema.ts";
import type { Store } from "../store.ts";

export type NewSource = Omit<Source, "id">;

/** Sources: all that are not deleted stand in memory beside their table. */
export class Sources {
  readonly #all = new Map<number, Source>();

  constructor(
    private readonly store: Store,
    private readonly db: BunSQLiteDatabase,
    private readonly cipher: Cipher,
  ) {
    for (const row of db.select().from(table).all())
      if (row.status !== "deleted") this.#all.set(row.id, this.#open(row));
  }

  get(id: number): Source | undefined {
    return this.#all.get(id);
  }

  all(): Iterable<Source> {
    return this.#all.values();
  }

  /** Newest first. */
  ofProject(projectId: number): Source[] {
    return [...this.#all.values()]
      .filter((source) => source.projectId === projectId)
      .sort((a, b) => b.id - a.id);
  }

  /** Inside a write; `remember` afterwards. */
  insert(fields: NewSource): Source {
    const id = this.store.takeKey();
    const made: Source = { ...fields, id, updatedAt: keyTime(id) };
    this.db.insert(table).values(this.#seal(made)).run();
    return made;
  }

  /** Inside a write; `remember` afterwards. Changes what the source is at that moment. */
  update(id: number, change: (now: Source) => Partial<Source>): Source | null {
    const row = this.db.select().from(table).where(eq(table.id, id)).get();
    if (!row || row.status === "deleted") return null;
    const old = this.#open(row);
    const made: Source = { ...old, updatedAt: this.store.now(), ...change(old), id };
    this.db.update(table).set(this.#seal(made)).where(eq(table.id, id)).run();
    return made;
  }

  /** After the commit: from now on everyone sees this one. */
  remember(changed: Source): void {
    if (changed.status === "deleted") this.#all.delete(changed.id);
    else this.#all.set(changed.id, changed);
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
    return { ...open, sealed: Buffer.from(this.cipher.seal(JSON.stringify(secrets), placeOf(made.id))) };
  }

  #open({ sealed, ...open }: typeof table.$inferSelect): Source {
    const secrets = JSON.parse(this.cipher.open(sealed, placeOf(open.id))) as SourceSecrets;
    return { ...open, ...secrets };
  }
}

function placeOf(id: number): string {
  return `source|${id}|sealed`;
}

import { and, desc, eq, gt, lt, lte } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { limit } from "../../core/limits.ts";
import { hashToken, makeToken } from "../../core/tokens.ts";
import { portalLink as table } from "../schema.ts";
import { leavesWithConsumer } from "../leaves-with-consumer.ts";
import type { Store } from "../store.ts";

/** What opens the portal for one consumer, or read-only for the whole project. */
export interface PortalLink {
  id: number;
  projectId: number;
  /** null: the whole project. */
  consumerId: string | null;
  manage: boolean;
  create: boolean;
  expiresAt: number;
}

type Row = { hash: Buffer } & PortalLink;

/**
 * Portal links. A page that embeds the portal makes one for each visit, so they are read from their table and
 * not held in memory: a token costs one look-up by its hash.
 */
export class PortalLinks {
  readonly #find;

  constructor(
    private readonly store: Store,
    private readonly db: BunSQLiteDatabase,
    private readonly cell: string,
  ) {
    this.#find = store.sqlite.prepare<StoredLink, [Uint8Array, number]>(
      `SELECT id, project_id, consumer_id, may_manage, may_create, expires_at FROM portal_link
       WHERE hash = ? AND expires_at > ? AND NOT ${leavesWithConsumer("portal_link")}`,
    );
  }

  /** Inside a write: a new link and its token, of which only the hash is stored. */
  insert(fields: Omit<PortalLink, "id">): { link: PortalLink; token: string } {
    const token = makeToken("spl_", this.cell);
    const row: Row = { id: this.store.takeKey(), hash: Buffer.from(hashToken(token)), ...fields };
    this.db.insert(table).values(row).run();
    return { link: row, token };
  }

  /** The link with a token that has not expired and was not revoked, also not with its consumer's erasure. */
  find(token: string): PortalLink | null {
    const row = this.#find.get(hashToken(token), this.store.now());
    return row && toLink(row);
  }

  /** When a link expires; null where it is gone. */
  expiryOf(id: number): number | null {
    const found = this.db.select({ at: table.expiresAt }).from(table).where(eq(table.id, id)).get();
    return found?.at ?? null;
  }

  /** Links of a project that have not expired, newest first, below the key `before`. */
  list(projectId: number, consumerId: string | null, before: number, count: number): PortalLink[] {
    const wanted = and(
      eq(table.projectId, projectId),
      lt(table.id, before),
      gt(table.expiresAt, this.store.now()),
      consumerId === null ? undefined : eq(table.consumerId, consumerId),
    );
    return this.db.select().from(table).where(wanted).orderBy(desc(table.id)).limit(count).all();
  }

  /** Inside a write: revokes at once. Null where there is no such link. */
  delete(projectId: number, id: number): PortalLink | null {
    const isThis = and(eq(table.projectId, projectId), eq(table.id, id));
    return this.db.delete(table).where(isThis).returning().get() ?? null;
  }

  /** Removes a slice of what has expired; answers how many. */
  async expire(): Promise<number> {
    const past = this.db
      .select({ id: table.id })
      .from(table)
      .where(lte(table.expiresAt, this.store.now()))
      .limit(limit("sliceRows"))
      .all();
    if (past.length === 0) return 0;
    await this.store.write(() => {
      for (const { id } of past) this.db.delete(table).where(eq(table.id, id)).run();
    });
    return past.length;
  }
}

interface StoredLink {
  id: number;
  project_id: number;
  consumer_id: string | null;
  may_manage: number;
  may_create: number;
  expires_at: number;
}

function toLink(row: StoredLink): PortalLink {
  return {
    id: row.id,
    projectId: row.project_id,
    consumerId: row.consumer_id,
    manage: row.may_manage === 1,
    create: row.may_create === 1,
    expiresAt: row.expires_at,
  };
}

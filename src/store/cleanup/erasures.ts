import type { erasure } from "../log-schema.ts";
import { limit } from "../../core/limits.ts";
import type { Replays } from "../log/replays.ts";
import type { Store } from "../store.ts";

/** A request to forget a consumer (DELETE /v1/consumers/:id). */
export interface Erasure {
  id: number;
  projectId: number;
  consumerId: string;
  status: "running" | "completed";
  /** A key that was taken when it was asked for, for the last time: what has a higher one stays. */
  last: number;
  /** How many are gone so far. */
  events: number;
  deliveries: number;
  completedAt: number | null;
}

type Row = typeof erasure.$inferSelect;

export type Consumer = Pick<Erasure, "projectId" | "consumerId">;

/** What of a consumer lies apart from events; `last` bounds it. */
export type Owned = Pick<Erasure, "projectId" | "consumerId" | "last">;

type OwnedKey = [number, string, number, number];

/** Rows of `erasure`, and what else belongs to a consumer. Everything that changes runs inside a write. */
export class Erasures {
  readonly #statements;

  constructor(
    private readonly store: Store,
    private readonly replays: Replays,
  ) {
    this.#statements = prepare(store.sqlite);
  }

  /**
   * Of all that there is of the consumer by now: by the one of it that waits behind others of the project,
   * and so has not begun; else by a new one.
   */
  begin({ projectId, consumerId }: Consumer): Erasure {
    const last = this.store.takeKey();
    const { extend, insert } = this.#statements;
    const row = extend.get(last, projectId, consumerId) ?? insert.get(last, projectId, consumerId, last);
    return toErasure(row as Row);
  }

  get(id: number): Erasure | null {
    const row = this.#statements.get.get(id);
    return row ? toErasure(row) : null;
  }

  /** Newest first, below the key `before`. */
  list(projectId: number, before: number, count: number): Erasure[] {
    return this.#statements.list.all(projectId, before, count).map(toErasure);
  }

  /** The oldest one of the project that runs. */
  firstRunning(projectId: number): Erasure | null {
    const row = this.#statements.firstRunning.get(projectId);
    return row ? toErasure(row) : null;
  }

  /** The first project after this one in which one runs; null where there is none. */
  nextRunning(afterProject: number): number | null {
    return this.#statements.nextRunning.get(afterProject)?.id ?? null;
  }

  /** True where one of the consumer was asked for after this key; done or not. */
  wasAskedSince({ projectId, consumerId }: Consumer, key: number): boolean {
    return this.#statements.askedSince.get(projectId, consumerId, key) !== null;
  }

  countRunning(): number {
    return this.#statements.countRunning.get()?.n ?? 0;
  }

  advance(id: number, events: number, deliveries: number): void {
    this.#statements.advance.run(events, deliveries, id);
  }

  complete(id: number): void {
    this.#statements.complete.run(this.store.now(), id);
  }

  /** True where the consumer has an endpoint or a source that is still there. */
  hasOpen(of: Owned): boolean {
    const { openEndpoints, openSources } = this.#statements;
    return this.#isAnyIn([openEndpoints, openSources], of);
  }

  /** True where anything is the consumer's, deleted or not. */
  hasAny(of: Owned): boolean {
    const { openEndpoints, deletedEndpoints, openSources, deletedSources, portalLinks, replays } =
      this.#statements;
    const kinds = [openEndpoints, deletedEndpoints, openSources, deletedSources, portalLinks, replays];
    return this.#isAnyIn(kinds, of);
  }

  /** No more is read than tells so. */
  #isAnyIn(kinds: readonly { get(...key: OwnedKey): unknown }[], { projectId, consumerId, last }: Owned) {
    return kinds.some((kind) => kind.get(projectId, consumerId, last, 1) !== null);
  }

  /** Endpoints that are still there, then those that are deleted: a slice of their keys. */
  openEndpoints(of: Owned): number[] {
    return this.#keys(this.#statements.openEndpoints, of);
  }

  deletedEndpoints(of: Owned): number[] {
    return this.#keys(this.#statements.deletedEndpoints, of);
  }

  openSources(of: Owned): number[] {
    return this.#keys(this.#statements.openSources, of);
  }

  deletedSources(of: Owned): number[] {
    return this.#keys(this.#statements.deletedSources, of);
  }

  portalLinks(of: Owned): number[] {
    return this.#keys(this.#statements.portalLinks, of);
  }

  dropPortalLink(id: number): void {
    this.#statements.dropPortalLink.run(id);
  }

  /** Bulk replays that were asked for by the consumer's portal, for it, or for an endpoint of it. */
  replaysOf(of: Owned): number[] {
    const { projectId, consumerId, last } = of;
    const rows = this.#statements.replays.all(projectId, consumerId, last, limit("sliceRows"));
    return rows.map(({ id }) => id);
  }

  dropReplay(id: number): void {
    // One that runs gives its places back.
    this.replays.update(id, { status: "cancelled", completedAt: this.store.now() });
    this.#statements.dropReplay.run(id);
  }

  #keys(statement: { all(...key: OwnedKey): { id: number }[] }, { projectId, consumerId, last }: Owned) {
    return statement.all(projectId, consumerId, last, limit("erasedAtOnce")).map(({ id }) => id);
  }
}

/**
 * SQL of the keys of rows that are a consumer's by any of these columns, each of which has an index. Its
 * parameters: the project, the consumer, the last key.
 */
export function idsByAny(table: string, project: string, owners: readonly string[]): string {
  return owners
    .map((owner) => `SELECT id FROM ${table} WHERE ${project} = ?1 AND ${owner} = ?2 AND id <= ?3`)
    .join(" UNION ");
}

function toErasure(row: Row): Erasure {
  return {
    id: row.id,
    projectId: row.project_id,
    consumerId: row.consumer_id,
    status: row.status,
    last: row.last,
    events: row.events,
    deliveries: row.deliveries,
    completedAt: row.completed_at,
  };
}

function prepare(sqlite: Store["sqlite"]) {
  const owned = (table: string, more = "") =>
    sqlite.prepare<{ id: number }, OwnedKey>(
      `SELECT id FROM ${table} WHERE project_id = ? AND consumer_id = ? AND id <= ? ${more} ORDER BY id LIMIT ?`,
    );
  return {
    insert: sqlite.prepare<Row, [number, number, string, number]>(
      "INSERT INTO erasure (id, project_id, consumer_id, status, last) VALUES (?, ?, ?, 'running', ?) RETURNING *",
    ),
    extend: sqlite.prepare<Row, [number, number, string]>(
      `UPDATE erasure SET last = ?1 WHERE project_id = ?2 AND consumer_id = ?3 AND status = 'running'
       AND id > (SELECT min(id) FROM erasure WHERE project_id = ?2 AND status = 'running') RETURNING *`,
    ),
    get: sqlite.prepare<Row, [number]>("SELECT * FROM erasure WHERE id = ?"),
    list: sqlite.prepare<Row, [number, number, number]>(
      "SELECT * FROM erasure WHERE project_id = ? AND id < ? ORDER BY id DESC LIMIT ?",
    ),
    firstRunning: sqlite.prepare<Row, [number]>(
      "SELECT * FROM erasure WHERE status = 'running' AND project_id = ? ORDER BY id LIMIT 1",
    ),
    nextRunning: sqlite.prepare<{ id: number }, [number]>(
      "SELECT project_id AS id FROM erasure WHERE status = 'running' AND project_id > ? ORDER BY project_id LIMIT 1",
    ),
    askedSince: sqlite.prepare<object, [number, string, number]>(
      "SELECT 1 FROM erasure WHERE project_id = ? AND consumer_id = ? AND last > ? LIMIT 1",
    ),
    countRunning: sqlite.prepare<{ n: number }, []>(
      "SELECT count(*) AS n FROM erasure WHERE status = 'running'",
    ),
    advance: sqlite.prepare<void, [number, number, number]>(
      "UPDATE erasure SET events = events + ?, deliveries = deliveries + ? WHERE id = ?",
    ),
    complete: sqlite.prepare<void, [number, number]>(
      "UPDATE erasure SET status = 'completed', completed_at = ? WHERE id = ?",
    ),
    openEndpoints: owned("endpoint", "AND status <> 'deleted'"),
    deletedEndpoints: owned("endpoint", "AND status = 'deleted'"),
    openSources: owned("source", "AND status <> 'deleted'"),
    deletedSources: owned("source", "AND status = 'deleted'"),
    portalLinks: owned("portal_link"),
    dropPortalLink: sqlite.prepare<void, [number]>("DELETE FROM portal_link WHERE id = ?"),
    replays: sqlite.prepare<{ id: number }, OwnedKey>(
      `${idsByAny("replay", "project_id", ["consumer_id", "filter ->> 'consumerId'", "filter ->> 'endpointConsumerId'"])}
       ORDER BY id LIMIT ?4`,
    ),
    dropReplay: sqlite.prepare<void, [number]>("DELETE FROM replay WHERE id = ?"),
  };
}

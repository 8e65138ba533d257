import type { audit } from "../log-schema.ts";
import type { AuditChanges, AuditEntry, AuditRow } from "../../core/audit.ts";
import { firstKeyAt } from "../../core/ids.ts";
import { limit } from "../../core/limits.ts";
import { type Page, type PageAsk, readPage } from "../page.ts";
import { bound } from "../bound.ts";
import type { Store } from "../store.ts";
import { idsByAny, type Owned } from "../cleanup/erasures.ts";

/** Filters of GET /v1/audit; null where one is not given. */
export interface AuditFilter {
  /** The project, and its account. */
  scopes: readonly number[];
  /** A name, or `endpoint.` for all that begin so. */
  action: string | null;
  actorKind: string | null;
  actorId: number | null;
  objectKind: string | null;
  objectId: string | null;
  since: number | null;
  until: number | null;
}

type Row = Omit<typeof audit.$inferSelect, "changes" | "consumer_id">;

/** The audit log. */
export class Audit {
  readonly #insert;
  readonly #below;
  readonly #ofObject;
  readonly #load;
  readonly #changes;
  readonly #expire;
  readonly #dropOf;
  readonly #hasPast;
  readonly #blank;
  readonly #blankOf;
  readonly #anyOf;

  constructor(private readonly store: Store) {
    const { sqlite } = store;
    this.#insert = sqlite.prepare<
      void,
      [number, number, string, number | null, string, string, string, string, string | null]
    >("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
    this.#below = sqlite.prepare<{ id: number }, [number, number, number]>(
      "SELECT id FROM audit WHERE scope = ? AND id < ? ORDER BY id DESC LIMIT ?",
    );
    this.#ofObject = sqlite.prepare<{ id: number }, [number, string, number, number]>(
      "SELECT id FROM audit WHERE scope = ? AND object_id = ? AND id < ? ORDER BY id DESC LIMIT ?",
    );
    this.#load = sqlite.prepare<Row, [string]>(
      `SELECT id, scope, actor_kind, actor_id, action, object_kind, object_id FROM audit
       WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id DESC`,
    );
    this.#changes = sqlite.prepare<{ changes: string }, [number]>("SELECT changes FROM audit WHERE id = ?");
    this.#hasPast = sqlite.prepare<object, [number]>("SELECT 1 FROM audit WHERE id < ? LIMIT 1");
    this.#expire = sqlite.prepare<void, [number, number]>(
      "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE id < ? ORDER BY id LIMIT ?)",
    );
    this.#dropOf = sqlite.prepare<void, [number, number]>(
      `DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE scope = ${bound(1)} ORDER BY id LIMIT ${bound(2)})`,
    );
    const [from, to] = ["changes ->> '$.consumer_id.from'", "changes ->> '$.consumer_id.to'"];
    const shown = idsByAny("audit", "scope", ["consumer_id", from, to]);
    this.#blankOf = sqlite.prepare<void, [number, string, number, number]>(
      `UPDATE audit SET changes = '{}', consumer_id = NULL WHERE id IN (${shown} ORDER BY id LIMIT ?4)`,
    );
    this.#anyOf = sqlite.prepare<object, [number, string, number]>(`SELECT 1 FROM (${shown}) LIMIT 1`);
    this.#blank = sqlite.prepare<void, [number, string, number]>(
      `UPDATE audit SET changes = '{}', consumer_id = NULL WHERE id IN
       (SELECT id FROM audit WHERE scope = ? AND object_id = ? AND changes <> '{}' LIMIT ?)`,
    );
  }

  /** Inside the write of what it tells of; answers how many bytes it weighs. */
  add({ scope, actor, action, object, changes, consumerId }: AuditEntry): number {
    const id = this.store.takeKey();
    const text = JSON.stringify(changes);
    this.#insert.run(id, scope, actor.kind, actor.id, action, object.kind, object.id, text, consumerId);
    const names = Buffer.byteLength(object.id) + Buffer.byteLength(consumerId ?? "");
    return limit("auditEntryBytes") + names + Buffer.byteLength(text);
  }

  /** Newest first, below the key `before`. */
  async page(filter: AuditFilter, ask: PageAsk): Promise<Page<AuditRow>> {
    const { since, until } = filter;
    const { before } = ask;
    const { rows, next } = await readPage<Row>({
      ...ask,
      candidates: (below, most) => this.#candidates(filter, below, most),
      load: (ids) => this.#load.all(JSON.stringify(ids)),
      keyOf: (row) => row.id,
      keep: (row) => isWanted(filter, row),
      before: until === null ? before : Math.min(before, firstKeyAt(until)),
      from: since === null ? 0 : firstKeyAt(since),
      body: null,
    });
    return { rows: rows.map(toAuditRow), next };
  }

  changesOf({ id }: AuditRow): AuditChanges {
    return JSON.parse(this.#changes.get(id)?.changes ?? "{}") as AuditChanges;
  }

  /**
   * Inside a write: what an object of a project was like is forgotten, that it was changed is not, in a slice
   * of its entries; answers how many.
   */
  blank(projectId: number, objectId: string): number {
    return this.#blank.run(projectId, objectId, limit("sliceRows")).changes;
  }

  /**
   * Inside a write: the same for a slice of the entries that concern a consumer, whether or not their object
   * is still there; answers how many.
   */
  blankOf({ projectId, consumerId, last }: Owned): number {
    return this.#blankOf.run(projectId, consumerId, last, limit("sliceRows")).changes;
  }

  /** True where an entry may show data of the consumer. */
  concerns({ projectId, consumerId, last }: Owned): boolean {
    return this.#anyOf.get(projectId, consumerId, last) !== null;
  }

  /** Inside a write: removes a slice of what a project, or an account, has; answers how many there were. */
  dropSomeOf(scope: number): number {
    return this.#dropOf.run(scope, limit("sliceRows")).changes;
  }

  /** Removes a slice of what is past its time; answers how many. */
  async expire(): Promise<number> {
    const before = firstKeyAt(this.store.now() - limit("auditKeptMs"));
    if (!this.#hasPast.get(before)) return 0;
    return this.store.write(() => this.#expire.run(before, limit("sliceRows")).changes);
  }

  #candidates({ scopes, objectId }: AuditFilter, before: number, count: number): number[] {
    const rows = scopes.flatMap((scope) =>
      objectId === null
        ? this.#below.all(scope, before, count)
        : this.#ofObject.all(scope, objectId, before, count),
    );
    const ids = rows.map(({ id }) => id);
    return ids.toSorted((a, b) => b - a).slice(0, count);
  }
}

function isWanted(filter: AuditFilter, row: Row): boolean {
  const { action, actorKind, actorId, objectKind, objectId } = filter;
  if (!filter.scopes.includes(row.scope)) return false;
  if (action !== null && (action.endsWith(".") ? !row.action.startsWith(action) : row.action !== action))
    return false;
  if (actorKind !== null && row.actor_kind !== actorKind) return false;
  if (actorId !== null && row.actor_id !== actorId) return false;
  if (objectKind !== null && row.object_kind !== objectKind) return false;
  return objectId === null || row.object_id === objectId;
}

function toAuditRow(row: Row): AuditRow {
  return {
    id: row.id,
    scope: row.scope,
    actor: { kind: row.actor_kind, id: row.actor_id },
    action: row.action,
    object: { kind: row.object_kind, id: row.object_id },
  };
}

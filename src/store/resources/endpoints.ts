import { and, eq, gt, ne, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { Cipher } from "../../core/cipher.ts";
import { keyTime } from "../../core/ids.ts";
import { limit } from "../../core/limits.ts";
import { type Endpoint, type EndpointSecrets } from "../../core/model.ts";
import { bound } from "../bound.ts";
import { endpoint as table } from "../schema.ts";
import { alikeList, alikeObject, alikeWord, alikeWords } from "../../core/structures/alike.ts";
import { type ReadonlyShelf, Shelves } from "../../core/structures/shelf.ts";
import { endpointWeight } from "./endpoint-weights.ts";
import type { Store } from "../store.ts";
import { sealedPlace } from "./sealing.ts";

export type NewEndpoint = Omit<Endpoint, "id">;

const ROWS_AT_ONCE = 500;
/** What an endpoint says of itself, and all its secrets. */
const EMPTY = {
  consumerId: null,
  config: {},
  description: null,
  eventTypes: null,
  filter: null,
  transformations: null,
  metadata: {},
  credentials: {},
  headers: [],
  secret: "",
  privateKey: null,
  previous: null,
} satisfies Partial<Endpoint>;

/** `before`: as it was; undefined where it is new. */
type ChangeListener = (endpoint: Endpoint, before: Endpoint | undefined) => void;

/**
 * Endpoints: all that are not deleted stand in memory beside their table, as every event and every attempt
 * needs them.
 */
export class Endpoints {
  readonly #all = new Map<number, Endpoint>();
  readonly #ofProject = new Shelves<number, Endpoint>();
  readonly #ofConsumer = new Shelves<string, Endpoint>();
  readonly #listeners: ChangeListener[] = [];
  #changes = 0;
  #moves = 0;
  /** The latest change of an endpoint that is written and not announced yet: its row is ahead of memory. */
  readonly #changing = new Map<number, Endpoint>();
  readonly #statements;

  constructor(
    private readonly store: Store,
    private readonly db: BunSQLiteDatabase,
    private readonly cipher: Cipher,
  ) {
    this.#statements = prepare(store.sqlite);
    this.#readAll();
  }

  /** Some at a time: the rows of a hundred thousand beside their endpoints would be twice the memory. */
  #readAll(): void {
    const isNext = and(gt(table.id, sql.placeholder("after")), ne(table.status, "deleted"));
    const read = this.db.select().from(table).where(isNext).orderBy(table.id).limit(ROWS_AT_ONCE).prepare();
    let after = 0;
    for (let rows = read.all({ after }); rows.length > 0; rows = read.all({ after })) {
      for (const row of rows) {
        this.#index(this.#open(row));
        after = row.id;
      }
    }
  }

  /** Calls `listener` for every endpoint that was made, changed or deleted, after the commit. */
  onChange(listener: ChangeListener): void {
    this.#listeners.push(listener);
  }

  /** Grows with every endpoint that is made, changed or deleted. */
  get changes(): number {
    return this.#changes;
  }

  /**
   * Grows with every endpoint that is given to another consumer: within the write, and once more where memory
   * knows, as what is looked up in between is of before.
   */
  get moves(): number {
    return this.#moves;
  }

  get(id: number): Endpoint | undefined {
    return this.#all.get(id);
  }

  /** False where it has been deleted since it was looked up. */
  readonly isThere = ({ id }: Endpoint): boolean => this.#all.has(id);

  /** Also a deleted one, from its row: history names it. */
  getAnyway(id: number): Endpoint | undefined {
    const held = this.#all.get(id);
    if (held) return held;
    const row = this.db.select().from(table).where(eq(table.id, id)).get();
    return row ? this.#open(row) : undefined;
  }

  /**
   * Whether its history is the caller's to read: it is, or was, the project's, and one of those that the
   * caller sees (null: all).
   */
  isSeen(id: number, projectId: number, visible: ReadonlySet<number> | null): boolean {
    return visible ? visible.has(id) : this.getAnyway(id)?.projectId === projectId;
  }

  /** Keys of a consumer's endpoints, deleted ones included; null for the project itself, which sees all. */
  visibleTo(projectId: number, consumerId: string | null): ReadonlySet<number> | null {
    return consumerId === null ? null : new Set(this.keysOf(projectId, consumerId));
  }

  all(): Iterable<Endpoint> {
    return this.#all.values();
  }

  /** In the order of their keys; what they weigh is their settings. */
  ofProject(projectId: number): ReadonlyShelf<Endpoint> {
    return this.#ofProject.of(projectId);
  }

  ofConsumer(projectId: number, consumerId: string): ReadonlyShelf<Endpoint> {
    return this.#ofConsumer.of(consumerPlace(projectId, consumerId));
  }

  /** How many a consumer has; inside a write, so that those of the same batch count too. */
  countOf(projectId: number, consumerId: string): number {
    return this.#statements.countOf.get(projectId, consumerId)?.n ?? 0;
  }

  /**
   * Keys of what a consumer has, and of those that it deleted, the newest, up to a bound: their history stays
   * the consumer's, and what a portal token reads is gathered from the lists of these.
   */
  keysOf(projectId: number, consumerId: string): number[] {
    const { openOf, deletedOf } = this.#statements;
    const most = limit("endpointsSeenMax");
    const open = openOf.all(projectId, consumerId, most);
    const deleted = deletedOf.all(projectId, consumerId, most - open.length);
    return [...open, ...deleted].map(({ id }) => id);
  }

  /**
   * Inside a write: the endpoint as a write before this one left it, in the same transaction too; undefined
   * where it is deleted. What was planned before the write is held against this.
   */
  current(id: number): Endpoint | undefined {
    return this.#changing.has(id) ? this.#pending(id) : this.#all.get(id);
  }

  /** Inside a write; `announce` afterwards. */
  insert(fields: NewEndpoint): Endpoint {
    const id = this.store.takeKey();
    const made: Endpoint = { ...fields, id, updatedAt: keyTime(id) };
    this.db.insert(table).values(this.#seal(made)).run();
    return made;
  }

  /** Inside a write; `announce` afterwards. Changes what the endpoint is at that moment. */
  update(id: number, change: (current: Endpoint) => Partial<Endpoint>): Endpoint | null {
    const old = this.#pending(id);
    if (!old) return null;
    const made: Endpoint = { ...old, updatedAt: this.store.now(), ...change(old), id };
    if (made.consumerId !== old.consumerId) this.#moves++;
    this.db.update(table).set(this.#seal(made)).where(eq(table.id, id)).run();
    this.#changing.set(id, made);
    return made;
  }

  /**
   * Inside a write; `announce` afterwards. Of its row only the status changes: nothing is encrypted anew, and
   * all that a consumer has is deleted for what a few changes cost.
   */
  delete(id: number): Endpoint | null {
    // One that was made a moment ago is not in memory yet.
    const old = this.current(id) ?? this.#pending(id);
    if (!old) return null;
    const updatedAt = this.store.now();
    this.#statements.delete.run(updatedAt, id);
    const deleted: Endpoint = { ...old, status: "deleted", updatedAt };
    this.#changing.set(id, deleted);
    return deleted;
  }

  /** The same, and of its row stays only whose it was. */
  empty(id: number): Endpoint | null {
    const deleted = this.delete(id);
    if (deleted)
      this.db
        .update(table)
        .set(this.#seal({ ...deleted, ...EMPTY }))
        .where(eq(table.id, id))
        .run();
    return deleted;
  }

  /**
   * Inside a write; `announce` afterwards. The days in which it got nothing do not count. Of its row only
   * this changes, as nobody changed the endpoint: nothing is encrypted anew.
   */
  letGo(id: number, openedAt: number): Endpoint | null {
    const old = this.current(id) ?? this.#pending(id);
    if (!old) return null;
    this.#statements.letGo.run(openedAt, id);
    const made = { ...old, openedAt };
    this.#changing.set(id, made);
    return made;
  }

  /**
   * After the commit: from now on everyone sees this one. At once, without another await: two changes of one
   * endpoint that shared a transaction are told of in the order in which they were written.
   */
  announce(changed: Endpoint): void {
    const before = this.#all.get(changed.id);
    // A later one may be on its way still: an erasure announces what it closed in a later turn.
    if (this.#changing.get(changed.id) === changed) this.#changing.delete(changed.id);
    this.#index(changed);
    this.#changes++;
    if (before && before.consumerId !== changed.consumerId) this.#moves++;
    for (const listener of this.#listeners) listener(changed, before);
  }

  /** A change of one endpoint as one write: the changed endpoint, or null where there is none. */
  async change(id: number, change: (current: Endpoint) => Partial<Endpoint>): Promise<Endpoint | null> {
    const changed = await this.store.write(() => this.update(id, change));
    if (changed) this.announce(changed);
    return changed;
  }

  /** The endpoint as its row has it now: a write of the same batch may have changed it a moment ago. */
  #pending(id: number): Endpoint | undefined {
    const row = this.db.select().from(table).where(eq(table.id, id)).get();
    return row && row.status !== "deleted" ? this.#open(row) : undefined;
  }

  #index(made: Endpoint): void {
    const { id, projectId, consumerId, status } = made;
    const before = this.#all.get(id);
    if (before && before.consumerId !== null)
      this.#ofConsumer.delete(consumerPlace(projectId, before.consumerId), id);
    if (status === "deleted") {
      this.#all.delete(id);
      this.#ofProject.delete(projectId, id);
      return;
    }
    const weight = endpointWeight(made);
    this.#all.set(id, made);
    this.#ofProject.set(projectId, made, weight);
    if (consumerId !== null) this.#ofConsumer.set(consumerPlace(projectId, consumerId), made, weight);
  }

  #seal(made: Endpoint): typeof table.$inferInsert {
    const { credentials, headers, secret, privateKey, previous, ...open } = made;
    const secrets: EndpointSecrets = { credentials, headers, secret, privateKey, previous };
    return {
      ...open,
      config: { ...open.config },
      sealed: Buffer.from(this.cipher.seal(JSON.stringify(secrets), sealedPlace("endpoint", made.id))),
    };
  }

  #open({ sealed, ...open }: typeof table.$inferSelect): Endpoint {
    const secrets = JSON.parse(this.cipher.open(sealed, sealedPlace("endpoint", open.id))) as EndpointSecrets;
    return {
      ...open,
      ...secrets,
      kind: alikeWord(open.kind),
      ordering: alikeWord(open.ordering),
      status: alikeWord(open.status),
      signatureVersions: alikeWords(open.signatureVersions),
      metadata: alikeObject(open.metadata),
      credentials: alikeObject(secrets.credentials),
      headers: alikeList(secrets.headers),
    };
  }
}

function prepare(sqlite: Store["sqlite"]) {
  const theirs = (columns: string, status: string) =>
    `SELECT ${columns} FROM endpoint WHERE project_id = ${bound(1)} AND consumer_id = ?2 AND status ${status}`;
  const keys = (status: string) =>
    sqlite.prepare<{ id: number }, [number, string, number]>(
      `${theirs("id", status)} ORDER BY id DESC LIMIT ${bound(3)}`,
    );
  return {
    delete: sqlite.prepare<void, [number, number]>(
      "UPDATE endpoint SET status = 'deleted', updated_at = ? WHERE id = ?",
    ),
    letGo: sqlite.prepare<void, [number, number]>("UPDATE endpoint SET opened_at = ? WHERE id = ?"),
    countOf: sqlite.prepare<{ n: number }, [number, string]>(theirs("count(*) AS n", "<> 'deleted'")),
    openOf: keys("<> 'deleted'"),
    deletedOf: keys("= 'deleted'"),
  };
}

function consumerPlace(projectId: number, consumerId: string): string {
  return `${projectId}=${consumerId}`;
}

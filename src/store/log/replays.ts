import { and, desc, eq, lt } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { DeliveryStatus } from "../../core/model.ts";
import type { Meter } from "../counts/meter.ts";
import { replay as table, replayList } from "../schema.ts";
import type { Store } from "../store.ts";

/**
 * The endpoints that one event is sent to again, very many: the n-th gets it by the n-th delivery, which is
 * opened afresh or, where there is none with this key yet, made.
 */
export interface ReplayList {
  endpoints: number[];
  deliveries: number[];
}

/** Which deliveries (or, with `missing`, events) a bulk replay takes. Instants are those of acceptance. */
export interface ReplayFilter {
  status: DeliveryStatus[];
  endpointId: number | null;
  /** Whose that endpoint was when the job was asked for: the job is erased with that consumer. */
  endpointConsumerId?: string | null;
  consumerId: string | null;
  eventTypes: string[] | null;
  /** Keys, rising: only these. Jobs of before this field was there lack it, `statusCode` and `q`. */
  deliveryIds?: number[] | null;
  /** Of the last attempt. */
  statusCode?: number | null;
  /** Text that the event's `data` holds. */
  q?: string | null;
  since: number | null;
  until: number | null;
  missing: boolean;
  ratePerSecond: number | null;
  /** Only this, to the endpoints of the job's list, whatever else is said. */
  event?: { id: number; isTest: boolean } | null;
}

/** Of these statuses, and else whatever there is. */
export function everyOne(status: ReplayFilter["status"]): ReplayFilter {
  return {
    status,
    endpointId: null,
    consumerId: null,
    eventTypes: null,
    since: null,
    until: null,
    missing: false,
    ratePerSecond: null,
  };
}

export interface Replay {
  id: number;
  projectId: number;
  /** The portal's consumer that asked for it; null for the project itself. */
  consumerId: string | null;
  filter: ReplayFilter;
  status: "running" | "completed" | "cancelled";
  matched: number;
  replayed: number;
  /**
   * How far the job came: the key of the last delivery (or event) that it looked at; where it replays one
   * event, the number of endpoints.
   */
  position: number;
  /** The latest key of when it began: what was made or has changed since has a later one. */
  last: number;
  completedAt: number | null;
}

/** Its list stands apart, as each slice reads and writes the row. */
type NewReplay = Omit<Replay, "id" | "status" | "replayed" | "completedAt"> & { list?: ReplayList };

/** What a list shows: the filters, which may be long, are left where they are. */
export type ListedReplay = Pick<Replay, "id" | "status" | "matched" | "replayed" | "completedAt">;

export type RunningReplay = Pick<Replay, "id" | "projectId">;

export class Replays {
  readonly #countRunning;
  readonly #countRunningOf;
  readonly #runningOfEvent;
  readonly #status;
  readonly #running;
  readonly #listBytes;

  constructor(
    private readonly store: Store,
    private readonly db: BunSQLiteDatabase,
    private readonly meter: Meter,
  ) {
    this.#countRunning = store.sqlite.prepare<{ n: number }, []>(
      "SELECT count(*) AS n FROM replay WHERE status = 'running'",
    );
    this.#countRunningOf = store.sqlite.prepare<{ n: number }, [number, string | null]>(
      `SELECT count(*) AS n FROM replay
       WHERE status = 'running' AND project_id = ?1 AND (?2 IS NULL OR consumer_id = ?2)`,
    );
    this.#runningOfEvent = store.sqlite.prepare<object, [number, number]>(
      `SELECT 1 FROM replay INDEXED BY replay_running
       WHERE status = 'running' AND project_id = ? AND filter ->> '$.event.id' = ? LIMIT 1`,
    );
    this.#status = store.sqlite.prepare<Pick<Replay, "status">, [number]>(
      "SELECT status FROM replay WHERE id = ?",
    );
    this.#running = store.sqlite.prepare<RunningReplay, []>(
      "SELECT id, project_id AS projectId FROM replay INDEXED BY replay_running WHERE status = 'running'",
    );
    this.#listBytes = store.sqlite.prepare<{ bytes: number }, [number]>(
      "SELECT octet_length(endpoints) + octet_length(deliveries) AS bytes FROM replay_list WHERE id = ?",
    );
  }

  /** Inside a write. */
  insert({ list, ...fields }: NewReplay): Replay {
    const made: Replay = {
      ...fields,
      id: this.store.takeKey(),
      status: "running",
      replayed: 0,
      completedAt: null,
    };
    this.db
      .insert(table)
      .values({ ...made, filter: { ...made.filter } })
      .run();
    if (list)
      this.db
        .insert(replayList)
        .values({ id: made.id, ...list })
        .run();
    this.meter.reserve(made.projectId, "taken", placesOf(made));
    return made;
  }

  get(id: number): Replay | null {
    const row = this.db.select().from(table).where(eq(table.id, id)).get();
    return row ? toReplay(row) : null;
  }

  /** Newest first, below the key `before`: all of a project, or those that one consumer asked for. */
  list(projectId: number, consumerId: string | null, before: number, count: number): ListedReplay[] {
    const asked = consumerId === null ? undefined : eq(table.consumerId, consumerId);
    const { id, status, matched, replayed, completedAt } = table;
    const rows = this.db
      .select({ id, status, matched, replayed, completedAt })
      .from(table)
      .where(and(eq(table.projectId, projectId), asked, lt(table.id, before)));
    return rows.orderBy(desc(table.id)).limit(count).all();
  }

  isRunning(id: number): boolean {
    return this.#status.get(id)?.status === "running";
  }

  /** Which ones: each row, and its list, is read when its turn comes. */
  running(): RunningReplay[] {
    return this.#running.all();
  }

  /** How long the texts are that `listOf` parses. */
  listBytes(id: number): number {
    return this.#listBytes.get(id)?.bytes ?? 0;
  }

  /** Null where the job has none, or is over. */
  listOf(id: number): ReplayList | null {
    const { endpoints, deliveries } = replayList;
    const columns = this.db.select({ endpoints, deliveries }).from(replayList);
    return columns.where(eq(replayList.id, id)).get() ?? null;
  }

  countRunning(): number {
    return this.#countRunning.get()?.n ?? 0;
  }

  /** True where one sends this event again, slice by slice; inside a write. */
  isRunningOf(projectId: number, eventId: number): boolean {
    return this.#runningOfEvent.get(projectId, eventId) !== null;
  }

  /** Of a project, or those of them that one consumer asked for; inside a write, those of its batch count. */
  countRunningOf(projectId: number, consumerId: string | null): number {
    return this.#countRunningOf.get(projectId, consumerId)?.n ?? 0;
  }

  /** Inside a write. Changes only one that is running; false where it was not. */
  update(
    id: number,
    change: Partial<Pick<Replay, "status" | "replayed" | "position" | "completedAt">>,
  ): boolean {
    const before = this.get(id);
    if (before?.status !== "running") return false;
    this.db.update(table).set(change).where(eq(table.id, id)).run();
    const isOver = (change.status ?? "running") !== "running";
    if (isOver) this.db.delete(replayList).where(eq(replayList.id, id)).run();
    this.meter.reserve(before.projectId, "taken", placesOf({ ...before, ...change }) - placesOf(before));
    return true;
  }
}

/** What a running replay has still to send has its places already; tests need none. */
function placesOf({ status, matched, replayed, filter }: Replay): number {
  return status === "running" && !filter.event?.isTest ? Math.max(0, matched - replayed) : 0;
}

function toReplay(row: typeof table.$inferSelect): Replay {
  return { ...row, filter: row.filter as unknown as ReplayFilter };
}

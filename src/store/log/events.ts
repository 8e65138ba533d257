import type { event } from "../log-schema.ts";
import type { Event } from "../../core/model.ts";
import { type Index, LABELS } from "../index/index.ts";
import { leavesWithConsumer } from "../leaves-with-consumer.ts";
import { overwriting } from "../secure-delete.ts";
import type { Store } from "../store.ts";
import { type Filtered, readFiltered } from "./filtered.ts";

/** Without what may be large and few ask for. */
export type EventRow = Omit<typeof event.$inferSelect, "data" | "filtered" | "trace">;

/**
 * An event with its `data`, as JSON text; empty where the body has left before its event (body-retention.ts).
 */
export interface EventWithData extends Event {
  data: string;
  /**
   * The request that brought it, as `traceparent` (core/trace-context.ts); null where it is not traced. It
   * stands behind the body in its row, so whoever reads the one has paid for the other.
   */
  trace: string | null;
}

/** True where the event's body has left: it cannot be sent or tried any more. */
export function isBodyGone({ data }: Pick<EventWithData, "data">): boolean {
  return data === "";
}

export const EVENT_COLUMNS =
  "id, project_id, type, timestamp, consumer_id, external_id, source_id, is_test, hops, delivery_count";

export function toEvent(row: EventRow): Event {
  return {
    id: row.id,
    projectId: row.project_id,
    type: row.type,
    timestamp: row.timestamp,
    consumerId: row.consumer_id,
    externalId: row.external_id,
    sourceId: row.source_id,
    isTest: row.is_test === 1,
    hops: row.hops,
    deliveryCount: row.delivery_count,
  };
}

export class Events {
  readonly #sqlite;
  readonly #insert;
  readonly #get;
  readonly #getWithData;
  readonly #bytes;
  readonly #filtered;
  readonly #byExternal;
  readonly #dropExternal;
  readonly #count;

  constructor(
    store: Store,
    private readonly index: Index,
  ) {
    const { sqlite } = store;
    this.#sqlite = sqlite;
    this.#insert = sqlite.prepare<
      void,
      [
        number,
        number,
        string,
        number,
        string | null,
        string | null,
        number | null,
        number,
        number,
        number,
        string | null,
        string,
        string | null,
      ]
    >(
      `INSERT INTO event (${EVENT_COLUMNS}, filtered, data, trace) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#get = sqlite.prepare<EventRow, [number]>(`SELECT ${EVENT_COLUMNS} FROM event WHERE id = ?`);
    this.#getWithData = sqlite.prepare<EventRow & Pick<EventWithData, "data" | "trace">, [number]>(
      `SELECT ${EVENT_COLUMNS}, data, trace FROM event WHERE id = ?`,
    );
    this.#bytes = sqlite.prepare<{ bytes: number }, [number]>(
      "SELECT octet_length(data) AS bytes FROM event WHERE id = ?",
    );
    this.#filtered = sqlite.prepare<{ filtered: string | null }, [number]>(
      "SELECT filtered FROM event WHERE id = ?",
    );
    this.#count = sqlite.prepare<void, [number, number]>(
      "UPDATE event SET delivery_count = delivery_count + ? WHERE id = ?",
    );
    this.#byExternal = sqlite.prepare<{ id: number; leaves: number }, [number, string]>(
      `SELECT id, ${leavesWithConsumer("event")} AS leaves FROM event WHERE project_id = ? AND external_id = ?`,
    );
    this.#dropExternal = sqlite.prepare<void, [number]>("UPDATE event SET external_id = NULL WHERE id = ?");
  }

  /** Inside a write; `filtered`: who was left out, by `filteredText`. */
  insert(event: EventWithData, filtered: string | null = null): void {
    const leaving = event.externalId === null ? null : this.findLeaving(event.projectId, event.externalId);
    if (leaving !== null) this.freeExternal(leaving);
    this.#insert.run(
      event.id,
      event.projectId,
      event.type,
      event.timestamp,
      event.consumerId,
      event.externalId,
      event.sourceId,
      event.isTest ? 1 : 0,
      event.hops,
      event.deliveryCount,
      filtered,
      event.data,
      event.trace,
    );
    this.index.add(event.id, this.listsOf(event));
  }

  /** The lists that an event stands in; inside a write, as new names get a key. */
  listsOf(event: Event): number[] {
    const lists = [event.projectId, this.index.labels.intern(event.projectId, LABELS.type, event.type)];
    if (event.consumerId !== null)
      lists.push(this.index.labels.intern(event.projectId, LABELS.consumer, event.consumerId));
    if (event.sourceId !== null) lists.push(event.sourceId);
    return lists;
  }

  get(id: number): Event | null {
    const row = this.#get.get(id);
    return row ? toEvent(row) : null;
  }

  getWithData(id: number): EventWithData | null {
    const row = this.#getWithData.get(id);
    return row ? { ...toEvent(row), data: row.data, trace: row.trace } : null;
  }

  /** Of its `data`; 0 where there is none. */
  bytesOf(id: number): number {
    return this.#bytes.get(id)?.bytes ?? 0;
  }

  /** Endpoints that subscribe to the event's type and whose filter said no. */
  filteredOf(id: number): Filtered {
    return readFiltered(this.#filtered.get(id)?.filtered ?? null);
  }

  /** Inside a write: a replay added a delivery, or an endpoint was erased with its own. */
  countDelivery(id: number, by: 1 | -1): void {
    this.#count.run(by, id);
  }

  /** Not one that is being erased with its consumer: whoever asked for that was told that it goes. */
  findExternal(projectId: number, externalId: string): number | null {
    const found = this.#byExternal.get(projectId, externalId);
    return found && found.leaves === 0 ? found.id : null;
  }

  /** The event that has this `external_id` although it is being erased with its consumer. */
  findLeaving(projectId: number, externalId: string): number | null {
    const found = this.#byExternal.get(projectId, externalId);
    return found && found.leaves === 1 ? found.id : null;
  }

  /** Inside a write: takes its `external_id` from it. All of its row is written anew. */
  freeExternal(id: number): void {
    overwriting(this.#sqlite, () => this.#dropExternal.run(id));
  }
}

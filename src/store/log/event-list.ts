import { matchesPattern } from "../../core/event-type.ts";
import { firstKeyAt } from "../../core/ids.ts";
import { type DeliveryStatus, type Event } from "../../core/model.ts";
import type { Turns } from "../../core/structures/turn-queue.ts";
import { bound } from "../bound.ts";
import type { Data } from "../data.ts";
import { type DeliveryRow, statusNumber } from "./delivery-row.ts";
import { EVENT_COLUMNS, type EventRow, toEvent } from "./events.ts";
import { deliveriesOf } from "./children.ts";
import { LABELS } from "../index/index.ts";
import { LISTS_MERGED_MAX, type Page, readPage } from "../page.ts";
import { searchOf } from "./body-search.ts";

/** Filters of GET /v1/events; null where one is not given. */
export interface EventFilter {
  projectId: number;
  /** Type name or wildcard. */
  type: string | null;
  consumerId: string | null;
  sourceId: number | null;
  endpointId: number | null;
  externalId: string | null;
  status: DeliveryStatus | null;
  matched: boolean | null;
  since: number | null;
  until: number | null;
  /** Text that `data` holds, in any case. */
  q: string | null;
  /** Only deliveries to these endpoints count and show; null: all. */
  visible: ReadonlySet<number> | null;
}

/**
 * `sortKey`: the key that the row is sorted by. `bytes`: of `data`, which is read where it is searched alone.
 */
type Row = EventRow & { bytes: number; sortKey: number };

const COLUMNS = `${EVENT_COLUMNS.replaceAll(/\b(?=[a-z])/g, "e.")}, octet_length(e.data) AS bytes`;

export class EventList {
  readonly #load;
  readonly #loadOfEndpoint;
  readonly #states;
  readonly #hasSource;

  constructor(private readonly data: Pick<Data, "store" | "endpoints" | "events" | "index">) {
    const { sqlite } = data.store;
    this.#load = sqlite.prepare<Row, [string]>(
      `SELECT ${COLUMNS}, e.id AS sortKey FROM event e WHERE e.id IN (SELECT value FROM json_each(?)) ORDER BY e.id DESC`,
    );
    this.#loadOfEndpoint = sqlite.prepare<Row, [string]>(
      `SELECT ${COLUMNS}, d.id AS sortKey FROM delivery d JOIN event e ON e.id = d.event_id
       WHERE d.id IN (SELECT value FROM json_each(?)) AND NOT EXISTS (
         ${deliveriesOf("d.event_id", "1", { below: "d.id", where: "endpoint_id = d.endpoint_id" })}
       ) ORDER BY d.id DESC`,
    );
    this.#states = sqlite.prepare<Pick<DeliveryRow, "status" | "endpoint_id">, [number]>(
      deliveriesOf(bound(1), "status, endpoint_id"),
    );
    // A deleted one too: its history stays.
    this.#hasSource = sqlite.prepare<{ id: number }, [number, number]>(
      "SELECT id FROM source WHERE id = ? AND project_id = ?",
    );
  }

  /**
   * Newest first, below the key `before`. With an endpoint, an event stands where its first delivery to
   * it does.
   */
  async page(filter: EventFilter, before: number, count: number, turns: Turns): Promise<Page<Event>> {
    const byEvent = filter.endpointId === null || filter.externalId !== null;
    const { q } = filter;
    const { rows, next } = await readPage<Row>({
      candidates: this.#candidates(filter),
      load: (ids) => (byEvent ? this.#load.all(JSON.stringify(ids)) : this.#readOfEndpoint(ids)),
      keyOf: (row) => row.sortKey,
      keep: (row) => this.#keeps(filter, row),
      body: q === null ? null : searchOf(this.data.events, q, ({ id }) => id),
      before,
      from: filter.since === null ? 0 : firstKeyAt(filter.since),
      count,
      turns,
    });
    return { rows: rows.map(toEvent), next };
  }

  /** Deliveries of an event that count for this caller. */
  deliveryCount(eventId: number, visible: ReadonlySet<number> | null): number {
    const rows = this.#statesOf(eventId);
    return visible === null ? rows.length : rows.filter((row) => visible.has(row.endpoint_id)).length;
  }

  /** Of deliveries to one endpoint, newest first. */
  #readOfEndpoint(ids: readonly number[]): Row[] {
    return this.#loadOfEndpoint.all(JSON.stringify(ids)).sort((a, b) => b.sortKey - a.sortKey);
  }

  #statesOf(eventId: number): Pick<DeliveryRow, "status" | "endpoint_id">[] {
    return this.#states.all(eventId);
  }

  /** The narrowest list that holds all that the filter can match. */
  #candidates(filter: EventFilter): (before: number, count: number) => readonly number[] {
    const { index, events } = this.data;
    if (filter.externalId !== null) {
      const id = events.findExternal(filter.projectId, filter.externalId);
      return (before) => (id !== null && id < before ? [id] : []);
    }
    const keys = this.#listsFor(filter);
    const end =
      filter.until === null || filter.endpointId !== null
        ? Number.POSITIVE_INFINITY
        : firstKeyAt(filter.until);
    return (before, count) => index.below(keys, Math.min(before, end), count);
  }

  /**
   * For who sees some endpoints only, a list of their own, and of another project none: a cursor names the
   * last entry that was looked at.
   */
  #listsFor({ projectId, endpointId, sourceId, consumerId, type, visible }: EventFilter): number[] {
    const { labels } = this.data.index;
    if (endpointId !== null) {
      const isSeen = this.data.endpoints.isSeen(endpointId, projectId, visible);
      return isSeen ? [endpointId] : [];
    }
    if (sourceId !== null && visible === null)
      return this.#hasSource.get(sourceId, projectId) === null ? [] : [sourceId];
    if (consumerId !== null) return [labels.find(projectId, LABELS.consumer, consumerId) ?? []].flat();
    if (type === null || type === "*") return [projectId];
    if (!type.endsWith(".*")) return [labels.find(projectId, LABELS.type, type) ?? []].flat();
    const matching = labels.typesBelow(projectId, type.slice(0, -".*".length), LISTS_MERGED_MAX + 1);
    return matching.length > LISTS_MERGED_MAX ? [projectId] : matching;
  }

  #keeps(filter: EventFilter, row: Row): boolean {
    if (row.project_id !== filter.projectId) return false;
    if (filter.since !== null && row.id < firstKeyAt(filter.since)) return false;
    if (filter.until !== null && row.id >= firstKeyAt(filter.until)) return false;
    if (filter.type !== null && !matchesPattern(filter.type, row.type)) return false;
    if (filter.consumerId !== null && row.consumer_id !== filter.consumerId) return false;
    if (filter.sourceId !== null && row.source_id !== filter.sourceId) return false;
    return this.#keepsByDeliveries(filter, row);
  }

  #keepsByDeliveries({ matched, status, endpointId, visible }: EventFilter, row: Row): boolean {
    if (matched === null && status === null && endpointId === null) return true;
    const states = this.#statesOf(row.id).filter(
      (state) => visible === null || visible.has(state.endpoint_id),
    );
    const count = visible === null ? row.delivery_count : states.length;
    if (matched !== null && count > 0 !== matched) return false;
    const wanted = states.filter((state) => endpointId === null || state.endpoint_id === endpointId);
    if (endpointId !== null && wanted.length === 0) return false;
    return status === null || wanted.some((state) => state.status === statusNumber(status));
  }
}

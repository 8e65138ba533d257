import { matchesPattern } from "../../core/event-type.ts";
import { firstKeyAt } from "../../core/ids.ts";
import { type DeliveryStatus, type Event } from "../../core/model.ts";
import type { Turns } from "../../core/structures/turn-queue.ts";
import type { Data } from "../data.ts";
import { type Slice, type Wanted, wholeOf } from "./event-deliveries.ts";
import { EVENT_COLUMNS, type EventRow, toEvent } from "./events.ts";
import { REPLAYED } from "./children.ts";
import { LABELS } from "../index/index.ts";
import { LISTS_MERGED_MAX, type Page, type PageAsk, readPage } from "../page.ts";
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
 * `isReplayed`: found by a delivery that a replay made or reopened.
 */
type Row = EventRow & { bytes: number; sortKey: number; isReplayed: 0 | 1 };

/** What a page looks for behind its rows. `looks`: at how many endpoints so far, where only some are seen. */
interface Search {
  turns: Turns;
  looks: number;
}

const COLUMNS = `${EVENT_COLUMNS.replaceAll(/\b(?=[a-z])/g, "e.")}, octet_length(e.data) AS bytes`;

export class EventList {
  readonly #load;
  readonly #loadOfEndpoint;
  readonly #hasSource;

  constructor(
    private readonly data: Pick<Data, "store" | "endpoints" | "events" | "eventDeliveries" | "index">,
  ) {
    const { sqlite } = data.store;
    this.#load = sqlite.prepare<Row, [string]>(
      `SELECT ${COLUMNS}, e.id AS sortKey, 0 AS isReplayed FROM event e WHERE e.id IN (SELECT value FROM json_each(?)) ORDER BY e.id DESC`,
    );
    this.#loadOfEndpoint = sqlite.prepare<Row, [string]>(
      `SELECT ${COLUMNS}, d.id AS sortKey, ${REPLAYED} AS isReplayed FROM delivery d JOIN event e ON e.id = d.event_id
       WHERE d.id IN (SELECT value FROM json_each(?)) ORDER BY d.id DESC`,
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
  async page(filter: EventFilter, ask: PageAsk): Promise<Page<Event>> {
    const byEvent = filter.endpointId === null || filter.externalId !== null;
    const { q, visible } = filter;
    const search: Search = { turns: ask.turns, looks: 0 };
    const { rows, next } = await readPage<Row>({
      ...ask,
      candidates: this.#candidates(filter),
      load: (ids) => (byEvent ? this.#load.all(JSON.stringify(ids)) : this.#readOfEndpoint(ids)),
      keyOf: (row) => row.sortKey,
      keep: (row) => this.#keeps(filter, row, search),
      ...(visible !== null && {
        looks: () => search.looks,
        take() {
          // Whoever answers with the event counts its deliveries to each of them.
          search.looks += visible.size;
          return true;
        },
      }),
      body: q === null ? null : searchOf(this.data.events, q, ({ id }) => id),
      from: filter.since === null ? 0 : firstKeyAt(filter.since),
    });
    return { rows: rows.map(toEvent), next };
  }

  /** Of deliveries to one endpoint, newest first. */
  #readOfEndpoint(ids: readonly number[]): Row[] {
    return this.#loadOfEndpoint.all(JSON.stringify(ids)).sort((a, b) => b.sortKey - a.sortKey);
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

  #keeps(filter: EventFilter, row: Row, search: Search): boolean | Promise<boolean> {
    if (row.project_id !== filter.projectId) return false;
    if (filter.since !== null && row.id < firstKeyAt(filter.since)) return false;
    if (filter.until !== null && row.id >= firstKeyAt(filter.until)) return false;
    if (filter.type !== null && !matchesPattern(filter.type, row.type)) return false;
    if (filter.consumerId !== null && row.consumer_id !== filter.consumerId) return false;
    if (filter.sourceId !== null && row.source_id !== filter.sourceId) return false;
    const { matched, status, endpointId } = filter;
    if (matched === null && status === null && endpointId === null) return true;
    return this.#keepsByDeliveries(filter, row, search);
  }

  async #keepsByDeliveries(filter: EventFilter, row: Row, search: Search): Promise<boolean> {
    const { matched, status, endpointId, visible } = filter;
    if (await this.#isRepeated(filter, row, search)) return false;
    // By a delivery that is the first to its endpoint: what is asked for is this one, or stands behind it.
    const within = { ...wholeOf(row.id), above: row.sortKey - 1 };
    if (matched !== null) {
      const isMatched =
        visible === null ? row.delivery_count > 0 : await this.#some(row, search, { visible }, within);
      if (isMatched !== matched) return false;
    }
    if (status === null && endpointId === null) return true;
    return this.#some(row, search, { visible, endpointId, status }, within);
  }

  /**
   * Found by a delivery that is not its first to the endpoint. One that came with the event is: its key was
   * set aside before any that a replay adds.
   */
  async #isRepeated({ endpointId }: EventFilter, row: Row, search: Search): Promise<boolean> {
    if (row.isReplayed === 0) return false;
    const earlier = { ...wholeOf(row.id), below: row.sortKey };
    return this.#some(row, search, { visible: null, endpointId }, earlier);
  }

  /** Counts by the caller's own endpoints alone: where a page ends tells nothing of others. */
  #some(row: Row, search: Search, wanted: Wanted, within: Slice): Promise<boolean> {
    if ((wanted.endpointId ?? null) === null) search.looks += wanted.visible?.size ?? 0;
    return this.data.eventDeliveries.some(row.id, search.turns, wanted, within);
  }
}

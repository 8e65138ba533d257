import { matchesPattern } from "../../core/event-type.ts";
import { firstKeyAt, keyTime } from "../../core/ids.ts";
import { type Delivery, DELIVERY_STATUS, type DeliveryStatus } from "../../core/model.ts";
import type { Turns } from "../../core/structures/turn-queue.ts";
import { bound } from "../bound.ts";
import type { Data } from "../data.ts";
import { type DeliveryRow, type StatusKeys, statusKeyOf, statusNumber, toDelivery } from "./delivery-row.ts";
import { isLastAttemptOf } from "./children.ts";
import { LABELS } from "../index/index.ts";
import { type Page, type PageAsk, type PageRequest, readPage } from "../page.ts";
import { Merge, NEWEST_FIRST } from "../merge.ts";
import { searchOf } from "./body-search.ts";

/** Filters of GET /v1/deliveries and of bulk replays; null where one is not given. */
export interface DeliveryFilter {
  projectId: number;
  status: readonly DeliveryStatus[] | null;
  endpointId: number | null;
  eventId: number | null;
  /** Type names or wildcards. */
  eventTypes: readonly string[] | null;
  /** The event's consumer. */
  consumerId: string | null;
  /** Of the last attempt. */
  statusCode: number | null;
  since: number | null;
  until: number | null;
  /** Text that the event's `data` holds, in any case. */
  q: string | null;
  /** Only deliveries to these endpoints; null: all. */
  visible: ReadonlySet<number> | null;
  /** Only those that have had their status since this key, and were not opened again; null: any. */
  asOf: number | null;
}

/** A delivery with what it shows of its event. */
export interface ListedDelivery extends Delivery {
  eventType: string;
  eventConsumerId: string | null;
}

/** How many of the deliveries that were made in an hour or day, by its begin, are in each state now. */
export interface DeliveryCount {
  at: number;
  counts: Record<DeliveryStatus, number>;
}

const WIDTH_MS = { hour: 3_600_000, day: 86_400_000 } as const;

/** `bytes`: of the event's `data`. */
type Row = DeliveryRow & { type: string; consumer_id: string | null; bytes: number };

/** What a filter looks at. Of the event and of the last attempt nothing is read unless it asks for that. */
type Looked = StatusKeys &
  Pick<DeliveryRow, "endpoint_id" | "project_id" | "status"> & {
    type: string | null;
    consumer_id: string | null;
    last_code: number | null;
  };

export class DeliveryList {
  readonly #look;
  readonly #load;
  readonly #deadOfProject;
  readonly #deadOfEndpoint;

  constructor(
    private readonly data: Pick<Data, "store" | "endpoints" | "events" | "eventDeliveries" | "index">,
  ) {
    const { sqlite } = data.store;
    // A delivery whose event stands in `removal` has left the log with it.
    this.#look = sqlite.prepare<Looked, [string, boolean, boolean]>(
      `SELECT d.id, d.endpoint_id, d.project_id, d.status, d.first_attempt, d.changed, e.type, e.consumer_id,
         iif(?3, (SELECT status_code FROM attempt WHERE ${isLastAttemptOf("d.id", "d.first_attempt")}), NULL) AS last_code
       FROM delivery d LEFT JOIN event e ON e.id = iif(?2, d.event_id, NULL)
       WHERE d.id IN (SELECT value FROM json_each(?1))
         AND NOT EXISTS (SELECT 1 FROM removal r WHERE r.event_id = d.event_id) ORDER BY d.id DESC`,
    );
    this.#load = sqlite.prepare<Row, [string]>(
      `SELECT d.*, e.type, e.consumer_id, octet_length(e.data) AS bytes FROM delivery d JOIN event e ON e.id = d.event_id
       WHERE d.id IN (SELECT value FROM json_each(?)) ORDER BY d.id DESC`,
    );
    this.#deadOfProject = sqlite.prepare<{ id: number }, [number, number, number]>(
      `SELECT id FROM delivery WHERE status = 3 AND project_id = ${bound(1)} AND id < ${bound(2)} ORDER BY id DESC LIMIT ${bound(3)}`,
    );
    this.#deadOfEndpoint = sqlite.prepare<{ id: number }, [number, number, number]>(
      `SELECT id FROM delivery WHERE status = 3 AND endpoint_id = ${bound(1)} AND id < ${bound(2)} ORDER BY id DESC LIMIT ${bound(3)}`,
    );
  }

  /** Newest first, below the key `before`. */
  async page(filter: DeliveryFilter, ask: PageAsk): Promise<Page<ListedDelivery>> {
    const { q } = filter;
    const { rows, next } = await readPage<Row>({
      ...this.#request(filter, ask),
      load: (ids) => {
        const passing = this.#passing(filter, ids);
        return this.#read(q === null ? passing.slice(0, ask.count + 1) : passing);
      },
      body: q === null ? null : searchOf(this.data.events, q, (row) => row.event_id),
    });
    return { rows: rows.map(toListed), next };
  }

  /**
   * Counts in place of rows, newest first: as many as a page may look at; `next` is the key to go on below,
   * or null at the end.
   */
  async count(
    filter: DeliveryFilter,
    by: keyof typeof WIDTH_MS,
    ask: Omit<PageAsk, "count">,
  ): Promise<{ points: DeliveryCount[]; next: number | null }> {
    const points = new Map<number, DeliveryCount>();
    const width = WIDTH_MS[by];
    const take = (row: Looked) => {
      const at = Math.floor(keyTime(row.id) / width) * width;
      const point = points.get(at) ?? { at, counts: { ...NONE } };
      points.set(at, point);
      point.counts[DELIVERY_STATUS[row.status] ?? "pending"]++;
      return false;
    };
    const { next } = await readPage<Looked>({
      ...this.#request(filter, { ...ask, count: 0 }),
      load: (ids) => this.#passing(filter, ids),
      body: null,
      take,
    });
    return { points: [...points.values()], next };
  }

  /** All rows that are loaded for it have passed the filter. */
  #request(
    filter: DeliveryFilter,
    ask: PageAsk,
  ): Omit<PageRequest<{ id: number }>, "load" | "body" | "take"> {
    const { before, turns } = ask;
    return {
      ...ask,
      candidates: this.#candidates(filter, turns),
      keep: () => true,
      keyOf: (row) => row.id,
      before: Math.min(before, filter.until === null ? before : firstKeyAt(filter.until)),
      from: filter.since === null ? 0 : firstKeyAt(filter.since),
    };
  }

  get(id: number): ListedDelivery | null {
    const [row] = this.#read([{ id }]);
    return row ? toListed(row) : null;
  }

  /** Null also where the filter, its times and its text aside, does not admit it. */
  getIf(id: number, filter: DeliveryFilter): ListedDelivery | null {
    const [row] = this.#read(this.#passing(filter, [id]));
    return row ? toListed(row) : null;
  }

  /** Newest first. */
  #read(those: readonly { id: number }[]): Row[] {
    if (those.length === 0) return [];
    return this.#load.all(JSON.stringify(those.map(({ id }) => id)));
  }

  /** Those that the filter, its times and its text aside, admits: newest first. */
  #passing(filter: DeliveryFilter, ids: readonly number[]): Looked[] {
    const needsEvent = filter.eventTypes !== null || filter.consumerId !== null;
    const looked = this.#look.all(JSON.stringify(ids), needsEvent, filter.statusCode !== null);
    return looked.filter((row) => this.#keeps(filter, row));
  }

  /** The narrowest list that holds all that the filter can match. */
  #candidates(filter: DeliveryFilter, turns: Turns): PageRequest<Row>["candidates"] {
    const { eventId, projectId, status } = filter;
    const endpoints = this.#endpointsOf(filter);
    if (eventId !== null) {
      if (!this.#hasEvent(eventId, filter)) return () => [];
      const to = endpoints && new Set(endpoints);
      return (before, count) => this.data.eventDeliveries.newest(eventId, turns, to, before, count);
    }
    const dead = status?.length === 1 && status[0] === "dead";
    if (dead && endpoints !== null)
      return walking((before) => new Merge(endpoints, before, NEWEST_FIRST, this.#readDead));
    if (dead) return (before, count) => this.#deadOfProject.all(projectId, before, count).map(({ id }) => id);
    const lists = endpoints ?? [this.data.index.labels.find(projectId, LABELS.deliveries, "") ?? []].flat();
    return walking((before) => this.data.index.walkDown(lists, before));
  }

  readonly #readDead = (endpointId: number, from: number, most: number) =>
    this.#deadOfEndpoint.all(endpointId, from, most).map(({ id }) => id);

  #hasEvent(id: number, { projectId, consumerId }: DeliveryFilter): boolean {
    const event = this.data.events.get(id);
    return event?.projectId === projectId && (consumerId === null || event.consumerId === consumerId);
  }

  /**
   * The endpoints whose own lists are walked; null: the whole project's list. For who sees some endpoints
   * only, never that of the project, and for nobody that of another one's endpoint: the cursor of a page that
   * found nothing names the last entry which was looked at.
   */
  #endpointsOf({ projectId, endpointId, visible }: DeliveryFilter): number[] | null {
    if (endpointId === null) return visible && [...visible];
    const isSeen = this.data.endpoints.isSeen(endpointId, projectId, visible);
    return isSeen ? [endpointId] : [];
  }

  #keeps(filter: DeliveryFilter, row: Looked): boolean {
    if (row.project_id !== filter.projectId) return false;
    if (filter.visible !== null && !filter.visible.has(row.endpoint_id)) return false;
    if (filter.endpointId !== null && row.endpoint_id !== filter.endpointId) return false;
    if (filter.status !== null && !filter.status.some((status) => statusNumber(status) === row.status))
      return false;
    if (filter.asOf !== null && statusKeyOf(row) > filter.asOf) return false;
    if (filter.consumerId !== null && row.consumer_id !== filter.consumerId) return false;
    const { type } = row;
    const { eventTypes } = filter;
    if (eventTypes !== null && !eventTypes.some((pattern) => type !== null && matchesPattern(pattern, type)))
      return false;
    return filter.statusCode === null || row.last_code === filter.statusCode;
  }
}

/** Candidates of a page, from a walk that its first request begins. */
function walking(begin: (before: number) => Merge): (before: number, count: number) => number[] {
  let walk: Merge | null = null;
  return (before, count) => (walk ??= begin(before)).next(count);
}

const NONE: Readonly<Record<DeliveryStatus, number>> = {
  pending: 0,
  retrying: 0,
  delivered: 0,
  dead: 0,
  cancelled: 0,
};

function toListed(row: Row): ListedDelivery {
  return { ...toDelivery(row), eventType: row.type, eventConsumerId: row.consumer_id };
}

import type { Actors } from "../../delivery/actors.ts";
import type { Guard } from "../../transport/guard.ts";
import type { Sent } from "../../delivery/send.ts";
import type { Transport } from "../../transport/types.ts";
import type { Durability } from "../../core/model.ts";
import type { Confirmations } from "../../pipeline/confirmations.ts";
import type { Pipeline } from "../../pipeline/pipeline.ts";
import type { Poller } from "../../delivery/polling/poller.ts";
import type { Eraser } from "../../maintenance/eraser.ts";
import type { Retries } from "../../delivery/retries.ts";
import type { Tracing } from "../../platform/tracing.ts";
import type { Replayer } from "../../pipeline/replayer.ts";
import type { Data } from "../../store/data.ts";
import type { DeliveryList } from "../../store/log/delivery-list.ts";
import type { NewEndpoint } from "../../store/resources/endpoints.ts";
import type { EventList } from "../../store/log/event-list.ts";

/**
 * What the routes stand on: everything that is kept, noun by noun, and what works on it. A route, and what it
 * calls, names what it needs of it by `Needs`; only the table of all routes takes all.
 */
export interface Services extends Data {
  eventList: EventList;
  deliveryList: DeliveryList;
  pipeline: Pipeline;
  confirmations: Confirmations;
  actors: Actors;
  retries: Retries;
  replayer: Replayer;
  poller: Poller;
  eraser: Eraser;
  guard: Guard;
  /** Null where nothing is traced. */
  tracing: Tracing | null;
  transport: Transport;
  /**
   * Sends one message to a destination that is not stored; null where the service stops, or the account has
   * no slot left. Never rejects.
   */
  sendTrial(endpoint: NewEndpoint): Promise<Sent | null>;
  /** The two characters of this cell. */
  cell: string;
  /** Without a slash at the end. */
  baseUrl: string;
  /** Requests a second that a source takes unless it says otherwise; 0: no limit. */
  ingestRateLimit: number;
  /** What a publish or an ingest is answered after, unless it or its source says otherwise. */
  durability: Durability;
  /** Polls a second that an endpoint takes; 0: no limit. */
  pollRateLimit: number;
  /** By the wall clock (src/docs/architecture.md tells the clocks). */
  wallNow(): number;
  /** Milliseconds by a clock that nobody sets: for what is kept in memory and waits. */
  monotonic(): number;
  /** An inbound request was refused; for the metrics. */
  onRejected(reason: string): void;
  /** One line of the log; only facts that may be read by the operator: no bodies, no secrets, no queries. */
  log(
    level: "info" | "warn" | "error",
    msg: string,
    fields: Readonly<Record<string, string | number | boolean | null>>,
  ): void;
}

export type Needs<Name extends keyof Services> = Pick<Services, Name>;

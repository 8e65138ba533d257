import { triggerOf } from "../../core/delivery.ts";
import { unavailable } from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";
import { type Endpoint, HEALTHY } from "../../core/model.ts";
import type { Load, Waiting } from "../../core/waiting.ts";
import type { Settlement } from "../actor-parts.ts";
import type { Actors } from "../actors.ts";
import { loadDelivery } from "../load.ts";
import type { Recorder } from "../recorder.ts";
import type { Message } from "../../destinations/destination.ts";
import { HeldPolls } from "./held-polls.ts";
import type { HandOut } from "./hand-out.ts";
import type { Sent } from "../send.ts";
import type { PollActor } from "./poll-actor.ts";
import type { Data } from "../../store/data.ts";
import type { HandedOut } from "../../store/log/deliveries.ts";
import type { StatDelta } from "../../store/index/index.ts";
import { isAway } from "../../store/resources/tenants.ts";
import { turnsOf } from "../../store/project-turns.ts";

const MOVE_RETRY_SECONDS = 1;

/** What a poller asks for. */
export interface PollRequest {
  /** Everything up to this position that was handed out is acknowledged; 0: nothing. */
  position: number;
  /** Messages that the page holds at most. */
  limit: number;
  /** How long the answer may wait for something to come, in milliseconds. */
  waitMs: number;
  /** The client has left. */
  signal: AbortSignal;
  /**
   * A message as the page has it, behind so many bytes; may throw where there is no room for it. Asked once
   * for each that may come into the page: the message itself is let go of then.
   */
  write(message: Message, before: number): Uint8Array;
  /** Asked whenever something has changed: the secret may have been rotated meanwhile. */
  isAllowed(): boolean;
}

/** What a poller gets: the first of all that is not acknowledged. */
export interface PollPage {
  /** Each as `write` made it. */
  messages: readonly Uint8Array[];
  /** Acknowledges this page, and all before it. */
  position: number;
  /** Nothing more waits now. A page without it is empty only where its client has left, or time is over. */
  done: boolean;
}

/**
 * `gone`: deleted, not polled, or no longer to be asked by this caller. `disabled`: its status. `full`: too
 * many wait already. `stopping`: the process ends.
 */
export type PollRefusal = "gone" | "disabled" | "full" | "stopping";

export interface PollerParts {
  /** Polls that wait at once, over all endpoints: each holds a connection that others need. */
  heldMax: number;
  /** Shapes and signs a delivery at this moment. Never rejects. */
  handOut(endpoint: Endpoint, load: Load): Promise<HandOut>;
  recorder: Recorder;
  /** Hears of acknowledged deliveries, once that is on disk. */
  onAcknowledged(endpoint: Endpoint, deliveries: number): void;
}

/** One that may be handed out; `written` is null where it could not be rendered. */
interface Tried extends Settlement<Sent> {
  written: Uint8Array | null;
}

/** The right to wait; its signal ends the wait. */
interface Held {
  signal: AbortSignal;
  letGo(): void;
}

/**
 * Polling: the first of an endpoint's open deliveries, in the order of their positions, are handed out, and
 * stay where they are until a cursor acknowledges them. So a page is always what follows the last
 * acknowledged delivery, whichever of several pollers asks, before and after a restart; the states of a
 * delivery stand at poll-actor.ts.
 *
 * A page is answered once its first hand-outs are on disk, as attempts. An acknowledgement takes only what
 * was handed out: a delivery that nobody was given cannot be lost by any cursor.
 */
export class Poller {
  readonly #held;

  constructor(
    private readonly data: Pick<
      Data,
      "store" | "tenants" | "endpoints" | "events" | "deliveries" | "attempts" | "index"
    >,
    private readonly actors: Actors,
    private readonly parts: PollerParts,
  ) {
    this.#held = new HeldPolls(parts.heldMax);
  }

  async poll(endpointId: number, ask: PollRequest): Promise<PollPage | PollRefusal> {
    const { clock } = this.actors;
    const until = clock.now() + ask.waitMs;
    const lookUntil = clock.now() + limit("pollWaitSecondsMax") * SECOND_MS;
    let acknowledged = false;
    let held: Held | null = null;
    try {
      for (;;) {
        const actor = this.actors.polled(endpointId);
        const endpoint = this.data.endpoints.get(endpointId);
        const refusal = ask.isAllowed() ? refusalOf(actor, endpoint) : "gone";
        if (refusal !== null || actor === null || endpoint === undefined) return refusal ?? "gone";
        if (!acknowledged) await this.#acknowledge(endpoint, ask.position);
        acknowledged = true;
        const seen = actor.changes;
        const page = actor.isHeldBack ? nothing(ask) : await this.#page(endpoint, ask);
        const isOver = clock.now() >= (page.done ? until : lookUntil) || ask.signal.aborted;
        if (page.messages.length > 0 || isOver) return page;
        const turns = turnsOf(this.data, endpoint.projectId, "deliveries");
        if (!page.done) {
          await turns.giveWay();
          continue;
        }
        if (held?.signal.aborted) return page;
        if (actor.pollers >= limit("pollersMax")) return "full";
        held ??= this.#hold(endpoint, ask.signal, until);
        if (held === null) return "full";
        await actor.changed(seen, held.signal);
        if (ask.signal.aborted) return nothing(ask);
        await turns.giveWay();
      }
    } finally {
      held?.letGo();
    }
  }

  /**
   * A permit of the endpoint's account to wait, for all waits of a request; null where there is none. It ends
   * with its time, with the client, or where it is given up.
   */
  #hold(endpoint: Endpoint, client: AbortSignal, until: number): Held | null {
    const accountId = this.data.tenants.accountIdOf(endpoint.projectId);
    const permit = this.#held.take(accountId);
    if (permit === null) return null;
    const end = () => permit.abort();
    const callOff = this.actors.timer(endpoint, until, end);
    client.addEventListener("abort", end);
    const letGo = () => {
      callOff();
      client.removeEventListener("abort", end);
      this.#held.leave(accountId, permit);
    };
    return { signal: permit.signal, letGo };
  }

  /** What was handed out up to a position has arrived. */
  async #acknowledge(endpoint: Endpoint, position: number): Promise<void> {
    const slice = limit("sliceRows");
    // The first look costs no write: most often there is nothing, or one slice.
    while (this.#handedOut(endpoint.id, position, 1).length > 0) {
      const write = () => this.#writeSlice(endpoint, position, slice);
      const count = await this.data.store.writeFor(endpoint.projectId, write);
      this.parts.onAcknowledged(endpoint, count);
    }
  }

  #handedOut(endpointId: number, position: number, count: number): HandedOut[] {
    const { unconfirmed } = this.actors;
    return this.data.deliveries.handedOutUpTo(endpointId, position, count, (most, read) =>
      unconfirmed.leftOut(endpointId, most, read),
    );
  }

  /** Inside a write: how many were acknowledged. */
  #writeSlice({ id: endpointId, projectId }: Endpoint, position: number, slice: number): number {
    const { attempts, deliveries, index } = this.data;
    const now = this.data.store.now();
    this.#requireHere(projectId);
    const tallies = this.#handedOut(endpointId, position, slice).map(({ id, attemptCount }): StatDelta => {
      deliveries.acknowledge(endpointId, id);
      const durationMs = attempts.acknowledge(id, attemptCount, now) ?? 0;
      return { endpointId, projectId, at: now, delivered: true, failed: false, dead: false, durationMs };
    });
    index.countAttemptsBelowMark(tallies);
    return tallies.length;
  }

  /** Inside a write: the cell to which the account moves would not know of it. */
  #requireHere(projectId: number): void {
    if (isAway(this.data.tenants.residenceOf(projectId)))
      throw unavailable("This account moves to another cell. Poll again in a moment.", MOVE_RETRY_SECONDS);
  }

  /**
   * The first that are open. Empty and not `done`: all of them have turned out malformed, or have left their
   * places while their page was made, so that others are the first by now.
   */
  async #page(endpoint: Endpoint, ask: PollRequest): Promise<PollPage> {
    const rows = this.actors.parked(endpoint.id, "none", ask.limit + 1);
    const { tried, seen } = await this.#prepare(endpoint, rows.slice(0, ask.limit), ask);
    const open = await this.parts.recorder.recordHandOuts(tried, () => this.#requireHere(endpoint.projectId));
    const messages = open.flatMap(({ written }) => written ?? []);
    if (messages.length === 0) return { ...nothing(ask), done: rows.length === 0 };
    return { messages, position: tried.at(-1)?.queueOrder ?? ask.position, done: seen === rows.length };
  }

  /** Renders as many as one answer holds, some a turn of the loop. */
  async #prepare(
    endpoint: Endpoint,
    rows: readonly Waiting[],
    ask: PollRequest,
  ): Promise<{ tried: Tried[]; seen: number }> {
    const turns = turnsOf(this.data, endpoint.projectId, "deliveries");
    const tried: Tried[] = [];
    let bytes = 0;
    let seen = 0;
    for (const { id, queueOrder } of rows) {
      if (turns.isOver) await turns.next();
      const load = loadDelivery(this.data, id);
      const write = (message: Message) => ask.write(message, bytes);
      const one = load && (await this.#try(endpoint, load, queueOrder, write));
      bytes += one?.written?.length ?? 0;
      if (tried.length > 0 && bytes > limit("pollAnswerBytesMax")) break;
      if (one) tried.push(one);
      seen++;
    }
    return { tried, seen };
  }

  /** What follows where this is the delivery's first hand-out, or where it cannot be rendered. */
  async #try(
    endpoint: Endpoint,
    load: Load,
    queueOrder: number | null,
    write: (message: Message) => Uint8Array,
  ): Promise<Tried | null> {
    const { delivery } = load;
    if (delivery.due === null) return null;
    const { message, ...sent } = await this.parts.handOut(endpoint, load);
    const step = delivery.step + 1;
    const change =
      message === null
        ? ({ status: "dead", step, due: null, deadReason: "malformed" } as const)
        : ({ status: "pending", step, due: delivery.due, deadReason: null } as const);
    return {
      endpoint,
      // Without the body, which stands in the page by now.
      load: { ...load, body: BODY_LET_GO },
      trigger: triggerOf(delivery),
      sent,
      change,
      queueOrder,
      health: HEALTHY,
      healthChanged: false,
      disable: null,
      written: message && write(message),
    };
  }
}

const SECOND_MS = 1000;
const BODY_LET_GO = new Uint8Array();

function refusalOf(actor: PollActor | null, endpoint: Endpoint | undefined): PollRefusal | null {
  if (actor?.isStopped) return "stopping";
  if (endpoint === undefined) return "gone";
  return endpoint.status === "disabled" ? "disabled" : null;
}

/** Nothing is handed out, and nothing new can be acknowledged by it. */
function nothing({ position }: PollRequest): PollPage {
  return { messages: [], position, done: true };
}

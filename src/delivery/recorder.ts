import { ATTEMPT_ERROR_CODES } from "../core/attempt-error.ts";
import { gateOf, isMetered, isTest } from "../core/delivery.ts";
import { type Delivery, type Endpoint, startsAfresh } from "../core/model.ts";
import type { SteadyClock } from "../platform/clock.ts";
import type { Data } from "../store/data.ts";
import type { Recorded, Settlement } from "./actor-parts.ts";
import type { Sent } from "./send.ts";

/** What an attempt tells the log and the metrics once it is on disk. */
export interface AttemptReport {
  settlement: Settlement<Sent>;
  number: number;
  /** By the wall clock; null where none is planned. */
  nextAttemptAt: number | null;
  /** By the wall clock: when the endpoint is tried again that is left alone; null where it is not. */
  leftAloneUntil: number | null;
  /** Milliseconds from when the first attempt was due to its start; null for later ones. */
  lagMs: number | null;
}

export interface RecorderParts {
  clock: SteadyClock;
  onAttempt(report: AttemptReport): void;
}

/** What the transaction of an attempt came to. */
interface WrittenAttempt {
  /** False where the attempt would change the delivery, and somebody else did meanwhile, or it is erased. */
  applied: boolean;
  disabled: Endpoint | null;
  /** By the wall clock; null where none is planned. */
  nextAttemptAt: number | null;
}

/** Without all that the destination, or what was sent to it, puts into the row. */
function plainOf(sent: Sent): Sent {
  const code = ATTEMPT_ERROR_CODES.find((known) => known === sent.error?.code);
  const request = { requestHead: null, sentAt: null, signature: null, traceparent: null, requestBody: null };
  const response = { responseHeaders: [], responseBody: null, truncated: false };
  return { ...sent, ...request, ...response, error: code ? { code, detail: null } : null };
}

/** Writes what attempts found out. */
export class Recorder {
  constructor(
    private readonly data: Pick<
      Data,
      "store" | "endpoints" | "health" | "deliveries" | "attempts" | "index" | "meter" | "askedRetries"
    >,
    private readonly parts: RecorderParts,
  ) {}

  /**
   * Resolves once the attempt is on disk, or never will be. Rejects only where whoever hears of it throws
   * (`announce`, `onAttempt`), which ends the process.
   */
  record(settlement: Settlement<Sent>): Promise<Recorded> {
    // By the clock that everything waits by: the wall clock may be set while an attempt runs.
    return this.#record(settlement, this.parts.clock.now() - settlement.sent.durationMs);
  }

  async #record(settlement: Settlement<Sent>, began: number, isPlain = false): Promise<Recorded> {
    const { endpoint, load, sent } = settlement;
    const { endpoints, store } = this.data;
    const number = load.delivery.attemptCount + 1;
    // Only by hand is a delivery tried that no attempt is planned for: it lags behind nothing.
    const lagMs = number === 1 ? began - (load.delivery.due ?? began) : null;
    let written: WrittenAttempt;
    try {
      written = await store.writeFor(endpoint.projectId, () => this.#write(settlement, number), true);
    } catch (error) {
      store.report(isPlain ? "plain record of an attempt" : "record of an attempt", error);
      // What an answer holds must not leave its row as it was: it would be tried for ever, and uncounted.
      if (isPlain) return "not_recorded";
      // The endpoint's health may have been written by a later attempt, which saw this one's.
      const plain = { ...settlement, sent: plainOf(sent), healthChanged: false };
      return this.#record(plain, began, true);
    }
    const { applied, disabled, nextAttemptAt } = written;
    // At once: a later write of the same transaction may have changed the endpoint, and is announced next.
    if (disabled) endpoints.announce(disabled);
    const until = gateOf(settlement.health);
    const leftAloneUntil = until > this.parts.clock.now() ? this.parts.clock.toWall(until) : null;
    this.parts.onAttempt({ settlement, number, nextAttemptAt, leftAloneUntil, lagMs });
    return applied ? "applied" : "overtaken";
  }

  /** All that follows from an attempt, in one transaction. */
  #write(settlement: Settlement<Sent>, number: number): WrittenAttempt {
    const { endpoint, load, trigger, sent, change, health } = settlement;
    const { delivery } = load;
    const { outcome } = sent;
    const id = this.data.store.takeKey();
    const isHandedOut = outcome === "handed_out";
    const metered = delivery.metered || (isMetered(outcome) && !isTest(delivery));
    if (trigger === "manual") this.data.askedRetries.end(delivery.id);
    if (metered && !delivery.metered) this.data.meter.count(delivery.projectId, sent.startedAt);
    // Also where the delivery is gone: what its receiver said holds for the next one.
    const disabled = this.#disable(settlement);
    if (settlement.healthChanged && this.#isHealthOf(endpoint)) this.data.health.set(endpoint.id, health);
    const isAgain = this.#hasArrived(settlement);
    const at = { id, number };
    const settled = this.data.deliveries.settle(delivery, at, metered, change, settlement.queueOrder);
    if (settled === "gone") return { applied: false, disabled, nextAttemptAt: null };
    const isApplied = settled === "applied";
    const next = isHandedOut ? null : this.#nextAfter(settlement, isApplied);
    const nextAttemptAt = next === null ? null : this.parts.clock.toWall(next);
    const deadReason = (isApplied && change?.deadReason) || null;
    const result = { ...at, deliveryId: delivery.id, trigger, outcome, nextAttemptAt, deadReason };
    this.data.attempts.insert(result, sent);
    // What is handed out counts once it is acknowledged (src/delivery/polling/poller.ts).
    if (!isHandedOut) {
      this.data.index.countAttempt(id, {
        endpointId: endpoint.id,
        projectId: delivery.projectId,
        at: sent.startedAt,
        delivered: outcome === "delivered" && !isAgain,
        failed: outcome !== "delivered",
        dead: deadReason !== null,
        durationMs: sent.durationMs,
      });
    }
    return { applied: isApplied, disabled, nextAttemptAt };
  }

  /** Inside the write. Only by hand is something tried that has arrived: then it is not counted again. */
  #hasArrived({ load, trigger }: Settlement<Sent>): boolean {
    return trigger === "manual" && this.data.deliveries.get(load.delivery.id)?.status === "delivered";
  }

  /** Inside the write. False where it leads somewhere else by now, or was resumed or enabled meanwhile. */
  #isHealthOf(endpoint: Endpoint): boolean {
    const current = this.data.endpoints.current(endpoint.id);
    return current !== undefined && !startsAfresh(endpoint, current);
  }

  /** Inside the write. Null where nothing is to be disabled, also as the attempt is outdated by now. */
  #disable({ endpoint, disable }: Settlement<Sent>): Endpoint | null {
    if (disable === null || !this.#isHealthOf(endpoint)) return null;
    return this.data.endpoints.update(endpoint.id, () => ({ status: "disabled", disabledReason: disable }));
  }

  /**
   * When the delivery is tried next, as far as anybody knows: its time has come, and its endpoint is not left
   * alone. Where the attempt changes nothing of that, or it was changed while the attempt ran, its row says
   * when its time comes.
   */
  #nextAfter({ load: { delivery }, change, health }: Settlement<Sent>, isApplied: boolean): number | null {
    const due = isApplied && change ? change.due : (this.data.deliveries.get(delivery.id)?.due ?? null);
    return due === null ? null : Math.max(due, gateOf(health));
  }

  /**
   * Records what a poller is about to get, in one transaction: what it gets for the first time since its
   * delivery was opened is an attempt, what could not be rendered is dead. Answers those that are still open
   * and rendered. `requireHere` is asked inside the write.
   */
  async recordHandOuts<Handed extends Settlement<Sent>>(
    handed: readonly Handed[],
    requireHere: () => void,
  ): Promise<Handed[]> {
    const isKnown = ({ load, sent }: Handed) => load.delivery.step > 0 && sent.outcome === "handed_out";
    if (handed.every(isKnown)) return handed.filter((one) => this.#openNow(one) !== null);
    const projectId = handed[0]?.endpoint.projectId ?? null;
    const written = await this.data.store.writeFor(projectId, () => {
      requireHere();
      const reports: AttemptReport[] = [];
      return { open: handed.filter((one) => this.#writeHandOut(one, reports)), reports };
    });
    for (const report of written.reports) this.parts.onAttempt(report);
    return written.open;
  }

  /**
   * The delivery as it stands now; null where it was acknowledged, ended or opened anew since it was read.
   */
  #openNow({ load }: Settlement<Sent>): Delivery | null {
    const current = this.data.deliveries.get(load.delivery.id);
    return current && current.due !== null && current.generation === load.delivery.generation
      ? current
      : null;
  }

  /** Inside a write. False where it is not to be handed out. */
  #writeHandOut(one: Settlement<Sent>, reports: AttemptReport[]): boolean {
    const delivery = this.#openNow(one);
    if (delivery === null) return false;
    const isRendered = one.sent.outcome === "handed_out";
    if (isRendered && delivery.step > 0) return true;
    const settlement = { ...one, load: { ...one.load, delivery } };
    const number = delivery.attemptCount + 1;
    this.#write(settlement, number);
    reports.push({ settlement, number, nextAttemptAt: null, leftAloneUntil: null, lagMs: null });
    return isRendered;
  }
}

import { isTest, placeOf } from "../core/delivery.ts";
import { limit } from "../core/limits.ts";
import type { Delivery, DeliveryStatus } from "../core/model.ts";
import type { Data } from "../store/data.ts";
import type { AttemptRefusal } from "./actor-parts.ts";
import type { Actors } from "./actors.ts";

/** Why there is no retry. `polled`: its endpoint is. */
export type RetryRefusal = AttemptRefusal | "polled";

/**
 * Retries by hand. What was answered is on disk until its outcome is, so that the next start makes what the
 * process before could not: it was killed, it stopped, or it had no file left for a socket.
 */
export class Retries {
  /**
   * Retries to be started again: there was no file or no slot for them, or the process has just started; each
   * with the status of its delivery. One that has arrived since, as it was scheduled, needs no retry.
   */
  readonly #again = new Map<number, DeliveryStatus | null>();
  /** Retries that have begun, and whose write is on its way: no row says yet that they were asked for. */
  readonly #unwritten = new Set<number>();
  #isScheduled = false;

  constructor(
    private readonly data: Pick<Data, "store" | "tenants" | "deliveries" | "meter" | "askedRetries">,
    private readonly actors: Pick<Actors, "attemptNow" | "clock">,
  ) {}

  /** True where its attempt needs a place that the account's plan does not expect. */
  static needsPlace(delivery: Delivery): boolean {
    return !delivery.metered && placeOf(delivery) !== "taken" && !isTest(delivery);
  }

  /** Starts one, or says why not. `write` has `ask` in it and begins in this turn, before the outcome. */
  begin<T>(deliveryId: number, write: () => Promise<T>): Promise<T> | RetryRefusal {
    if (this.#again.has(deliveryId)) return "busy";
    if (this.#again.size >= limit("attemptsInFlightMax")) return "full";
    const refusal = this.#start(deliveryId);
    if (refusal !== null) return refusal;
    this.#unwritten.add(deliveryId);
    return write().finally(() => this.#unwritten.delete(deliveryId));
  }

  /** Inside a write. */
  ask(deliveryId: number): void {
    this.data.askedRetries.add(deliveryId);
  }

  /** At start, once the actors know what they have. */
  recover(): void {
    for (const id of this.data.askedRetries.all()) this.#again.set(id, this.#statusOf(id));
    this.#goOn();
  }

  #start(id: number): RetryRefusal | null {
    const delivery = this.data.deliveries.get(id);
    const { tenants } = this.data;
    // The caller's key is refused; this one was asked for before, and waits as all deliveries do.
    if (delivery && tenants.isSuspended(delivery.projectId))
      return tenants.hasArrivedElsewhere(delivery.projectId) ? "closed" : "full";
    const giveBack =
      delivery && Retries.needsPlace(delivery) ? this.data.meter.lend(delivery.projectId) : () => {};
    const attempt = this.actors.attemptNow(id, "manual");
    if (typeof attempt === "string") {
      giveBack();
      return attempt;
    }
    // An attempt never rejects; what it finds out stands in its row.
    void attempt.then((sent) => {
      giveBack();
      if (sent === null) this.#startLater(id);
    });
    return null;
  }

  #statusOf(id: number): DeliveryStatus | null {
    return this.data.deliveries.get(id)?.status ?? null;
  }

  #startLater(id: number, status = this.#statusOf(id)): void {
    this.#again.set(id, status);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const { clock } = this.actors;
    clock.timer(clock.now() + limit("shortageRestMs"), () => {
      this.#isScheduled = false;
      this.#goOn();
    });
  }

  /** In shares of turns of the loop: so many as there were at first, and none of those put off meanwhile. */
  #goOn(count = this.#again.size): void {
    const { store } = this.data;
    const share = store.beginShare();
    let left = count;
    for (const [id, status] of this.#again) {
      if (left === 0) return;
      if (share.isOver) return store.schedule(() => this.#goOn(left));
      left--;
      this.#again.delete(id);
      // Somebody has cancelled the delivery since, or the write was refused.
      if (!this.#unwritten.has(id) && !this.data.askedRetries.has(id)) continue;
      const hasArrived = status !== "delivered" && this.#statusOf(id) === "delivered";
      const refusal = hasArrived ? "closed" : this.#start(id);
      if (refusal === "stopping") return;
      if (refusal === "closed" || refusal === "polled") this.#end(id);
      else if (refusal !== null) this.#startLater(id, status);
    }
  }

  /** Nothing is left to try: it has arrived, or its endpoint, or its event, has gone. */
  #end(id: number): void {
    const { store, deliveries, askedRetries } = this.data;
    // In the line of its project, as it may still be on its way to the disk that it was asked for.
    const projectId = deliveries.get(id)?.projectId ?? null;
    store.unattended(
      "end of a retry",
      store.writeFor(projectId, () => askedRetries.end(id), true),
    );
  }
}

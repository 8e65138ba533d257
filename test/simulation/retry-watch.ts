import type { Attempt } from "../../src/core/model.ts";
import type { Simulation } from "./run.ts";

interface Asked {
  endpointId: number;
  /** The newest key there was before. */
  after: number;
  isAnswered: boolean;
}

/**
 * Retries by hand: what was answered is made or called off, or has arrived; what was called off, or refused,
 * is not made later; and nothing is made of an account that is suspended, or at an endpoint that is closed.
 */
export class RetryWatch {
  /** By delivery; without those that may have been called off since. */
  readonly #asked = new Map<number, Asked>();
  /** How often each was asked for. */
  readonly #counts = new Map<number, number>();
  /** Deliveries that get no retry any more, unless somebody asks again. */
  readonly #calledOff = new Set<number>();
  /** The delivery that somebody asks for in this moment. */
  #beginning: number | null = null;

  constructor(private readonly run: Simulation) {}

  /** Of each life of the process. */
  begin(): void {
    const { endpoints, store } = this.run.process.data;
    for (const [id, asked] of this.#asked) {
      if (!asked.isAnswered || this.#isClosed(asked.endpointId)) this.#asked.delete(id);
      // Keys that were given out and never written may be given out again, where the clock was set back.
      asked.after = Math.min(asked.after, store.keys.last);
    }
    endpoints.onChange((endpoint) => {
      if (!this.#isClosed(endpoint.id)) return;
      for (const [id, { endpointId }] of this.#asked) if (endpointId === endpoint.id) this.#asked.delete(id);
    });
  }

  /** Somebody asks for one. */
  ask(id: number, begin: () => Promise<void> | string): Promise<void> | null {
    const { data } = this.run.process;
    const after = data.store.keys.last;
    this.#beginning = id;
    const begun = begin();
    this.#beginning = null;
    if (typeof begun === "string") return null;
    this.#requireMade(id);
    const endpointId = data.deliveries.get(id)?.endpointId ?? 0;
    const asked: Asked = { endpointId, after, isAnswered: false };
    this.#asked.set(id, asked);
    this.#counts.set(id, this.#countOf(id) + 1);
    this.#calledOff.delete(id);
    const refused = this.#until(id);
    begun.then(() => (asked.isAnswered = true), refused);
    return begun;
  }

  /** Somebody calls off what was asked for up to now. Answers what says that it is so. */
  callOff(id: number): () => void {
    this.#asked.delete(id);
    return this.#until(id);
  }

  #until(id: number): () => void {
    const count = this.#countOf(id);
    return () => {
      if (this.#countOf(id) === count) this.#calledOff.add(id);
    };
  }

  /** An attempt that is no test begins by hand. */
  onRetry(id: number): void {
    const { data } = this.run.process;
    const delivery = data.deliveries.get(id);
    if (delivery === null) return;
    if (id !== this.#beginning && this.#calledOff.has(id))
      this.run.violate("a retry by hand was made that was called off, or refused");
    if (data.tenants.isSuspended(delivery.projectId))
      this.run.violate("a retry by hand was made of an account that is suspended");
    if (this.#isClosed(delivery.endpointId))
      this.run.violate("a retry by hand was made at an endpoint that is disabled or deleted");
  }

  /** All is at rest. */
  check(): void {
    for (const id of this.#asked.keys()) this.#requireMade(id);
  }

  #requireMade(id: number): void {
    const asked = this.#asked.get(id);
    const { attempts, deliveries } = this.run.process.data;
    if (!asked?.isAnswered || deliveries.get(id) === null) return;
    const made = [...attempts.ofDelivery(id, Number.MAX_SAFE_INTEGER, 1000)];
    // What has arrived as it was scheduled, before the retry could be made, needs none.
    const isDone = ({ trigger, outcome }: Attempt) => trigger === "manual" || outcome === "delivered";
    if (!made.some((attempt) => attempt.id > asked.after && isDone(attempt)))
      this.run.violate("a retry by hand was answered, and neither made nor called off");
  }

  #countOf(id: number): number {
    return this.#counts.get(id) ?? 0;
  }

  #isClosed(endpointId: number): boolean {
    const status = this.run.process.data.endpoints.getAnyway(endpointId)?.status;
    return status === "disabled" || status === "deleted";
  }
}

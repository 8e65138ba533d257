import type { Waiting } from "../../src/core/waiting.ts";
import type { Delivery, Endpoint } from "../../src/core/model.ts";
import { isPolled, keepsOrder } from "../../src/destinations/destinations.ts";
import type { Simulation } from "./run.ts";

/**
 * Whenever an attempt begins: where order is kept, nothing that was handed on to be sent is still open before
 * it, also what was handed on before the endpoint came to keep the order, and what is tried by hand.
 */
export class OrderWatch {
  /** Endpoints that are pushed to and keep the order, and everybody knows. */
  readonly #ordered = new Set<number>();
  /** Deliveries that were handed on, as they were opened last. */
  readonly #handedOn = new Map<number, number>();

  constructor(private readonly run: Simulation) {}

  /** A process begins, on what is on disk. */
  begin(): void {
    const { endpoints } = this.run.process.data;
    this.#ordered.clear();
    for (const endpoint of endpoints.all()) this.#follow(endpoint);
    endpoints.onChange((endpoint) => this.#follow(endpoint));
    this.#handedOn.clear();
    const due = this.run.sqlite.query<{ id: number; generation: number }, []>(
      "SELECT id, generation FROM delivery WHERE due IS NOT NULL",
    );
    for (const { id, generation } of due.all()) this.#handedOn.set(id, generation);
  }

  #follow(endpoint: Endpoint): void {
    const isOrdered = keepsOrder(endpoint) && endpoint.kind !== "poll";
    if (isOrdered) this.#ordered.add(endpoint.id);
    else this.#ordered.delete(endpoint.id);
  }

  /** They are on disk, and on their way to their actors. */
  onDispatched(committed: readonly Waiting[]): void {
    for (const { id } of committed) {
      const delivery = this.run.process.data.deliveries.get(id);
      if (delivery) this.#handedOn.set(id, delivery.generation);
      if (delivery?.origin === "publish") this.#requirePlanOrder(delivery);
    }
  }

  /** What is polled goes by its order too: what waits for the plan stands before what comes later. */
  #requirePlanOrder({ id, endpointId }: Pick<Delivery, "id" | "endpointId">): void {
    const endpoint = this.run.process.data.endpoints.get(endpointId);
    if (endpoint === undefined || !isPolled(endpoint.kind)) return;
    const earlier = this.run.sqlite
      .query<{ id: number }, [number, number]>(
        "SELECT id FROM delivery WHERE endpoint_id = ? AND id < ? AND due IS NULL AND status IN (0, 1) LIMIT 1",
      )
      .get(endpointId, id);
    if (earlier) this.run.violate("a polled endpoint gets an event before one that waits for the plan");
  }

  /** Of an attempt that nobody asked for by hand. */
  onStart(endpointId: number, deliveryId: number): void {
    // Its actor may hear of a change before this does.
    const endpoint = this.run.process.data.endpoints.get(endpointId);
    if (endpoint?.ordering !== "fifo" || !this.#ordered.has(endpointId)) return;
    const earlier = this.run.sqlite
      .query<{ id: number; generation: number }, [number, number]>(
        "SELECT id, generation FROM delivery WHERE endpoint_id = ? AND id < ? AND due IS NOT NULL",
      )
      .all(endpointId, deliveryId);
    const first = earlier.find(({ id, generation }) => this.#handedOn.get(id) === generation);
    if (first === undefined) return;
    const state = this.run.watch.isBusy(first.id) ? "is tried by hand" : "waits";
    this.run.violate(`where order is kept, an attempt started while an earlier delivery ${state}`);
  }
}

import type { Simulation } from "./run.ts";

/** A commit may take two seconds, what it wrote is seen before that, and a few may stand in line. */
const SLOW_GRACE_MS = 10_000;
const GRACE_MS = 1000;

/**
 * At every step: whatever is open is in somebody's hands. The actor of its endpoint holds it, or knows that
 * something is parked; it waits in the line of the dispatcher; or it waits for the plan of its account, and
 * not for an endpoint that nothing is sent to any more.
 */
export class HoldingWatch {
  /** By what is wrong and the endpoint: since when, by the monotonic clock. */
  readonly #since = new Map<string, number>();

  constructor(private readonly run: Simulation) {}

  /** The process died: what it held is taken up anew. */
  forget(): void {
    this.#since.clear();
  }

  look(): void {
    const { data, outlet } = this.run.process;
    const lined = outlet.linedIds();
    for (const { endpointId, open, awaiting } of this.#openByEndpoint()) {
      const endpoint = data.endpoints.getAnyway(endpointId);
      if (!endpoint) continue;
      const inLine = lined.filter((id) => data.deliveries.get(id)?.endpointId === endpointId).length;
      const held = this.run.process.actors.openCount(endpoint) + inLine;
      this.#require(endpointId, held >= open, "a delivery is open that nobody knows");
      const isClosed = endpoint.status === "deleted" || endpoint.status === "disabled";
      const isWrong = isClosed && awaiting > 0;
      this.#require(
        endpointId,
        !isWrong,
        `a delivery waits for the plan, its endpoint is ${endpoint.status}`,
      );
    }
  }

  #openByEndpoint() {
    return this.run.sqlite
      .query<{ endpointId: number; open: number; awaiting: number }, []>(
        `SELECT endpoint_id AS endpointId, count(*) AS open, sum(due IS NULL) AS awaiting
         FROM delivery WHERE status IN (0, 1) GROUP BY endpoint_id`,
      )
      .all();
  }

  /** Says it once it has been wrong for a while: much is on its way to the disk for a moment, or back. */
  #require(endpointId: number, isRight: boolean, text: string): void {
    const { run } = this;
    const { monotonic } = run.world;
    const key = `${endpointId} ${text}`;
    // On a full disk nothing is ended, nor told of an end.
    if (isRight || !run.process.data.store.writable) return void this.#since.delete(key);
    const since = this.#since.get(key) ?? monotonic;
    this.#since.set(key, since);
    if (monotonic - since > (run.faults.slowDisk ? SLOW_GRACE_MS : GRACE_MS)) run.violate(text);
  }
}

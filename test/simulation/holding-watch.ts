import type { Simulation } from "./run.ts";

/** A commit may take two seconds, what it wrote is seen before that, and a few may stand in line. */
const SLOW_GRACE_MS = 10_000;
const GRACE_MS = 1000;

/**
 * At every step: whatever is open is in somebody's hands. The actor of its endpoint holds it, or knows that
 * something is parked; it waits in the line of the dispatcher; or it waits for the plan of its account, and
 * not for an endpoint that nothing is sent to any more. No actor holds what has come to its end, and what it
 * thinks of its endpoint is on disk.
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
    const { data } = this.run.process;
    // On a full disk nothing is ended, nor told of an end.
    const wrong = data.store.writable ? this.#wrong() : [];
    const before = new Map(this.#since);
    this.#since.clear();
    const { monotonic } = this.run.world;
    for (const [endpointId, text] of wrong) {
      const key = `${endpointId} ${text}`;
      const since = before.get(key) ?? monotonic;
      this.#since.set(key, since);
      // Much is on its way to the disk for a moment, or back.
      if (monotonic - since > (this.run.faults.slowDisk ? SLOW_GRACE_MS : GRACE_MS)) this.run.violate(text);
    }
  }

  /** By endpoint, as it seems at this moment. */
  #wrong(): [endpointId: number, text: string][] {
    const { data, actors } = this.run.process;
    const found: [number, string][] = [];
    const rows = this.run.openRows.get();
    for (const [endpointId, { open, awaiting, parked, inMemory }] of rows) {
      const endpoint = data.endpoints.getAnyway(endpointId);
      if (!endpoint) continue;
      const { status } = endpoint;
      if (data.tally.openOf(endpointId) !== open.length)
        found.push([endpointId, "open deliveries are counted wrong"]);
      const held = awaiting + parked + this.#heldInMemory(endpointId, inMemory);
      if (held < open.length) found.push([endpointId, "a delivery is open that nobody knows"]);
      if (held > open.length) found.push([endpointId, "more is told to wait than is open"]);
      const isClosed = status === "deleted" || status === "disabled";
      if (isClosed && awaiting > 0)
        found.push([endpointId, `a delivery waits for the plan, and its endpoint is ${status}`]);
    }
    for (const endpointId of this.run.endpoints) {
      const open = new Set(rows.get(endpointId)?.open.map(({ id }) => id));
      if (!actors.inMemory(endpointId).held.every((id) => open.has(id)))
        found.push([endpointId, "an actor holds a delivery that has ended"]);
    }
    for (const endpointId of this.run.endpoints)
      if (!this.#isHealthWritten(endpointId))
        found.push([endpointId, "an endpoint's health in memory is not what its row says"]);
    return found;
  }

  /** True where what an actor thinks of its endpoint is what the next start reads. */
  #isHealthWritten(endpointId: number): boolean {
    const { actors, data } = this.run.process;
    // Nothing asks for that of a deleted one any more.
    if (!data.endpoints.get(endpointId)) return true;
    const { backoffLevel, slowLevel, slowUntil, failingSince } = data.health.get(endpointId);
    const isLeftAlone = backoffLevel > 0 || slowLevel > 0 || slowUntil > 0;
    return (
      actors.isLeftAlone(endpointId) === isLeftAlone &&
      (actors.failingSince(endpointId) === null) === (failingSince === null)
    );
  }

  /** In its actor's hands or on their way to it; some that are parked are in its hands already. */
  #heldInMemory(endpointId: number, inMemory: ReadonlySet<number>): number {
    const { actors } = this.run.process;
    const { held, busy } = actors.inMemory(endpointId);
    const inHands = new Set([...held, ...busy]).intersection(inMemory).size;
    return actors.dispatcher.waitingOf(endpointId) + inHands;
  }
}

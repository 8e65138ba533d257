import type { Delivery } from "../../src/core/model.ts";
import type { Simulation } from "./run.ts";

const MINUTE_MS = 60_000;
/** A commit may take two seconds, what it wrote is seen before that, and a few may stand in line. */
const GRACE_MS = 10_000;
/** No endpoint is left alone for longer at once: the longest backoff, and more than any `retry-after`. */
const BREAK_MAX_MS = 5 * MINUTE_MS;

interface Known {
  attempts: number;
  generation: number;
  /** By the monotonic clock: when its time comes, as that was said first. */
  latest: number;
  /** By the monotonic clock: since when it is due and nothing is said to hold it; null where something is. */
  since: number | null;
}

/**
 * At every step: what is open goes when it was said to go, or says what it waits for, whatever becomes of the
 * wall clock.
 */
export class Liveness {
  readonly #known = new Map<number, Known>();
  #jumpedAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly run: Simulation) {}

  /** The wall clock was set: timers look at it again within a minute. */
  jumped(): void {
    this.#jumpedAt = this.run.world.monotonic;
  }

  /** The process died: what it holds is looked at anew. */
  forget(): void {
    for (const known of this.#known.values()) known.since = null;
    this.#jumpedAt = this.run.world.monotonic;
  }

  look(): void {
    const rows = this.run.sqlite.query<{ id: number }, []>(
      "SELECT id FROM delivery WHERE status IN (0, 1) AND due IS NOT NULL",
    );
    for (const { id } of rows.all()) {
      const delivery = this.run.process.data.deliveries.get(id);
      if (delivery) this.#lookAt(delivery);
    }
  }

  #lookAt(delivery: Delivery): void {
    const { run } = this;
    const { id, endpointId, due } = delivery;
    const { monotonic } = run.world;
    const { actors, data } = run.process;
    const wall = data.store.now();
    const shownAt = actors.nextAttemptAt(endpointId, due);
    if (due === null || shownAt === null) return;
    const dueAt = actors.clock.toWall(due);
    const known = this.#knownOf(delivery, monotonic + Math.max(0, dueAt - wall));
    const later = dueAt - wall - (known.latest - monotonic);
    if (dueAt > wall && later > MINUTE_MS)
      run.violate(`a delivery waits ${Math.round(later / 1000)} s longer than it was told`);
    if (shownAt < dueAt) run.violate("a delivery is said to go before its time");
    if (shownAt - Math.max(dueAt, wall) > BREAK_MAX_MS + MINUTE_MS)
      run.violate("a delivery waits for longer than any break");
    const isHeld =
      due > actors.clock.now() || !data.store.writable || actors.waitingFor(endpointId, id, due) !== null;
    if (isHeld || run.watch.isBusy(id)) known.since = null;
    else known.since ??= monotonic;
    if (known.since === null) return;
    const from = Math.max(known.since, this.#jumpedAt + MINUTE_MS);
    if (monotonic - from <= GRACE_MS) return;
    run.violate("a delivery is due, does not go, and says of nothing that it holds it");
    known.since = Number.POSITIVE_INFINITY;
  }

  #knownOf({ id, attemptCount: attempts, generation }: Delivery, latest: number): Known {
    const known = this.#known.get(id);
    if (known && known.attempts === attempts && known.generation === generation) return known;
    const fresh = { attempts, generation, latest, since: null };
    this.#known.set(id, fresh);
    return fresh;
  }
}

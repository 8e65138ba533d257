import { isTest, placeOf } from "../../src/core/delivery.ts";
import type { Delivery } from "../../src/core/model.ts";
import { monthAt } from "../../src/core/plans.ts";
import type { Load } from "../../src/core/waiting.ts";
import { ORIGINS } from "../../src/core/model.ts";
import { KeptRows } from "./kept-rows.ts";
import type { Simulation } from "./run.ts";

const DAY_MS = 86_400_000;
/** The outcome of an attempt is on disk so soon, unless that is full. */
const RECORDED_MS = 10_000;

/** Tests, and replays of them, have no place. */
const PLACES = `
  SELECT (SELECT coalesce(sum(deliveries), 0) FROM usage WHERE day >= ?1 AND day < ?2)
    + (SELECT count(*) FROM delivery
       WHERE status IN (0, 1) AND metered = 0 AND origin < ${ORIGINS.indexOf("test")})
    + (SELECT coalesce(sum(max(0, matched - replayed)), 0) FROM replay
       WHERE status = 'running' AND coalesce(filter ->> '$.event.isTest', 0) = 0)
    + (SELECT coalesce(sum(total - written), 0) FROM fanout
       WHERE event_id NOT IN (SELECT event_id FROM waiting_event)) AS taken`;

/** Events that count as waiting for the plan although nothing of them does, or is still to be written. */
const STALE = `
  SELECT count(*) AS events FROM waiting_event w
  WHERE NOT EXISTS (SELECT 1 FROM fanout WHERE event_id = w.event_id)
    AND NOT EXISTS (SELECT 1 FROM delivery WHERE event_id = w.event_id AND status IN (0, 1) AND due IS NULL)`;

/**
 * At every step: what a plan still takes is what nothing has a place of, and what is in flight for the first
 * time has one, whatever became of its delivery meanwhile.
 */
export class PlanWatch {
  /** First attempts in flight, as their deliveries were at the start. */
  readonly #flights = new Map<number, Delivery>();
  /** When attempts ended, by the monotonic clock: their outcomes may still be on their way to the disk. */
  #ended: number[] = [];
  /** By the monotonic clock: since when the disk takes writes. */
  #writableSince = 0;

  readonly #stale: KeptRows<number>;
  /** By the start of the month. */
  readonly #taken: KeptRows<number>;

  constructor(private readonly run: Simulation) {
    const stale = run.sqlite.query<{ events: number }, []>(STALE);
    this.#stale = new KeptRows(run.sqlite, () => stale.get()?.events ?? 0);
    const taken = run.sqlite.query<{ taken: number }, [number, number]>(PLACES);
    this.#taken = new KeptRows(run.sqlite, (at) => {
      const { start, end } = monthAt(at);
      return taken.get(start / DAY_MS, end / DAY_MS)?.taken ?? 0;
    });
  }

  /** The process died. */
  forget(): void {
    this.#flights.clear();
    this.#ended = [];
  }

  onStart({ delivery }: Load): void {
    if (!delivery.metered && !isTest(delivery)) this.#flights.set(delivery.id, delivery);
  }

  onEnd({ delivery: { id } }: Load): void {
    if (this.#flights.delete(id)) this.#ended.push(this.run.world.monotonic);
  }

  look(): void {
    if (this.#stale.get() > 0)
      this.run.violate("an event of which nothing waits for the plan counts as waiting");
    const { tenants, meter, store } = this.run.process.data;
    const account = tenants.account(this.run.accountId);
    const { limit, remaining } = account ? meter.standing(account) : { limit: null, remaining: null };
    if (limit === null || remaining === null) return;
    const byRows = this.#taken.get(monthAt(store.now()).start);
    const needed = byRows + this.#withoutPlace();
    if (remaining > Math.max(0, limit - needed))
      this.run.violate("a plan takes more than it has left, as an attempt in flight has lost its place");
    const { monotonic } = this.run.world;
    if (!store.writable) this.#writableSince = monotonic;
    const since = monotonic - RECORDED_MS;
    if (this.#writableSince < since) this.#ended = this.#ended.filter((at) => at > since);
    const most = byRows + this.#flights.size + this.#ended.length;
    if (remaining < limit - most) this.run.violate("more places of a plan are taken than anything has");
  }

  /** How many in flight have no place in their rows: cancelled, ended, erased, or opened again meanwhile. */
  #withoutPlace(): number {
    const { deliveries } = this.run.process.data;
    return this.#flights.values().reduce((sum, { id, generation }) => {
      const now = deliveries.get(id);
      return sum + Number(now?.generation !== generation || placeOf(now) === null);
    }, 0);
  }
}

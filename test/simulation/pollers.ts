import type { PollPage } from "../../src/delivery/polling/poller.ts";
import type { Endpoint } from "../../src/core/model.ts";
import type { Message } from "../../src/destinations/destination.ts";
import { isPolled } from "../../src/destinations/destinations.ts";
import type { Simulation } from "./run.ts";

const SECOND_MS = 1000;
const ALL = 100_000;
/** A poll is answered so soon after its time, or after something came. */
const GRACE_MS = 10_000;
/** Events that are published where several poll at once, and how many times in a row these do. */
const BACKLOG = 2;
const ROUNDS = 4;

/** A poll that has no answer yet. */
interface Held {
  endpointId: number;
  /** By the monotonic clock: when it is to be answered, whatever comes. */
  until: number;
  /** By the monotonic clock: since when there is something for it; null where nothing is. */
  since: number | null;
}

/**
 * Those who fetch: most come back with the cursor of the page before, some never do. What they get is in
 * order, complete, and nothing that they acknowledged.
 */
export class Pollers {
  /** The position of the page that each endpoint's poller got last. */
  readonly #cursors = new Map<number, number>();
  /** What each endpoint's poller was given, by the position of its page. */
  readonly #given = new Map<number, Map<number, number>>();
  readonly #acknowledged = new Set<number>();
  readonly #held = new Set<Held>();
  #isDraining = false;

  constructor(private readonly run: Simulation) {}

  /** One in three never acknowledges anything. */
  acknowledges(endpointId: number): boolean {
    return endpointId % 3 !== 0;
  }

  /** The process died: nobody answers its polls any more. */
  forget(): void {
    this.#held.clear();
  }

  poll(): void {
    const id = this.run.rng.pick(this.run.endpoints);
    const endpoint = this.run.process.data.endpoints.get(id);
    if (!endpoint || !isPolled(endpoint.kind)) return;
    if (this.run.isCrowded) return this.#pollTogether(endpoint);
    // Sometimes two at once.
    for (let n = this.run.rng.chance(0.3) ? 2 : 1; n > 0; n--) void this.#poll(id, 1 + this.run.rng.below(3));
  }

  /**
   * Several at once, some times in a row, before or after there is something to fetch. The others have not
   * come so far: the first acknowledges what they are about to get.
   */
  #pollTogether(endpoint: Endpoint): void {
    const { rng, publishing } = this.run;
    const publishedAt = rng.pick([0, 100]);
    for (let n = 0; n < BACKLOG; n++) this.run.later(publishedAt, () => publishing.publish(endpoint));
    for (let n = 0; n < ROUNDS; n++)
      this.run.later(5 + n * (1 + 5 * rng.next()), () => {
        void this.#poll(endpoint.id, 1 + rng.below(3));
        for (let others = rng.below(5); others > 0; others--)
          void this.#poll(endpoint.id, 1 + rng.below(3), undefined, 0);
      });
  }

  /** From now on whoever acknowledges fetches until nothing is left. */
  drain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    const goOn = () => {
      this.run.world.inBackground(SECOND_MS, isIdle, goOn);
      for (const id of this.run.isUp ? this.#withWork() : []) void this.#poll(id, 100, 0);
    };
    const isIdle = () => this.#withWork().length === 0;
    goOn();
  }

  /** Endpoints with something that their pollers will acknowledge. */
  #withWork(): number[] {
    const rows = this.run.sqlite.query<{ id: number }, []>(
      "SELECT DISTINCT endpoint_id AS id FROM delivery JOIN endpoint e ON e.id = endpoint_id WHERE e.kind = 'poll' AND due IS NOT NULL",
    );
    return rows.all().flatMap(({ id }) => (this.acknowledges(id) ? [id] : []));
  }

  /** At the end: what nobody acknowledged is still handed out, all of it. */
  async readAll(): Promise<void> {
    for (const endpoint of this.run.process.data.endpoints.all())
      if (isPolled(endpoint.kind) && endpoint.status === "active" && !this.acknowledges(endpoint.id))
        await this.#poll(endpoint.id, ALL, 0);
  }

  /** At each step. */
  look(): void {
    const { run } = this;
    for (const held of this.#held) {
      const { monotonic } = run.world;
      const waits = run.isUp && this.#isThereFor(held.endpointId);
      held.since = waits ? (held.since ?? monotonic) : null;
      const from = Math.min(held.until, held.since ?? held.until);
      if (monotonic - Math.max(from, run.liveness.steadySince) <= GRACE_MS) continue;
      run.violate("a poll is not answered in time");
      this.#held.delete(held);
    }
  }

  #isThereFor(endpointId: number): boolean {
    const { data } = this.run.process;
    const endpoint = data.endpoints.get(endpointId);
    if (endpoint?.status !== "active" || !data.store.writable) return false;
    return (
      !data.tenants.isSuspended(endpoint.projectId) &&
      data.deliveries.firstParkedOf(endpointId, "none") !== null
    );
  }

  #firstOf(endpointId: number): number {
    return this.run.process.data.deliveries.firstParkedOf(endpointId, "none") ?? Number.POSITIVE_INFINITY;
  }

  /** Where the last of what waits stands. */
  #lastOf(endpointId: number): number {
    const last = this.run.sqlite.query<{ last: number | null }, [number]>(
      "SELECT max(queue_order) AS last FROM delivery WHERE endpoint_id = ?",
    );
    return last.get(endpointId)?.last ?? 0;
  }

  async #poll(
    endpointId: number,
    count: number,
    waitMs = this.run.rng.pick([0, 3000, 30_000]),
    reached = this.#cursors.get(endpointId) ?? 0,
  ): Promise<void> {
    const { run } = this;
    const { world, process } = run;
    const position = this.acknowledges(endpointId) ? reached : 0;
    const last = this.#lastOf(endpointId);
    const before = process.data.endpoints.get(endpointId);
    // What others do meanwhile it may or may not know of.
    const [erased, acknowledged] = [new Set(run.erasures.asked.erased), new Set(this.#acknowledged)];
    const sent = [...(this.#given.get(endpointId) ?? [])].filter(([, at]) => at <= position);
    const held: Held = { endpointId, until: world.monotonic + waitMs, since: null };
    if (this.#held.values().some((other) => other.endpointId === endpointId)) run.tally.pollersTogether++;
    this.#held.add(held);
    const ask = {
      position,
      limit: count,
      waitMs,
      signal: new AbortController().signal,
      // As long as its body, and told by its id.
      write: ({ id, body }: Message) => Buffer.from(id.padEnd(body.length)),
      isAllowed: () => true,
    };
    const answer = await process.poller.poll(endpointId, ask).catch(run.refused);
    this.#held.delete(held);
    if (process !== run.process || answer === undefined) return;
    if (answer === "full") run.tally.pollersFull++;
    if (typeof answer === "string" || run.receivers.losesAnswer()) return;
    for (const [id] of sent) this.#acknowledged.add(id);
    const isSame = before === process.data.endpoints.get(endpointId);
    if (isSame && before?.status === "paused" && answer.messages.length > 0)
      run.violate("a paused endpoint hands something out");
    if (answer.messages.length === 0 && this.#isThereFor(endpointId) && this.#firstOf(endpointId) <= last)
      run.violate("a page is empty although something waits");
    this.#take(endpointId, answer, erased, acknowledged.union(new Set(sent.map(([id]) => id))));
  }

  /** `erased`, `acknowledged`: what is by then, as its poller was told before it asked, or says itself. */
  #take(
    endpointId: number,
    { messages, position }: PollPage,
    erased: ReadonlySet<number>,
    acknowledged: ReadonlySet<number>,
  ): void {
    const { run } = this;
    const { data } = run.process;
    const ids = messages.map((bytes) => data.ids.decode("msg", Buffer.from(bytes).toString().trimEnd()) ?? 0);
    const given = this.#given.get(endpointId) ?? new Map<number, number>();
    this.#given.set(endpointId, given);
    for (const id of ids) {
      const delivery = data.deliveries.get(id);
      if (delivery?.endpointId !== undefined && delivery.endpointId !== endpointId)
        run.violate("a poller gets what is another endpoint's");
      if (delivery !== null && erased.has(delivery.eventId))
        run.violate("a poller gets an event that was erased");
      if (acknowledged.has(id) && !run.outside.touched.has(id))
        run.violate("a poller gets again what it acknowledged");
      given.set(id, position);
      run.receivers.take(`/poll/${endpointId}`, data.ids.encode("msg", id));
    }
    this.#requireInOrder(endpointId, ids, position);
    if (messages.length > 0) this.#cursors.set(endpointId, position);
  }

  /** A page is what stands first, in the order of positions, and leaves nothing out. */
  #requireInOrder(endpointId: number, ids: readonly number[], position: number): void {
    const rows = this.run.sqlite
      .query<{ id: number }, [number, number]>(
        "SELECT id FROM delivery WHERE endpoint_id = ? AND queue_order <= ? ORDER BY queue_order",
      )
      .all(endpointId, position)
      .map(({ id }) => id);
    if (ids.length === 0) return;
    if (rows.some((id) => !ids.includes(id)))
      this.run.violate("a page leaves out what stands before its end");
    const still = ids.filter((id) => rows.includes(id));
    if (still.some((id, at) => id !== rows[at])) this.run.violate("a page is not in the order of positions");
  }
}

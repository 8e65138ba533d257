import { Problem } from "../../src/core/errors.ts";
import { type Delivery, type DeliveryStatus, isClosed } from "../../src/core/model.ts";
import { enqueueReplayed, replayOne } from "../../src/pipeline/replay.ts";
import { mayGet } from "../../src/pipeline/new-delivery.ts";
import { NOTE_KINDS } from "../../src/store/log/notes.ts";
import { wholeOf } from "../../src/store/log/event-deliveries.ts";
import { statusNumber } from "../../src/store/log/delivery-row.ts";
import { everyOne, type ReplayFilter } from "../../src/store/log/replays.ts";
import type { Changes } from "./changes.ts";
import { CONSUMERS } from "./scenario.ts";
import type { Simulation } from "./run.ts";

/** What somebody asks for to be sent again: one delivery, many, or one attempt at once. */
export class Replays {
  constructor(private readonly run: Simulation) {}

  /** A delivery is opened again or cancelled in the very transaction that records its attempt. */
  besideOutcome(changes: Pick<Changes, "cancel">): void {
    const { rng, watch } = this.run;
    const id = watch.someBusy(rng);
    if (id === null) return;
    const act = () => (rng.chance(0.6) ? this.one(id) : changes.cancel(id));
    watch.onceEnded(id, () => this.run.afterMicrotasks(rng.below(12), act));
  }

  one(asked: number | null = null): void {
    const { rng, watch } = this.run;
    const id = asked ?? (rng.chance(0.3) ? watch.someBusy(rng) : null) ?? this.run.someDelivery();
    const { data, actors, outlet } = this.run.process;
    const delivery = id === null ? null : data.deliveries.get(id);
    const endpoint = delivery && data.endpoints.get(delivery.endpointId);
    const event = delivery && data.events.get(delivery.eventId);
    // As the API refuses it.
    if (!delivery || !endpoint || !event || !mayGet(endpoint, event)) return;
    this.run.outside.touched.add(delivery.id);
    const known = this.run.rng.chance(0.8) ? delivery : null;
    if (known === null) this.run.outside.renewed.add(`${event.id}:${endpoint.id}`);
    const toPark = outlet.endpointsToPark([endpoint]);
    const written = data.store.write(() => {
      const current = data.endpoints.current(endpoint.id);
      // Asked again, as the API does: it may be another consumer's by now.
      if (!current || !mayGet(current, event)) return null;
      return replayOne(data, actors.clock, event, endpoint, known, toPark);
    });
    void written.then((replayed) => {
      if (replayed === null) return;
      this.run.outside.touched.add(replayed.delivery.id);
      this.run.outside.replayed.push({ id: replayed.delivery.id, at: replayed.waiting.due });
      enqueueReplayed(outlet, [replayed]);
    }, this.run.refused);
  }

  many(): void {
    const { rng, projects, endpoints, process } = this.run;
    // Somebody who clicks twice asks for it twice.
    const times = rng.chance(0.3) ? 2 : 1;
    const id = rng.pick(endpoints);
    if (rng.chance(0.4)) return this.missing(id, process.data.endpoints.get(id)?.projectId ?? 0, times);
    const status = rng.pick<DeliveryStatus[]>([["dead"], ["dead"], ["retrying"], ["pending", "retrying"]]);
    for (const { id: open } of this.run.sqlite
      .query<{ id: number }, [string]>(
        "SELECT id FROM delivery WHERE status IN (SELECT value FROM json_each(?))",
      )
      .all(JSON.stringify(status.map(statusNumber))))
      this.run.outside.touched.add(open);
    this.#ask(rng.pick(projects), { status, consumerId: rng.pick(CONSUMERS) }, times);
  }

  /** What an endpoint would get today, and has not got. */
  missing(endpointId: number, projectId: number, times: number): void {
    this.#ask(projectId, { status: ["dead"], missing: true, endpointId, consumerId: null }, times);
  }

  #ask(
    projectId: number,
    asked: Pick<ReplayFilter, "status" | "consumerId"> & Partial<ReplayFilter>,
    times: number,
  ): void {
    const { data, replayer } = this.run.process;
    const filter = { ...everyOne(asked.status), ratePerSecond: this.run.rng.pick([null, 1]), ...asked };
    const { consumerId } = filter;
    const scope = { projectId, visible: data.endpoints.visibleTo(projectId, consumerId) };
    for (let n = 0; n < times; n++)
      replayer
        .count(scope, filter, data.store.turns)
        .then(({ matched, asOf: last }) =>
          data.store.write(() =>
            data.replays.insert({ ...scope, consumerId, filter, matched, position: 0, last }),
          ),
        )
        .then((replay) => replayer.run(replay), this.run.refused);
  }

  /** Of one event to all that have it, as a job that many crashes may cut. */
  wide(): void {
    const { data, replayer } = this.run.process;
    const { store, deliveries } = data;
    const some = this.run.someDelivery();
    const event = data.events.get((some === null ? null : deliveries.get(some))?.eventId ?? 0);
    if (!event) return;
    const isNew = this.run.rng.chance(0.4);
    const newest = new Map(
      deliveries.ofEvent(event.id, wholeOf(event.id)).map((one) => [one.endpointId, one.id]),
    );
    const endpoints = [...newest.keys()];
    const firstKey = store.takeKey(endpoints.length);
    const ids = isNew ? endpoints.map((_, at) => firstKey + at) : [...newest.values()];
    for (const id of ids) this.run.outside.touched.add(id);
    if (isNew) for (const id of endpoints) this.run.outside.renewed.add(`${event.id}:${id}`);
    const filter = { ...everyOne(["dead"]), event: { id: event.id, isTest: event.isTest } };
    const list = { endpoints, deliveries: ids };
    const row = { projectId: event.projectId, consumerId: null, filter, list, matched: endpoints.length };
    store
      .write(() => data.replays.insert({ ...row, position: 0, last: store.latestKey }))
      .then((replay) => replayer.run(replay), this.run.refused);
  }

  /** What is answered is on disk until it is made. */
  byHand(id = this.run.someDelivery()): void {
    if (id === null) return;
    const { rng, receivers, process, retries: watch } = this.run;
    const { data, retries } = process;
    const before = data.store.keys.last;
    // Of the caller's key, since the attempt began.
    const isRevoked = !receivers.calm && rng.chance(0.1);
    const write = () => {
      if (isRevoked) throw new Problem("unauthenticated", "The key was revoked.");
      retries.ask(id);
    };
    const projectId = data.deliveries.get(id)?.projectId ?? null;
    watch
      .ask(id, () => retries.begin(id, () => data.store.writeFor(projectId, write)))
      ?.then(
        () => this.#requireAsked(id, before),
        (error) => isRevoked || this.run.refused(error),
      );
  }

  /** It waits, as no file is left for it, and meanwhile what it is for comes to an end, or is held up. */
  waitingByHand(changes: Pick<Changes, "cancel" | "disable" | "delete" | "account">): void {
    const { rng, receivers, process } = this.run;
    const open = this.run.sqlite.query<{ id: number; endpointId: number }, []>(
      "SELECT id, endpoint_id AS endpointId FROM delivery WHERE status IN (0, 1) LIMIT 20",
    );
    const all = open.all();
    if (receivers.calm || all.length === 0) return;
    const { id, endpointId } = rng.pick(all);
    receivers.shortNext(process.data.ids.encode("msg", id));
    // Behind a write for which the disk takes longer than it waits.
    if (rng.chance(0.4)) {
      this.run.stallDisk();
      this.run.publishing.publish();
      return this.run.later(100, () => this.byHand(id));
    }
    this.byHand(id);
    const ways = [
      () => changes.cancel(id),
      () => changes.cancel(id),
      () => changes.disable(endpointId),
      () => changes.delete(endpointId),
      () => {
        changes.account({ suspended: true });
        this.run.later(rng.below(5000), () => changes.account({ suspended: false }));
      },
    ];
    this.run.later(1000 * rng.next(), rng.pick(ways));
  }

  #requireAsked(id: number, before: number): void {
    const { askedRetries, attempts, deliveries, endpoints } = this.run.process.data;
    const made = [...attempts.ofDelivery(id, Number.MAX_SAFE_INTEGER, 1000)];
    const isMade = made.some((attempt) => attempt.trigger === "manual" && attempt.id > before);
    const delivery = deliveries.get(id);
    // What its endpoint's end leaves is ended soon, and so is what was asked for by hand.
    const endpoint = delivery && endpoints.getAnyway(delivery.endpointId);
    const isOver = !delivery || this.#wasCancelled(delivery) || !endpoint || isClosed(endpoint);
    if (!isMade && !isOver && !askedRetries.all().includes(id))
      this.run.violate("a retry by hand was answered, and nothing of it is on disk");
  }

  /** Also where an attempt of before has arrived after that: then its delivery is delivered. */
  #wasCancelled({ id, status }: Delivery): boolean {
    const note = this.run.sqlite.query("SELECT 1 FROM note WHERE delivery_id = ? AND kind = ?");
    return status === "cancelled" || note.get(id, NOTE_KINDS.indexOf("cancelled")) !== null;
  }

  /** At an endpoint that keeps order and is paused, what is parked is tried by hand; and it is resumed. */
  parkedByHand(changes: Pick<Changes, "pause" | "resume">): void {
    const { run } = this;
    const all = [...run.process.data.endpoints.all()];
    const ordered = all.filter(({ kind, ordering }) => kind !== "poll" && ordering === "fifo");
    if (ordered.length === 0) return;
    const endpoint = run.rng.pick(ordered);
    changes.pause(endpoint.id);
    for (const ms of [5, 10, 15, 20]) run.later(ms, () => run.publishing.publish(endpoint));
    const parked = run.sqlite.query<{ id: number }, [number]>(
      "SELECT id FROM delivery WHERE endpoint_id = ? AND queue_order IS NOT NULL ORDER BY id LIMIT 1",
    );
    run.later(50, () => this.#hangByHand(parked.get(endpoint.id)?.id));
    run.later(60, () => changes.resume(endpoint.id));
  }

  /** Now and then somebody tries by hand, soon after, what the endpoint would try next; and it hangs. */
  onFailure(endpointId: number): void {
    const { receivers, faults, rng } = this.run;
    if (!receivers.calm && faults.hang && rng.chance(0.2))
      this.run.later(rng.below(5000), () => this.#nextByHand(endpointId));
  }

  #nextByHand(endpointId: number): void {
    const rows = this.run.sqlite.query<{ id: number }, [number, number]>(
      "SELECT id FROM delivery WHERE endpoint_id = ? AND due > ? ORDER BY due LIMIT 1",
    );
    this.#hangByHand(rows.get(endpointId, this.run.process.actors.clock.now())?.id);
  }

  #hangByHand(id: number | undefined): void {
    if (id === undefined) return;
    this.run.receivers.hangNext(this.run.process.data.ids.encode("msg", id));
    this.byHand(id);
  }
}

import { isOpen, withoutWaits } from "../../src/core/delivery.ts";
import { type Endpoint, HEALTHY } from "../../src/core/model.ts";
import { makeSecret } from "../../src/core/signing.ts";
import { isPolled, keepsOrder } from "../../src/destinations/destinations.ts";
import type { Consumer } from "../../src/store/cleanup/erasures.ts";
import type { Simulation } from "./run.ts";
import { CONSUMERS, newEndpoint, pathOf } from "./scenario.ts";

const HOUR_MS = 3_600_000;

/** What people change while events come: endpoints, and their account. */
export class Changes {
  #made = 0;

  constructor(private readonly run: Simulation) {}

  /** `within`: what else its transaction does. */
  async create(
    isLate = false,
    of: Partial<Consumer> = {},
    within = (insert: () => Endpoint) => insert(),
  ): Promise<number> {
    const { rng, process, projects, world, outside, paths } = this.run;
    const { data } = process;
    // Some of each project.
    const projectId = projects[this.#made % projects.length] ?? 0;
    const fields = { ...newEndpoint(rng, this.run.polledShare, projectId, this.#made++, world.wall), ...of };
    const insert = () => {
      const inserted = data.endpoints.insert(fields);
      // The process may die before anybody hears of it.
      paths.set(inserted.id, [pathOf(inserted)]);
      if (isLate) outside.late.add(inserted.id);
      return inserted;
    };
    const made = await data.store.write(() => within(insert));
    this.run.endpoints.push(made.id);
    data.endpoints.announce(made);
    return made.id;
  }

  /** Most often somebody asks at once, twice, for what the endpoint has missed. */
  createLate(): void {
    const { rng, replays, process } = this.run;
    void this.create(true).then((id) => {
      if (rng.chance(0.7)) replays.missing(id, process.data.endpoints.get(id)?.projectId ?? 0, 2);
    }, this.run.refused);
  }

  togglePause(): void {
    const { rng, endpoints } = this.run;
    const id = rng.pick(endpoints);
    if (rng.chance(0.5)) this.pause(id);
    else this.resume(id);
  }

  pause(id: number): void {
    this.#change(
      id,
      ({ status }) => (status === "active" ? { status: "paused" } : {}),
      ({ status }) => {
        if (status === "paused") this.run.outside.paused.add(id);
      },
    );
  }

  resume(id: number): void {
    this.run.outside.paused.delete(id);
    this.#startAfresh(id, { status: "active" }, "paused");
  }

  rotate(id = this.run.rng.pick(this.run.endpoints)): void {
    const { rng, world, process } = this.run;
    const endpoint = process.data.endpoints.get(id);
    if (!endpoint) return;
    const hours = rng.pick([0, 1, 24]);
    const expiresAt = world.wall + hours * HOUR_MS;
    const previousOf = ({ secret }: Endpoint) =>
      hours === 0 ? null : { secret, privateKey: null, expiresAt };
    this.#change(endpoint.id, (now) => ({ secret: makeSecret(), previous: previousOf(now) }));
  }

  /** As the job does it that looks for endpoints which fail for days. */
  disable(id: number): void {
    this.#change(id, ({ status }) =>
      status === "active" ? { status: "disabled", disabledReason: "failing" } : {},
    );
  }

  /** While events are on their way to it, for which the account's plan has no room. */
  deleteBehindPlan(): void {
    const { rng, endpoints, process, publishing } = this.run;
    const endpoint = process.data.endpoints.get(rng.pick(endpoints));
    if (!endpoint || this.run.receivers.calm) return;
    this.account({ plan: "small" });
    for (const ms of [3, 4, 5]) this.run.later(ms, () => publishing.publish(endpoint));
    this.run.later(3 + 4 * rng.next(), () => this.delete(endpoint.id));
  }

  /** An endpoint is changed in the very transaction that disables it, as its receiver is gone. */
  besideOutcome(): void {
    const { rng, endpoints, process, publishing, receivers } = this.run;
    const id = rng.pick(endpoints);
    const endpoint = process.data.endpoints.get(id);
    if (!endpoint || isPolled(endpoint.kind)) return;
    const change = rng.pick([
      () => this.move(id),
      () => this.delete(id),
      () => this.resume(id),
      () => this.rotate(id),
    ]);
    receivers.goneNext(pathOf(endpoint), () => this.run.isUp && change());
    publishing.publish(endpoint);
  }

  /** More events come as the plan for which others wait is raised, and these are released one by one. */
  raisePlan(): void {
    const { rng, endpoints, process, publishing } = this.run;
    const all = endpoints.flatMap((id) => process.data.endpoints.get(id) ?? []);
    const ordered = all.filter(keepsOrder);
    if (ordered.length === 0 || this.run.receivers.calm) return;
    const endpoint = rng.pick(ordered);
    this.account({ plan: "small" });
    for (const ms of [3, 4, 5]) this.run.later(ms, () => publishing.publish(endpoint));
    this.run.later(8, () => this.account({ plan: "open" }));
    for (const ms of [0, 1, 2]) this.run.later(8 + ms * rng.next(), () => publishing.publish(endpoint));
  }

  delete(id = this.run.rng.pick(this.run.endpoints)): void {
    if (this.run.outside.deleted.size > 0) return;
    this.run.outside.deleted.add(id);
    this.#change(id, () => ({ status: "deleted" }));
  }

  enable(id = this.run.rng.pick(this.run.endpoints)): void {
    if (this.run.process.data.endpoints.get(id)?.status !== "disabled") return;
    this.#startAfresh(id, { status: "active", disabledReason: null }, "disabled");
  }

  /** To another address, while attempts at the one before are under way. */
  move(id = this.run.rng.pick(this.run.endpoints)): void {
    if (this.run.process.data.endpoints.get(id)?.kind === "poll") return;
    const url = `http://receiver.test/${id % 1000}-${this.run.steps}`;
    this.run.paths.get(id)?.push(new URL(url).pathname);
    this.#startAfresh(id, { config: { url } });
  }

  /** A change after which nothing counts that the endpoint answered before. */
  #startAfresh(id: number, change: Partial<Endpoint>, from: Endpoint["status"] | null = null): void {
    const { data } = this.run.process;
    const projectId = data.endpoints.get(id)?.projectId ?? null;
    const written = data.store.writeFor(projectId, () => {
      if (from !== null && data.endpoints.current(id)?.status !== from) return null;
      // What was disabled a moment ago stays so, wherever it leads.
      if (change.config && data.endpoints.current(id)?.status === "disabled") return null;
      const made = data.endpoints.update(id, () => change);
      if (!made) return null;
      data.health.set(id, HEALTHY);
      this.run.watch.willOpenGate(id);
      return made;
    });
    void written.then((made) => {
      if (!made) return;
      if (made.status !== "disabled") this.run.watch.startsAfresh(id);
      this.run.watch.openGate(id, () => data.endpoints.announce(made));
    }, this.run.refused);
  }

  /** An endpoint that may be paused is resumed, or may be tried again, as an attempt of it ends. */
  resumeBesideOutcome(): void {
    const { process, rng, watch } = this.run;
    const busy = watch.someBusy(rng);
    const id = busy === null ? undefined : process.data.deliveries.get(busy)?.endpointId;
    if (busy === null || id === undefined) return;
    if (rng.chance(0.5)) this.pause(id);
    const act = () => (rng.chance(0.5) ? this.resume(id) : this.clearWaits(id));
    watch.onceEnded(busy, () => this.run.afterMicrotasks(rng.below(12), act));
  }

  /** An endpoint is opened again, while a receiver that was asked before is about to say that it is gone. */
  openBesideGone(): void {
    const { process, receivers, rng, watch } = this.run;
    const busy = watch.someBusy(rng);
    const id = busy === null ? undefined : process.data.deliveries.get(busy)?.endpointId;
    const endpoint = id === undefined ? undefined : process.data.endpoints.get(id);
    if (id === undefined || endpoint === undefined || isPolled(endpoint.kind)) return;
    receivers.goneNext(pathOf(endpoint), () => {});
    const isPause = rng.chance(0.5);
    if (isPause) this.pause(id);
    else this.disable(id);
    this.run.later(1 + rng.below(5), () => (isPause ? this.resume(id) : this.enable(id)));
  }

  clearWaits(id = this.run.rng.pick(this.run.endpoints)): void {
    const { data, actors } = this.run.process;
    void data.store
      .writeFor(data.endpoints.get(id)?.projectId ?? null, () => {
        data.health.set(id, withoutWaits(data.health.get(id)));
        this.run.watch.willOpenGate(id);
      })
      .then(() => this.run.watch.openGate(id, () => actors.clearWaits(id)), this.run.refused);
  }

  reorder(): void {
    const { rng, endpoints, process } = this.run;
    const id = rng.pick(endpoints);
    const isPoll = process.data.endpoints.get(id)?.kind === "poll";
    const ordering = rng.chance(isPoll ? 0.5 : 0.3) ? "fifo" : "none";
    this.run.outside.narrowed.add(id);
    this.#change(id, () => ({
      maxConcurrency: rng.pick([1, 2, 10]),
      ...(rng.chance(isPoll ? 1 : 0.3) && this.#ordering(id, ordering)),
    }));
  }

  #ordering(id: number, ordering: Endpoint["ordering"]): Partial<Endpoint> {
    if (ordering === "fifo") this.run.outside.reordered.add(id);
    return { ordering };
  }

  /** While events for it are on their way to its actor, and others follow. */
  keepOrder(): void {
    const { rng, endpoints, process, publishing, watch } = this.run;
    const endpoint = process.data.endpoints.get(rng.pick(endpoints));
    if (!endpoint || endpoint.kind === "poll" || watch.inFlightOf(endpoint.id) > 0) return;
    this.run.slowDown();
    for (let n = 0; n < 3; n++) publishing.publish(endpoint);
    this.run.later(0, () => this.#change(endpoint.id, () => this.#ordering(endpoint.id, "fifo")));
    for (const ms of [0, 1, 3]) this.run.later(ms, () => publishing.publish(endpoint));
  }

  /**
   * To another consumer, while events of the one before are on their way. Whom an erasure takes with it is
   * then nobody's to tell.
   */
  give(): void {
    const { rng, faults, endpoints, process, world } = this.run;
    const endpoint = process.data.endpoints.get(rng.pick(endpoints));
    if (faults.erasures || !endpoint?.consumerId) return;
    for (let n = 0; n < 3; n++) this.run.publishing.publish(endpoint);
    if (rng.chance(0.5)) return this.#give(endpoint.id);
    world.outside(2 * rng.next(), () => this.run.isUp && this.#give(endpoint.id));
  }

  #give(id: number): void {
    const { rng, outside, process } = this.run;
    outside.given.set(id, Number.POSITIVE_INFINITY);
    const consumerId = rng.pick(CONSUMERS.filter((one) => one !== null));
    this.#change(
      id,
      () => ({ consumerId }),
      () => outside.given.set(id, process.data.store.keys.last),
    );
  }

  /** As the API refuses it where it is not open. */
  cancel(id: number): void {
    const { data, actors } = this.run.process;
    const delivery = data.deliveries.get(id);
    if (!delivery || !isOpen(delivery)) return;
    this.run.outside.touched.add(id);
    const calledOff = this.run.retries.callOff(id);
    const isOpenNow = () => {
      const now = data.deliveries.get(id);
      return now !== null && isOpen(now);
    };
    data.store
      .writeFor(
        delivery.projectId,
        () => isOpenNow() && data.deliveries.cancel(id) && data.notes.add(delivery.eventId, id, "cancelled"),
      )
      .then((isCancelled) => {
        if (isCancelled === false) return;
        actors.forget(delivery.endpointId, id);
        calledOff();
      }, this.run.refused);
  }

  account(change: { plan?: string; suspended?: boolean }): void {
    const { store, tenants } = this.run.process.data;
    void store
      .write(() => tenants.updateAccount(this.run.accountId, () => change))
      .then(({ made }) => tenants.rememberAccount(made), this.run.refused);
  }

  #change(
    id: number,
    change: (now: Endpoint) => Partial<Endpoint>,
    then?: (changed: Endpoint) => void,
  ): void {
    this.run.process.data.endpoints
      .change(id, change)
      .then((changed) => changed && then?.(changed), this.run.refused);
  }
}

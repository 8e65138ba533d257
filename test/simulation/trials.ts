import type { Caller } from "../../src/core/caller.ts";
import { Problem } from "../../src/core/errors.ts";
import { limit } from "../../src/core/limits.ts";
import type { Endpoint } from "../../src/core/model.ts";
import type { AttemptAnswer } from "../../src/http/deliveries/attempt-shape.ts";
import { endpointTestRoutes } from "../../src/http/endpoints/test-event.ts";
import type { Answer, RequestContext } from "../../src/http/framework/route.ts";
import type { Changes } from "./changes.ts";
import type { Simulation } from "./run.ts";
import { pathOf } from "./scenario.ts";

/** What a test is refused with where its endpoint is not to be tried any more, or nothing can be. */
const REFUSALS = ["conflict", "not_found", "unavailable"];

/** A test that somebody asked for. */
interface Trial {
  endpoint: Endpoint;
  /** Of its event, and of no other. */
  type: string;
  /** As many attempts may be under way as may be. */
  mayBeFull: boolean;
  /** Whoever asked may not any more. */
  isRevoked: boolean;
}

/**
 * Somebody tests an endpoint by the route of the API, now and then several times at once; and meanwhile it is
 * ended, or moved, or whoever asked may not ask any more.
 */
export class Trials {
  #made = 0;
  /** Under way, by endpoint. */
  readonly #underWay = new Map<number, number>();

  constructor(private readonly run: Simulation) {}

  /** The process died, and nobody gets an answer. */
  forget(): void {
    this.#underWay.clear();
  }

  one(changes: Pick<Changes, "disable" | "delete" | "move">): void {
    const { rng, endpoints, process, receivers } = this.run;
    const endpoint = process.data.endpoints.get(rng.pick(endpoints));
    if (!endpoint) return;
    if (rng.chance(0.3)) return this.#throttled(endpoint, changes);
    const trials: Trial[] = [];
    const ask = () => {
      const now = this.run.process.data.endpoints.get(endpoint.id);
      for (let n = rng.chance(0.3) ? 3 : 1; now && n > 0; n--) trials.push(this.#begin(now));
    };
    if (receivers.calm || rng.chance(0.4)) return ask();
    const revoke = () => trials.forEach((trial) => (trial.isRevoked = true));
    const ways = [changes.disable, changes.disable, changes.move, changes.move, revoke];
    const end = rng.chance(0.1) ? changes.delete : rng.pick(ways);
    // Before it is on disk, or while it is written, or sent.
    const isBefore = rng.chance(0.3);
    if (isBefore) end.call(changes, endpoint.id);
    ask();
    if (!isBefore) this.run.later(rng.pick([2, 60]) * rng.next(), () => end.call(changes, endpoint.id));
    // And once more, as soon as it may be enabled again.
    if (rng.chance(0.5)) this.run.later(500 + rng.below(2000), ask);
  }

  /** What it leads to answers late, and is left meanwhile. */
  #throttled(endpoint: Endpoint, changes: Pick<Changes, "move">): void {
    this.run.receivers.throttleNext(pathOf(endpoint));
    this.#begin(endpoint);
    this.run.later(100, () => changes.move(endpoint.id));
  }

  #begin(endpoint: Endpoint): Trial {
    const { id } = endpoint;
    const type = `trial.n${++this.#made}`;
    const trial = { endpoint, type, mayBeFull: this.#mayBeFull(endpoint), isRevoked: false };
    const life = this.run.world.process;
    const ifAlive = (act: () => void) => () => life === this.run.world.process && act();
    this.#underWay.set(id, this.#countOf(id) + 1);
    void this.#ask(trial)
      .then(
        (answer) => ifAlive(() => this.#requireAnswer(trial, answer))(),
        (error: unknown) => ifAlive(() => this.#requireRefusal(trial, error))(),
      )
      .finally(ifAlive(() => this.#underWay.set(id, this.#countOf(id) - 1)));
    return trial;
  }

  #countOf(endpointId: number): number {
    return this.#underWay.get(endpointId) ?? 0;
  }

  #mayBeFull({ id, maxConcurrency }: Endpoint): boolean {
    const { watch } = this.run;
    const most = Math.max(limit("concurrencyDefault"), maxConcurrency);
    return !watch.isHalfFree || this.#countOf(id) + watch.byHandOf(id) >= most;
  }

  async #ask(trial: Trial): Promise<Answer | undefined> {
    const { data, actors, pipeline } = this.run.process;
    const { id, projectId, consumerId } = trial.endpoint;
    const [route] = endpointTestRoutes({ ...data, actors, pipeline, wallNow: () => data.store.now() });
    const own = {
      projectId,
      accountId: this.run.accountId,
      expiresAt: null,
      mode: "live",
      manage: true,
    } as const;
    const caller: Caller =
      consumerId === null
        ? { ...own, kind: "api_key", id: 1, scopes: ["full"], consumerId, create: true }
        : { ...own, kind: "portal", id: 2, scopes: [], consumerId, create: false };
    const requireCaller = () => {
      if (trial.isRevoked) throw new Problem("unauthenticated", "The link was revoked.");
    };
    const admitted = { beginChange: () => {}, takeByHand: () => {}, requireCaller };
    const asked = { caller, params: { id: data.ids.encode("ep", id) }, body: { type: trial.type } };
    return route?.handle({ ...asked, ...admitted } as unknown as RequestContext);
  }

  #requireRefusal({ type, mayBeFull, isRevoked }: Trial, error: unknown): void {
    const { run } = this;
    const code = error instanceof Problem ? error.code : null;
    const isFull = code === "rate_limited" && mayBeFull;
    if (isFull) run.tally.byHandFull++;
    const isUnknown = code === "unauthenticated" && isRevoked;
    if (!isFull && !isUnknown && !REFUSALS.includes(code ?? ""))
      run.violate(`a test failed: ${String(error)}`);
    if (isFull && run.sqlite.query("SELECT 1 FROM event WHERE type = ?").get(type) !== null)
      run.violate("a test is refused as there are too many, and was written");
  }

  /** What the answer tells is what the receiver did. */
  #requireAnswer({ endpoint, isRevoked }: Trial, answer: Answer | undefined): void {
    const { run } = this;
    // Of a test that waits to be fetched nothing is told yet.
    if (answer?.status !== 200) return;
    if (isRevoked) run.violate("whoever may not ask any more got the answer of a test");
    const { trigger, url, delivery_id: id, status_code: status } = answer.json as AttemptAnswer;
    if (trigger !== "test") run.violate(`a test is answered with an attempt of the trigger ${trigger}`);
    if (status === null) return;
    const path = url === null ? "" : new URL(url).pathname;
    const seen = run.paths.get(endpoint.id)?.includes(path) ? run.receivers.seen.get(path) : [];
    if (!seen?.some((one) => one.id === id && one.answer === status))
      run.violate("the answer of a test is not that of its endpoint");
    const { data, actors } = run.process;
    const now = data.endpoints.get(endpoint.id);
    const isNew = now !== undefined && !run.receivers.asked.has(pathOf(now));
    if (isNew && actors.isLeftAlone(now.id))
      run.violate("an endpoint is left alone for what its earlier address answered to a test");
  }

  /** All is at rest: each endpoint may be tested as often at once as ever. */
  check(): void {
    const { data, actors } = this.run.process;
    for (const { id, kind, maxConcurrency } of data.endpoints.all()) {
      const most = Math.max(limit("concurrencyDefault"), maxConcurrency);
      if (kind === "poll" || actors.reserveByHand(id) === "closed") continue;
      for (let n = 1; n < most; n++)
        if (actors.reserveByHand(id) === "full")
          this.run.violate(`of ${most} tests at once an endpoint takes ${n}`);
      if (actors.reserveByHand(id) !== "full")
        this.run.violate(`an endpoint takes more than ${most} tests at once`);
    }
  }
}

import { Problem } from "../../src/core/errors.ts";
import { limit } from "../../src/core/limits.ts";
import type { Endpoint } from "../../src/core/model.ts";
import { KeyedRequest, RunningKeys } from "../../src/http/framework/idempotency.ts";
import type { HttpParts } from "../../src/http/framework/parts.ts";
import type { Consumer } from "../../src/store/cleanup/erasures.ts";
import type { Changes } from "./changes.ts";
import type { Simulation } from "./run.ts";
import { CONSUMERS } from "./scenario.ts";

/** Events with names, and changes with keys, that a consumer has before it is erased. */
const NAMED_BEFORE = 3;
const KEYED_BEFORE = 2;
/** What a keyed change is refused with where its link is, or where another one with its key is under way. */
const REFUSALS = ["unauthenticated", "idempotency_in_progress", "unavailable"];

/** The answer that was given to a keyed change. */
interface Given {
  endpointId: number;
  /** By the clock of the store. */
  at: number;
  /** `Erasures.asksOf` then. */
  asks: number;
}

/**
 * Names of consumers that are erased, used again at once: each `external_id` of their events, each
 * Idempotency-Key of their links. What is found by one never goes with an erasure that was answered before.
 */
export class Names {
  #runningKeys = new RunningKeys();
  /** The newest link of each consumer. */
  readonly #tokens = new Map<string, string>();
  /** By consumer and key. */
  readonly #given = new Map<string, Given>();

  constructor(
    private readonly run: Simulation,
    private readonly changes: Pick<Changes, "create">,
  ) {}

  /** The process died: no key of its is running any more. */
  forget(): void {
    this.#runningKeys = new RunningKeys();
  }

  /** Before the erasure that `erase` asks for, beside it, and while it runs. */
  useAround(of: Consumer, erase: () => void): void {
    const { run } = this;
    const { rng } = run;
    for (let n = 0; n < NAMED_BEFORE; n++) run.publishing.publish(of, `of-${n}`);
    for (let n = 0; n < KEYED_BEFORE; n++) this.#change(of, `key-${n}`);
    run.later(5, () => {
      if (run.receivers.calm) return;
      erase();
      for (const ms of [1, 3, 9]) run.later(ms + rng.below(10), () => this.#publishAgain(of));
      for (const ms of [0, 0, 3, 9]) run.later(ms + 3 * rng.next(), () => this.#changeAgain(of));
    });
  }

  /** Now and then for another consumer. */
  #publishAgain(of: Consumer): void {
    const { run } = this;
    const name = this.#someNameOf(of);
    if (run.receivers.calm || name === null || !run.erasures.isRunning(of)) return;
    run.tally.namedAgain++;
    const consumerId = run.rng.chance(0.3) ? run.rng.pick(CONSUMERS) : of.consumerId;
    run.publishing.publish({ ...of, consumerId }, name);
  }

  /** Of an event of the consumer; null where none has a name. */
  #someNameOf({ projectId, consumerId }: Consumer): string | null {
    const names = this.run.sqlite
      .query<{ name: string }, [number, string]>(
        "SELECT external_id AS name FROM event WHERE project_id = ? AND consumer_id = ? AND external_id IS NOT NULL ORDER BY id",
      )
      .all(projectId, consumerId);
    return names.length > 0 ? this.run.rng.pick(names).name : null;
  }

  #changeAgain(of: Consumer): void {
    const { run } = this;
    if (run.receivers.calm) return;
    if (run.erasures.isRunning(of)) run.tally.keyedAgain++;
    this.#change(of, `key-${run.rng.below(KEYED_BEFORE)}`);
  }

  /** A link of the consumer makes an endpoint, as the calls of the API do it. */
  #change(of: Consumer, key: string): void {
    const owner = { ...of, accountId: this.run.accountId };
    this.#runningKeys
      .hold(owner, key, async () => this.#makeEndpoint(of, key, await this.#tokenOf(of)))
      .catch((error: unknown) => {
        if (!(error instanceof Problem && REFUSALS.includes(error.code)))
          this.run.violate(`a keyed change failed: ${String(error)}`);
      });
  }

  /** Of the newest link, or of a new one where that is not let in any more. */
  async #tokenOf({ projectId, consumerId }: Consumer): Promise<string> {
    const { portalLinks, store } = this.run.process.data;
    const name = `${projectId}:${consumerId}`;
    const known = this.#tokens.get(name);
    if (known !== undefined && portalLinks.find(known) !== null) return known;
    const fields = { projectId, consumerId, manage: true, create: true, expiresAt: Number.MAX_SAFE_INTEGER };
    const { token } = await store.write(() => portalLinks.insert(fields));
    this.#tokens.set(name, token);
    return token;
  }

  async #makeEndpoint(of: Consumer, key: string, token: string): Promise<void> {
    const { run } = this;
    const { data } = run.process;
    const requireCaller = () => {
      if (data.portalLinks.find(token) === null)
        throw new Problem("unauthenticated", "The link is not let in.");
    };
    requireCaller();
    const parts = { keptAnswers: data.keptAnswers } as unknown as HttpParts;
    const keyed = new KeyedRequest(parts, { ...of, accountId: run.accountId }, key, "the same request", []);
    const kept = keyed.findKept();
    const { id } = typeof kept?.body === "string" ? JSON.parse(kept.body) : { id: "" };
    this.#requireKept(of, key, data.ids.decode("ep", id));
    if (kept !== null) return;
    const asks = run.erasures.asksOf(of);
    let at = 0;
    const within = (insert: () => Endpoint) => {
      requireCaller();
      const made = insert();
      keyed.saveChange({ status: 201, json: { id: data.ids.encode("ep", made.id) } }, false);
      at = data.store.now();
      return made;
    };
    const endpointId = await this.changes.create(true, of, within);
    const name = `${of.projectId}:${of.consumerId}:${key}`;
    if (asks !== null && asks === run.erasures.asksOf(of)) this.#given.set(name, { endpointId, at, asks });
    else this.#given.delete(name);
  }

  /** `id`: of the endpoint that the key stands for; null where it stands for none. */
  #requireKept(of: Consumer, key: string, id: number | null): void {
    const { run } = this;
    if (id !== null && run.erasures.answered()({ ...of, id }))
      run.violate("a key is answered with an endpoint whose erasure was answered before");
    const given = this.#given.get(`${of.projectId}:${of.consumerId}:${key}`);
    const isPast =
      given && Math.abs(run.process.data.store.now() - given.at) > limit("idempotencyKeptMs") / 2;
    if (given && !isPast && given.asks === run.erasures.asksOf(of) && given.endpointId !== id)
      run.violate("a key that nobody erased does not stand for what it stood for");
  }
}

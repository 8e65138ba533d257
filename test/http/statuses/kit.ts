/**
 * A walk over the OpenAPI document: of each operation a request that succeeds, and ways to spoil it or
 * the service.
 */
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { type Clock, systemClock } from "../../../src/platform/clock.ts";
import { codesOf, type OpenApi, type Operation } from "../../kit/conformance.ts";
import { createTenant, operatorOf, startOperated } from "../../kit/operator.ts";
import { type Case, CASES } from "../isolation/cases.ts";
import { type Ask, type Ids, IsolationBench, Party } from "../isolation/kit.ts";
import { OPEN } from "../isolation/open.ts";
import * as things from "../isolation/things.ts";
import type { Reply, SendOptions } from "../kit.ts";

/** One answer that the document promises. */
export interface Documented {
  operation: Operation;
  status: number;
  /** Of the problem; empty where the answer is none. */
  code: string;
}

export function documentedAnswers(document: OpenApi): Documented[] {
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
  return operations.flatMap((operation) =>
    Object.keys(operation.responses).flatMap((status) => {
      const codes = codesOf(document, operation, status);
      return (codes.length > 0 ? codes : [""]).map((code) => ({ operation, status: Number(status), code }));
    }),
  );
}

export const nameOf = ({ operation, status, code }: Documented): string =>
  `${operation.operationId} ${status}${code && ` ${code}`}`;

/** The real clock, that can stand still and that can break. */
class FaultyClock implements Clock {
  isBroken = false;
  #stoodAt: number | null = null;

  now = (): number => {
    if (this.isBroken) throw new Error("MARKER: the clock is broken");
    return this.#stoodAt ?? systemClock.now();
  };

  elapsed = (): number => systemClock.elapsed();

  /** Nothing wakes while it is broken: whoever wakes reads it. */
  delay: Clock["delay"] = (ms, wake) => {
    let callOff = systemClock.delay(ms, () => {
      if (this.isBroken) callOff = this.delay(1, wake);
      else wake();
    });
    return () => callOff();
  };

  timer: Clock["timer"] = (at, wake) => systemClock.timer(at, wake);

  stand(): void {
    this.#stoodAt = systemClock.now();
  }

  goOn(): void {
    this.#stoodAt = null;
  }
}

/** A request that succeeds, and what it was made from. */
export interface Good {
  party: Party;
  ids: Ids;
  ask: Ask;
  /** The same about other things. */
  about(ids: Ids): Ask;
}

/** What is put in the place of what a request has. */
export interface Spoiling {
  /** null: none. */
  bearer?: string | null;
  body?: string;
  headers?: Record<string, string>;
  parameter?: string;
}

/** A plan that has no room at all. */
const SPENT = { SEALPOST_PLANS: '{"spent": {"deliveries": 0, "blocks": true}}' };
const ONE_A_SECOND = {
  SEALPOST_PUBLISH_RATE_LIMIT: "1",
  SEALPOST_MANAGEMENT_RATE_LIMIT: "1",
  SEALPOST_INGEST_RATE_LIMIT: "1",
};

export class Walk implements AsyncDisposable {
  readonly #goods = new Map<string, Good>();

  private constructor(
    readonly bench: IsolationBench,
    readonly clock: FaultyClock,
    /** Whose plan may be used up. */
    readonly spender: Party,
    private readonly spenderId: string,
    /** Keys and tokens that may not do everything, by what they may do as the document says it. */
    readonly weak: Readonly<Record<string, string>>,
  ) {}

  static async start(): Promise<Walk> {
    const clock = new FaultyClock();
    const bench = new IsolationBench(await startOperated(SPENT, clock));
    await bench.open();
    const { id, live } = await createTenant(bench.app, { name: "Umbrella", plan: "unlimited" });
    const spender = new Party("spender", bench, live, null);
    const key = async (scope: string) => {
      const made = await live.create("/v1/api-keys", { name: scope, scopes: [scope] });
      return made["key"] ?? "";
    };
    const link = await live.create("/v1/portal-links", { consumer_id: "spender" });
    const weak = {
      "`publish`": await key("publish"),
      "`read`": await key("read"),
      "a portal token.": link["url"]?.split("#")[1] ?? "",
    };
    return new Walk(bench, clock, spender, id, weak);
  }

  /** The owner of what is asked for. */
  get owner(): Party {
    const [stranger] = this.bench.strangers;
    if (stranger === undefined) throw new Error("the bench is not open");
    return stranger.victim;
  }

  /** Requests that succeed, from the table that the isolation suite walks too. */
  cases({ operationId: name }: Operation): Case[] {
    const cases = CASES[name] ?? [OPEN[name]];
    return cases.filter((one) => one !== undefined);
  }

  /** A new request that succeeds once. */
  async fresh(one: Case, party = one.isOperators ? this.bench.operator : this.owner): Promise<Good> {
    const [ids, mine] = [await one.make(party), await (one.mine ?? things.nothing)(party)];
    const about = (others: Ids) => one.ask(others, mine, party);
    return { party, ids, ask: about(ids), about };
  }

  /** Makes the request that `good` answers, while the service is still whole. */
  async prepare(operation: Operation): Promise<void> {
    this.#goods.set(operation.operationId, await this.fresh(this.#firstOf(operation)));
  }

  /** The operation's request, for faults that keep it from being performed. */
  good({ operationId: name }: Operation): Good {
    const good = this.#goods.get(name);
    if (good === undefined) throw new Error(`no request of ${name} was prepared`);
    return good;
  }

  /** A new request of the operation, that succeeds once. */
  another(operation: Operation): Promise<Good> {
    return this.fresh(this.#firstOf(operation));
  }

  #firstOf(operation: Operation): Case {
    const [first] = this.cases(operation);
    if (first !== undefined) return first;
    throw new Error(`isolation-cases.ts has no request of ${operation.operationId}`);
  }

  send({ party }: Good, ask: Ask, spoiling: Spoiling = {}): Promise<Reply> {
    const { body, headers, parameter, bearer = ask.bearer } = spoiling;
    const options: SendOptions = {
      headers: { ...ask.headers, ...headers },
      ...(body === undefined ? { json: ask.json } : { body }),
    };
    if (body !== undefined) options.headers = { "content-type": "application/json", ...options.headers };
    const path =
      parameter === undefined ? ask.path : ask.path + (ask.path.includes("?") ? "&" : "?") + parameter;
    const client = bearer === undefined ? party.client : this.bench.app.with(bearer);
    return client.send(ask.method, path, options);
  }

  /**
   * Nothing is committed until `run` ends: somebody else holds the write lock, as Litestream does
   * for moments.
   */
  async holdingWrites<T>(run: (release: () => void) => Promise<T>): Promise<T> {
    const other = new Database(join(this.bench.app.dataDir, "sealpost.db"));
    other.exec("PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE");
    try {
      return await run(() => other.exec("ROLLBACK"));
    } finally {
      other.close();
    }
  }

  /** While it runs, the spender's plan has nothing left. */
  async whileSpent<T>(run: () => Promise<T>): Promise<T> {
    const change = (plan: string) =>
      operatorOf(this.bench.app).patch(`/v1/operator/accounts/${this.spenderId}`, { plan });
    await change("spent");
    try {
      return await run();
    } finally {
      await change("unlimited");
    }
  }

  /** From now on every rate is one a second, and no second passes. */
  async limitRates(): Promise<void> {
    await this.#restart(ONE_A_SECOND);
    this.clock.stand();
  }

  async unlimitRates(): Promise<void> {
    this.clock.goOn();
    await this.#restart();
  }

  async #restart(env: Record<string, string> = {}): Promise<void> {
    await this.bench.app.stop();
    await this.bench.app.start(env);
  }

  /** While it runs, whatever reads the time fails: each request, before it has done anything. */
  async whileBroken<T>(run: () => Promise<T>): Promise<T> {
    this.clock.isBroken = true;
    try {
      return await run();
    } finally {
      this.clock.isBroken = false;
    }
  }

  /** Ends what goes on by itself: it would meet the broken clock too. */
  async quiet(): Promise<void> {
    const { client } = this.owner;
    const { json } = await client.get("/v1/replays?limit=250");
    for (const { id } of json["data"] as { id: string }[]) await client.post(`/v1/replays/${id}/cancel`);
    await this.#restart();
  }

  /** Tells the service to stop, which waits for an attempt that hangs. Answers how to let it go. */
  async drain(): Promise<() => Promise<void>> {
    const { bench, owner } = this;
    const { type = "" } = await things.endpoint(owner);
    const gate = Promise.withResolvers<Response>();
    bench.receiver.at(type, () => gate.promise);
    await things.published(owner, type);
    await bench.receiver.arrived(type);
    const stopped = bench.app.stop();
    return () => {
      gate.resolve(new Response(null, { status: 204 }));
      return stopped;
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.bench[Symbol.asyncDispose]();
  }
}

import { limit } from "../../core/limits.ts";
import { type Call, EXIT, printable, tellErrors, UsageError } from "../../platform/command-line.ts";
import { Api, Refused } from "../api.ts";
import { findInstallation } from "../installation.ts";
import { AGAIN_MS, rest, SteadyApi, waitOf } from "../steady-api.ts";
import { endBySignal, tellWeather } from "../terminal.ts";
import { Publisher, type Verdict } from "./publisher.ts";

/** `sealpost bridge …`: what all sources have in common. */

export interface BridgeOptions {
  profile?: string;
  /** Of queues: publish what has no id too. */
  withoutIds?: boolean;
}

/** A message of a source. */
export interface Message {
  /** By which the log names it. */
  name: string;
  /** The body of the request that publishes it; or why it can be none. */
  event: { text: string } | { fault: string };
}

/**
 * Where messages come from. Each method throws SourceAway for what passes by itself, after which the source
 * is as new, and CommandError for what does not.
 */
export interface Source {
  /** For people: such as `the table sealpost_outbox`. */
  name: string;
  /** What becomes of a message that is refused, such as `marked as failed`. */
  refused: string;
  /** The next messages, in their order; none where none comes within a moment, or once the signal came. */
  take(max: number, signal: AbortSignal): Promise<Message[]>;
  /**
   * Removes those of the messages taken last that are published, and puts away those that are refused. There
   * is a verdict for each of the first ones; the others come again. Resolves once that is as good as done: a
   * crash before it brings all of them again.
   */
  settle(verdicts: readonly Verdict[]): Promise<void>;
  /** What was taken and not settled comes again, from here or elsewhere; the next `take` opens it again. */
  close(): Promise<void>;
}

/** The source is not reached, or asks for a break. */
export class SourceAway extends Error {
  override name = "SourceAway";
}

/** Publishes what comes until a signal. `open` throws UsageError for words that are wrong. */
export function runBridge<Options extends BridgeOptions>(
  { options, usage }: Call<Options>,
  open: () => Source,
): Promise<number> {
  return tellErrors(usage, async () => {
    const source = open();
    const api = new Api(findInstallation(options.profile, process.env));
    const { signal } = endBySignal();
    await requireKey(new SteadyApi(api, { signal, onWeather: tellWeather }));
    if (!signal.aborted) console.error(`Publishing ${source.name} to ${api.url}. Ctrl-C ends it.`);
    const bridge = new Bridge(source, new Publisher(api, options.withoutIds), signal);
    try {
      await bridge.run();
    } finally {
      await source.close();
      bridge.tellSum();
    }
    return EXIT.good;
  });
}

/**
 * An address or a key that is wrong is told before the source is opened: queues count what comes back to
 * them, and drop what did so too often. Nothing is no event, which only a key that may publish is told.
 */
async function requireKey(api: SteadyApi): Promise<void> {
  try {
    await api.ask("/v1/events", { method: "POST", body: "{}" });
  } catch (error) {
    if (!(error instanceof Refused && (error.code === "invalid_request" || isPlanUsedUp(error)))) throw error;
  }
}

/** Both sides may be away: which of them was told. */
type Side = "source" | "service";

/**
 * The loop: messages are taken, published, and settled, and whatever fails comes again. While Sealpost is
 * away or refuses, the source is closed: a queue counts each return of a message, and its patience with one
 * that is held ends. So an outage costs one return, however long it is.
 */
export class Bridge {
  readonly #source: Source;
  readonly #publisher: Publisher;
  readonly #signal: AbortSignal;
  #lost: Side | null = null;
  #againMs: number = AGAIN_MS.first;
  #refusedCount = 0;
  /** What Sealpost has not answered: it goes on being asked about, while the source is closed. */
  #unanswered: readonly string[] = [];
  /** What was published while the source was closed, which brings it again. */
  #known: readonly string[] = [];

  constructor(source: Source, publisher: Publisher, signal: AbortSignal) {
    this.#source = source;
    this.#publisher = publisher;
    this.#signal = signal;
  }

  /** Until the signal, with what is under way then to its end. Throws what does not pass by itself. */
  async run(): Promise<void> {
    while (!this.#signal.aborted) {
      try {
        await this.#goOnce();
        this.#againMs = AGAIN_MS.first;
      } catch (error) {
        await this.#restAfter(error);
      }
    }
  }

  tellSum(): void {
    const { count, repeatedCount } = this.#publisher;
    const before = repeatedCount === 0 ? "" : `, of which ${repeatedCount} were there before`;
    const refused = this.#refusedCount === 0 ? "" : `; ${this.#refusedCount} refused`;
    console.error(`Published ${count}${before}${refused}.`);
  }

  async #goOnce(): Promise<void> {
    if (this.#unanswered.length > 0) await this.#askAgain();
    const messages = await this.#source.take(this.#publisher.size, this.#signal);
    this.#isThere("source");
    if (messages.length === 0) return;
    let verdicts: Verdict[] = [];
    try {
      verdicts = await this.#publish(messages);
    } finally {
      await (this.#unanswered.length > 0 ? this.#source.close() : this.#source.settle(verdicts));
    }
    for (const [at, verdict] of verdicts.entries())
      if (verdict !== null) this.#tellRefused(messages[at]?.name ?? "", verdict);
  }

  /** Verdicts for the first of them, or for none. A message that can be no event is judged by itself. */
  async #publish(messages: readonly Message[]): Promise<Verdict[]> {
    const texts: string[] = [];
    for (const message of messages) {
      const fault = faultOf(message);
      if (fault !== null && texts.length === 0) return [fault];
      if (fault !== null || !("text" in message.event)) break;
      texts.push(message.event.text);
    }
    const known = countSame(texts, this.#known);
    this.#known = known === 0 ? [] : this.#known.slice(known);
    if (known > 0) return texts.slice(0, known).map(() => null);
    try {
      return await this.#ask(texts);
    } catch (error) {
      if (!isBreak(error)) this.#unanswered = texts;
      throw error;
    }
  }

  async #askAgain(): Promise<void> {
    const texts = this.#unanswered;
    const verdicts = await this.#ask(texts);
    this.#unanswered = [];
    // One that is refused is judged again when it comes.
    this.#known = verdicts.every((verdict) => verdict === null) ? texts.slice(0, verdicts.length) : [];
  }

  async #ask(texts: readonly string[]): Promise<Verdict[]> {
    const verdicts = await this.#publisher.publish(texts);
    this.#isThere("service");
    return verdicts;
  }

  #tellRefused(name: string, reason: string): void {
    this.#refusedCount++;
    const text = reason.replaceAll(/\.?\n\s*/g, "; ");
    console.error(`refused, and ${this.#source.refused}: ${printable(`${name}: ${text}`)}`);
  }

  /** A share of the wait is left to chance: bridges that lost the same service do not come back together. */
  async #restAfter(error: unknown): Promise<void> {
    const side = error instanceof SourceAway ? "source" : "service";
    const leastMs = passingOf(error);
    if (leastMs === null) throw error;
    // Whoever is asked to slow down has reached the service.
    if (!(error instanceof Refused && error.status === 429)) this.#tellLost(side, error as Error);
    await rest(Math.max(leastMs, this.#againMs * (0.5 + Math.random() / 2)), this.#signal);
    this.#againMs = Math.min(2 * this.#againMs, AGAIN_MS.max);
  }

  #tellLost(side: Side, { message }: Error): void {
    if (this.#lost !== side) tellWeather(printable(message));
    this.#lost = side;
  }

  #isThere(side: Side): void {
    if (this.#lost !== side) return;
    this.#lost = null;
    tellWeather(null);
  }
}

/** Why a message is not even asked about; null where it is. */
function faultOf({ event }: Message): string | null {
  if ("fault" in event) return event.fault;
  const max = limit("eventBodyBytesMax");
  const isLarge = event.text.length * 3 > max && Buffer.byteLength(event.text) > max;
  return isLarge ? tooLarge() : null;
}

export function tooLarge(): string {
  return `It has more than ${limit("eventBodyBytesMax")} bytes, which no event may have.`;
}

/** How many of the first ones are the same. */
function countSame(texts: readonly string[], others: readonly string[]): number {
  const end = texts.findIndex((text, at) => text !== others[at]);
  return end === -1 ? texts.length : end;
}

/** The plan's month turns, or its account gets another plan. */
const PLAN_WAIT_MS = 60_000;

/** As `waitOf`. A source goes on coming in while a plan is used up, and waits where it is. */
function passingOf(error: unknown): number | null {
  if (error instanceof SourceAway) return 0;
  return isPlanUsedUp(error) ? PLAN_WAIT_MS : waitOf(error);
}

function isPlanUsedUp(error: unknown): boolean {
  return error instanceof Refused && error.status === 402;
}

/** A rate limit that asks for no more than a pause, through which what was taken is held. */
function isBreak(error: unknown): boolean {
  return error instanceof Refused && error.status === 429 && (waitOf(error) ?? 0) <= AGAIN_MS.max;
}

/** What a variable of the environment holds: addresses with passwords stand there alone. */
export function requireEnv(name: string, what: string): string {
  const value = process.env[name] ?? "";
  if (value === "") throw new UsageError(`${name} must hold ${what}`);
  return value;
}

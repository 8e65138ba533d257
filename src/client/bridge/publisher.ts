import { limit } from "../../core/limits.ts";
import { isObject } from "../../core/json/value.ts";
import { CommandError } from "../../platform/command-line.ts";
import { type Api, type Ask, Refused } from "../api.ts";

/** What became of an event: null where it is on disk, else why it is refused for good. */
export type Verdict = string | null;

/**
 * So many events go together where nothing is in the way: a tenth of what a project may publish in a second
 * by default, so that others of the same project still find room.
 */
export const SIZE_MAX = 100;
/** An answer comes when the events are on disk; a network that is cut tells nobody. */
const ANSWER_MS_MAX = 20_000;
/** It will be the same tomorrow. By code: what a proxy in front says judges no event. */
const FINAL = new Set(["invalid_json", "invalid_request", "schema_violation", "payload_too_large"]);

const BATCH_HEAD = '{"events":[';
const BATCH_TAIL = "]}";

interface Published {
  duplicate: boolean;
}

/**
 * Publishes events in their order, several in a request. A batch is taken whole or not at all, and does not
 * say of each event whether it alone would be: where one is refused, half as many go into the next request,
 * down to the one that is at fault; then twice as many again. The same finds its way below a rate limit.
 */
export class Publisher {
  readonly #api: Api;
  #size = SIZE_MAX;
  /** How many were published, and how many of these were there before. */
  count = 0;
  repeatedCount = 0;
  readonly #isKeyed: boolean;
  /** The body that was not answered yet, and its key: what its request did may be done already. */
  #tried: { body: string; key: string } | null = null;

  /** `isKeyed`: events may have no id, so a batch whose answer was lost is known by an Idempotency-Key. */
  constructor(api: Api, isKeyed = false) {
    this.#api = api;
    this.#isKeyed = isKeyed;
  }

  /** How many are of use for the next request. */
  get size(): number {
    return this.#size;
  }

  /**
   * Publishes the first of these, the bodies of requests: as many as go together. Answers a verdict for each
   * of them; none where fewer have to go together. Throws Refused for what is no matter of these events,
   * or passes by itself, and Unreachable.
   */
  async publish(texts: readonly string[]): Promise<Verdict[]> {
    const together = firstOf(texts, this.#size);
    try {
      const published = await this.#ask(together);
      this.#size = Math.min(2 * this.#size, SIZE_MAX);
      this.count += published.length;
      this.repeatedCount += published.filter(({ duplicate }) => duplicate).length;
      return published.map(() => null);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      // A body too large for a proxy will be so as well.
      const isFinal = FINAL.has(error.code) || error.status === 413;
      if (isFinal && together.length === 1) return [error.message];
      if (isFinal || error.status === 429) this.#size = Math.max(1, Math.floor(together.length / 2));
      if (isFinal) return [];
      throw error;
    }
  }

  /** Throws CommandError where a success does not name each event: nothing is given up for that. */
  async #ask(texts: readonly string[]): Promise<Published[]> {
    const [text = ""] = texts;
    // What is wrong with one alone is told without its place in a list.
    const isAlone = texts.length === 1;
    const path = isAlone ? "/v1/events" : "/v1/events/batch";
    const body = isAlone ? text : `${BATCH_HEAD}${texts.join(",")}${BATCH_TAIL}`;
    const signal = AbortSignal.timeout(ANSWER_MS_MAX);
    const ask: Ask = { method: "POST", body, signal, ...this.#keyOf(body) };
    const answer = await this.#api.ask<unknown>(path, ask);
    // The same again is another event now.
    this.#tried = null;
    const list: unknown = isAlone ? [answer] : isObject(answer) && answer["data"];
    if (Array.isArray(list) && list.length === texts.length && list.every(isPublished)) return list;
    throw new CommandError(`${this.#api.url}${path} does not answer as Sealpost does: is the address right?`);
  }

  #keyOf(body: string): { idempotencyKey?: string } {
    if (!this.#isKeyed) return {};
    if (this.#tried?.body !== body) this.#tried = { body, key: crypto.randomUUID() };
    return { idempotencyKey: this.#tried.key };
  }
}

function isPublished(value: unknown): value is Published {
  return isObject(value) && String(value["id"]).startsWith("evt_") && typeof value["duplicate"] === "boolean";
}

/** As many as a request may hold, and at least one. */
function firstOf(texts: readonly string[], countMax: number): string[] {
  let room = limit("batchBodyBytesMax") - BATCH_HEAD.length - BATCH_TAIL.length;
  const end = texts.findIndex((text) => (room -= Buffer.byteLength(text) + 1) < 0);
  return texts.slice(0, Math.min(countMax, end === -1 ? texts.length : Math.max(1, end)));
}

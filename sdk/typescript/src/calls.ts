/** How a call is made: its request, its attempts, what becomes of the answer. */
import { ConnectionError, errorOf, NotFoundError, RateLimitError } from "./errors.ts";
import { List, type PageOf } from "./list.ts";
import { mayRepeat, pause, type Repeats, waitMs } from "./retries.ts";

/** How values become JSON and the other way round. */
export interface JsonFormat {
  parse(text: string): unknown;
  stringify(value: unknown): string;
}

/** Bounds of a call, for all calls of a client or for one. */
export interface Bounds {
  /** How often a call that failed is made again. Default: 4. */
  retries?: number;
  /** No retry begins later than this many milliseconds after the call began. Default: 90 000. */
  retryForMs?: number;
  /** How long one attempt may take, in milliseconds. Default: 45 000. */
  timeoutMs?: number;
}

export interface Settings extends Bounds {
  /** An API key, a portal token, the secret of a polled endpoint, or the operator's token. */
  key: string;
  /** Where the installation answers, such as `https://hooks.example.com`. */
  url: string;
  /**
   * Default: `JSON`, which rounds numbers beyond 2^53 and beyond 17 digits, also in the `data` of events.
   * Where yours are such, give a parser that keeps them.
   */
  json?: JsonFormat;
  /** Default: the runtime's own. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

/** What every call takes. */
export interface CallOptions extends Bounds {
  /** Ends the call, also while it waits for its next attempt. */
  signal?: AbortSignal;
  /** Sent beside those of the client. */
  headers?: Readonly<Record<string, string>>;
}

/** What a call takes that is made safe to repeat by a key. */
export interface KeyedOptions extends CallOptions {
  /**
   * The same key gives the first answer again, for a day. Default: a new one for each call, over all its
   * retries.
   */
  idempotencyKey?: string;
}

/** One call, as the generated methods describe it. */
export interface Call {
  method: string;
  /** With `{name}` for each of `ids`, in their order. */
  path: string;
  ids: readonly string[];
  repeats: Repeats;
  query?: object | undefined;
  /** Headers that are parameters of the operation. */
  headers?: Readonly<Record<string, string | undefined>>;
  body?: unknown;
  /** The body is sent as it is. */
  isRaw?: boolean;
  /** It is made without the key. */
  isOpen?: boolean;
  options: KeyedOptions | undefined;
}

export const DEFAULTS = { retries: 4, retryForMs: 90_000, timeoutMs: 45_000 };

export class Calls {
  readonly #settings: Settings;
  readonly #base: string;
  readonly #json: JsonFormat;

  constructor(settings: Settings) {
    if (!isAddress(settings.url))
      throw new TypeError("url must be an address that begins with https:// or http://");
    if (settings.key === "") throw new TypeError("key is empty");
    // The text of the error shows no key: it may come into a log.
    if (!/^[!-~]+$/.test(settings.key))
      throw new TypeError(
        "key has a space, a line end or another character that no key has: give it without",
      );
    this.#settings = settings;
    this.#base = settings.url.replace(/\/$/, "");
    this.#json = settings.json ?? JSON;
  }

  /** The answer's JSON as a value, another answer's text, or undefined where it has no body. */
  async ask<Answer>(call: Call): Promise<Answer> {
    const bounds = { ...DEFAULTS, ...defined(this.#settings), ...defined(call.options ?? {}) };
    const url = this.#base + pathOf(call) + queryOf(call.query);
    const init = this.#requestOf(call);
    const { signal } = call.options ?? {};
    const endsAt = performance.now() + bounds.retryForMs;
    let mayBeGone = false;
    for (let made = 1; ; made++) {
      try {
        return (await this.#attempt(url, init, bounds.timeoutMs, signal)) as Answer;
      } catch (error) {
        if (mayBeGone && error instanceof NotFoundError) return undefined as Answer;
        const wait = waitMs(error, made, Math.random());
        const isInBounds = made <= bounds.retries && performance.now() + wait <= endsAt;
        if (!isInBounds || !mayRepeat(error, call.repeats)) throw error;
        // What an attempt deleted whose answer was lost, the next one does not find. A 429 deletes nothing.
        mayBeGone ||= call.method === "DELETE" && !(error instanceof RateLimitError);
        await pause(wait, signal);
      }
    }
  }

  /** A list, whose pages are fetched as they are needed. */
  list<Item, Page extends PageOf<Item>>(call: Call): List<Item, Page> {
    return new List((cursor) =>
      this.ask<Page>(cursor === undefined ? call : { ...call, query: { ...call.query, cursor } }),
    );
  }

  /** Throws a TypeError where a header cannot be sent. */
  #requestOf({ method, repeats, headers, body, isRaw, isOpen, options = {} }: Call): RequestInit {
    const sent = new Headers();
    for (const [name, value] of Object.entries(options.headers ?? {})) setHeader(sent, name, value);
    if (isOpen !== true) sent.set("authorization", `Bearer ${this.#settings.key}`);
    for (const [name, value] of Object.entries(headers ?? {}))
      if (value !== undefined) setHeader(sent, name, value);
    if (repeats === "key") setHeader(sent, "idempotency-key", options.idempotencyKey ?? crypto.randomUUID());
    // A redirect would turn a POST into a GET.
    const init: RequestInit = { method, headers: sent, redirect: "manual" };
    if (body === undefined) return init;
    if (isRaw === true) return { ...init, body: body as NonNullable<RequestInit["body"]> };
    sent.set("content-type", "application/json");
    return { ...init, body: this.#json.stringify(body) };
  }

  async #attempt(url: string, init: RequestInit, ms: number, signal?: AbortSignal): Promise<unknown> {
    signal?.throwIfAborted();
    const timeout = new Timeout(ms, signal);
    const send = this.#settings.fetch ?? fetch;
    let response: Response;
    let text: string;
    try {
      response = await send(url, { ...init, signal: timeout.signal });
      text = await response.text();
    } catch (cause) {
      signal?.throwIfAborted();
      const what = timeout.isOver ? `no answer within ${ms} ms` : told(cause);
      throw new ConnectionError(`${init.method} ${url}: ${what}`, { cause });
    } finally {
      timeout.clear();
    }
    if (!response.ok) throw errorOf(response, text);
    if (text === "") return undefined;
    const isJson = /^application\/json\b/.test(response.headers.get("content-type") ?? "");
    if (!isJson) return text;
    try {
      return this.#json.parse(text);
    } catch (cause) {
      throw new ConnectionError(`${init.method} ${url}: the answer is no JSON: ${told(cause)}`, { cause });
    }
  }
}

/** Longer ones a timer takes for none. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/**
 * The signal of one attempt: it is aborted when the time is over, or by the call's own. `AbortSignal.any`
 * would leave something behind at each attempt, in Node 20, for as long as the call's own signal lives.
 */
class Timeout {
  isOver = false;
  readonly #aborting = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #outer: AbortSignal | undefined;
  readonly #abort = () => this.#aborting.abort(this.#outer?.reason);

  constructor(ms: number, outer: AbortSignal | undefined) {
    this.#outer = outer;
    this.#timer = setTimeout(() => this.#end(), Math.min(ms, TIMER_MS_MAX));
    outer?.addEventListener("abort", this.#abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#aborting.signal;
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#abort);
  }

  #end(): void {
    this.isOver = true;
    this.#aborting.abort();
  }
}

function isAddress(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text);
}

function told(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  // Node says only `fetch failed`, and why in the cause.
  return cause.cause instanceof Error ? `${cause.message}: ${cause.cause.message}` : cause.message;
}

/** Without members that are undefined, which would cover a default. */
function defined({ retries, retryForMs, timeoutMs }: Bounds): Bounds {
  return {
    ...(retries !== undefined && { retries }),
    ...(retryForMs !== undefined && { retryForMs }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  };
}

/** Throws a TypeError where an id would lead to another address. */
function pathOf({ path, ids }: Call): string {
  let at = 0;
  return path.replaceAll(/\{\w+\}/g, (name) => {
    const id = ids[at++];
    if (typeof id !== "string" || /^\.{0,2}$/.test(id)) throw new TypeError(`${name} of ${path} is no id`);
    return encodeURIComponent(id);
  });
}

/** What a runtime itself says of such a header shows its value, which may be a secret. */
function setHeader(headers: Headers, name: string, value: string): void {
  if (!/^[\t -~\x80-\xff]*$/.test(value))
    throw new TypeError(`The header ${name} must be a text without line ends, and of Latin-1 alone`);
  headers.set(name, value);
}

/** With the question mark; empty where nothing is asked. */
function queryOf(query: object | undefined): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {}))
    if (value !== undefined) given.set(name, String(value));
  return given.size === 0 ? "" : `?${given}`;
}

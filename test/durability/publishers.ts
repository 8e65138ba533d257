/**
 * Clients that publish until they are told to stop. Each sends what is unanswered again, under the key that
 * makes it safe (external_id, Idempotency-Key, the provider's own id), and writes down every 2xx.
 */

export interface Target {
  url: string;
  apiKey: string;
  ingestPath: string;
  ingestSecret: string;
}

type Kind = "single" | "batch" | "ingest";

/** What a client holds in its hands after a 2xx. */
export interface Acknowledged {
  kind: Kind;
  /** `external_id`, Idempotency-Key or the provider's id. */
  key: string;
  ids: readonly string[];
  /** `data.token` of each event, in the order of `ids`. */
  tokens: readonly string[];
  /** Unix milliseconds, when the answer was there. */
  at: number;
}

export interface Refused {
  kind: Kind;
  status: number;
  contentType: string;
  retryAfter: string | null;
}

interface Parcel extends Pick<Acknowledged, "kind" | "key" | "tokens"> {
  path: string;
  headers: Record<string, string>;
  body: string;
}

interface PublishedAnswer {
  id?: string;
  data?: { id: string }[];
}

export interface PublishersOptions {
  /** Begins every key and token: two with different names never meet. */
  name?: string;
  count?: number;
  /** What a request may be answered besides 2xx; it is sent again then. */
  tolerated?: readonly number[];
}

interface Waiter {
  count: number;
  resolve(): void;
  reject(error: Error): void;
}

const BATCH_EVENTS = 5;
/** A service that is there answers within that, whatever its disk and its receivers do. */
const ANSWER_MS_MAX = 20_000;
const AGAIN_MS = 50;
const PADDING = "x".repeat(400);
const KINDS: readonly Kind[] = ["single", "single", "batch", "ingest"];

export class Publishers {
  readonly acknowledged: Acknowledged[] = [];
  readonly refused: Refused[] = [];
  /** Requests that were sent and have no answer yet. */
  unanswered = 0;
  readonly #loops: Promise<void>[];
  /** What each of them sent last. */
  readonly #last: Parcel[] = [];
  #mode: "running" | "finishing" | "abandoned" = "running";
  #waiters: Waiter[] = [];
  #failure: Error | null = null;

  readonly #name: string;
  readonly #tolerated: readonly number[];

  constructor(
    private readonly target: Target,
    { name = "p", count = 64, tolerated = [503] }: PublishersOptions = {},
  ) {
    this.#name = name;
    this.#tolerated = tolerated;
    this.#loops = Array.from({ length: count }, (_, at) => this.#publish(at));
  }

  /**
   * Resolves when so many more requests have been answered with 2xx; rejects where one was answered as none
   * should be.
   */
  whenAcknowledged(more: number): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#failure) reject(this.#failure);
      else this.#waiters.push({ count: this.acknowledged.length + more, resolve, reject });
    });
  }

  /** Begins nothing new; resolves when everything begun has been answered with 2xx. */
  async finish(): Promise<void> {
    if (this.#mode === "running") this.#mode = "finishing";
    await Promise.all(this.#loops);
    if (this.#failure) throw this.#failure;
  }

  /** Begins nothing new and sends nothing again. */
  async abandon(): Promise<void> {
    this.#mode = "abandoned";
    await Promise.all(this.#loops);
  }

  /**
   * Sends once more what each has sent last, and answers what it got for it: the first answers, if all
   * is well.
   */
  async repeatLast(): Promise<Acknowledged[]> {
    const before = this.acknowledged.length;
    await Promise.all(this.#last.map((parcel) => this.#send(parcel)));
    return this.acknowledged.splice(before);
  }

  async #publish(at: number): Promise<void> {
    for (let nth = 0; this.#mode === "running"; nth++) {
      const parcel = this.#parcel(at, nth);
      this.#last[at] = parcel;
      await this.#deliver(parcel);
    }
  }

  async #deliver(parcel: Parcel): Promise<void> {
    while (!(await this.#send(parcel)) && this.#mode !== "abandoned") await Bun.sleep(AGAIN_MS);
  }

  /** One request: true where it was answered with 2xx. */
  async #send(parcel: Parcel): Promise<boolean> {
    const { path, headers, body } = parcel;
    const sentAt = performance.now();
    this.unanswered++;
    try {
      const signal = AbortSignal.timeout(ANSWER_MS_MAX);
      const response = await fetch(this.target.url + path, { method: "POST", headers, body, signal });
      const text = await response.text();
      if (response.ok) this.#keep(parcel, text);
      else this.#refuse(parcel, response, text);
      return response.ok;
    } catch (error) {
      // Else the service is gone, or went in the middle of it.
      if (performance.now() - sentAt >= ANSWER_MS_MAX) this.#fail(`no answer: ${String(error)}`);
      return false;
    } finally {
      this.unanswered--;
    }
  }

  #keep({ kind, key, tokens }: Parcel, text: string): void {
    const answer = JSON.parse(text) as PublishedAnswer;
    const ids = (answer.data ?? [{ id: answer.id ?? "" }]).map(({ id }) => id);
    this.acknowledged.push({ kind, key, ids, tokens, at: Date.now() });
    const isDue = ({ count }: Waiter) => count <= this.acknowledged.length;
    for (const waiter of this.#waiters.filter(isDue)) waiter.resolve();
    this.#waiters = this.#waiters.filter((waiter) => !isDue(waiter));
  }

  #refuse({ kind }: Parcel, { status, headers }: Response, text: string): void {
    const contentType = headers.get("content-type") ?? "";
    this.refused.push({ kind, status, contentType, retryAfter: headers.get("retry-after") });
    if (!this.#tolerated.includes(status)) this.#fail(`${kind} was answered ${status}: ${text}`);
  }

  #fail(what: string): void {
    this.#failure ??= new Error(what);
    this.#mode = "abandoned";
    for (const waiter of this.#waiters.splice(0)) waiter.reject(this.#failure);
  }

  #parcel(at: number, nth: number): Parcel {
    const kind = KINDS[at % KINDS.length] ?? "single";
    const key = `${this.#name}-${at}-${nth}`;
    const type = typeOf(at + nth);
    const { apiKey, ingestPath, ingestSecret } = this.target;
    const json = { "content-type": "application/json" };
    if (kind === "ingest") {
      const headers = { ...json, "x-service-token": ingestSecret };
      return { kind, key, tokens: [key], path: ingestPath, headers, body: inboundBody(key, type) };
    }
    const headers = { ...json, authorization: `Bearer ${apiKey}` };
    if (kind === "single") {
      const body = JSON.stringify({ type, external_id: key, data: dataOf(key) });
      return { kind, key, tokens: [key], path: "/v1/events", headers, body };
    }
    const tokens = Array.from({ length: BATCH_EVENTS }, (_, i) => `${key}-${i}`);
    const body = JSON.stringify({ events: tokens.map((token) => ({ type, data: dataOf(token) })) });
    return {
      kind,
      key,
      tokens,
      path: "/v1/events/batch",
      headers: { ...headers, "idempotency-key": key },
      body,
    };
  }
}

/** One event in sixteen goes to the slow receiver too, one to the one that refuses. */
function typeOf(n: number): string {
  if (n % 16 === 3) return "slow.thing";
  return n % 16 === 7 ? "flaky.thing" : "order.paid";
}

function dataOf(token: string): object {
  return { token, padding: PADDING };
}

function inboundBody(key: string, type: string): string {
  return JSON.stringify({ id: key, type, ...dataOf(key) });
}

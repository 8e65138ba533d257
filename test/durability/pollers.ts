/**
 * Pollers of one endpoint that fetch until they are told to stop. They lose answers to kills, and now and
 * then forget their cursor, as one does that crashes before it has worked off its page; everything that came
 * is written down.
 */
import { Webhook } from "standardwebhooks";

export interface Outlet {
  url: string;
  id: string;
  secret: string;
}

interface Page {
  data: { headers: Record<string, string>; body: string }[];
  next_cursor: string;
  done: boolean;
}

const AGAIN_MS = 50;
const LIMIT_MAX = 100;
/** One in so many pages is forgotten. */
const FORGOTTEN_IN = 10;

export class Pollers {
  /** `data.token` by `webhook-id`, of everything that came. */
  readonly received = new Map<string, string>();
  /** `webhook-id`s of pages whose cursor was answered with 200: an acknowledgement that must hold. */
  readonly acknowledged = new Set<string>();
  /** Pages that were fetched, and those of them whose cursor was forgotten. */
  pages = 0;
  forgotten = 0;
  /** Polls that were cut. */
  cut = 0;
  readonly #webhook: Webhook;
  readonly #loops: Promise<void>[];
  #failure: Error | null = null;
  #isFinishing = false;

  constructor(
    private readonly outlet: Outlet,
    count: number,
  ) {
    this.#webhook = new Webhook(outlet.secret);
    this.#loops = Array.from({ length: count }, () => this.#poll());
  }

  /** Resolves when all have found nothing more to fetch, and acknowledged what they had. */
  async finish(): Promise<void> {
    this.#isFinishing = true;
    await Promise.all(this.#loops);
    if (this.#failure) throw this.#failure;
  }

  async #poll(): Promise<void> {
    let cursor = "";
    let held: string[] = [];
    while (this.#failure === null) {
      const page = await this.#fetch(cursor);
      if (page === null) {
        await Bun.sleep(AGAIN_MS);
        continue;
      }
      this.pages++;
      for (const id of held) this.acknowledged.add(id);
      if (page.data.length === 0 && page.done && this.#isFinishing) return;
      held = page.data.map((message) => this.#take(message));
      cursor = page.next_cursor;
      if (held.length === 0 || Math.random() * FORGOTTEN_IN > 1) continue;
      this.forgotten++;
      cursor = "";
      held = [];
    }
  }

  /** A page; null where there was no answer, or the service was starting or stopping. */
  async #fetch(cursor: string): Promise<Page | null> {
    const query = `limit=${1 + Math.floor(Math.random() * LIMIT_MAX)}&wait=1${cursor && `&cursor=${cursor}`}`;
    const headers = { authorization: `Bearer ${this.outlet.secret}` };
    try {
      const response = await fetch(`${this.outlet.url}/poll/${this.outlet.id}?${query}`, { headers });
      const text = await response.text();
      if (response.status === 200) return JSON.parse(text) as Page;
      if (response.status !== 503)
        this.#failure ??= new Error(`a poll was answered ${response.status}: ${text}`);
    } catch {
      this.cut++;
    }
    return null;
  }

  #take({ headers, body }: Page["data"][number]): string {
    const id = headers["webhook-id"] ?? "";
    const event = this.#webhook.verify(body, headers) as { data: { token: string } };
    this.received.set(id, event.data.token);
    return id;
  }
}

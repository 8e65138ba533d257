import { RecentMap } from "../core/structures/recent-map.ts";
import type { Turns } from "../core/structures/turn-queue.ts";
import type { KeyAnswer, KeyDocument, KeyReader } from "./provider.ts";

/** Key documents of providers (JWKS, certificates), cached. The network and the clock come in. */

/** What a fetch came to. `maxAgeSeconds`: what cache-control says. */
export type Fetched =
  | { readonly kind: "document"; readonly text: string; readonly maxAgeSeconds: number | null }
  | { readonly kind: "unknown" | "unavailable" };

/**
 * Fetches one document within a deadline of its own. `unknown`: the provider says that there is none (4xx).
 */
export type FetchDocument = (document: KeyDocument) => Promise<Fetched>;

export interface KeyCacheParts {
  readonly fetchDocument: FetchDocument;
  /** By a clock that nobody sets: what was unknown while it was ahead must not stay so. */
  readonly monotonicMs: () => number;
}

interface Entry {
  readonly text: string;
  readonly fetchedAtMs: number;
  readonly expiresAtMs: number;
}

const AGE_SECONDS = { min: 60, usual: 3600, max: 86_400 };
/**
 * An unknown key id may ask for a document anew, at most once in this time, so that forgeries cannot
 * drive fetches.
 */
const RENEWAL_MS = 60_000;
const ENTRIES_MAX = 1000;
/** Forged key ids, each another one, must not make us hammer a provider. */
const FETCHES_PER_MINUTE_MAX = 30;

const UNAVAILABLE: KeyAnswer = { kind: "unavailable" };

function identityOf(document: KeyDocument): string {
  return `${document.url} ${document.post ?? ""}`;
}

/** Fetches of the last minute. */
interface Budget {
  fetches: number;
  readonly untilMs: number;
}

/** One fetch at a time for each document. What failed is not remembered, so the next request tries again. */
export class KeyCache {
  readonly #entries = new RecentMap<string, Entry>(ENTRIES_MAX);
  /** When each was last said to be unknown: beside the entries, so that forgeries push out no document. */
  readonly #unknownAt = new RecentMap<string, number>(ENTRIES_MAX);
  readonly #fetching = new Map<string, Promise<KeyAnswer>>();
  /** By the source that was sent a request, or by the document that was had before. */
  readonly #budgets = new Map<number | string, Budget>();

  constructor(private readonly parts: KeyCacheParts) {}

  /**
   * A source's own reader: what one source is sent uses up no other's fetches. `begin` is called before a
   * wait. All that waited for a fetch are told at one instant, and go on in their `turns`.
   */
  readerFor(sourceId: number, turns: Pick<Turns, "next">, begin = () => {}): KeyReader {
    return {
      read: async (document, isRenewal = false) => {
        const identity = identityOf(document);
        const known = this.#recall(identity, isRenewal);
        if (known) return known;
        begin();
        const fetched = await this.#fetchShared(identity, document, sourceId);
        await turns.next();
        return fetched;
      },
    };
  }

  /** What is known without a fetch. */
  #recall(identity: string, isRenewal: boolean): KeyAnswer | null {
    const now = this.parts.monotonicMs();
    const saidAt = this.#unknownAt.get(identity);
    if (saidAt !== undefined && now - saidAt < RENEWAL_MS) return { kind: "unknown" };
    const entry = this.#entries.get(identity);
    if (entry === undefined || now >= entry.expiresAtMs) return null;
    const mayRenew = isRenewal && now - entry.fetchedAtMs >= RENEWAL_MS;
    return mayRenew ? null : { kind: "document", text: entry.text };
  }

  #fetchShared(identity: string, document: KeyDocument, sourceId: number): Promise<KeyAnswer> {
    const running = this.#fetching.get(identity);
    if (running) return running;
    // What was had before has a budget of its own: forgeries that name others must not keep it from
    // genuine requests.
    const payer = this.#entries.has(identity) ? identity : sourceId;
    if (!this.#mayFetch(payer)) return Promise.resolve(UNAVAILABLE);
    const fetched = this.#fetchOnce(identity, document);
    this.#fetching.set(identity, fetched);
    return fetched;
  }

  /** Counts a fetch; false where there were too many within a minute. */
  #mayFetch(payer: number | string): boolean {
    const now = this.parts.monotonicMs();
    const budget = this.#budgets.get(payer);
    if (budget && now < budget.untilMs) return ++budget.fetches <= FETCHES_PER_MINUTE_MAX;
    for (const [other, { untilMs }] of this.#budgets) if (untilMs <= now) this.#budgets.delete(other);
    this.#budgets.set(payer, { fetches: 1, untilMs: now + RENEWAL_MS });
    return true;
  }

  async #fetchOnce(identity: string, document: KeyDocument): Promise<KeyAnswer> {
    try {
      return this.#keep(identity, await this.parts.fetchDocument(document));
    } catch {
      return UNAVAILABLE;
    } finally {
      this.#fetching.delete(identity);
    }
  }

  #keep(identity: string, fetched: Fetched): KeyAnswer {
    const now = this.parts.monotonicMs();
    if (fetched.kind === "unknown") this.#unknownAt.set(identity, now);
    if (fetched.kind !== "document") return fetched;
    const { text, maxAgeSeconds } = fetched;
    const age = Math.min(Math.max(maxAgeSeconds ?? AGE_SECONDS.usual, AGE_SECONDS.min), AGE_SECONDS.max);
    this.#entries.set(identity, { text, fetchedAtMs: now, expiresAtMs: now + age * 1000 });
    return { kind: "document", text };
  }
}

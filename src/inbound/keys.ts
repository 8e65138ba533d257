import type { KeyDocument, KeyReader } from "./provider.ts";

/** Key documents of providers (JWKS, certificates), cached. The network and the clock come in. */

/**
 * Fetches one document within a deadline of its own; null where that failed or the answer was a 5xx. A 4xx is an answer: its
 * text stands for "no such key". `maxAgeSeconds`: what cache-control says.
 */
export type FetchDocument = (
  document: KeyDocument,
) => Promise<{ text: string; maxAgeSeconds: number | null } | null>;

export interface KeyCacheParts {
  readonly fetchDocument: FetchDocument;
  readonly nowMs: () => number;
}

interface Entry {
  readonly text: string;
  readonly fetchedAtMs: number;
  readonly expiresAtMs: number;
}

const AGE_SECONDS = { min: 60, usual: 3600, max: 86_400 };
/** An unknown key id may ask for a document anew, at most once in this time, so that forgeries cannot drive fetches. */
const RENEWAL_MS = 60_000;
const ENTRIES_MAX = 1000;
/** Forged key ids must not make us hammer a provider. */
const FETCHES_PER_MINUTE_MAX = 30;

function identityOf(document: KeyDocument): string {
  return `${document.url} ${document.post ?? ""}`;
}

/** One fetch at a time for each document; what failed is not remembered, so the next request tries again. */
export function createKeyCache({ fetchDocument, nowMs }: KeyCacheParts): KeyReader {
  const entries = new Map<string, Entry>();
  const fetching = new Map<string, Promise<string | null>>();
  const fetchedAt = new Map<string, number[]>();

  /** Counts a fetch from this address; false where it had too many in the last minute. */
  function mayFetch(url: string): boolean {
    const recent = (fetchedAt.get(url) ?? []).filter((atMs) => nowMs() - atMs < RENEWAL_MS);
    fetchedAt.set(url, [...recent, nowMs()].slice(-FETCHES_PER_MINUTE_MAX));
    return recent.length < FETCHES_PER_MINUTE_MAX;
  }

  function keep(identity: string, text: string, maxAgeSeconds: number | null): string {
    const age = Math.min(Math.max(maxAgeSeconds ?? AGE_SECONDS.usual, AGE_SECONDS.min), AGE_SECONDS.max);
    const oldest = entries.size >= ENTRIES_MAX ? entries.keys().next().value : undefined;
    if (oldest !== undefined) entries.delete(oldest);
    entries.set(identity, { text, fetchedAtMs: nowMs(), expiresAtMs: nowMs() + age * 1000 });
    return text;
  }

  async function fetchOnce(identity: string, document: KeyDocument): Promise<string | null> {
    try {
      const fetched = mayFetch(document.url) ? await fetchDocument(document) : null;
      return fetched && keep(identity, fetched.text, fetched.maxAgeSeconds);
    } catch {
      return null;
    } finally {
      fetching.delete(identity);
    }
  }

  return {
    read(document, isRenewal = false) {
      const identity = identityOf(document);
      const entry = entries.get(identity);
      const isUsable = entry !== undefined && nowMs() < entry.expiresAtMs;
      const mayRenew = isRenewal && entry !== undefined && nowMs() - entry.fetchedAtMs >= RENEWAL_MS;
      if (isUsable && !mayRenew) return Promise.resolve(entry.text);
      const running = fetching.get(identity) ?? fetchOnce(identity, document);
      if (!fetching.has(identity)) fetching.set(identity, running);
      return running;
    },
  };
}

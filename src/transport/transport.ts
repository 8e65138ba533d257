/**
 * The outgoing transport: one HTTP/1.1 request, one result, whatever the receiver does.
 *
 * A new connection goes to an address that the guard has vetted for it, never to a name. The certificate is
 * verified before the first byte of the request. Nothing is decompressed and no redirect is followed. What
 * counts as an answer, and what is tried again, stands in src/docs/behaviour.md; bounds in core/limits.ts.
 */
import { Connections } from "./connections.ts";
import type { Guard } from "./guard.ts";
import { Exchange } from "./exchange.ts";
import { FileShortage } from "./file-shortage.ts";
import { renderHead } from "./request.ts";
import type { Transport, TransportRequest, TransportResult } from "./types.ts";
import type { UrlParts } from "./url-parts.ts";

export type { Transport, TransportRequest, TransportResult } from "./types.ts";

export interface TransportOptions {
  guard: Guard;
  /** A monotonic clock in milliseconds, for idle time and age of connections. */
  monotonic(): number;
  /** Default 30 s. */
  idleMaxMs?: number;
  /** Default 10 min. */
  ageMaxMs?: number;
  /** Idle connections over all hosts. Default 2,000. */
  idleMax?: number;
  /**
   * Connections, beyond which idle ones give way to new ones. Default: no bound, as each request has its own.
   */
  openMax?: number;
  /** Hears, at most once a second, that there was no file left for a socket. */
  onShortage?(): void;
  /** False while another machine may be the one that sends: what would be written then is `aborted`. */
  mayWrite?(): boolean;
  /** PEM of the authorities to trust in place of the built-in ones; for tests. */
  tlsCa?: string;
}

const IDLE_MAX_MS = 30_000;
const AGE_MAX_MS = 600_000;
const IDLE_MAX = 2_000;

export function createTransport(options: TransportOptions): Transport {
  const { idleMaxMs = IDLE_MAX_MS, ageMaxMs = AGE_MAX_MS, idleMax = IDLE_MAX, openMax = Infinity } = options;
  const connections = new Connections({ idleMaxMs, ageMaxMs, idleMax, openMax }, () => options.monotonic());
  const resolving = new Set<Exchange>();
  const shortage = new FileShortage(
    () => options.monotonic(),
    () => options.onShortage?.(),
  );
  const mayWrite = () => options.mayWrite?.() ?? true;
  const parts = { guard: options.guard, connections, resolving, shortage, mayWrite, tlsCa: options.tlsCa };
  const signals = new WeakSet<AbortSignal>();
  let isClosed = false;

  function send(request: TransportRequest): Promise<TransportResult> {
    const head = renderHead(request);
    const { signal, url } = request;
    if (isClosed || signal?.aborted) return Promise.resolve({ kind: "aborted" });
    if (!isHttp(url) || options.guard.isSelf(url))
      return Promise.resolve({ kind: "blocked", code: "address_not_allowed" });
    if (signal !== undefined) listenOnce(signal);
    return new Promise((resolve) => new Exchange(request, head, parts, resolve).start());
  }

  /**
   * One listener for each signal, however many requests share it: an abort is rare, so it does the searching.
   */
  function listenOnce(signal: AbortSignal): void {
    if (signals.has(signal)) return;
    signals.add(signal);
    signal.addEventListener("abort", () => abortWhere((exchange) => exchange.signal === signal), {
      once: true,
    });
  }

  function abortWhere(isMeant: (exchange: Exchange) => boolean): void {
    for (const owner of [...resolving, ...connections.owners()]) {
      if (owner instanceof Exchange && isMeant(owner)) owner.abort();
    }
  }

  function stats() {
    return { ...connections.counts, connects: connections.connects, reused: connections.reused };
  }

  function close(): void {
    isClosed = true;
    abortWhere(() => true);
    connections.close();
  }

  return { send, stats, close };
}

/** Anything else must never reach a socket. */
function isHttp({ protocol }: UrlParts): boolean {
  return protocol === "https:" || protocol === "http:";
}

/**
 * One request and its answer: from the first look at the pool to exactly one result.
 *
 * 1. An idle connection of the pool, or a new one to an address that the guard has vetted just now.
 * 2. The whole request in one write; the answer goes through the parser.
 * 3. The first of answer, failure, deadline and abort settles it; the connection goes back or is destroyed.
 *
 * A reused connection that dies before the first byte of an answer was closed by the receiver while it was
 * idle: the request is sent once more, at once, on a new one, within the same deadline.
 */
import type { NoAnswerCode } from "../core/attempt-error.ts";
import type { Connection, ConnectionOwner } from "./connection.ts";
import type { Connections } from "./connections.ts";
import type { AddressVerdict, Guard } from "./guard.ts";
import type { FileShortage } from "./file-shortage.ts";
import { Lookup, type LookupOwner } from "./lookup.ts";
import { ResponseParser } from "./response.ts";
import { joinRequest } from "./request.ts";
import type { TransportRequest, TransportResult } from "./types.ts";

/** A deadline that comes so late was held up by the process itself. */
const STANDSTILL_MS = 100;
/** How long after that an answer may still be read. */
const READING_MS = 100;

/** What all exchanges of a transport share. */
export interface ExchangeParts {
  readonly guard: Guard;
  readonly connections: Connections;
  /** Exchanges that wait for the guard and therefore own no connection. */
  readonly resolving: Set<Exchange>;
  readonly shortage: FileShortage;
  mayWrite(): boolean;
  readonly tlsCa: string | undefined;
}

export class Exchange implements ConnectionOwner, LookupOwner {
  readonly #request: TransportRequest;
  readonly #head: string;
  readonly #parts: ExchangeParts;
  readonly #onSettled: (result: TransportResult) => void;
  readonly #parser: ResponseParser;
  #deadline: Timer;
  /** In monotonic time. */
  #expiresAt: number;
  #connection: Connection | null = null;
  #lookup: Lookup | null = null;
  #isReused = false;
  #isSettled = false;
  /** Vetted addresses that were not tried yet. */
  #addresses: string[] = [];

  /** `head` is the rendered one; `onSettled` is called once. Call `start()` next. */
  constructor(
    request: TransportRequest,
    head: string,
    parts: ExchangeParts,
    onSettled: (result: TransportResult) => void,
  ) {
    this.#request = request;
    this.#head = head;
    this.#parts = parts;
    this.#onSettled = onSettled;
    this.#parser = new ResponseParser(request);
    this.#deadline = setTimeout(expire, request.timeoutMs, this);
    this.#expiresAt = performance.now() + request.timeoutMs;
  }

  start(): void {
    const idle = this.#parts.connections.take(keyOf(this.#request), this);
    if (idle === null) return this.#connect();
    this.#connection = idle;
    this.#isReused = true;
    this.#writeTo(idle);
  }

  get signal(): AbortSignal | undefined {
    return this.#request.signal;
  }

  abort(): void {
    this.#settle({ kind: "aborted" });
  }

  /** The deadline has come; the code says how far the exchange was. */
  expire(): void {
    if (performance.now() - this.#expiresAt > STANDSTILL_MS) return this.#readFirst();
    const phase = this.#connection?.phase ?? "connecting";
    if (phase === "connecting") {
      const socketGone = (this.#connection ?? this.#lookup)?.gone;
      return this.#settle({ kind: "timeout", code: "timeout_connect", socketGone });
    }
    if (phase === "securing") return this.#settle({ kind: "timeout", code: "timeout_tls" });
    const code = this.#parser.state === "body" ? "timeout_body" : "timeout_response";
    this.#settle({ kind: "timeout", code });
  }

  /** The process stood still: its timers run before it reads the answers that have come meanwhile. */
  #readFirst(): void {
    this.#expiresAt = Number.POSITIVE_INFINITY;
    this.#deadline = setTimeout(expire, READING_MS, this);
  }

  onReady(connection: Connection): void {
    this.#writeTo(connection);
  }

  /** To connect takes time, in which the process may have stood still. */
  #writeTo(connection: Connection): void {
    if (!this.#parts.mayWrite()) return this.abort();
    connection.write(joinRequest(this.#head, this.#request.body));
  }

  onBytes(_connection: Connection, bytes: Buffer): void {
    this.#parser.push(bytes);
    this.#judge();
  }

  onClosed(_connection: Connection, code: NoAnswerCode): void {
    if (code === "connection_refused" && this.#parts.shortage.isNow()) return this.abort();
    if (code === "connection_refused" && this.#addresses.length > 0) return this.#dial();
    if (this.#isReused && !this.#parser.hasStarted) {
      this.#isReused = false;
      return this.#connect();
    }
    this.#parser.end(code === "connection_closed");
    this.#judge();
    this.#settle({ kind: "unreachable", code });
  }

  #connect(): void {
    this.#connection = null;
    this.#parts.resolving.add(this);
    this.#lookup = new Lookup(this.#parts.guard, this.#request.url, this);
  }

  onVerdict(verdict: AddressVerdict): void {
    this.#endLookup();
    if (verdict.kind === "blocked") return this.#settle({ kind: "blocked", code: "address_not_allowed" });
    if (verdict.kind === "unresolved") {
      // A question to a name server takes a socket too.
      if (verdict.code === "dns_failed" && this.#parts.shortage.isNow()) return this.abort();
      return this.#settle({ kind: "unreachable", code: verdict.code });
    }
    this.#addresses = [verdict.address, ...(verdict.others ?? [])];
    this.#dial();
  }

  /** Connects to the next vetted address, and to no other. */
  #dial(): void {
    const { protocol, hostname, port } = this.#request.url;
    const isTls = protocol === "https:";
    const target = {
      key: keyOf(this.#request),
      address: this.#addresses.shift() ?? "",
      port: port === "" ? (isTls ? 443 : 80) : Number(port),
      tlsName: isTls ? hostname.replace(/^\[|\]$|\.$/g, "") : null,
      tlsCa: this.#parts.tlsCa,
    };
    this.#connection = this.#parts.connections.open(target, this);
  }

  #judge(): void {
    const { state, failure } = this.#parser;
    if (state === "failed") this.#settle({ kind: "unreachable", code: failure });
    if (state === "done") this.#settle(this.#parser.response());
  }

  #settle(result: TransportResult): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    clearTimeout(this.#deadline);
    this.#release();
    this.#onSettled(result);
  }

  #endLookup(): void {
    this.#parts.resolving.delete(this);
    this.#lookup?.giveUp();
    this.#lookup = null;
  }

  /** An answer that came before the whole request was sent leaves the connection in no known state. */
  #release(): void {
    this.#endLookup();
    const connection = this.#connection;
    if (connection === null) return;
    const isReusable = this.#parser.isReusable && this.#parser.state === "done" && !connection.hasUnsent;
    if (isReusable && connection.isLight && connection.phase === "ready")
      this.#parts.connections.put(connection);
    else connection.destroy();
  }
}

function expire(exchange: Exchange): void {
  exchange.expire();
}

/** Which connections may serve it. */
function keyOf({ owner, url }: TransportRequest): string {
  return `${url.origin} ${owner}`;
}

/**
 * One request and its answer: from the first look at the pool to exactly one result.
 *
 * 1. An idle connection of the pool, or a new one to an address that the guard has vetted just now. It is
 *    opened in a share of a turn, whatever set that off, and goes through its TLS handshake in a berth.
 * 2. The whole request in one write; the answer goes through the parser.
 * 3. The first of answer, failure, deadline and abort settles it; the connection goes back or is destroyed.
 *
 * A reused connection that dies before the first byte of an answer was closed by the receiver while it was
 * idle: the request is sent once more, at once, on a new one, within the same deadline.
 */
import { limit } from "../core/limits.ts";
import type { TurnQueue } from "../core/structures/turn-queue.ts";
import type { NoAnswerCode } from "../core/attempt-error.ts";
import type { Connection, ConnectionOwner } from "./connection.ts";
import type { Connections } from "./connections.ts";
import type { AddressVerdict, Guard } from "./guard.ts";
import type { FileShortage } from "./file-shortage.ts";
import type { Handshakes, Berth, BerthSeeker } from "./handshakes.ts";
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
  readonly turns: TurnQueue;
  readonly handshakes: Handshakes;
  /** Exchanges that own no connection: they wait for the guard, for a turn, or for a berth. */
  readonly unconnected: Set<Exchange>;
  readonly shortage: FileShortage;
  readonly tlsCa: string | undefined;
}

export class Exchange implements ConnectionOwner, LookupOwner, BerthSeeker {
  readonly #request: TransportRequest;
  readonly #head: string;
  readonly #parts: ExchangeParts;
  readonly #onSettled: (result: TransportResult) => void;
  readonly #parser: ResponseParser;
  #deadline: Timer;
  /** In monotonic time: the deadline, and that of the whole exchange. */
  #expiresAt: number;
  #endsAt: number;
  #connection: Connection | null = null;
  #lookup: Lookup | null = null;
  /** Got by waiting, until the connection takes it. */
  #berth: Berth | null = null;
  /** Since when it waits for one, in monotonic time; null where it does not. */
  #crowdedOutAt: number | null = null;
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
    this.#expiresAt = this.#endsAt = performance.now() + request.timeoutMs;
  }

  start(): void {
    const idle = this.#parts.connections.take(keyOf(this.#request), this);
    if (idle === null) return this.#connect();
    this.#connection = idle;
    this.#isReused = true;
    this.#writeTo(idle);
  }

  get account(): string {
    return this.#request.account;
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
    // It is the service that held it up.
    if (this.#crowdedOutAt !== null) return this.abort();
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

  #expireAt(at: number): void {
    clearTimeout(this.#deadline);
    this.#expiresAt = at;
    this.#deadline = setTimeout(expire, Math.max(0, at - performance.now()), this);
  }

  takeBerth(): Berth | null {
    const berth = this.#berth ?? this.#parts.handshakes.take(this.account);
    this.#berth = null;
    if (berth !== null) this.#expireAt(Math.min(this.#endsAt, performance.now() + limit("handshakeMs")));
    return berth;
  }

  onReady(connection: Connection): void {
    if (this.#expiresAt !== this.#endsAt) this.#expireAt(this.#endsAt);
    this.#writeTo(connection);
  }

  #writeTo(connection: Connection): void {
    connection.write(joinRequest(this.#head, this.#request.body));
  }

  onBytes(_connection: Connection, bytes: Buffer): void {
    this.#parser.push(bytes);
    this.#judge();
  }

  onClosed(connection: Connection, code: NoAnswerCode | "no_berth"): void {
    this.#dropBerth();
    if (code === "no_berth") return this.#awaitBerth(connection);
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
    this.#parts.unconnected.add(this);
    this.#lookup = new Lookup(this.#parts.guard, this.#request.url, this);
  }

  onVerdict(verdict: AddressVerdict): void {
    this.#lookup = null;
    if (verdict.kind === "blocked") return this.#settle({ kind: "blocked", code: "address_not_allowed" });
    if (verdict.kind === "unresolved") {
      // A question to a name server takes a socket too.
      if (verdict.code === "dns_failed" && this.#parts.shortage.isNow()) return this.abort();
      return this.#settle({ kind: "unreachable", code: verdict.code });
    }
    this.#addresses = [verdict.address, ...(verdict.others ?? [])];
    this.#dial();
  }

  /** It dials anew once it has one, the same address. */
  #awaitBerth(connection: Connection): void {
    this.#connection = null;
    this.#addresses.unshift(connection.address);
    this.#crowdedOutAt = performance.now();
    this.#parts.unconnected.add(this);
    this.#parts.handshakes.wait(this);
  }

  /** What was waited for is ours: the destination has as much time after that as before. */
  onBerth(berth: Berth): void {
    this.#berth = berth;
    this.#endsAt += performance.now() - (this.#crowdedOutAt ?? performance.now());
    this.#crowdedOutAt = null;
    this.#expireAt(this.#endsAt);
    this.#dial();
  }

  #dropBerth(): void {
    this.#berth?.giveBack();
    this.#berth = null;
  }

  /** In this turn while there is time: others decide how many addresses answer, or refuse, at once. */
  #dial(): void {
    const { turns, unconnected } = this.#parts;
    if (!turns.isOver) return this.#open();
    this.#connection = null;
    unconnected.add(this);
    void turns
      .of(this.account, null, "dials")
      .next()
      .then(() => this.#open());
  }

  /** Connects to the next vetted address, and to no other. */
  #open(): void {
    if (this.#isSettled) return;
    this.#parts.unconnected.delete(this);
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

  #stopWaiting(): void {
    this.#parts.unconnected.delete(this);
    this.#lookup?.giveUp();
    this.#lookup = null;
    if (this.#crowdedOutAt !== null) this.#parts.handshakes.leave(this);
    this.#dropBerth();
  }

  /** An answer that came before the whole request was sent leaves the connection in no known state. */
  #release(): void {
    this.#stopWaiting();
    const connection = this.#connection;
    if (connection === null) return;
    const isReusable = this.#parser.isReusable && this.#parser.state === "done" && !connection.hasUnsent;
    if (isReusable && connection.phase === "ready") this.#parts.connections.put(connection);
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

/**
 * The pool: every open connection, and which of them are idle and may carry the next request.
 *
 * Idle connections are kept per scheme, host, port and owner. The one used last is taken first; beyond
 * `idleMax` the one idle longest is closed, and beyond `openMax` of all for each new one. Age is bounded so
 * that a change in DNS takes effect.
 */
import {
  Connection,
  type ConnectionOwner,
  type ConnectionPool,
  type ConnectionTarget,
} from "./connection.ts";
import { ConnectionList } from "./connection-list.ts";
import { TlsSessions } from "./tls-sessions.ts";

export interface ConnectionLimits {
  /** An idle connection is closed after this. */
  readonly idleMaxMs: number;
  /** A connection is not reused beyond this age, nor is what its TLS has verified. */
  readonly ageMaxMs: number;
  /** So many are idle at once, over all hosts. */
  readonly idleMax: number;
  /** So many are open at once before an idle one gives way to a new one. */
  readonly openMax: number;
}

export class Connections implements ConnectionOwner, ConnectionPool {
  /** Since the start: connections opened, and requests sent on one that had served before. */
  connects = 0;
  reused = 0;
  readonly sessions: TlsSessions;

  readonly #limits: ConnectionLimits;
  readonly #monotonic: () => number;
  readonly #open = new Set<Connection>();
  readonly #idle = new ConnectionList();
  /** The one used last stands at the end. */
  readonly #idleByKey = new Map<string, Connection[]>();
  #sweepTimer: Timer | null = null;

  constructor(limits: ConnectionLimits, monotonic: () => number) {
    this.#limits = limits;
    this.sessions = new TlsSessions(limits.ageMaxMs);
    this.#monotonic = monotonic;
  }

  /** Sockets that exist, and those of them that are idle. */
  get counts(): { open: number; idle: number } {
    return { open: this.#open.size, idle: this.#idle.size };
  }

  /** Whoever uses a connection now, this pool included. */
  owners(): ConnectionOwner[] {
    return Array.from(this.#open, (connection) => connection.owner);
  }

  /** Opens a new connection for the owner. */
  open(target: ConnectionTarget, owner: ConnectionOwner): Connection {
    if (this.#open.size >= this.#limits.openMax) this.#closeLongestIdle();
    const connection = new Connection(target, owner, this.#monotonic(), this);
    this.#open.add(connection);
    this.connects++;
    connection.open();
    return connection;
  }

  /** Takes an idle connection for the owner; null where there is none. */
  take(key: string, owner: ConnectionOwner): Connection | null {
    const connection = this.#idleByKey.get(key)?.pop();
    if (connection === undefined) return null;
    this.#idle.remove(connection);
    if (this.#isStale(connection)) {
      connection.destroy();
      return this.take(key, owner);
    }
    connection.owner = owner;
    this.reused++;
    return connection;
  }

  /** Takes back a connection that is in a known state and has nothing left to send. */
  put(connection: Connection): void {
    const nowMs = this.#monotonic();
    if (nowMs - connection.openedAt >= this.#limits.ageMaxMs) return connection.destroy();
    connection.owner = this;
    connection.idleSince = nowMs;
    this.#idle.append(connection);
    const siblings = this.#idleByKey.get(connection.key);
    if (siblings === undefined) this.#idleByKey.set(connection.key, [connection]);
    else siblings.push(connection);
    if (this.#idle.size > this.#limits.idleMax) this.#closeLongestIdle();
    this.#sweepTimer ??= this.#scheduleSweep(this.#limits.idleMaxMs);
  }

  /** Closes every connection, idle or not. */
  close(): void {
    if (this.#sweepTimer !== null) clearTimeout(this.#sweepTimer);
    for (const connection of this.#open) this.#discard(connection);
  }

  onReady(): void {}

  /** Nobody has asked for these bytes: they must never become the answer to the next request. */
  onBytes(connection: Connection): void {
    this.#discard(connection);
  }

  /** The receiver closed an idle connection; what remains to be done follows in `onGone`. */
  onClosed(connection: Connection): void {
    this.#discard(connection);
  }

  #discard(connection: Connection): void {
    const siblings = this.#idleByKey.get(connection.key) ?? [];
    const index = siblings.lastIndexOf(connection);
    if (index !== -1) siblings.splice(index, 1);
    if (index !== -1) this.#idle.remove(connection);
    connection.destroy();
  }

  /** The socket is gone; the last one of a host takes the host's entry along. */
  onGone(connection: Connection): void {
    this.#open.delete(connection);
    if (this.#idleByKey.get(connection.key)?.length === 0) this.#idleByKey.delete(connection.key);
  }

  #isStale(connection: Connection): boolean {
    const nowMs = this.#monotonic();
    const { idleMaxMs, ageMaxMs } = this.#limits;
    return nowMs - connection.idleSince >= idleMaxMs || nowMs - connection.openedAt >= ageMaxMs;
  }

  #closeLongestIdle(): void {
    if (this.#idle.oldest !== null) this.#discard(this.#idle.oldest);
  }

  #scheduleSweep(delayMs: number): Timer {
    return setTimeout(() => this.#sweep(), delayMs).unref();
  }

  /** Closes what has been idle too long, and comes back when the next one will have been. */
  #sweep(): void {
    this.#sweepTimer = null;
    const { idleMaxMs } = this.#limits;
    for (let oldest = this.#idle.oldest; oldest !== null; oldest = this.#idle.oldest) {
      const idleMs = this.#monotonic() - oldest.idleSince;
      if (idleMs < idleMaxMs) {
        this.#sweepTimer = this.#scheduleSweep(idleMaxMs - idleMs);
        return;
      }
      this.#discard(oldest);
    }
  }
}

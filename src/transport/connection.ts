/**
 * One socket to one vetted address, over `Bun.connect`.
 *
 * | phase        | true in it                                             | leaves when                    |
 * |--------------|--------------------------------------------------------|--------------------------------|
 * | `connecting` | the kernel connects; Bun hands the socket out later    | open, refused                  |
 * | `securing`   | TLS handshake; not one byte of a request has been sent | verified, refused, closed      |
 * | `ready`      | bytes may be written                                   | closed by either side          |
 * | `closed`     | terminal; the owner hears nothing any more             | –                              |
 *
 * A socket that is given up while `connecting` cannot be taken back from the kernel (Bun 1.4 has no way to);
 * it is closed the moment it opens, and counts as open until then: where SYNs are dropped, for two minutes.
 */
import type { NoAnswerCode } from "../core/attempt-error.ts";
import type { Socket, SocketHandler } from "bun";
import { isIP } from "node:net";
import { limit } from "../core/limits.ts";
import { classifySocketError, classifyTlsError } from "./errors.ts";
import type { TlsSession, TlsSessions } from "./tls-sessions.ts";

/** Where to connect: the vetted address, and the name that the certificate must prove. */
export interface ConnectionTarget {
  /** What tells the connections of a pool apart: scheme, host, port and owner (`keyOf` of exchange.ts). */
  readonly key: string;
  readonly address: string;
  readonly port: number;
  /** The host of the URL for https, null for http. */
  readonly tlsName: string | null;
  /** PEM of the authorities to trust in place of the built-in ones. */
  readonly tlsCa: string | undefined;
}

/** Whoever uses a connection at the moment: an exchange, or the pool while it is idle. */
export interface ConnectionOwner {
  onReady(connection: Connection): void;
  onBytes(connection: Connection, bytes: Buffer): void;
  /** Called once at most, and never after `destroy()`. */
  onClosed(connection: Connection, code: NoAnswerCode): void;
}

/** Where a connection comes from. */
export interface ConnectionPool {
  readonly sessions: TlsSessions;
  /** Called as soon as the socket no longer exists, maybe twice. */
  onGone(connection: Connection): void;
}

/** Bun 1.4 calls it for each session that the server offers, of which its types know nothing. */
interface SessionHandler {
  session(socket: Socket<Connection>, session: Uint8Array): void;
}

/** Owns what is closed, so that a socket the kernel still holds keeps no request in memory. */
const NOBODY: ConnectionOwner = { onReady() {}, onBytes() {}, onClosed() {} };

export type ConnectionPhase = "connecting" | "securing" | "ready" | "closed";

export class Connection {
  /** One handler object for all sockets over which requests go; `socket.data` is the connection. */
  static readonly #handlers: SocketHandler<Connection> = {
    open: (socket) => socket.data.#opened(socket),
    handshake: (socket, isAuthorized, error) => socket.data.#secured(socket, isAuthorized, error),
    data: (socket, bytes) => socket.data.#received(bytes),
    drain: (socket) => socket.data.#drained(),
    error: (socket, error) => socket.data.#fail(classifySocketError(error)),
    close: (socket, error) => socket.data.#ended(error),
    connectError: (socket) => socket.data.#refused(),
  };
  /** Those of a socket with TLS until it offers its first session: a receiver may send any number. */
  static readonly #handlersOfTls: SocketHandler<Connection> & SessionHandler = {
    ...Connection.#handlers,
    session: (socket, session) => socket.data.#offered(socket, session),
  };
  /**
   * Those of the socket below TLS. It sees the bytes of the handshake as they come: TLS keeps them until the
   * certificate is verified, and the certificates for the life of the connection.
   */
  static readonly #handlersBelow: SocketHandler<Connection> = {
    open: (socket) => socket.data.#secure(socket),
    data: (socket, bytes) => socket.data.#countHandshake(bytes),
    error: (socket, error) => socket.data.#fail(classifySocketError(error)),
    close: (socket, error) => socket.data.#ended(error),
    connectError: (socket) => socket.data.#refused(),
  };

  owner: ConnectionOwner;
  phase: ConnectionPhase = "connecting";
  /** These belong to the pool: since when it is idle, and its neighbours in the list of those that are. */
  idleSince = 0;
  older: Connection | null = null;
  newer: Connection | null = null;
  readonly key: string;
  readonly openedAt: number;
  readonly #target: ConnectionTarget;
  readonly #pool: ConnectionPool;
  #socket: Socket<Connection> | null = null;
  #gone: PromiseWithResolvers<void> | null = null;
  #unsent: Uint8Array | null = null;
  #handshakeBytes = 0;
  /** The session that the server was asked to resume. */
  #resumed: TlsSession | null = null;

  /** Call `open()` next. */
  constructor(target: ConnectionTarget, owner: ConnectionOwner, openedAt: number, pool: ConnectionPool) {
    this.key = target.key;
    this.owner = owner;
    this.openedAt = openedAt;
    this.#target = target;
    this.#pool = pool;
  }

  open(): void {
    const { address, port, tlsName } = this.#target;
    const socket = tlsName === null ? Connection.#handlers : Connection.#handlersBelow;
    Bun.connect({ hostname: address, port, socket, data: this }).catch(() => this.#refused());
  }

  /** False where the certificates take much memory: they are not kept for another request. */
  get isLight(): boolean {
    return this.#handshakeBytes <= limit("handshakeBytesMax") / 2;
  }

  /** To be asked while it is `connecting`: resolves once the kernel has let go of the socket. */
  get gone(): Promise<void> {
    this.#gone ??= Promise.withResolvers();
    return this.#gone.promise;
  }

  /** Whether a part of what was written is still waiting for the receiver to read. */
  get hasUnsent(): boolean {
    return this.#unsent !== null;
  }

  /** Sends the bytes, the rest of them whenever the socket drains; of that it keeps a copy. */
  write(bytes: Uint8Array): void {
    const rest = this.#send(bytes);
    this.#unsent = rest && new Uint8Array(rest);
  }

  /** What the socket did not take; null where nothing is left, or the socket is gone. */
  #send(bytes: Uint8Array): Uint8Array | null {
    const written = this.#socket?.write(bytes) ?? -1;
    if (written < 0) this.#fail("connection_closed");
    return written >= 0 && written < bytes.length ? bytes.subarray(written) : null;
  }

  /** Closes at once and abruptly: with TLS, Bun's graceful `end()` waits for the peer, maybe for ever. */
  destroy(): void {
    if (this.phase === "securing") this.#pool.sessions.forget(this.key);
    this.phase = "closed";
    this.owner = NOBODY;
    this.#unsent = null;
    this.#socket?.terminate();
  }

  /**
   * Always verified, whatever `NODE_TLS_REJECT_UNAUTHORIZED` says; an address is no name and sends no SNI.
   */
  #secure(socket: Socket<Connection>): void {
    if (this.phase === "closed") return socket.terminate();
    const { tlsName, tlsCa } = this.#target;
    const serverName = tlsName === null || isIP(tlsName) !== 0 ? "" : tlsName;
    const tls = { serverName, rejectUnauthorized: true, ca: tlsCa };
    this.phase = "securing";
    [, this.#socket] = socket.upgradeTLS({ data: this, tls, socket: Connection.#handlersOfTls });
  }

  #countHandshake(bytes: Buffer): void {
    if (this.phase !== "securing") return;
    this.#handshakeBytes += bytes.length;
    if (this.#handshakeBytes > limit("handshakeBytesMax")) this.#fail("tls_failed");
  }

  #opened(socket: Socket<Connection>): void {
    // Of the half above TLS: `upgradeTLS` calls it at once.
    if (this.phase === "securing") return this.#resume(socket);
    this.#socket = socket;
    if (this.phase === "closed") return socket.terminate();
    this.phase = "ready";
    this.owner.onReady(this);
  }

  #resume(socket: Socket<Connection>): void {
    this.#resumed = this.#pool.sessions.find(this.key, this.openedAt);
    if (this.#resumed !== null) socket.setSession(this.#resumed.bytes);
  }

  #secured(socket: Socket<Connection>, isAuthorized: boolean, error: Error | null): void {
    if (this.phase !== "securing") return;
    if (!isAuthorized || error !== null || !socket.authorized) return this.#fail(classifyTlsError(error));
    if (!socket.isSessionReused()) this.#resumed = null;
    this.phase = "ready";
    this.owner.onReady(this);
  }

  /** Not before the certificate is verified, and not where it is too large to be held for another request. */
  #offered(socket: Socket<Connection>, bytes: Uint8Array): void {
    if (this.phase !== "ready") return;
    socket.reload({ socket: Connection.#handlers });
    const verifiedAt = this.#resumed?.verifiedAt ?? this.openedAt;
    if (this.isLight) this.#pool.sessions.keep(this.key, { bytes, verifiedAt });
  }

  #received(bytes: Buffer): void {
    if (this.phase === "ready") this.owner.onBytes(this, bytes);
  }

  #drained(): void {
    if (this.#unsent !== null) this.#unsent = this.#send(this.#unsent);
  }

  #ended(error: Error | undefined): void {
    const code = this.phase === "securing" ? "tls_failed" : classifySocketError(error);
    this.#fail(code);
    this.#leave();
  }

  #refused(): void {
    this.#fail("connection_refused");
    this.#leave();
  }

  #leave(): void {
    this.#gone?.resolve();
    this.#pool.onGone(this);
  }

  #fail(code: NoAnswerCode): void {
    if (this.phase === "closed") return;
    const { owner } = this;
    this.destroy();
    owner.onClosed(this, code);
  }
}

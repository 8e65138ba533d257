/** What the transport takes and gives. */

import type { NoAnswerCode } from "../core/attempt-error.ts";
import type { UrlParts } from "./url-parts.ts";

export interface TransportRequest {
  method: string;
  /** Checked by `guard.checkUrl`. */
  url: UrlParts;
  /**
   * Whose request it is: a connection serves the requests of one owner alone. What a receiver sends too much
   * may come after the next request has begun, and would be that one's answer.
   */
  owner: string;
  /** Without `host`, `content-length` and all that concerns the connection: the transport adds these. */
  headers: ReadonlyArray<readonly [string, string]>;
  /** May be empty; must not change until the result is there. */
  body: Uint8Array;
  /** In total: name resolution, connecting, TLS, sending, receiving. */
  timeoutMs: number;
  /** A longer answer is cut there, as is one of very many small chunks. */
  maxReadBytes: number;
  /** So much of the answer's body is handed back. */
  maxKeepBytes: number;
  /** Ends the request as `aborted`. One signal may serve many requests. */
  signal?: AbortSignal;
}

/** Header names are in lower case. */
export type TransportResult =
  | {
      kind: "response";
      status: number;
      headers: ReadonlyArray<readonly [string, string]>;
      body: Uint8Array;
      /** The body was longer than what is handed back, or broke off. */
      truncated: boolean;
    }
  /** `socketGone`: the kernel still holds the socket, or a resolver the question, until this resolves. */
  | { kind: "timeout"; code: NoAnswerCode; socketGone?: Promise<void> | undefined }
  | { kind: "unreachable"; code: NoAnswerCode }
  | { kind: "blocked"; code: "address_not_allowed" }
  /** Given up because the process ends, or not begun because it has no file left for a socket. */
  | { kind: "aborted" };

export interface Transport {
  /**
   * Never rejects. Throws a TypeError at once where the method or a header could break out of its line, or a
   * header belongs to the transport: a programming error, as both are checked where they are written.
   */
  send(request: TransportRequest): Promise<TransportResult>;
  /** Sockets open and idle now; connections opened and requests on a reused one since the start. */
  stats(): { open: number; idle: number; connects: number; reused: number };
  /** Ends what is in flight, and all that is sent later, as `aborted`; closes every socket. */
  close(): void;
}

import type { KeptAnswers } from "../../store/kept-answers.ts";
import type { AuditEntry } from "../../core/audit.ts";
import type { Caller } from "../../core/caller.ts";
import type { MovedTo } from "../../core/model.ts";
import type { Share, TurnQueue } from "../../core/structures/turn-queue.ts";
import type { RequestLine } from "../../platform/log.ts";

/** Account and project of the operator's Idempotency-Keys: none has this key, as rows start at 1. */
export const OPERATOR_KEY = 0;

export interface FailureLine {
  requestId: string;
  route: string;
  /** With the stack. */
  error: string;
}

/** What the HTTP side needs from the rest of the service. */
export interface HttpParts {
  /** Printed in the OpenAPI document. */
  version: string;
  /** Where the service is reached from outside. */
  baseUrl: string;
  /**
   * `refused` is the detail of the 401 (a suspended account); `residence`: its account leaves this cell, or
   * has left it; null: the token is not known. `isInWrite`: what the transaction that runs has written counts
   * already.
   */
  authenticate(
    token: string,
    isInWrite?: boolean,
  ): Caller | { refused: string } | { residence: "moving" | MovedTo } | null;
  /** Another number from the write on that revokes a key or changes an account. */
  accessChanges(): number;
  /** null: operator calls are off. */
  operatorToken: string | null;
  /** null: only the operator's token reads the metrics. */
  metricsToken: string | null;
  /** The two characters of this cell, which other cells pass requests on to. */
  cell: string;
  /** Milliseconds since 1970. */
  now(): number;
  /** One line for each request that was answered. */
  logRequest(line: RequestLine): void;
  /** A request that failed for a reason of ours. */
  logFailure(line: FailureLine): void;
  /** Where false, every request but `/healthz` answers 503. */
  isAnswered(request: Request): boolean;
  /**
   * Null where what was written may be answered. Else resolves once it may; never where another machine is
   * the primary by then. What `writeFor` answers has waited for it.
   */
  untilMayGo(): Promise<void> | null;
  /**
   * One durable transaction, of a project or of the service (null). `run` is synchronous and may run again
   * after a rollback; resolves once it is on disk.
   */
  writeFor<T>(projectId: number | null, run: () => T): Promise<T>;
  /** For work on large bodies. */
  turns: TurnQueue;
  /** Begins the share that requests without a body have of a turn. */
  beginArrivals(): Share;
  keptAnswers: Pick<
    KeptAnswers,
    "find" | "giveRoomBack" | "takeRoom" | "save" | "erasuresOf" | "keepUnchanging"
  >;
  /** Called inside `write` only; answers how many bytes the entry weighs. */
  audit: { add(entry: AuditEntry): number };
  /** Requests per second; 0 means no limit. */
  rateLimits: { publish: number; management: number };
  /** What remains of the plan's deliveries to a project; null where nothing limits them. */
  usageRemaining(projectId: number): number | null;
  /** For `/readyz`: `reason` says what is missing. */
  ready(request: Request): { ready: boolean; reason?: string };
  /** For `/metrics`: the Prometheus text. */
  metrics(): Promise<string>;
}

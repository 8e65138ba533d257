import type { Turns } from "../../core/structures/turn-queue.ts";
import { type Static, type TObject, type TSchema, Type } from "@sinclair/typebox";
import type { Caller } from "../../core/caller.ts";
import type { ErrorCode } from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";
import type { Access } from "./access.ts";
import type { AuditNote, AuditRule } from "./audit-rule.ts";
import type { AnswerRoom } from "./large-answer.ts";
import type { AnswerPieces } from "./streamed.ts";

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";

/** Which rate limit a route draws from: `publish` is per project, `management` per key or portal token. */
export type Budget = "publish" | "management" | "none";

/**
 * What is done with the body before the handler runs. `parsed`: JSON, checked against the schema. `raw`:
 * content type and size are checked, the handler parses `ctx.bytes` itself. `opaque`: any content type.
 */
export type BodyMode = "parsed" | "raw" | "opaque";

/**
 * What a handler gives back. `json` goes out as application/json; `body` as it is, with a `content-type` of
 * its own.
 */
export interface Answer {
  status: number;
  json?: unknown;
  body?: string | Uint8Array<ArrayBuffer> | Blob | AnswerPieces;
  headers?: Readonly<Record<string, string>>;
  /** For the audit log; it does not leave. */
  audited?: AuditNote;
  /**
   * The share of a publish that was there already, 0 to 1. Nothing new came of 1, nor will where it is asked
   * again.
   */
  repeated?: number;
}

/** A documented answer. Without a schema it has no body. */
export interface AnswerDoc {
  description: string;
  schema?: TSchema;
  example?: unknown;
  /** Default `application/json`. */
  contentType?: string;
  /** The same status in another form, where a parameter asks for it. */
  otherwise?: { contentType: string; schema: TSchema; example: unknown };
}

/** When an error is answered, by its code. */
export type Refusals = Readonly<Partial<Record<ErrorCode, string>>>;

/** What a route waits for that answers once an attempt is over, with some time between the two. */
export const ATTEMPT_WAIT_SECONDS = limit("attemptTimeoutSecondsMax") + 5;

/** The schema of a query or body that has no fields. */
export const NO_FIELDS = Type.Object({}, { additionalProperties: false });

type ParamNames<Path extends string> = Path extends `${infer Head}/${infer Tail}`
  ? ParamNames<Head> | ParamNames<Tail>
  : Path extends `:${infer Name}`
    ? Name
    : never;

/** What a handler is given. */
export interface RequestContext<
  Path extends string = string,
  Who extends Access = Access,
  Query extends TObject = TObject,
  Body extends TSchema = TSchema,
  Mode extends BodyMode = BodyMode,
> {
  readonly request: Request;
  readonly requestId: string;
  /** null on routes with access `none`, `operator`, `metrics` or `endpoint`. */
  readonly caller: Who extends "none" | "operator" | "metrics" | "endpoint" ? null : Caller;
  readonly params: string extends Path ? Record<string, string> : Record<ParamNames<Path>, string>;
  readonly query: Static<Query>;
  readonly body: Mode extends "parsed" ? Static<Body> : undefined;
  /** The body as it came; empty where there was none. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /**
   * Runs the handler's writes, notes them in the audit log, and keeps the answer for the request's
   * Idempotency-Key, in one durable transaction. Call it once; `run` is synchronous and may run again after
   * a rollback.
   */
  commit(run: () => Answer): Promise<Answer>;
  /**
   * Before a change that `commit` does not write: its answer is kept for the request's Idempotency-Key like
   * that of one. Throws 429 where that has no room, as the change would happen again.
   */
  beginChange(): void;
  /**
   * Takes the permit of a long work, or waits for one, where only the handler knows that it is one (a route
   * without `longWork`). Call it once. Throws 429 where the caller's line is full.
   */
  beginWork(): Promise<void>;
  /**
   * The same for a piece of an answer that goes out piece by piece: answers what gives the permit back, to be
   * called once.
   */
  beginPiece(): Promise<() => void>;
  /** Throws 401 or 403 where the caller may not call any more: asked again by what goes on for long. */
  requireCaller(): void;
  /**
   * Whose share of all large answers this one takes, where the framework knows no caller; what is made of it
   * over several turns is counted in its room. Throws 503 where the share is taken.
   */
  answerFor(accountId: number, member: string): Pick<AnswerRoom, "reach">;
  /** Whose share of all bodies this one takes from now on, where the framework knows no caller. */
  bodyFor(accountId: number, member: string): void;
  /**
   * What is made of the caller's answer over several turns has so many bytes by now: they are counted in its
   * room. Throws 503 where the caller's share is taken.
   */
  readonly reachAnswer: (bytes: number) => void;
  /**
   * Counts so many bytes beside the body's own, until the answer: of what the body unpacks to. Throws 503
   * where there is no room.
   */
  takeRoom(bytes: number): void;
  /**
   * Takes room for so many attempts that no plan counts, once all that refuses the request was asked. Throws
   * 429 where the caller has used up its room (caller-room.ts).
   */
  takeByHand(attempts: number): void;
  /** The caller's turns, for long work: it stops at the next one once the caller has left. */
  readonly turns: Turns;
  /** Takes more from the route's budget than the one that was taken already. Throws 429 `rate_limited`. */
  charge(cost: number): void;
}

/** One operation: routing, validation, errors and documentation derive from it. */
export interface Route<
  Path extends string = string,
  Who extends Access = Access,
  Query extends TObject = TObject,
  Body extends TSchema = TSchema,
  Mode extends BodyMode = BodyMode,
> {
  method: Method;
  /** `/v1/endpoints/:id`. Names of parameters never carry a dash. */
  path: Path;
  operationId: string;
  tag: string;
  summary: string;
  description?: string;
  access: Who;
  budget: Budget;
  /** Each property is one parameter: string, integer, boolean, or a union of literals. */
  query?: Query;
  /** True: the query string is neither checked nor read. */
  ignoresQuery?: boolean;
  body?: Body;
  /** Default `parsed`. */
  bodyMode?: Mode;
  /** Default: the limit `managementBodyBytesMax`. */
  bodyMaxBytes?: number;
  bodyExample?: unknown;
  /** Successes, and a refusal that is no problem document; a string documents an answer without a body. */
  answers: Readonly<Record<number, AnswerDoc | string>>;
  /**
   * When the errors are answered that are this route's own. Those that follow from what it takes are
   * documented by themselves.
   */
  refuses?: Refusals;
  /**
   * Fields of the answer that its kept copy loses, beside `secret`, `key`, `api_key`, `private_key` and
   * `embed_html`. Dotted, lists are walked: `url`, `projects.api_key`.
   */
  secretFields?: readonly string[];
  /**
   * How what `commit` writes stands in the audit log; a sentence says why it does not. Every change of the
   * management API has one.
   */
  audit?: AuditRule | string;
  /** How long the handler may take before it answers, where that is more than a few seconds. */
  waitMaxSeconds?: number;
  /**
   * True: the route holds events in memory while it works. Each caller has a few of all such works under way,
   * and the others wait in its line (long-works.ts). `beginWork` of the context where only the handler knows.
   */
  longWork?: true;
  /** What is answered where an answer is kept for the request's Idempotency-Key; left out: that. */
  repeat?(context: RequestContext<Path, Who, Query, Body, Mode>, kept: Answer): Promise<Answer>;
  /** True: a GET that does something is no HEAD too. */
  refusesHead?: boolean;
  /**
   * True: a parameter whose percent-encoding is broken is handed on as an empty text, and is no 404 of
   * the framework's.
   */
  takesAnyPath?: boolean;
  /** True: each 401 has a line of its own in the log, or is counted in one, and gets none as a request. */
  logsRefusals?: boolean;
  /** Told of a body that is refused for its size, before the answer. */
  onTooLarge?(params: Readonly<Record<string, string>>): void;
  /** True: answers while the service drains. */
  answersWhileDraining?: boolean;
  /** True: not in the OpenAPI document (pages and their assets). */
  hidden?: boolean;
  handle(context: RequestContext<Path, Who, Query, Body, Mode>): Answer | Promise<Answer>;
}

/** A route whose types are of no more interest: what the table holds. */
export type AnyRoute = Route;

/**
 * Declares a route; the types of `params`, `query`, `body` and `caller` in `handle` follow from the
 * other fields.
 */
export function route<
  const Path extends string,
  Who extends Access,
  Query extends TObject = typeof NO_FIELDS,
  Body extends TSchema = typeof NO_FIELDS,
  Mode extends BodyMode = "parsed",
>(spec: Route<Path, Who, Query, Body, Mode>): AnyRoute {
  return spec;
}

/** Names of the parameters in a path. */
export function paramNames(path: string): string[] {
  return path.split("/").flatMap((part) => (part.startsWith(":") ? [part.slice(1)] : []));
}

/** True where a body is read; that of any other request is ignored. */
export function takesBody({ method }: AnyRoute): boolean {
  return method === "POST" || method === "PUT" || method === "PATCH";
}

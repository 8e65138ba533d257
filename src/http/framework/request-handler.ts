import { accountOf, type Caller, memberOf } from "../../core/caller.ts";
import {
  type ErrorCode,
  type Fault,
  INTERNAL,
  invalidAll,
  notFound,
  Problem,
  problemAnswer,
  unavailable,
} from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";
import { isHeavy, type Turns } from "../../core/structures/turn-queue.ts";
import { admit } from "./access.ts";
import { type AnswerHeaders, setAll } from "./answer-headers.ts";
import type { Arrivals } from "./arrivals.ts";
import { auditEntry } from "./audit-entry.ts";
import type { CallerRoom } from "./caller-room.ts";
import { ANYBODY, type BodiesInFlight, type BodyInFlight } from "./bodies-in-flight.ts";
import { AnswerRoom, largeBytesOf } from "./large-answer.ts";
import { isAnswerPieces } from "./streamed.ts";
import { type BodyReader, type Bytes, compileBody, NO_BYTES, readBody, requireJson } from "./request-body.ts";
import {
  fingerprint,
  keyOwnerOf,
  KeyedRequest,
  type RunningKeys,
  readIdempotencyKey,
  takesIdempotencyKey,
} from "./idempotency.ts";
import type { HttpParts } from "./parts.ts";
import { PASSED_ON_IDLE_SECONDS, type PassOn } from "./pass-on.ts";
import { MovedAway } from "./moved.ts";
import type { LongWorks } from "./long-works.ts";
import { compileQuery, type QueryReader } from "./query.ts";
import { type Allowance, rateLimited, rateLimitHeaders, type TokenBuckets } from "./ratelimit.ts";
import { type Answer, type AnyRoute, NO_FIELDS, type RequestContext, takesBody } from "./route.ts";

/** Cuts clients that stop in the middle of a request (slow loris), or of a small answer. */
export const IDLE_TIMEOUT_SECONDS = 10;
const REFUSED = 401;
/**
 * nginx's code for a client that went away: it stands in the log only, as nobody is there to read an answer.
 */
const CLIENT_CLOSED_REQUEST = 499;

/** What all requests of a server share. */
export interface Shared {
  parts: HttpParts;
  buckets: { publish: TokenBuckets; management: TokenBuckets };
  runningKeys: RunningKeys;
  arrivals: Arrivals;
  bodies: BodiesInFlight;
  /** The large ones. */
  answers: BodiesInFlight;
  longWorks: LongWorks;
  auditRoom: CallerRoom;
  byHandRoom: CallerRoom;
  passOn: PassOn;
  headers: AnswerHeaders;
  /** How long the connection of a request may be idle; 0: as long as it takes. */
  extendTimeout(request: Request, seconds: number): void;
}

/** A route with all that can be worked out before the first request. */
export interface PreparedRoute {
  route: AnyRoute;
  takesKey: boolean;
  bodyMaxBytes: number;
  /** null: the query string is not looked at. */
  readQuery: QueryReader | null;
  /** null: the handler parses the bytes itself. */
  parseBody: BodyReader | null;
}

/** Compiles a route. Throws where one of its schemas lets unknown fields pass. */
export function prepareRoute(route: AnyRoute): PreparedRoute {
  const isParsed = takesBody(route) && (route.bodyMode ?? "parsed") === "parsed";
  return {
    route,
    takesKey: takesIdempotencyKey(route),
    bodyMaxBytes: route.bodyMaxBytes ?? limit("managementBodyBytesMax"),
    readQuery: route.ignoresQuery ? null : compileQuery(route.query ?? NO_FIELDS),
    parseBody: isParsed ? compileBody(route.body ?? NO_FIELDS) : null,
  };
}

/** One request, from its arrival to its answer; handlers see it as their context. */
export class RequestHandler implements RequestContext {
  readonly requestId = crypto.randomUUID();
  caller: Caller | null = null;
  query: Readonly<Record<string, unknown>> = {};
  body: unknown = undefined;
  bytes: Bytes = NO_BYTES;
  private allowance: Allowance | null = null;
  private charged = 0;
  private admittedAsOf = 0;
  private keyed: KeyedRequest | null = null;
  private room: BodyInFlight | null = null;
  private answerRoom: AnswerRoom | null = null;
  private endWork: (() => void) | null = null;
  private isAudited = false;
  private refusal: ErrorCode | null = null;
  private readonly startedAt = performance.now();

  constructor(
    private readonly shared: Shared,
    private readonly prepared: PreparedRoute,
    readonly request: Request,
    readonly params: Record<string, string>,
  ) {}

  /** Whatever goes wrong becomes a problem document. */
  async respond(): Promise<Response> {
    let response: Response;
    try {
      this.begin();
      const { route } = this.prepared;
      if (takesBody(route)) this.bytes = await this.readBytes();
      // A long work's body is not parsed before the work has its permit.
      if (route.longWork) await this.beginWork();
      const turn = this.giveWay();
      if (turn !== null) await turn;
      this.room?.settle();
      if (turn !== null || takesBody(route)) this.admitAgain();
      this.readFields();
      const answer = await this.handle();
      // What is answered again, or needs no write, tells of what was written too.
      const mayGo = this.mayChange ? this.shared.parts.untilMayGo() : null;
      if (mayGo !== null) await mayGo;
      // The loop writes as much of it as the connection takes at once.
      if (answer.body instanceof Blob && isHeavy(answer.body.size)) await this.turns.ownTurn();
      response = this.render(answer);
    } catch (error) {
      this.answerRoom?.end();
      response = await this.answerTo(error);
    } finally {
      this.room?.end();
      this.endWork?.();
    }
    this.logAnswer(response.status);
    return response;
  }

  get turns(): Turns {
    const { caller, shared, prepared } = this;
    const { signal } = this.request;
    return caller === null
      ? shared.parts.turns.of(prepared.route.operationId, signal)
      : shared.parts.turns.of(accountOf(caller), signal, memberOf(caller));
  }

  commit(run: () => Answer): Promise<Answer> {
    const committed = this.shared.parts.writeFor(this.caller?.projectId ?? null, () => {
      // The caller's key may be revoked, or its account suspended, since the request came: a body, or a name
      // server of the caller's own, may take many seconds. This very transaction may have done so too.
      this.admitAgain(true);
      this.requireAuditRoom();
      const answer = run();
      this.noteChange(answer);
      this.keyed?.saveChange(answer, this.prepared.route.budget === "publish");
      return answer;
    });
    return this.keyed === null ? committed : this.keyed.keepRoom(committed);
  }

  /** Throws 429. Asked before anything is done, and again inside the write: others wrote meanwhile. */
  private requireAuditRoom(): void {
    const { audit } = this.prepared.route;
    if (this.caller === null || typeof audit !== "object" || audit.isNeverRefused || this.isAudited) return;
    this.shared.auditRoom.take(this.caller, 0, this.shared.parts.now());
  }

  takeByHand(attempts: number): void {
    if (this.caller === null) return;
    const { byHandRoom, parts } = this.shared;
    byHandRoom.take(this.caller, 1, parts.now());
    byHandRoom.spend(this.caller, attempts - 1, parts.now());
  }

  private noteChange(answer: Answer): void {
    const { audit } = this.prepared.route;
    if (typeof audit !== "object") return;
    const bytes = this.shared.parts.audit.add(auditEntry(audit, this, answer));
    // A transaction may run again after a rollback.
    if (this.caller !== null && !this.isAudited)
      this.shared.auditRoom.spend(this.caller, bytes, this.shared.parts.now());
    this.isAudited = true;
  }

  takeRoom(bytes: number): void {
    this.room?.take(bytes);
  }

  bodyFor(accountId: number, member: string): void {
    if (this.caller === null) this.room?.moveTo(accountOf({ accountId }), member);
  }

  beginChange(): void {
    this.keyed?.beginChange();
  }

  charge(cost: number): void {
    const { budget } = this.prepared.route;
    if (budget === "none" || this.caller === null) return;
    const buckets = this.shared.buckets[budget];
    if (buckets.perSecond === 0) return;
    const key =
      budget === "publish" ? `project:${this.caller.projectId}` : `${this.caller.kind}:${this.caller.id}`;
    this.allowance = buckets.take(key, cost, this.shared.parts.now(), this.charged);
    this.charged += cost;
    if (!this.allowance.isGranted) throw rateLimited(buckets.perSecond, this.charged, this.allowance);
  }

  /** What is known without the body: whether the request may be answered at all. */
  private begin(): void {
    this.requireRunning();
    this.requireReadablePath();
    this.caller = this.admit();
    this.charge(1);
    if (this.caller !== null && !this.mayChange && this.shared.answers.bytes > 0)
      this.shared.answers.requireRoom(accountOf(this.caller), memberOf(this.caller));
  }

  /** True where the request may change something: its answer is sent in any case, as it tells of that. */
  private get mayChange(): boolean {
    return takesBody(this.prepared.route) || this.prepared.route.method === "DELETE";
  }

  answerFor(accountId: number, member: string): AnswerRoom {
    const account = accountOf({ accountId });
    this.shared.answers.requireRoom(account, member);
    return (this.answerRoom = new AnswerRoom(() => this.shared.answers.begin(account, member)));
  }

  readonly reachAnswer = (bytes: number): void => (this.answerRoom ??= this.ownAnswerRoom).reach(bytes);

  /** Where the caller is not known, all such callers of a kind share one room. */
  private get ownAnswerRoom(): AnswerRoom {
    const { caller, mayChange, shared, prepared } = this;
    const { access } = prepared.route;
    const name = caller === null ? (access === "none" ? ANYBODY : access) : accountOf(caller);
    const member = caller === null ? "" : memberOf(caller);
    return new AnswerRoom(() => shared.answers.begin(name, member, mayChange));
  }

  private requireRunning(): void {
    if (!this.prepared.route.answersWhileDraining && !this.shared.parts.isAnswered(this.request))
      throw unavailable("The service is starting or stopping. Try again in a moment.");
  }

  /**
   * However many requests are complete in one turn of the loop, no more are answered in it than it has time
   * for; null where this one may be at once. Without a body it is one of many light ones most of the time.
   */
  private giveWay(): Promise<void> | null {
    const { bytes, shared } = this;
    if (isHeavy(bytes.length)) return this.turns.ownTurn();
    const share = bytes === NO_BYTES ? shared.arrivals : shared.parts.turns;
    return share.isOver ? this.turns.next() : null;
  }

  /** Takes the permit of a long work, or waits for one in its caller's line. */
  async beginWork(): Promise<void> {
    const { caller, shared, request } = this;
    if (caller === null) return;
    const permit = shared.longWorks.begin(accountOf(caller), memberOf(caller), this.leaves());
    if (typeof permit === "function") {
      this.endWork = permit;
      this.room?.settle();
      return;
    }
    // The line moves by itself; whoever does not wait for their turn closes the connection.
    shared.extendTimeout(request, 0);
    this.endWork = await permit;
    this.room?.settle();
    shared.extendTimeout(request, (this.prepared.route.waitMaxSeconds ?? 0) + IDLE_TIMEOUT_SECONDS);
    // The process may stop by now, and the caller may be nobody any more.
    this.requireRunning();
    this.admit();
  }

  async beginPiece(): Promise<() => void> {
    const { caller, shared, request } = this;
    if (caller === null) return () => {};
    return shared.longWorks.begin(accountOf(caller), memberOf(caller), request.signal);
  }

  /** What ends a wait: the caller leaves, or the body is refused, which is held no longer then. */
  private leaves(): AbortSignal {
    if (this.room === null) return this.request.signal;
    const refused = new AbortController();
    this.room.whenRefused((problem) => {
      this.bytes = NO_BYTES;
      refused.abort(problem);
    }, true);
    return AbortSignal.any([this.request.signal, refused.signal]);
  }

  requireCaller(): void {
    this.admit();
  }

  /** Throws 401 or 403. */
  private admit(isInWrite = false): Caller | null {
    const { access, method } = this.prepared.route;
    const asOf = this.shared.parts.accessChanges();
    const caller = admit(access, method, this.request, this.shared.parts, isInWrite);
    // Not before: a write whose caller is refused runs once more, where it shared its transaction.
    this.admittedAsOf = asOf;
    return caller;
  }

  /** The same: a key is looked up again only after any key was changed, or once its time is over. */
  private admitAgain(isInWrite = false): void {
    const { parts } = this.shared;
    const isSame = parts.accessChanges() === this.admittedAsOf && this.caller?.kind === "api_key";
    if (!isSame || (this.caller?.expiresAt ?? Infinity) <= parts.now()) this.admit(isInWrite);
  }

  private handle(): Answer | Promise<Answer> {
    const { route, takesKey } = this.prepared;
    const key = takesKey ? readIdempotencyKey(this.request) : null;
    if (key !== null) return this.answerOnce(key);
    this.requireAuditRoom();
    return route.handle(this);
  }

  /** Elysia hands on a parameter whose percent-encoding is broken as null. */
  private requireReadablePath(): void {
    for (const name in this.params) {
      if (typeof this.params[name] === "string") continue;
      if (!this.prepared.route.takesAnyPath) throw notFound("path");
      this.params[name] = "";
    }
  }

  private async readBytes(): Promise<Bytes> {
    const { route, bodyMaxBytes } = this.prepared;
    if (route.bodyMode !== "opaque") requireJson(this.request);
    const { caller, shared } = this;
    const stranger = route.access === "none" ? ANYBODY : route.access;
    this.room =
      caller === null
        ? shared.bodies.begin(stranger)
        : shared.bodies.begin(accountOf(caller), memberOf(caller));
    try {
      const bytes = await readBody(this.request, bodyMaxBytes, this.room);
      if (bytes.length > limit("smallBodyBytesMax"))
        this.room.whenRefused(() => (this.bytes = NO_BYTES), true);
      return bytes;
    } catch (error) {
      if (error instanceof Problem && error.code === "payload_too_large") route.onTooLarge?.(this.params);
      throw error;
    }
  }

  /** Where its account lives in another cell, what that answers. */
  private async answerTo(error: unknown): Promise<Response> {
    const { room, bytes, request, shared } = this;
    if (!(error instanceof MovedAway)) return this.render(this.explain(error));
    shared.extendTimeout(request, PASSED_ON_IDLE_SECONDS);
    const answer = await shared.passOn.send(request, room === null ? null : bytes, error.to);
    return answer instanceof Problem ? this.render(this.explain(answer)) : answer;
  }

  private readFields(): void {
    const { readQuery, parseBody } = this.prepared;
    const faults: Fault[] = [];
    if (readQuery) {
      const query = readQuery(this.request.url);
      this.query = query.values;
      faults.push(...query.faults);
    }
    if (parseBody) {
      const body = parseBody(this.bytes);
      this.body = body.value;
      faults.push(...body.faults);
    }
    if (faults.length > 0) throw invalidAll(faults);
  }

  private answerOnce(key: string): Promise<Answer> {
    const { route } = this.prepared;
    const owner = keyOwnerOf(this.caller);
    const print = fingerprint(this.request, this.bytes);
    const keyed = new KeyedRequest(this.shared.parts, owner, key, print, route.secretFields ?? []);
    return this.shared.runningKeys.hold(owner, key, async () => {
      const kept = keyed.findKept();
      if (kept !== null) return route.repeat?.(this, kept) ?? kept;
      this.requireAuditRoom();
      this.keyed = keyed;
      try {
        const answer = await route.handle(this);
        await keyed.saveUnlessSaved(answer, () => this.admitAgain(true));
        return answer;
      } catch (error) {
        keyed.giveRoomBack();
        throw error;
      }
    });
  }

  private explain(error: unknown): Answer {
    const hasLeft = this.request.signal.aborted && error instanceof Error && error.name === "AbortError";
    if (hasLeft) return { status: CLIENT_CLOSED_REQUEST };
    if (!(error instanceof Problem)) {
      this.shared.parts.logFailure({
        requestId: this.requestId,
        route: this.prepared.route.path,
        error: error instanceof Error ? (error.stack ?? error.message) : String(error),
      });
    }
    const problem = error instanceof Problem ? error : INTERNAL;
    this.refusal = problem.code;
    return problemAnswer(problem, { request_id: this.requestId });
  }

  private render(answer: Answer): Response {
    const { status } = answer;
    const { plain, json } = this.shared.headers;
    const isJson = answer.json !== undefined;
    const content = this.bodyOf(isJson ? JSON.stringify(answer.json) : (answer.body ?? null));
    const response = new Response(content, { status, headers: isJson ? json : plain });
    const { headers } = response;
    headers.set("x-request-id", this.requestId);
    const { budget } = this.prepared.route;
    if (this.allowance && budget !== "none") {
      const { perSecond } = this.shared.buckets[budget];
      setAll(headers, rateLimitHeaders(budget, perSecond, this.allowance));
    }
    if (budget === "publish" && this.caller) {
      const remaining = this.shared.parts.usageRemaining(this.caller.projectId);
      if (remaining !== null) headers.set("sealpost-usage-remaining", String(remaining));
    }
    if (answer.headers) setAll(headers, answer.headers);
    return response;
  }

  /** Of a HEAD nothing is sent, and its answer tells the length: it is bounded as what a GET is sent is. */
  private bodyOf(content: Answer["body"] | null): ConstructorParameters<typeof Response>[0] {
    const bytes = largeBytesOf(content);
    if (bytes !== null) {
      const room = (this.answerRoom ??= this.ownAnswerRoom);
      room.reach(bytes.length);
      if (this.request.method !== "HEAD") return room.send(bytes, this.watchReader());
    }
    if (isAnswerPieces(content))
      return (this.answerRoom ??= this.ownAnswerRoom).stream(content, this.watchReader());
    this.answerRoom?.end();
    if (this.prepared.route.waitMaxSeconds !== undefined) this.limitIdleTime();
    return content;
  }

  /** What is streamed watches its reader itself. Answers what is called once it is over. */
  private watchReader(): () => void {
    this.shared.extendTimeout(this.request, 0);
    // Else the connection stays open, however long nothing more is asked on it.
    return () => this.limitIdleTime();
  }

  private limitIdleTime(): void {
    this.shared.extendTimeout(this.request, IDLE_TIMEOUT_SECONDS);
  }

  private logAnswer(status: number): void {
    if (status === REFUSED && this.prepared.route.logsRefusals) return;
    this.shared.parts.logRequest({
      requestId: this.requestId,
      method: this.request.method,
      route: this.prepared.route.path,
      status,
      refusal: this.refusal,
      durationMs: Math.round((performance.now() - this.startedAt) * 1000) / 1000,
      projectId: this.caller === null ? null : this.caller.projectId,
    });
  }
}

import { Problem, unavailable } from "../../core/errors.ts";
import { areFewHops, loopDetected, readHops } from "../../core/hops.ts";
import { minify } from "../../core/json/json.ts";
import { limit } from "../../core/limits.ts";
import type { Source } from "../../core/model.ts";
import type {
  HandshakeAnswer,
  HttpAnswer,
  InboundRequest,
  Provider,
  Reception,
  RefusalReason,
  VerifiedEvent,
} from "../../inbound/provider.ts";
import type { KeyCache } from "../../inbound/keys.ts";
import { refuseUnknownSource } from "../../inbound/receive.ts";
import { ProofSpent } from "../../pipeline/known.ts";
import type { Accepted, Incoming } from "../../pipeline/pipeline.ts";
import type { RequestSpan } from "../../platform/tracing.ts";
import { addressOf, inboundRequest, readerOf, searchOf } from "../sources/request.ts";
import { visit } from "../sources/provider-network.ts";
import { requireHere } from "../framework/moved.ts";
import { refuseInTime } from "./refusal-time.ts";
import type { Answer, RequestContext } from "../framework/route.ts";
import { rateLimitHeaders } from "../framework/ratelimit.ts";
import type { Needs } from "../framework/services.ts";
import { eventFacts, traced } from "../shared/traced.ts";
import { providerOf } from "../sources/change.ts";
import type { SourceMonitor } from "../sources/monitor.ts";
import { receptionOf } from "../sources/reception.ts";
import { settledStatus } from "../sources/material.ts";

/**
 * How long a provider should wait before it sends again what a paused source or a suspended account refused.
 */
const PAUSE_RETRY_SECONDS = 60;
/** The same of a source that changed twice while a request to it was under way. */
const CHANGE_RETRY_SECONDS = 1;

/** Stands in for a source that does not exist, so that its refusal takes as long as another's. */
const NO_SOURCE = { id: 0, config: {} };

const REFUSED: Answer = { status: 401 };

export type DoorNeeds = Needs<
  | "store"
  | "ids"
  | "tenants"
  | "sources"
  | "pipeline"
  | "tracing"
  | "guard"
  | "transport"
  | "baseUrl"
  | "ingestRateLimit"
  | "durability"
  | "wallNow"
  | "log"
>;

/** What the framework hands over: the request, its body, and the room in which that is counted. */
type Came = Pick<RequestContext, "request" | "bytes" | "takeRoom" | "bodyFor">;

/** A request on its way through the door: judged once more where its source has changed meanwhile. */
interface Knock {
  readonly request: InboundRequest;
  readonly came: Came;
  readonly hops: number;
  /** Headers of its one charge against the source's rate; null before it. */
  rate: Record<string, string> | null;
}

/** What an event is told of the way that it came by. */
type Way = Pick<Incoming, "hops" | "trace">;

/** Judges requests to sources, and lets what is verified through the one door. */
export class IngestDoor {
  constructor(
    private readonly services: DoorNeeds,
    private readonly monitor: SourceMonitor,
    private readonly keys: KeyCache,
  ) {}

  /**
   * The answer to a request to the source `id`. Throws 413, 429, 503 and 508, which tell the provider what to
   * do; everything else that is refused gets the same empty 401.
   */
  receive(id: string, came: Came): Promise<Answer> {
    return refuseInTime(came.bytes.length, () => this.answerTo(id, came));
  }

  private async answerTo(id: string, came: Came): Promise<Answer> {
    const { request, bytes } = came;
    const source = this.findSource(id);
    const arrived = {
      method: request.method,
      headers: readerOf(request.headers),
      search: searchOf(request.url),
      body: bytes,
    };
    if (source === undefined) {
      await refuseUnknownSource(
        id,
        inboundRequest(() => addressOf(this.services, NO_SOURCE), arrived),
      );
      return this.refuse(null, "unknown_source");
    }
    requireHere(this.services, source.projectId);
    const inbound = inboundRequest(() => addressOf(this.services, source), arrived);
    const knock: Knock = { request: inbound, came, hops: readHops(request.headers), rate: null };
    try {
      return await this.judge(source, knock);
    } catch (error) {
      if (!(error instanceof SourceChanged)) throw this.counted(source, error);
    }
    // As its owner has made it meanwhile, with the secrets and for the consumer that it has now.
    const changed = this.findSource(id);
    if (changed === undefined) return this.refuse(null, "unknown_source");
    return this.judge(changed, knock).catch((error: unknown) => {
      throw this.counted(changed, error);
    });
  }

  private async judge(source: Source, knock: Knock): Promise<Answer> {
    const { request, came } = knock;
    const reception = await receptionOf(this.services, this.keys, source, request, came);
    return this.answer(source, providerOf(source), reception, knock);
  }

  /** Counts a refusal of which the provider is told; answers what to throw. */
  private counted(source: Source, error: unknown): unknown {
    if (error instanceof TurnedAway) this.monitor.refuse(source.id, error.reason);
    return error;
  }

  /**
   * Whose body is above the limit is not verified; it is counted all the same, or its owner would look for it
   * in vain.
   */
  refuseTooLarge(id: string): void {
    const source = this.findSource(id);
    this.refuse(source ?? null, source === undefined ? "unknown_source" : "too_large");
  }

  private findSource(id: string): Source | undefined {
    const key = this.services.ids.decode("src", id);
    return key === null ? undefined : this.services.sources.get(key);
  }

  /** Whoever forges learns nothing of a suspension: this is asked after the verification. */
  private requireOpenAccount({ projectId }: Source): void {
    requireHere(this.services, projectId);
    if (this.services.tenants.residenceOf(projectId) !== "suspended") return;
    throw new TurnedAway("suspended", unavailable("This account is suspended.", PAUSE_RETRY_SECONDS));
  }

  private async answer(
    source: Source,
    provider: Provider,
    reception: Reception,
    knock: Knock,
  ): Promise<Answer> {
    if (reception.kind === "refused") return this.refuse(source, reception.reason);
    if (reception.kind === "unavailable")
      throw new TurnedAway("keys_unavailable", unavailable(reception.reason));
    this.requireOpenAccount(source);
    if (reception.kind === "too_large") throw new TurnedAway("too_large", tooLarge());
    if (reception.kind === "answer") return this.answerHandshake(source, provider, reception);
    return this.accept(source, reception, knock);
  }

  private refuse(source: Source | null, reason: RefusalReason): Answer {
    this.monitor.refuse(source?.id ?? null, reason);
    return REFUSED;
  }

  private async answerHandshake(
    source: Source,
    provider: Provider,
    handshake: HandshakeAnswer,
  ): Promise<Answer> {
    const { visitUrl, learnedSecret, pendingVerificationToken: token } = handshake;
    if (visitUrl !== undefined && !(await visit(this.services, visitUrl))) {
      const problem = unavailable("The address that the provider named could not be visited.");
      throw new TurnedAway("visit_failed", problem);
    }
    if (learnedSecret !== undefined || token !== undefined) {
      const kept = await this.keep(source, provider, handshake);
      if (kept === "deleted") return this.refuse(null, "unknown_source");
      if (kept === "late") return this.refuse(source, "unknown_key");
    }
    this.monitor.answer(source.id);
    return answerOf(handshake);
  }

  /** Keeps what a handshake brought; `late` where the source has got another secret meanwhile. */
  private async keep(
    source: Source,
    provider: Provider,
    handshake: HandshakeAnswer,
  ): Promise<"kept" | "late" | "deleted"> {
    const { store, sources } = this.services;
    const { learnedSecret, pendingVerificationToken } = handshake;
    let isFirst = true;
    const kept = await store.write(() => {
      this.requireOpenAccount(source);
      return sources.update(source.id, (current) => {
        isFirst = learnedSecret === undefined || current.signingSecret === source.signingSecret;
        if (!isFirst) return {};
        const change = {
          ...(learnedSecret !== undefined && { signingSecret: learnedSecret }),
          ...(pendingVerificationToken !== undefined && { pendingVerificationToken }),
        };
        return {
          ...change,
          status: settledStatus(provider, { ...current, ...change }, this.services.wallNow()),
        };
      });
    });
    if (kept === null) return "deleted";
    sources.remember(kept);
    const { log, ids } = this.services;
    if (isFirst) log("info", "a handshake brought a secret", { source_id: ids.encode("src", source.id) });
    return isFirst ? "kept" : "late";
  }

  /**
   * The trace begins here, whatever the request says of one: its signature covers no `traceparent`, and the
   * provider's own trace is nobody's here.
   */
  private accept(source: Source, event: VerifiedEvent, knock: Knock): Promise<Answer> {
    return traced(this.services, "/ingest/:id", null, (span) => this.take(source, event, knock, span));
  }

  private async take(
    source: Source,
    event: VerifiedEvent,
    knock: Knock,
    span: RequestSpan | null,
  ): Promise<Answer> {
    const { hops } = knock;
    if (source.status === "paused")
      throw new TurnedAway("paused", unavailable("This source is paused.", PAUSE_RETRY_SECONDS));
    if (!areFewHops(hops)) throw new TurnedAway("loop", loopDetected(hops));
    const rate = (knock.rate ??= this.charge(source));
    const way = { hops, trace: span && span.kept };
    const accepted = await this.write(source, event, way).catch((error: unknown) => {
      if (error instanceof ProofSpent) return null;
      // Too many events wait for the account's plan already.
      if (error instanceof Problem && error.code === "rate_limited")
        throw new TurnedAway("plan_limit", error);
      throw error;
    });
    // The same proof has come before, with other data.
    if (accepted === null) return this.refuse(source, "body_altered");
    span?.say(eventFacts(this.services, accepted));
    const { event: made, duplicate } = accepted;
    this.monitor.accept(source.id, duplicate);
    const answer = answerOf(event.answer(this.services.ids.encode("evt", made.id), duplicate));
    return { ...answer, headers: { ...rate, ...answer.headers } };
  }

  /**
   * Forgeries were refused before: they use up nothing of the rate, and learn nothing of it. Answers the
   * headers that tell of it.
   */
  private charge(source: Source): Record<string, string> {
    const perSecond = source.rateLimitPerSecond ?? this.services.ingestRateLimit;
    const allowance = this.monitor.take(source.id, perSecond);
    if (allowance === null) return {};
    const rate = rateLimitHeaders("ingest", perSecond, allowance);
    if (allowance.isGranted) return rate;
    const headers = { ...rate, "retry-after": String(allowance.retryAfterSeconds) };
    const detail = `The limit of this source is ${perSecond} a second.`;
    throw new TurnedAway("rate_limited", new Problem("rate_limited", detail, { headers }));
  }

  /** The event through the one door, on disk; the pending token of a handshake has served then. */
  private async write(source: Source, event: VerifiedEvent, way: Way): Promise<Accepted> {
    const { pipeline, store, sources } = this.services;
    const { deliveryId, dedupSeconds: keptSeconds, proof } = event;
    const identity = deliveryId === null && proof === null ? null : { deliveryId, keptSeconds, proof };
    const prepared = await pipeline.prepare(source.projectId, [this.incoming(source, event, way)], identity);
    const { accepted } = await prepared.commitAndDispatch((write) => {
      // Asked here too: a throw inside costs all that share the transaction a second try.
      this.requireSame(source);
      const written = store.writeFor(source.projectId, () => {
        this.requireSame(source);
        const [first] = write();
        return { accepted: first, changed: this.forgetToken(source) };
      });
      const remember = ({ changed }: { changed: Source | null }) => changed && sources.remember(changed);
      // At once, as it may change again while deliveries are written. `written` tells what fails.
      void written.then(remember, () => {});
      return written;
    }, source.durability ?? this.services.durability);
    if (accepted === undefined) throw new Error("one event was prepared, and none written");
    return accepted;
  }

  /** Since the source was found its owner may have changed or deleted it: a fetch of keys takes time. */
  private requireSame(source: Source): void {
    if (this.services.sources.get(source.id) !== source) throw new SourceChanged();
    this.requireOpenAccount(source);
  }

  private incoming(source: Source, event: VerifiedEvent, way: Way): Incoming {
    return {
      type: event.type,
      timestamp: this.services.wallNow(),
      data: minify(event.data),
      consumerId: source.consumerId,
      externalId: null,
      sourceId: source.id,
      isTest: false,
      ...way,
    };
  }

  private forgetToken({ id, pendingVerificationToken }: Source): Source | null {
    if (pendingVerificationToken === null) return null;
    return this.services.sources.update(id, () => ({ pendingVerificationToken: null }));
  }
}

/** A refusal of which the provider is told, for its owner's numbers too. It may be thrown inside a write. */
class TurnedAway extends Problem {
  constructor(
    readonly reason: RefusalReason,
    { code, detail, headers = {} }: Problem,
  ) {
    super(code, detail, { headers });
  }
}

class SourceChanged extends TurnedAway {
  constructor() {
    const detail = "This source is being changed. Try again in a moment.";
    super("changed", unavailable(detail, CHANGE_RETRY_SECONDS));
  }
}

function tooLarge(): Problem {
  const max = limit("rewrittenBodyBytesMax");
  return new Problem("payload_too_large", `As JSON the body would be longer than ${max} bytes.`);
}

function answerOf({ status, headers, body }: HttpAnswer): Answer {
  return { status, headers, ...(body !== "" && { body }) };
}

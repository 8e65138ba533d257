import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { defaultResource, resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type SpanExporter,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { INTERNAL, messageOf, Problem } from "../core/errors.ts";
import { limit } from "../core/limits.ts";
import {
  readTraceparent,
  type SamplerName,
  type TraceContext,
  writeTraceparent,
} from "../core/trace-context.ts";

/**
 * The way of events as spans of OpenTelemetry, sent by OTLP over HTTP in JSON: one for each request that
 * brings events, and below it one for each attempt to deliver them. It is imported only where the settings
 * ask for it (src/app.ts): everybody else knows its types, and null where nothing is traced.
 */

export interface TracingSettings {
  /** The collector's base URL, without a slash at the end. */
  endpoint: string;
  headers: Readonly<Record<string, string>>;
  sampler: SamplerName;
  /** From 0 to 1, for the samplers by ratio. */
  ratio: number;
  /** What each span says of this installation. */
  resource: Attributes;
}

/** What became of some spans. `dropped`: as many waited already as may wait. `error`: why they failed. */
export interface Spans {
  result: "exported" | "failed" | "dropped";
  count: number;
  error?: string;
}

export type SpanListener = (spans: Spans) => void;

/** The span of a request that brings events. */
export interface RequestSpan {
  /** What its events keep, for the spans of their attempts; null where nobody will record those. */
  readonly kept: string | null;
  say(facts: Attributes): void;
}

/** The span of an attempt. */
export interface AttemptSpan {
  /** What its receiver is told. */
  readonly traceparent: string;
  readonly isRecorded: boolean;
  /** `errorType`: null where it has delivered. */
  end(facts: Attributes, errorType: string | null): void;
}

export class Tracing {
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;

  constructor(settings: TracingSettings, onSpans: SpanListener) {
    const { endpoint, headers, resource } = settings;
    const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, headers: { ...headers } });
    this.#provider = new TracerProvider({
      resource: defaultResource().merge(resourceFromAttributes(resource)),
      sampler: samplerOf(settings),
      spanProcessors: [new BoundedBatches(exporter, limit("spansWaitingMax"), onSpans)],
    });
    this.#tracer = this.#provider.getTracer("sealpost");
  }

  /**
   * Takes in what a request brings, within a span of its own: below `parent`, or as the first of a trace.
   * What `take` throws is told by the span, and thrown.
   */
  async request<Made extends { status: number }>(
    route: string,
    parent: TraceContext | null,
    take: (span: RequestSpan) => Promise<Made>,
  ): Promise<Made> {
    const attributes = { "http.request.method": "POST", "http.route": route };
    const kind = SpanKind.SERVER;
    const span = this.#tracer.startSpan(`POST ${route}`, { kind, attributes }, contextOf(parent, true));
    // Where nobody asked and nobody records it, its attempts carry nothing either.
    const kept = span.isRecording() || parent !== null ? traceparentOf(span) : null;
    try {
      const made = await take({ kept, say: (facts) => void span.setAttributes(facts) });
      span.setAttribute(STATUS, made.status);
      return made;
    } catch (error) {
      const { status, code } = error instanceof Problem ? error : INTERNAL;
      span.setAttribute(STATUS, status);
      // A refusal is the caller's error, and none of a server's span (semantic conventions of HTTP).
      if (status >= 500) fail(span, code);
      throw error;
    } finally {
      span.end();
    }
  }

  /** Below what its event keeps, perhaps days later and in another process. */
  attempt(kept: string): AttemptSpan {
    const parent = contextOf(readTraceparent(kept), false);
    const span = this.#tracer.startSpan("deliver", { kind: SpanKind.CLIENT }, parent);
    return {
      traceparent: traceparentOf(span),
      isRecorded: span.isRecording(),
      end(facts, errorType) {
        span.setAttributes(facts);
        if (errorType !== null) fail(span, errorType);
        span.end();
      },
    };
  }

  /** Sends what waits. Rejects where the collector does not take it. */
  stop(): Promise<void> {
    return this.#provider.shutdown();
  }
}

const STATUS = "http.response.status_code";

function fail(span: Span, type: string): void {
  span.setAttribute("error.type", type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

function traceparentOf(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return writeTraceparent({ traceId, spanId, isSampled: (traceFlags & TraceFlags.SAMPLED) !== 0 });
}

function contextOf(parent: TraceContext | null, isRemote: boolean): Context {
  if (parent === null) return ROOT_CONTEXT;
  const { traceId, spanId, isSampled } = parent;
  const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote });
}

function samplerOf({ sampler, ratio }: TracingSettings): Sampler {
  const [on, off] = [new AlwaysOnSampler(), new AlwaysOffSampler()];
  const always = sampler.endsWith("always_off") ? off : on;
  const root = sampler.endsWith("traceidratio") ? new TraceIdRatioBasedSampler(ratio) : always;
  if (sampler.startsWith("parentbased_")) return new ParentBasedSampler({ root });
  if (root === always) return root;
  // The publisher chooses the id of its trace, and with it what the library's sampler says. An attempt's
  // parent is a span of our own, whose verdict it shares.
  const drawn: Sampler = { shouldSample: () => (Math.random() < ratio ? on : off).shouldSample() };
  return new ParentBasedSampler({ root, remoteParentSampled: drawn, remoteParentNotSampled: drawn });
}

/**
 * Sends spans in batches, one batch at a time. Of those that wait and those that are under way there are no
 * more than `heldMax`, however slow the collector is: further ones are dropped, and each is counted. The
 * library's own queue leaves out what is under way, and tells nobody what it drops.
 */
class BoundedBatches implements SpanProcessor {
  readonly #batches: BatchSpanProcessor;
  #held = 0;

  constructor(
    exporter: SpanExporter,
    private readonly heldMax: number,
    private readonly onSpans: SpanListener,
  ) {
    const counting: SpanExporter = {
      export: (spans, done) =>
        exporter.export(spans, (result) => {
          this.#held -= spans.length;
          const { length: count } = spans;
          if (result.error === undefined) onSpans({ result: "exported", count });
          else onSpans({ result: "failed", count, error: messageOf(result.error) });
          done(result);
        }),
      shutdown: () => exporter.shutdown(),
    };
    this.#batches = new BatchSpanProcessor({ exporter: counting, maxQueueSize: heldMax });
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if (this.#held >= this.heldMax) return this.onSpans({ result: "dropped", count: 1 });
    this.#held++;
    this.#batches.onEnd(span);
  }

  forceFlush(): Promise<void> {
    return this.#batches.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#batches.shutdown();
  }
}

import { readTraceparent, TRACEPARENT_HEADER } from "../../core/trace-context.ts";
import type { Accepted } from "../../pipeline/pipeline.ts";
import type { RequestSpan } from "../../platform/tracing.ts";
import type { Answer } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";

/** Takes events in: where anything is traced, within a span of the trace that `headers` name. */
export function traced(
  { tracing }: Needs<"tracing">,
  route: string,
  headers: Headers | null,
  take: (span: RequestSpan | null) => Promise<Answer>,
): Promise<Answer> {
  if (tracing === null) return take(null);
  return tracing.request(route, headers && readTraceparent(headers.get(TRACEPARENT_HEADER)), take);
}

/** What the span of a request says of the event that it brought. */
export function eventFacts(
  { ids }: Needs<"ids">,
  { event, duplicate }: Accepted,
): Record<string, string | boolean> {
  return {
    "sealpost.project.id": ids.encode("proj", event.projectId),
    "sealpost.event.id": ids.encode("evt", event.id),
    "sealpost.event.type": event.type,
    "sealpost.event.duplicate": duplicate,
  };
}

/** The same of a batch, whose events share its span. */
export function batchFacts(
  { ids }: Needs<"ids">,
  projectId: number,
  events: readonly unknown[],
): Record<string, string | number> {
  return {
    "sealpost.project.id": ids.encode("proj", projectId),
    "messaging.batch.message_count": events.length,
  };
}

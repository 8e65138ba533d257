import type { Endpoint } from "../core/model.ts";
import type { Load } from "../core/waiting.ts";
import type { Tracing } from "../platform/tracing.ts";
import { send, type SendParts, type Sent } from "./send.ts";

/** `send`, as a span of the event's trace, whose place in it the receiver is told; else as it is. */
export async function sendTraced(
  tracing: Tracing,
  parts: SendParts,
  endpoint: Endpoint,
  load: Load,
): Promise<Sent | null> {
  if (load.trace === null) return send(parts, endpoint, load);
  const span = tracing.attempt(load.trace);
  const sent = await send(parts, endpoint, { ...load, traceparent: span.traceparent });
  if (span.isRecorded) span.end(factsOf(parts, endpoint, load, sent), errorTypeOf(sent));
  return sent;
}

type Facts = Record<string, string | number>;

/**
 * By the semantic conventions of HTTP where those have a name. Of the address the host alone: path and query
 * may hold credentials.
 */
function factsOf({ ids }: Pick<SendParts, "ids">, endpoint: Endpoint, load: Load, sent: Sent | null): Facts {
  const { id, eventId, projectId, attemptCount } = load.delivery;
  return {
    "sealpost.project.id": ids.encode("proj", projectId),
    "sealpost.event.id": ids.encode("evt", eventId),
    "sealpost.event.type": load.type,
    "sealpost.delivery.id": ids.encode("msg", id),
    "sealpost.endpoint.id": ids.encode("ep", endpoint.id),
    "sealpost.endpoint.kind": endpoint.kind,
    "sealpost.attempt.number": attemptCount + 1,
    ...(sent && requestFacts(sent)),
  };
}

function requestFacts({ requestHead, statusCode, outcome }: Sent): Facts {
  const [, method, url] = /^(\S+) (\S+)/.exec(requestHead ?? "") ?? [];
  const { hostname, port, protocol } = new URL(url ?? "http://none");
  return {
    "sealpost.attempt.outcome": outcome,
    ...(method !== undefined && {
      "http.request.method": method,
      "server.address": hostname,
      "server.port": Number(port) || (protocol === "https:" ? 443 : 80),
    }),
    ...(statusCode !== null && { "http.response.status_code": statusCode }),
  };
}

/** Null where it has delivered. `given_up`: the process ends, or has no file left for a socket. */
function errorTypeOf(sent: Sent | null): string | null {
  if (sent === null) return "given_up";
  if (sent.outcome === "delivered") return null;
  return sent.error?.code ?? String(sent.statusCode ?? sent.outcome);
}

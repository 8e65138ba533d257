import { type Static, Type } from "@sinclair/typebox";
import type { Caller } from "../../core/caller.ts";
import { type Fault, invalid, invalidAll, notFound } from "../../core/errors.ts";
import { compileFilter, type Filter } from "../../core/filter/filter.ts";
import { limit } from "../../core/limits.ts";
import type { Endpoint } from "../../core/model.ts";
import { compileTransformations, type Transformation } from "../../core/transform/transform.ts";
import type { RoutedEvent } from "../../pipeline/audience.ts";
import { filterShape } from "../endpoints/shape.ts";
import { transformationsShape } from "../endpoints/transformation-shape.ts";
import { warningsPart } from "../endpoints/filter-warnings.ts";
import { newEventShape, readInnerEvent } from "../events/input.ts";
import { isBodyGone } from "../../store/log/events.ts";
import { BODY_GONE } from "../events/shape.ts";
import { findEvent, seenEndpoint, withData } from "../shared/lookups.ts";
import type { Needs } from "../framework/services.ts";
import { idText, nullable, timeInput } from "../shared/shapes.ts";

const pastedEventShape = Type.Object(
  {
    ...newEventShape.properties,
    data: Type.Object({}, { additionalProperties: true }),
    timestamp: Type.Optional(timeInput({ description: "Default: now." })),
  },
  { additionalProperties: false, description: "An event that need not exist." },
);

/** The body of POST /v1/endpoints/preview. */
export const previewShape = Type.Object(
  {
    event: Type.Optional(pastedEventShape),
    event_id: Type.Optional(idText("evt", { description: "A stored event." })),
    last: Type.Optional(
      Type.Integer({ minimum: 1, maximum: limit("historyMax"), description: "The newest stored events." }),
    ),
    endpoint_id: Type.Optional(
      idText("ep", { description: "Its types, consumer, filter and transformations apply." }),
    ),
    filter: Type.Optional(nullable(filterShape, "In place of the endpoint's; null: every event.")),
    transformations: Type.Optional(nullable(transformationsShape, "In place of the endpoint's; null: none.")),
  },
  { additionalProperties: false },
);

export type PreviewBody = Static<typeof previewShape>;

/** What a previewed event goes through. */
export interface Shaping {
  endpoint: Endpoint | null;
  filter: Filter | null;
  transformation: Transformation | null;
  warnings?: Fault[];
}

/**
 * Throws 422 with every fault of filter and transformations, and 404 for an endpoint that the caller does
 * not see.
 */
export function readShaping(
  services: Needs<"ids" | "endpoints">,
  caller: Caller,
  body: PreviewBody,
): Shaping {
  const faults: Fault[] = [];
  const endpoint = readEndpoint(services, caller, body.endpoint_id);
  const { filter = endpoint?.filter ?? null, transformations = endpoint?.transformations ?? null } = body;
  const shaping = {
    endpoint,
    filter: filter === null ? null : readFilter(filter, faults),
    transformation: transformations === null ? null : readTransformation(transformations, faults),
  };
  if (faults.length > 0) throw invalidAll(faults);
  return { ...shaping, ...warningsPart(filter) };
}

function readEndpoint(
  services: Needs<"ids" | "endpoints">,
  caller: Caller,
  id: string | undefined,
): Endpoint | null {
  if (id === undefined) return null;
  const endpoint = seenEndpoint(services, caller, id);
  if (endpoint === null) throw notFound("endpoint");
  return endpoint;
}

function readFilter(source: unknown, faults: Fault[]): Filter | null {
  const compiled = compileFilter(source);
  if (compiled.ok) return compiled.filter;
  faults.push(...below("/filter", compiled.faults));
  return null;
}

function readTransformation(source: unknown, faults: Fault[]): Transformation | null {
  const compiled = compileTransformations(source);
  if (compiled.ok) return compiled.transformation;
  faults.push(...below("/transformations", compiled.faults));
  return null;
}

function below(prefix: string, faults: readonly Fault[]): Fault[] {
  return faults.map(({ pointer, detail }) => ({ pointer: prefix + pointer, detail }));
}

/** Throws 422 where the body does not say on what to try: exactly one of `event`, `event_id` and `last`. */
export function requireOneSubject({ event, event_id: eventId, last }: PreviewBody): void {
  const given = Object.entries({ event, event_id: eventId, last }).filter(([, value]) => value !== undefined);
  const detail = "Give one of `event`, `event_id` and `last`.";
  if (given.length === 0) throw invalid("/event", detail);
  const [, second] = given;
  if (second !== undefined) throw invalid(`/${second[0]}`, detail);
}

/**
 * The one event of a preview. A pasted one is of its own `consumer_id`; without one it is of the caller's
 * consumer or, where an endpoint is named, of the endpoint's. Throws 422, 413 for one that is larger than an
 * event may be, and 404 for an event that the caller does not see.
 */
export function readSubject(
  services: Needs<"ids" | "events" | "wallNow">,
  caller: Caller,
  body: PreviewBody,
  bytes: Uint8Array,
  endpoint: Endpoint | null,
): RoutedEvent {
  if (body.event_id !== undefined) {
    const stored = withData(services, findEvent(services, caller, body.event_id));
    if (isBodyGone(stored)) throw invalid("/event_id", BODY_GONE);
    return stored;
  }
  const event = readInnerEvent(bytes, "event", body.event, services.wallNow());
  if (caller.consumerId !== null && event.consumerId !== null && event.consumerId !== caller.consumerId)
    throw invalid("/event/consumer_id", "This portal link sees events of its own consumer only.");
  return { ...event, consumerId: event.consumerId ?? caller.consumerId ?? endpoint?.consumerId ?? null };
}

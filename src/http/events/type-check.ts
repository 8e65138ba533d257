import { type Fault, FAULTS_MAX, invalidAll, Problem } from "../../core/errors.ts";
import type { Json } from "../../core/json/value.ts";
import type { EventType } from "../../core/model.ts";
import type { Pieces } from "../../core/structures/turn-queue.ts";
import type { Incoming } from "../../pipeline/pipeline.ts";
import type { RequestContext } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";

/**
 * What the project's event types ask of published events. Inbound and test events are not held to it,
 * and neither is an event whose `external_id` is there already: it is answered, not accepted.
 */

/** What of a request is asked here. */
type Publication = Pick<RequestContext<string, "publish">, "caller" | "turns">;

/**
 * Throws 422 `invalid_request` at `/type` for types that the project does not know where it rejects those,
 * and 422 `schema_violation` below `/data` for what violates the schema of its type. `pointerTo` leads to an
 * event of the request by its place.
 */
export function requireValidForType(
  services: Needs<"tenants" | "eventTypes" | "events">,
  context: Publication,
  events: readonly Incoming[],
  pointerTo: (at: number) => string,
): Promise<void> | undefined {
  const { projectId } = context.caller;
  requireKnownTypes(services, projectId, events, pointerTo);
  for (const event of events)
    if (typeOf(services, projectId, event) !== null)
      return requireSchemas(services, context, events, pointerTo);
  return undefined;
}

async function requireSchemas(
  services: Needs<"eventTypes" | "events">,
  { caller: { projectId }, turns }: Publication,
  events: readonly Incoming[],
  pointerTo: (at: number) => string,
): Promise<void> {
  const faults: Fault[] = [];
  for (const [at, event] of events.entries()) {
    const type = typeOf(services, projectId, event);
    if (type === null || isThere(services, projectId, event)) continue;
    const found = await turns.inPieces(event.data.length, () => validate(services, type, event.data));
    for (const { pointer, detail } of found)
      faults.push({ pointer: `${pointerTo(at)}/data${pointer}`, detail });
    if (faults.length >= FAULTS_MAX) break;
  }
  if (faults.length === 0) return;
  throw new Problem("schema_violation", "The data violates the schema of its event type.", {
    errors: faults,
  });
}

function* validate({ eventTypes }: Needs<"eventTypes">, type: EventType, text: string): Pieces<Fault[]> {
  const isCompiled = eventTypes.isCompiled(type);
  const schema = eventTypes.schemaOf(type);
  // A compile may take as long as to parse large data.
  if (!isCompiled) yield;
  // A large one was parsed a moment ago, and is parsed again here: to keep what came of it costs more.
  const data = JSON.parse(text) as Json;
  yield;
  return schema?.validate(data) ?? [];
}

function requireKnownTypes(
  services: Needs<"tenants" | "eventTypes" | "events">,
  projectId: number,
  events: readonly Incoming[],
  pointerTo: (at: number) => string,
): void {
  const { tenants, eventTypes } = services;
  if (tenants.project(projectId)?.unknownEventTypes !== "reject") return;
  const faults: Fault[] = [];
  for (const [at, event] of events.entries()) {
    if (eventTypes.find(projectId, event.type) || isThere(services, projectId, event)) continue;
    const detail = `This project has no event type ${event.type}, and rejects unknown ones.`;
    faults.push({ pointer: `${pointerTo(at)}/type`, detail });
    if (faults.length === FAULTS_MAX) break;
  }
  if (faults.length > 0) throw invalidAll(faults);
}

/** The event's type, where that has a schema. */
function typeOf(
  { eventTypes }: Needs<"eventTypes">,
  projectId: number,
  { type }: Incoming,
): EventType | null {
  const known = eventTypes.find(projectId, type);
  return known === undefined || known.schema === null ? null : known;
}

function isThere({ events }: Needs<"events">, projectId: number, { externalId }: Incoming): boolean {
  return externalId !== null && events.findExternal(projectId, externalId) !== null;
}

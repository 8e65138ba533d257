import { isDeepStrictEqual } from "node:util";
import { publicKeyOf, readPrivateKey } from "../../core/signing.ts";
import { fittedEndpoint, fittedEventType } from "./fitness.ts";
import {
  type EndpointRecord,
  EVENT_TYPE_FIELDS,
  type EventTypeRecord,
  type ImportRecord,
} from "./records.ts";
import { changedFields, digestOf, type FoundEndpoint, type FoundEventType, type Target } from "./target.ts";

/** What becomes of each record, decided before anything is written. */

export type Verb = "make" | "change" | "keep" | "leave_out";

interface Fate {
  verb: Verb;
  /** Why it is left out, or what of it changes. */
  reasons: readonly string[];
  /** Left out, and that is as it should be. */
  isExpected?: boolean;
}

export interface EventTypeStep extends Fate {
  record: EventTypeRecord;
}

export interface EndpointStep extends Fate {
  record: EndpointRecord;
  /** The endpoint that is there already; null: none. */
  endpointId: string | null;
}

export type Step = EventTypeStep | EndpointStep;

export interface Plan {
  eventTypes: EventTypeStep[];
  endpoints: EndpointStep[];
  /** Their number: nothing is made for them. */
  consumers: number;
}

/** Event types first: where a project takes no other, endpoints wait for what is published after them. */
export function stepsOf({ eventTypes, endpoints }: Plan): Step[] {
  return [...eventTypes, ...endpoints];
}

export function isEventTypeStep(step: Step): step is EventTypeStep {
  return step.record.record === "event_type";
}

/** A source whose records are all that it has. */
export interface Whole {
  /** What their ids begin with. */
  idsBeginWith: string;
  /** As in the records. */
  source: string;
}

/** Where the records are the whole of a source, what an earlier run made of it and is gone is told. */
export async function planOf(
  records: AsyncIterable<ImportRecord>,
  target: Target,
  whole: Whole | null,
): Promise<Plan> {
  const plan: Plan = { eventTypes: [], endpoints: [], consumers: 0 };
  const seen = new Set<string>();
  for await (const record of records) {
    const name = record.record === "event_type" ? record.name : record.id;
    const isAgain = seen.has(`${record.record} ${name}`);
    seen.add(`${record.record} ${name}`);
    if (record.record === "consumer") plan.consumers += isAgain ? 0 : 1;
    else if (record.record === "event_type") plan.eventTypes.push(eventTypeStep(record, target, isAgain));
    else plan.endpoints.push(await endpointStep(record, target, isAgain));
  }
  for (const [id, [found]] of target.endpoints) {
    if (whole === null || found === undefined || seen.has(`endpoint ${id}`)) continue;
    const isOfIt = id.startsWith(whole.idsBeginWith) && found.mark.source === whole.source;
    if (isOfIt) plan.endpoints.push(goneStep(id, found.id));
  }
  return plan;
}

/** Nothing is deleted by an import: another token of the same address may see what this one does not. */
function goneStep(id: string, endpointId: string): EndpointStep {
  const reason = `it is no longer there, or this token does not see it: delete ${endpointId} in Sealpost, where that is right`;
  return { record: { record: "endpoint", id }, endpointId, verb: "leave_out", reasons: [reason] };
}

const TWICE: Fate = { verb: "leave_out", reasons: ["it stands there before"] };

function eventTypeStep(given: EventTypeRecord, { eventTypes }: Target, isAgain: boolean): EventTypeStep {
  const record = fittedEventType(given);
  if (isAgain) return { record, ...TWICE };
  const { cannot: reasons = [] } = record;
  if (reasons.length > 0) return { record, verb: "leave_out", reasons };
  const found = eventTypes.get(record.name);
  if (found === undefined) return { record, verb: "make", reasons: [] };
  const changed = changesOf(record, found);
  return { record, verb: changed.length > 0 ? "change" : "keep", reasons: changed };
}

/** What the record does not mention stays as it is. */
function changesOf(record: EventTypeRecord, found: FoundEventType): string[] {
  return EVENT_TYPE_FIELDS.filter(
    (name) => record[name] !== undefined && !isDeepStrictEqual(record[name], found[name]),
  );
}

async function endpointStep(given: EndpointRecord, target: Target, isAgain: boolean): Promise<EndpointStep> {
  const record = fittedEndpoint(given);
  const [found, other] = target.endpoints.get(record.id) ?? [];
  const step = { record, endpointId: found?.id ?? null };
  if (isAgain) return { ...step, ...TWICE };
  if (record.disabled === true) return { ...step, ...disabledAs(found) };
  const { cannot = [] } = record;
  if (cannot.length > 0) return { ...step, ...heldBack(cannot, found?.id) };
  if (found === undefined) return { ...step, verb: "make", reasons: [] };
  if (other !== undefined) {
    const twice = `it is in Sealpost twice: delete ${found.id} or ${other.id}`;
    return { ...step, verb: "leave_out", reasons: [twice] };
  }
  if (found.mark.digest === digestOf(record)) return { ...step, verb: "keep", reasons: [] };
  const renewed = await renewedKey(record, found, target);
  if (renewed !== null) {
    const reason = `it has another ${renewed} now: delete ${found.id} in Sealpost, and run this again`;
    return { ...step, verb: "leave_out", reasons: [reason] };
  }
  return { ...step, verb: "change", reasons: changedFields(record, found) };
}

/** The key of a record that is not the endpoint's, by its name; null: none. No PATCH can change one. */
async function renewedKey(
  { secret, private_key: privateKey }: EndpointRecord,
  { id, shown }: FoundEndpoint,
  target: Target,
): Promise<string | null> {
  if (secret !== undefined && (await target.secretOf(id)) !== secret) return "secret";
  const key = privateKey === undefined ? null : readPrivateKey(privateKey);
  return key !== null && publicKeyOf(key) !== shown.public_key ? "private_key" : null;
}

/**
 * One that is there all the same cannot be compared: a file brought it along, with what was missing put in,
 * or what holds it back is new there.
 */
function heldBack(cannot: readonly string[], endpointId: string | undefined): Fate {
  const stays = endpointId === undefined ? [] : [`${endpointId} stays as it is`];
  return { verb: "leave_out", reasons: [...cannot, ...stays] };
}

/** It gets nothing there, and would get here what matches. What an earlier run made is not deleted. */
function disabledAs(found: FoundEndpoint | undefined): Fate {
  if (found === undefined || found.shown.status !== "active")
    return { verb: "leave_out", reasons: ["it is disabled there"], isExpected: true };
  const reason = `it is disabled there by now: delete ${found.id} in Sealpost, or pause it`;
  return { verb: "leave_out", reasons: [reason] };
}

import { Type } from "@sinclair/typebox";
import { addUnknownField, type Fault, FAULTS_MAX, invalid, invalidAll } from "../../core/errors.ts";
import { type Span } from "../../core/json/json.ts";
import { isObject } from "../../core/json/value.ts";
import { cutList, type CutText } from "../../core/json/cut.ts";
import { limit } from "../../core/limits.ts";
import type { Turns } from "../../core/structures/turn-queue.ts";
import type { Incoming } from "../../pipeline/pipeline.ts";
import { decodeJson, parseText } from "../framework/request-body.ts";
import { dataOf, eventTooLarge, newEventShape, readFields, requireDepth, requireEventSize } from "./input.ts";

/**
 * Reads a batch. It may be eight times as long as an event, so it is never parsed as a whole: its events are
 * cut out of the text, and each is read by itself, with turns for others in between.
 */

const EVENTS = { name: "events", countMax: limit("batchEventsMax"), lengthMax: limit("eventBodyBytesMax") };
/** Objects around an event. */
const LEVELS_ABOVE = 2;

/** For the document; `readBatch` is what checks. */
export const newBatchShape = Type.Object(
  { events: Type.Array(newEventShape, { minItems: 1, maxItems: limit("batchEventsMax") }) },
  { additionalProperties: false },
);

/**
 * The events of a batch, in order. `charge` is told their number before they are parsed. Rejects
 * with 400, 422 with the faults of all events, and 413 where one event is larger than an event may be.
 */
export async function readBatch(
  bytes: Uint8Array,
  now: number,
  turns: Turns,
  charge: (count: number) => void,
): Promise<Incoming[]> {
  const text = decodeJson(bytes);
  const { rest, elements, superseded } = await cut(text, turns);
  requireWhole(rest, [...superseded, ...elements], bytes);
  charge(elements.length);
  await parseAll(text, superseded, bytes, turns, () => {});
  const faults: Fault[] = [];
  const events: Incoming[] = [];
  await parseAll(text, elements, bytes, turns, (value, at) => {
    if (faults.length >= FAULTS_MAX) return;
    const event = readFields(value, `/events/${at}`, now, faults);
    if (event !== null) events.push(event);
  });
  if (faults.length > 0) throw invalidAll(faults);
  for (const [at, { start, end }] of elements.entries()) {
    await turns.giveWay();
    const event = events[at];
    if (event) event.data = dataOf(text.slice(start, end), 0);
  }
  return events;
}

async function cut(text: string, turns: Turns): Promise<CutText> {
  const parts = cutList(text, EVENTS);
  for (;;) {
    const { done, value } = parts.next();
    if (done) return value;
    await turns.giveWay();
  }
}

/** The body around its events: an object with nothing but a list of the right length. */
function requireWhole(rest: string, elements: readonly Span[], bytes: Uint8Array): void {
  const last = elements.at(-1);
  if (last !== undefined && last.end - last.start > EVENTS.lengthMax)
    throw eventTooLarge(`/events/${elements.length - 1}`);
  if (elements.length > EVENTS.countMax) throw invalidAll([EXPECTED_EVENTS]);
  if (rest.length > limit("eventBodyBytesMax")) {
    throw invalid("", "Expected an object with `events` alone, and little white space.");
  }
  requireDepth(rest);
  const whole = parseText(rest, bytes);
  if (!isObject(whole)) throw invalid("", "Expected an object.");
  const faults: Fault[] = [];
  for (const name of Object.keys(whole)) if (name !== EVENTS.name) addUnknownField(faults, "", name);
  if (whole.events === undefined) faults.push({ pointer: "/events", detail: "This field is required." });
  else if (!Array.isArray(whole.events) || whole.events.length === 0) faults.push(EXPECTED_EVENTS);
  if (faults.length > 0) throw invalidAll(faults);
}

const EXPECTED_EVENTS: Fault = {
  pointer: "/events",
  detail: `Expected a list of 1 to ${EVENTS.countMax} entries.`,
};

/** Of what was parsed nothing is kept in the next turn but what `take` makes of it: it may be very large. */
async function parseAll(
  text: string,
  elements: readonly Span[],
  bytes: Uint8Array,
  turns: Turns,
  take: (value: unknown, at: number) => void,
): Promise<void> {
  for (const [at, { start, end }] of elements.entries()) {
    await turns.giveWay(end - start);
    const element = text.slice(start, end);
    requireEventSize(element, `/events/${at}`);
    requireDepth(element, LEVELS_ABOVE);
    await turns.giveWay(end - start);
    take(parseText(element, bytes, `/events/${at}`), at);
  }
}

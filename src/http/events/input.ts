import { Type } from "@sinclair/typebox";
import { addUnknownField, type Fault, invalid, invalidAll, Problem } from "../../core/errors.ts";
import { isEventType } from "../../core/event-type.ts";
import { depthOf, memberSpan, minify } from "../../core/json/json.ts";
import { isObject } from "../../core/json/value.ts";
import { limit } from "../../core/limits.ts";
import { parseRfc3339 } from "../../core/rfc3339.ts";
import type { Turns } from "../../core/structures/turn-queue.ts";
import type { Incoming } from "../../pipeline/pipeline.ts";
import { decodeJson, parseText } from "../framework/request-body.ts";
import { EXPECTED_CONSUMER, consumerText, nameText, timeShape, typeText } from "../shared/shapes.ts";

/**
 * Reads published events. By hand, not by schema: it is the hot path, and `data` is cut out of the text as it
 * came, since a parsed number no longer knows how it was written.
 */

const CONTROL = /\p{Cc}/u;

/** For the document; `readEvent` is what checks. */
export const newEventShape = Type.Object(
  {
    type: typeText(),
    data: Type.Object(
      {},
      {
        additionalProperties: true,
        description: "Kept and sent as it is written, without white space between tokens.",
      },
    ),
    timestamp: Type.Optional({
      ...timeShape,
      description: "When it happened, with any offset. Default: now.",
    }),
    consumer_id: Type.Optional(
      consumerText({
        description: "Whose event it is: endpoints of other consumers do not get it.",
      }),
    ),
    external_id: Type.Optional(
      nameText(limit("externalIdLengthMax"), {
        description:
          "Your own id, unique in the project while the event is retained. Only the id is compared: with another type or " +
          "other data the first event is answered all the same.",
      }),
    ),
  },
  { $id: "NewEvent", additionalProperties: false },
);

/**
 * The event that a body spells. `now`: its timestamp where it names none. Throws 400 or 422 with all faults.
 */
export function readEvent(bytes: Uint8Array, now: number): Incoming {
  const text = textOf(bytes);
  const event = readWhole(text, bytes, now);
  event.data = dataOf(text, 0);
  return event;
}

/** The same for a large one, each part of the work in a turn of its own. */
export async function readLargeEvent(bytes: Uint8Array, now: number, turns: Turns): Promise<Incoming> {
  const text = textOf(bytes);
  await turns.ownTurn();
  const event = readWhole(text, bytes, now);
  await turns.ownTurn();
  event.data = dataOf(text, 0);
  return event;
}

/** All but `data`. */
function readWhole(text: string, bytes: Uint8Array, now: number): Incoming {
  const faults: Fault[] = [];
  const event = readFields(parseText(text, bytes), "", now, faults);
  if (event === null) throw invalidAll(faults);
  return event;
}

/**
 * The event that stands under `name` in a body which was parsed and checked before; `value` is it, parsed.
 * Throws 422 with all faults, and 413 where it is larger than an event may be.
 */
export function readInnerEvent(bytes: Uint8Array, name: string, value: unknown, now: number): Incoming {
  const faults: Fault[] = [];
  const event = readFields(value, `/${name}`, now, faults);
  if (event === null) throw invalidAll(faults);
  const text = decodeJson(bytes);
  const { start = 0, end = 0 } = memberSpan(text, name) ?? {};
  requireEventSize(text.slice(start, end), `/${name}`);
  return { ...event, data: dataOf(text, start) };
}

/** Throws 413 where the text of an event, which stands at `pointer` in a body, is larger than one may be. */
export function requireEventSize(text: string, pointer: string): void {
  const max = limit("eventBodyBytesMax");
  if (text.length * 3 > max && Buffer.byteLength(text) > max) throw eventTooLarge(pointer);
}

export function eventTooLarge(pointer: string): Problem {
  const detail = `An event may have at most ${limit("eventBodyBytesMax")} bytes.`;
  return new Problem("payload_too_large", "An event in the body is too large.", {
    errors: [{ pointer, detail }],
  });
}

function textOf(bytes: Uint8Array): string {
  const text = decodeJson(bytes);
  requireDepth(text);
  return text;
}

/**
 * Before the parse: JSON.parse itself takes half a million levels. `above`: levels that the text stands in.
 */
export function requireDepth(text: string, above = 0): void {
  const max = limit("jsonDepthMax");
  if (hasBrackets(text, max - above) && depthOf(text) > max - above) {
    throw invalid("", `Expected JSON of at most ${max} levels.`);
  }
}

/**
 * True where more than `count` brackets open: only then the levels are worth counting, which costs ten times
 * as much.
 */
function hasBrackets(text: string, count: number): boolean {
  let found = 0;
  for (const bracket of ["{", "["]) {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      if (++found > count) return true;
    }
  }
  return false;
}

/** All but `data`, or null where `faults` grew. */
export function readFields(value: unknown, pointer: string, now: number, faults: Fault[]): Incoming | null {
  if (!isObject(value)) {
    faults.push({ pointer, detail: "Expected an object." });
    return null;
  }
  const before = faults.length;
  const event: Incoming = { ...NOTHING, timestamp: now };
  for (const name in value) readField(event, name, value[name], pointer, faults);
  if (value.type === undefined)
    faults.push({ pointer: `${pointer}/type`, detail: "This field is required." });
  if (value.data === undefined)
    faults.push({ pointer: `${pointer}/data`, detail: "This field is required." });
  return faults.length === before ? event : null;
}

const NOTHING: Incoming = {
  type: "",
  timestamp: 0,
  data: "",
  consumerId: null,
  externalId: null,
  sourceId: null,
  isTest: false,
  hops: 0,
  trace: null,
};

function readField(event: Incoming, name: string, value: unknown, pointer: string, faults: Fault[]): void {
  switch (name) {
    case "type":
      if (typeof value === "string" && isEventType(value)) event.type = value;
      else faults.push({ pointer: `${pointer}/type`, detail: EXPECTED_TYPE });
      return;
    case "data":
      if (!isObject(value)) faults.push({ pointer: `${pointer}/data`, detail: "Expected an object." });
      return;
    case "timestamp": {
      const at = typeof value === "string" ? parseRfc3339(value) : null;
      if (at !== null) event.timestamp = at;
      else faults.push({ pointer: `${pointer}/timestamp`, detail: "Expected a time as RFC 3339 has it." });
      return;
    }
    case "consumer_id":
      if (isConsumer(value)) event.consumerId = value;
      else faults.push({ pointer: `${pointer}/consumer_id`, detail: `Expected ${EXPECTED_CONSUMER}.` });
      return;
    case "external_id":
      if (isName(value, limit("externalIdLengthMax"))) event.externalId = value;
      else faults.push({ pointer: `${pointer}/external_id`, detail: EXPECTED_EXTERNAL_ID });
      return;
    default:
      addUnknownField(faults, pointer, name);
  }
}

const EXPECTED_TYPE =
  `Expected letters, digits, "_" and "-", in parts joined by ".", ` +
  `of at most ${limit("eventTypeLengthMax")} characters.`;

/**
 * A name of the customer's own: no control characters, and no half of a surrogate pair, which SQLite would
 * not keep.
 */
function isName(value: unknown, max: number): value is string {
  if (typeof value !== "string" || value.length === 0) return false;
  // Characters, not halves of surrogate pairs.
  if (value.length > max && [...value.slice(0, 2 * max + 1)].length > max) return false;
  return !CONTROL.test(value) && value.isWellFormed();
}

/** As `consumerText` has it. */
function isConsumer(value: unknown): value is string {
  return value !== "." && value !== ".." && isName(value, limit("consumerIdLengthMax"));
}

const EXPECTED_EXTERNAL_ID = `Expected a string of 1 to ${limit("externalIdLengthMax")} characters, none of them a control character.`;

/** The text of `data` of the event that begins at `from`, minified. */
export function dataOf(text: string, from: number): string {
  const span = memberSpan(text, "data", from);
  if (span === null) throw new Error("an event without data passed the check");
  return minify(text.slice(span.start, span.end));
}

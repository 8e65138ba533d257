import { type Static, type TSchema, Type } from "@sinclair/typebox";
import type { Caller } from "../../core/caller.ts";
import { keyTime } from "../../core/ids.ts";
import { limit } from "../../core/limits.ts";
import { DEAD_REASONS, type Event } from "../../core/model.ts";
import type { Turns } from "../../core/structures/turn-queue.ts";
import { wholeOf } from "../../store/log/event-deliveries.ts";
import type { AttemptSummary } from "../../store/log/attempts.ts";
import type { Note } from "../../store/log/notes.ts";
import {
  errorCodeShape,
  errorDetailShape,
  errorFields,
  outcomeShape,
  triggerShape,
} from "../deliveries/attempt-shape.ts";
import { deadReasonShape } from "../deliveries/shape.ts";
import { sourceIdFor } from "./shape.ts";
import { visibleEndpoints } from "../shared/lookups.ts";
import { readCursor } from "../shared/paging.ts";
import type { Needs } from "../framework/services.ts";
import { nullable, oneOf, shownAs, taggedBy, timeShape, timeText } from "../shared/shapes.ts";

/**
 * The timeline of an event is not stored: it is read from the event (accepted, matched, filtered), the
 * attempts of its deliveries (attempt, delivered, dead_lettered) and its notes (what happened without
 * an attempt).
 */

/** Attempts and notes that one answer holds at most, beside what happened when the event was accepted. */
const PAGE_MAX = 1000;

const shapeOf = <Kind extends string, Fields extends Record<string, TSchema>>(kind: Kind, fields: Fields) =>
  Type.Object({ at: timeShape, kind: Type.Literal(kind), ...fields }, { $id: nameOf(kind) });

/** dead_lettered: DeadLetteredEntry. */
function nameOf(kind: string): string {
  const words = kind.split("_").map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `${words.join("")}Entry`;
}

const ofDelivery = { delivery_id: Type.String(), endpoint_id: Type.String() };

const entryShapes = Type.Union([
  shapeOf("accepted", {
    via: oneOf(["publish", "ingest", "test"]),
    source_id: nullable(Type.String()),
  }),
  shapeOf("unmatched", {}),
  shapeOf("matched", { delivery_count: Type.Integer() }),
  shapeOf("filtered", { endpoint_id: Type.String() }),
  shapeOf("filtered_others", { count: Type.Integer() }),
  shapeOf("attempt", {
    ...ofDelivery,
    number: Type.Integer(),
    trigger: triggerShape,
    outcome: outcomeShape,
    status_code: nullable(Type.Integer()),
    error_code: errorCodeShape,
    error_detail: errorDetailShape,
    duration_ms: Type.Integer(),
    next_attempt_at: nullable(timeShape),
  }),
  shapeOf("delivered", ofDelivery),
  shapeOf("dead_lettered", { ...ofDelivery, reason: deadReasonShape }),
  shapeOf("replayed", ofDelivery),
  shapeOf("cancelled", ofDelivery),
  shapeOf("expired", ofDelivery),
]);

const entryShape = shownAs(entryShapes, {
  ...taggedBy(
    "kind",
    Object.fromEntries(entryShapes.anyOf.map((shape) => [shape.properties.kind.const, shape])),
  ),
  $id: "TimelineEntry",
});

type Entry = Static<typeof entryShape>;

export const timelineShape = Type.Object(
  {
    data: Type.Array(entryShape),
    next_cursor: nullable(Type.String()),
  },
  { $id: "Timeline" },
);

const delivery = {
  delivery_id: "msg_01KAHM9Q7W00B5C1D7E9F3G6HJ",
  endpoint_id: "ep_01KAHM8ZZZ00K1M2N3P4Q5R6S7",
};

export const timelineExample: Entry[] = [
  { at: "2026-11-20T09:00:00.000Z", kind: "accepted", via: "publish", source_id: null },
  { at: "2026-11-20T09:00:00.000Z", kind: "matched", delivery_count: 1 },
  {
    at: "2026-11-20T09:00:00.012Z",
    kind: "attempt",
    ...delivery,
    number: 1,
    trigger: "publish",
    outcome: "delivered",
    status_code: 200,
    error_code: null,
    error_detail: null,
    duration_ms: 84,
    next_attempt_at: null,
  },
  { at: "2026-11-20T09:00:00.096Z", kind: "delivered", ...delivery },
];

/** An entry with the key of what it comes from, by which pages are cut. */
interface Placed {
  key: number;
  entry: Entry;
}

/** The key after which the timeline goes on; 0 where no cursor is given. Throws 422. */
export function timelineCursor(services: Needs<"ids">, cursor: string | undefined): number {
  return cursor === undefined ? 0 : readCursor(services, "att", cursor);
}

/** The part of the timeline above the key `after`, and the key to go on after; null at the end. */
export async function timelineOf(
  services: Needs<"ids" | "endpoints" | "events" | "eventDeliveries" | "attempts" | "notes">,
  caller: Caller,
  event: Event,
  after: number,
  turns: Turns,
): Promise<{ data: Entry[]; next: number | null }> {
  const visible = visibleEndpoints(services, caller);
  const tried = await attemptsOf(services, event, visible, after, turns);
  const noted = await notesOf(services, event, visible, after, turns);
  const happened: Placed[] = [
    ...tried.flatMap((attempt) => entriesOfAttempt(services, event, attempt)),
    ...noted.map((note) => entryOfNote(services, note)),
  ].toSorted((a, b) => a.key - b.key);
  const page = cutPage(happened);
  const begin = after === 0 ? await entriesOfAcceptance(services, caller, event, turns) : [];
  const data = [...begin, ...page.rows.map((row) => row.entry)].toSorted(byInstant);
  return { data, next: page.next };
}

/** The first of an event's attempts above a key. */
async function attemptsOf(
  { eventDeliveries, attempts }: Needs<"eventDeliveries" | "attempts">,
  { id }: Event,
  visible: ReadonlySet<number> | null,
  after: number,
  turns: Turns,
): Promise<AttemptSummary[]> {
  let found: AttemptSummary[] = [];
  for await (const slice of eventDeliveries.slices(id, turns, visible))
    found = firstOf(found, attempts.ofEvent(id, after, PAGE_MAX + 1, slice));
  return found;
}

/**
 * The first of an event's notes above a key. A delivery may have very many, as each replay adds one: others
 * have their turn before each delivery, of which none is read that comes after all that can be shown.
 */
async function notesOf(
  { eventDeliveries, notes }: Needs<"eventDeliveries" | "notes">,
  { id }: Event,
  visible: ReadonlySet<number> | null,
  after: number,
  turns: Turns,
): Promise<Note[]> {
  if (visible === null) return notes.ofEvent(id, after, PAGE_MAX + 1, turns);
  let found: Note[] = [];
  for await (const slice of eventDeliveries.slices(id, turns, visible)) {
    for (const sent of eventDeliveries.pick(id, slice)) {
      await turns.giveWay();
      const more = notes.ofDelivery(sent, after, PAGE_MAX + 1, found[PAGE_MAX]?.id);
      if (more.length > 0) found = firstOf(found, more);
    }
  }
  return found;
}

/** The oldest of both, one more than a page holds. */
function firstOf<Row extends { id: number }>(found: readonly Row[], more: readonly Row[]): Row[] {
  return [...found, ...more].sort((a, b) => a.id - b.id).slice(0, PAGE_MAX + 1);
}

/** The first `PAGE_MAX` happenings; an attempt and what follows from it share a key and are not parted. */
function cutPage(happened: readonly Placed[]): { rows: readonly Placed[]; next: number | null } {
  const keys = [...new Set(happened.map(({ key }) => key))];
  const last = keys[PAGE_MAX - 1];
  if (last === undefined || keys.length === PAGE_MAX) return { rows: happened, next: null };
  return { rows: happened.filter(({ key }) => key <= last), next: last };
}

/** Stable: what happened in the same millisecond keeps its order. */
function byInstant(a: Entry, b: Entry): number {
  return a.at < b.at ? -1 : Number(a.at > b.at);
}

async function entriesOfAcceptance(
  services: Needs<"ids" | "endpoints" | "events" | "eventDeliveries">,
  caller: Caller,
  event: Event,
  turns: Turns,
): Promise<Entry[]> {
  const { ids } = services;
  const visible = visibleEndpoints(services, caller);
  const at = timeText(keyTime(event.id));
  const via = event.isTest ? "test" : event.sourceId === null ? "publish" : "ingest";
  const count = await firstDeliveries(services, event, visible, turns);
  return [
    { at, kind: "accepted", via, source_id: sourceIdFor(ids, caller, event) },
    count === 0 ? { at, kind: "unmatched" } : { at, kind: "matched", delivery_count: count },
    ...entriesOfFiltered(services, event, visible),
  ];
}

/** A portal token is not told how many others there are: they are not its consumer's. */
function entriesOfFiltered(
  { ids, events }: Needs<"ids" | "events">,
  { id }: Event,
  visible: ReadonlySet<number> | null,
): Entry[] {
  const at = timeText(keyTime(id));
  const kept = events.filteredOf(id);
  const seen = visible === null ? kept.named : kept.named.filter((endpointId) => visible.has(endpointId));
  // Rows of before the bound name all of them.
  const named = seen.slice(0, limit("filteredNamedMax"));
  const count = seen.length - named.length + (visible === null ? kept.others : 0);
  return [
    ...named.map((key): Entry => ({ at, kind: "filtered", endpoint_id: ids.encode("ep", key) })),
    ...(count === 0 ? [] : [{ at, kind: "filtered_others", count } as const]),
  ];
}

/**
 * Deliveries that came with the event. Their keys follow the event's; those that a replay added have
 * later ones.
 */
async function firstDeliveries(
  { eventDeliveries }: Needs<"eventDeliveries">,
  { id, deliveryCount }: Event,
  visible: ReadonlySet<number> | null,
  turns: Turns,
): Promise<number> {
  const now = visible === null ? deliveryCount : await eventDeliveries.count(id, turns, { visible });
  const later = { ...wholeOf(id), above: id + deliveryCount };
  return now - (await eventDeliveries.count(id, turns, { visible, isReplayed: true }, later));
}

function entriesOfAttempt(services: Needs<"ids">, event: Event, attempt: AttemptSummary): Placed[] {
  const of = deliveryFields(services, attempt);
  const startedAt = Math.max(attempt.startedAt, keyTime(event.id));
  const tried: Entry = {
    at: timeText(startedAt),
    kind: "attempt",
    ...of,
    number: attempt.number,
    trigger: attempt.trigger,
    outcome: attempt.outcome,
    status_code: attempt.statusCode,
    ...errorFields(attempt),
    duration_ms: attempt.durationMs,
    next_attempt_at: timeText(attempt.nextAttemptAt),
  };
  const ended = endOf(attempt, timeText(startedAt + attempt.durationMs), of);
  return [tried, ...ended].map((entry) => ({ key: attempt.id, entry }));
}

type DeliveryFields = typeof delivery;

/** What follows from an attempt: nothing where it is tried again, or where the attempt no longer counted. */
function endOf({ outcome, deadReason }: AttemptSummary, at: string, of: DeliveryFields): Entry[] {
  if (outcome === "delivered") return [{ at, kind: "delivered", ...of }];
  return deadReason === null ? [] : [{ at, kind: "dead_lettered", ...of, reason: deadReason }];
}

function entryOfNote(services: Needs<"ids">, note: Note): Placed {
  const at = timeText(keyTime(note.id));
  const of = deliveryFields(services, note);
  if (note.kind !== "dead_lettered") return { key: note.id, entry: { at, kind: note.kind, ...of } };
  const reason = DEAD_REASONS.find((known) => known === note.detail) ?? "endpoint_disabled";
  return { key: note.id, entry: { at, kind: "dead_lettered", ...of, reason } };
}

function deliveryFields(
  { ids }: Needs<"ids">,
  row: { deliveryId: number; endpointId: number },
): DeliveryFields {
  return { delivery_id: ids.encode("msg", row.deliveryId), endpoint_id: ids.encode("ep", row.endpointId) };
}

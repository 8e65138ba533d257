import { ORIGINS } from "../../core/model.ts";

/**
 * SQL that finds what hangs on a row. An index of all deliveries by their event, and one of all attempts by
 * their delivery, would cost an event some 5 %; most have one delivery, with one attempt.
 */

/** Made or reopened by a replay: those have an index. */
export const REPLAYED = `origin IN (${ORIGINS.indexOf("replay")}, ${ORIGINS.indexOf("test_replay")})`;
/** Above all keys. */
export const KEY_MAX = Number.MAX_SAFE_INTEGER;
/**
 * More than any event has deliveries, and keys that a second takes: what replays wrote after the newest
 * event is not looked through.
 */
const KEYS_MAX = 2 ** 22;

/** How far a walk by slices has come: of an event with very many deliveries, those up to `last` are done. */
export interface Walked {
  eventId: number;
  last: number;
}

export const NOT_WALKED: Walked = { eventId: 0, last: 0 };

/** The key behind which a walk goes on in this event. */
export function lastWalked({ eventId, last }: Walked, key: number): number {
  return key === eventId ? last : key;
}

interface Part {
  /** SQL of a key: only rows above it. */
  above?: string;
  below?: string;
  /** SQL over the columns of the table. */
  where?: string;
}

/**
 * Deliveries of the event with this key. Those that came with it have the keys right after it, before the
 * next event (pipeline.ts); replays made the others, or reopened them. May be followed by ORDER BY id, which
 * then reads no further than a LIMIT.
 */
export function deliveriesOf(
  event: string,
  columns: string,
  { above = event, below = String(KEY_MAX), where = "TRUE" }: Part = {},
): string {
  return `SELECT ${columns} FROM delivery
      WHERE ${standsBehind(event, above, below)}
        AND event_id = ${event} AND NOT ${REPLAYED} AND ${where}
    UNION ALL SELECT ${columns} FROM delivery
      WHERE id > ${above} AND id < ${below} AND event_id = ${event} AND ${REPLAYED} AND ${where}`;
}

/**
 * The condition that a row of `delivery` has its key between an event and the next, and between two keys. The
 * next may have left the log already, with deliveries that are still to follow it (cleanup/removal.ts).
 */
function standsBehind(event: string, above: string, below: string): string {
  const next = (key: string, table: string) =>
    `ifnull((SELECT ${key} FROM ${table} WHERE ${key} > ${event} ORDER BY ${key} LIMIT 1), ${below})`;
  const end = `${event} + ${KEYS_MAX}, ${next("id", "event")}, ${next("event_id", "removal")}, ${below}`;
  // One bound on each side: of two, SQLite would seek by one, and read on to the other.
  return `id > max(${event}, ${above}) AND id < min(${end})`;
}

/**
 * SQL of the `key` at which a slice of an event's deliveries that begins at `from` ends, itself outside: of
 * either part of `deliveriesOf` it holds as many `rows` at most, those of others counted that stand between.
 */
export function endOfSlice(direction: "up" | "down", event: string, from: string, rows: string): string {
  const isUp = direction === "up";
  const [above, below] = isUp ? [from, String(KEY_MAX)] : [event, from];
  const [nearest, end, order] = isUp ? ["min", below, ""] : ["max", event, "DESC"];
  const first = (where: string) =>
    `ifnull((SELECT id FROM delivery WHERE ${where} ORDER BY id ${order} LIMIT 1 OFFSET ${rows}), ${end})`;
  return `SELECT ${nearest}(${first(standsBehind(event, above, below))},
    ${first(`id > ${above} AND id < ${below} AND event_id = ${event} AND ${REPLAYED}`)}) AS key`;
}

/**
 * The condition that a row of `attempt` is of the delivery with this key: the one that it names, or a later
 * one. `first`: the SQL of its `first_attempt`, where that is at hand.
 */
export function isAttemptOf(delivery: string, first = firstOf(delivery)): string {
  return `(attempt.id = ${first} AND attempt.delivery_id = ${delivery}
    OR attempt.delivery_id = ${delivery} AND attempt.number > 1)`;
}

/**
 * Attempts of the delivery with this key, of which there may be very many. May be followed by ORDER BY id,
 * which then reads no further than a LIMIT.
 */
export function attemptsOf(
  delivery: string,
  columns: string,
  { above = "0", below = String(KEY_MAX), where = "TRUE" }: Part = {},
): string {
  const part = (which: string) => `SELECT ${columns} FROM attempt
      WHERE ${which} AND delivery_id = ${delivery} AND id > ${above} AND id < ${below} AND ${where}`;
  return `${part(`id = ${firstOf(delivery)} AND NOT number > 1`)} UNION ALL ${part("number > 1")}`;
}

/** The condition that a row of `attempt` is the last of the delivery: `isAttemptOf`, by one seek. */
export function isLastAttemptOf(delivery: string, first = firstOf(delivery)): string {
  const later = `SELECT max(id) FROM attempt WHERE delivery_id = ${delivery} AND number > 1`;
  return `(attempt.id = ifnull((${later}), ${first}) AND attempt.delivery_id = ${delivery})`;
}

/**
 * The key of a delivery's first attempt. The attempt may have left before the delivery (body-retention.ts):
 * whoever follows the key checks whose attempt it finds.
 */
function firstOf(delivery: string): string {
  return `(SELECT first_attempt FROM delivery WHERE id = ${delivery})`;
}

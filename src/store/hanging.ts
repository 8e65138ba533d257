import { ORIGINS } from "../core/model.ts";

/**
 * SQL that finds what hangs on a row. An index of all deliveries by their event, and one of all attempts by their delivery, would cost an
 * event some 5 %; most have one delivery, with one attempt.
 */

const REPLAYED = `origin IN (${ORIGINS.indexOf("replay")}, ${ORIGINS.indexOf("test_replay")})`;
/** More than any event has deliveries, and keys that a second takes: what replays wrote behind the newest event is not looked through. */
const KEYS_MAX = 2 ** 22;

/**
 * Deliveries of the event with this key. Those that came with it have the keys right behind it, before the next event (pipeline.ts);
 * replays made the others, or reopened them. May be followed by ORDER BY id, which then reads no further than a LIMIT.
 */
export function deliveriesOf(event: string, columns: string, condition = "TRUE"): string {
  const next = `(SELECT id FROM event WHERE id > ${event} ORDER BY id LIMIT 1)`;
  const end = `min(${event} + ${KEYS_MAX}, ifnull(${next}, ${Number.MAX_SAFE_INTEGER}))`;
  return `SELECT ${columns} FROM delivery
      WHERE id > ${event} AND id < ${end} AND event_id = ${event} AND NOT ${REPLAYED} AND ${condition}
    UNION ALL SELECT ${columns} FROM delivery WHERE event_id = ${event} AND ${REPLAYED} AND ${condition}`;
}

/** The condition that a row of `attempt` is of the delivery with this key: the one that it names, or a later one. */
export function isAttemptOf(delivery: string): string {
  return `(attempt.id = (SELECT first_attempt FROM delivery WHERE id = ${delivery})
    OR attempt.delivery_id = ${delivery} AND attempt.number > 1)`;
}

/** The key of a delivery's last attempt, or NULL. */
export function lastAttemptOf(delivery: string): string {
  return `ifnull((SELECT max(id) FROM attempt WHERE delivery_id = ${delivery} AND number > 1),
    (SELECT first_attempt FROM delivery WHERE id = ${delivery}))`;
}

import type { Data } from "../data.ts";
import type { Index } from "./index.ts";
import { toEvent, EVENT_COLUMNS, type EventRow } from "../log/events.ts";
import { OUTCOMES, TRIGGERS } from "../../core/model.ts";
import { isAttemptOf } from "../log/children.ts";
import { NOTE_KINDS } from "../log/notes.ts";

const REPLAYED = NOTE_KINDS.indexOf("replayed");

interface DeliveryKeys {
  id: number;
  project_id: number;
  endpoint_id: number;
}

interface AttemptRow {
  id: number;
  project_id: number;
  endpoint_id: number;
  started_at: number;
  outcome: number;
  trigger: number;
  duration_ms: number;
  dead_reason: number | null;
  is_again: 0 | 1;
}

/** True of an attempt by hand of a delivery that had arrived since it was last opened. */
const IS_AGAIN = `a.trigger = ${TRIGGERS.indexOf("manual")}
  AND EXISTS (SELECT 1 FROM attempt WHERE ${isAttemptOf("d.id", "d.first_attempt")}
    AND attempt.id < a.id AND attempt.outcome = ${OUTCOMES.indexOf("delivered")}
    AND attempt.id > coalesce((SELECT max(n.id) FROM note n
      WHERE n.event_id = d.event_id AND n.delivery_id = d.id AND n.id < a.id AND n.kind = ${REPLAYED}), 0))`;

/** A row above the mark: its key, and how it is gathered. */
type Gathering = [key: number, gather: () => void];

/**
 * Gathers again what a crash cut off from the index: everything above its mark. At start, before anything
 * is accepted.
 */
export async function recoverIndex(
  data: Pick<Data, "store" | "events" | "deliveries" | "index">,
): Promise<void> {
  const { mark, cutOff } = data.index;
  // In the order of their keys, as the mark moves along them.
  const rows = [
    ...eventsAbove(data, mark),
    ...deliveriesAbove(data, mark),
    ...attemptsAbove(data, mark, cutOff),
  ].sort(([a], [b]) => a - b);
  if (cutOff !== null) {
    await data.store.write(() => {
      for (const [key, gather] of rows) if (key <= cutOff.to) gather();
    });
    data.index.separate(cutOff.to);
  }
  await data.store.write(() => {
    for (const [key, gather] of rows) if (key > (cutOff?.to ?? 0)) gather();
  });
  await data.index.writeDown();
}

function eventsAbove(
  { store, events, index }: Pick<Data, "store" | "events" | "index">,
  mark: number,
): Gathering[] {
  const rows = store.sqlite
    .query<EventRow, [number]>(`SELECT ${EVENT_COLUMNS} FROM event WHERE id > ?`)
    .all(mark);
  return rows.map((row) => [row.id, () => index.add(row.id, events.listsOf(toEvent(row)))]);
}

function deliveriesAbove(
  { store, deliveries, index }: Pick<Data, "store" | "deliveries" | "index">,
  mark: number,
): Gathering[] {
  const sql = "SELECT id, project_id, endpoint_id FROM delivery WHERE id > ?";
  const rows = store.sqlite.query<DeliveryKeys, [number]>(sql).all(mark);
  return rows.map((row) => [
    row.id,
    () => index.add(row.id, deliveries.listsOf(row.project_id, row.endpoint_id)),
  ]);
}

/**
 * Attempts above the mark. Those of polled endpoints are counted with their acknowledgement
 * (Index.countAttemptsBelowMark).
 */
function attemptsAbove(
  { store, index }: Pick<Data, "store" | "index">,
  mark: number,
  cutOff: Index["cutOff"],
): Gathering[] {
  const sql = `SELECT a.id, d.project_id, d.endpoint_id, a.started_at, a.outcome, a.trigger, a.duration_ms, a.dead_reason, (${IS_AGAIN}) AS is_again
    FROM attempt a JOIN delivery d ON d.id = a.delivery_id
    WHERE a.id > ? AND NOT (a.status_code IS NULL AND a.outcome IN (${OUTCOMES.indexOf("delivered")}, ${OUTCOMES.indexOf("handed_out")}))`;
  return store.sqlite
    .query<AttemptRow, [number]>(sql)
    .all(mark)
    .map((row) => {
      const failed = OUTCOMES[row.outcome] !== "delivered";
      const delivered = !failed && row.is_again === 0;
      const dead = row.dead_reason !== null;
      const { project_id: projectId, endpoint_id: endpointId, started_at: at, duration_ms: durationMs } = row;
      const tally = { endpointId, projectId, at, delivered, failed, dead, durationMs };
      const isCounted = cutOff !== null && row.id <= cutOff.to && endpointId <= cutOff.endpointId;
      return [row.id, () => (isCounted ? index.add(row.id, []) : index.countAttempt(row.id, tally))];
    });
}

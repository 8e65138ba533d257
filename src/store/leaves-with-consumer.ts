/**
 * SQL: true of a row that goes with its consumer, as an erasure of that was asked for and is not done. Where
 * rows are found by what the outside calls them, these are not found.
 */
export function leavesWithConsumer(table: "event" | "portal_link"): string {
  return `EXISTS (SELECT 1 FROM erasure INDEXED BY erasure_running
    WHERE status = 'running' AND erasure.project_id = ${table}.project_id
    AND erasure.consumer_id = ${table}.consumer_id AND last >= ${table}.id)`;
}

import type { Database } from "bun:sqlite";

/** Every table whose rows have a key of their own, whatever migration made it. */
function keyedTables(sqlite: Database): string[] {
  const rows = sqlite.query<{ name: string }, []>(
    `SELECT t.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c
     WHERE t.type = 'table' AND c.name = 'id' AND c.type = 'INTEGER' AND c.pk = 1
       AND (SELECT count(*) FROM pragma_table_info(t.name) WHERE pk > 0) = 1`,
  );
  return rows.all().map(({ name }) => name);
}

/** The largest key that any row has, or that is set aside for one; 0 where there is none. */
export function lastKey(sqlite: Database): number {
  const maxima = keyedTables(sqlite).map((table) => `SELECT max(id) AS id FROM ${table}`);
  // Keys that a fan-out has set aside for deliveries that are still to be written.
  maxima.push("SELECT max(first_key + total) - 1 AS id FROM fanout");
  // Positions in the queues of polled endpoints (src/delivery/polling/poll-actor.ts) are keys too.
  maxima.push(
    `SELECT max((SELECT max(queue_order) FROM delivery WHERE endpoint_id = endpoint.id AND queue_order IS NOT NULL)) AS id
     FROM endpoint WHERE kind = 'poll'`,
  );
  // An erasure that is asked for again takes a key that no row has, up to which all goes.
  maxima.push("SELECT max(last) AS id FROM erasure WHERE status = 'running'");
  // What was the newest may be gone: the index says how far keys went, and takes nothing below that for new
  // after a crash.
  maxima.push("SELECT value AS id FROM meta WHERE name = 'indexed'");
  const union = maxima.join(" UNION ALL ");
  const row = sqlite.query<{ last: number | null }, []>(`SELECT max(id) AS last FROM (${union})`).get();
  return row?.last ?? 0;
}

/** The smallest key above another one that a row has; null where none is larger. */
export function firstKeyAfter(sqlite: Database, key: number): number | null {
  const minima = keyedTables(sqlite).map((table) => `SELECT min(id) AS id FROM ${table} WHERE id > ?1`);
  const union = minima.join(" UNION ALL ");
  return (
    sqlite.query<{ first: number | null }, [number]>(`SELECT min(id) AS first FROM (${union})`).get(key)
      ?.first ?? null
  );
}

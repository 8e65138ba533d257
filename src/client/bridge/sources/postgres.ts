import { type ReservedSQL, SQL } from "bun";
import { messageOf } from "../../../core/errors.ts";
import { limit } from "../../../core/limits.ts";
import { type Call, CommandError, EXIT, tellErrors, UsageError } from "../../../platform/command-line.ts";
import { rest } from "../../steady-api.ts";
import {
  type BridgeOptions,
  type Message,
  requireEnv,
  runBridge,
  type Source,
  SourceAway,
} from "../bridge.ts";
import type { Verdict } from "../publisher.ts";

/** A table of PostgreSQL, into which an application writes its events together with what they tell of. */

const URL_NAME = "DATABASE_URL";
const TABLE = "sealpost_outbox";
const INTERVAL_SECONDS = 1;
/** A server that does not answer any more tells nobody. */
const ANSWER_MS_MAX = 30_000;
const CONNECT_SECONDS_MAX = 10;
/** Above what a publish may take. A bridge whose machine is gone lets go of its rows after that. */
const IDLE_SECONDS_MAX = 60;
/** What the rows of one turn may weigh, so that memory has a bound whatever stands in the table. */
const TURN_BYTES_MAX = 4 * 1024 * 1024;

export interface PostgresOptions extends BridgeOptions {
  table?: string;
  /** Seconds. */
  interval?: string;
  printTable?: boolean;
}

/** `sealpost bridge postgres`: publishes the rows of an outbox table. */
export function runBridgePostgres(call: Call<PostgresOptions>): Promise<number> {
  const { table = TABLE, interval = String(INTERVAL_SECONDS), printTable } = call.options;
  if (printTable === true)
    return tellErrors(call.usage, async () => {
      console.log(tableText(quoted(table)));
      return EXIT.good;
    });
  return runBridge(call, () => new Outbox(readUrl(), quoted(table), readInterval(interval)));
}

function readUrl(): string {
  const text = requireEnv(URL_NAME, "the address of the database, as postgres://user:password@host/name");
  if (URL.canParse(text) && /^postgres(ql)?:$/.test(new URL(text).protocol)) return requireUsable(text);
  throw new UsageError(`${URL_NAME} must be an address such as postgres://user:password@host/name`);
}

/** What the client says of an address at once, such as of a password with a bare %, does not pass. */
function requireUsable(url: string): string {
  try {
    clientAt(url);
  } catch (error) {
    throw new UsageError(`${URL_NAME} is no address of a database: ${messageOf(error)}`);
  }
  return url;
}

/** Prepared statements have a name, which poolers of connections do not know. Connects when it is asked. */
function clientAt(url: string): SQL {
  const options = { max: 1, idleTimeout: 0, connectionTimeout: CONNECT_SECONDS_MAX, prepare: false };
  return new SQL(url, options);
}

/** The name as it stands in statements: its parts in quotes. Throws UsageError. */
function quoted(table: string): string {
  if (/^[a-z_][a-z0-9_]{0,62}(\.[a-z_][a-z0-9_]{0,62})?$/.test(table))
    return table
      .split(".")
      .map((part) => `"${part}"`)
      .join(".");
  throw new UsageError("--table must be a name of small letters, digits and _, with or without its schema");
}

function readInterval(text: string): number {
  const seconds = Number(text);
  if (text.trim() !== "" && seconds >= 0.1 && seconds <= 3600) return seconds * 1000;
  throw new UsageError("--interval must be a number of seconds from 0.1 to 3600");
}

/** What makes the table. */
export function tableText(table: string): string {
  return `CREATE TABLE ${table} (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  type text NOT NULL,
  data jsonb NOT NULL,
  consumer_id text,
  timestamp timestamptz NOT NULL DEFAULT now(),
  external_id text NOT NULL DEFAULT gen_random_uuid(),
  failed_at timestamptz,
  error text
);`;
}

/**
 * The next rows, locked until the transaction's end; other bridges take others. Identities are committed in
 * any order, so nothing remembers how far it came: what is there is what is left. Data that no event may
 * have is not fetched.
 */
function takeText(table: string): string {
  return `WITH taken AS MATERIALIZED (
  SELECT id, type, consumer_id, timestamp, external_id, data::text AS data FROM ${table}
  WHERE failed_at IS NULL ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED
), weighed AS (
  SELECT *, octet_length(data) AS bytes, sum(octet_length(data)) OVER (ORDER BY id) AS bytes_so_far FROM taken
)
SELECT id::text, type, consumer_id, external_id,
  to_char(timestamp AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS timestamp,
  CASE WHEN bytes <= ${limit("eventBodyBytesMax")} THEN data END AS data
FROM weighed WHERE bytes_so_far <= ${TURN_BYTES_MAX} OR bytes_so_far = bytes ORDER BY weighed.id`;
}

interface Row {
  id: string;
  type: string;
  consumer_id: string | null;
  external_id: string;
  timestamp: string | null;
  data: string | null;
}

class Outbox implements Source {
  readonly name: string;
  readonly refused = "kept there with failed_at and error";
  readonly #url: string;
  readonly #table: string;
  readonly #intervalMs: number;
  #client: SQL | null = null;
  #connection: ReservedSQL | null = null;
  /** Those that the open transaction has locked. */
  #ids: readonly string[] = [];

  constructor(url: string, table: string, intervalMs: number) {
    this.#url = url;
    this.#table = table;
    this.#intervalMs = intervalMs;
    this.name = `what stands in ${table.replaceAll('"', "")}`;
  }

  async take(max: number, signal: AbortSignal): Promise<Message[]> {
    const rows = await this.#ask(async (connection) => {
      await connection.unsafe("BEGIN");
      await connection.unsafe(`SET LOCAL idle_in_transaction_session_timeout = '${IDLE_SECONDS_MAX}s'`);
      const found: Row[] = await connection.unsafe(takeText(this.#table), [max]);
      if (found.length === 0) await connection.unsafe("COMMIT");
      return found;
    });
    this.#ids = rows.map(({ id }) => id);
    if (rows.length === 0) await rest(this.#intervalMs, signal);
    return rows.map((row) => ({ name: `id ${row.id}`, event: eventOf(row) }));
  }

  async settle(verdicts: readonly Verdict[]): Promise<void> {
    const ids = this.#ids;
    const done = ids.filter((_, at) => verdicts[at] === null);
    await this.#ask(async (connection) => {
      const remove = `DELETE FROM ${this.#table} WHERE id = ANY($1::bigint[])`;
      if (done.length > 0) requireAll(done.length, await connection.unsafe(remove, [`{${done.join()}}`]));
      const mark = `UPDATE ${this.#table} SET failed_at = now(), error = $2 WHERE id = $1::bigint`;
      for (const [at, verdict] of verdicts.entries())
        if (verdict !== null) requireAll(1, await connection.unsafe(mark, [ids[at], verdict]));
      await connection.unsafe("COMMIT");
    });
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    this.#connection = null;
    // What waits for an answer is rejected; an open transaction ends with its connection.
    await client?.close({ timeout: 0 });
  }

  /** Asks the database; after a failure, or where no answer comes, the connection is a new one. */
  async #ask<T>(work: (connection: ReservedSQL) => Promise<T>): Promise<T> {
    const late = setTimeout(() => void this.close(), ANSWER_MS_MAX);
    try {
      this.#connection ??= await this.#connect();
      return await work(this.#connection);
    } catch (error) {
      await this.close();
      throw toldOf(error);
    } finally {
      clearTimeout(late);
    }
  }

  #connect(): Promise<ReservedSQL> {
    this.#client = clientAt(this.#url);
    return this.#client.reserve();
  }
}

/** The body of the publish: data stands in it as the database writes it, so numbers keep all their digits. */
function eventOf({ type, consumer_id, external_id, timestamp, data }: Row): Message["event"] {
  if (data === null)
    return { fault: `Its data has more than ${limit("eventBodyBytesMax")} bytes, which no event may have.` };
  // A null is left out: the row says nothing of it.
  const head = JSON.stringify({
    type,
    external_id,
    consumer_id: consumer_id ?? undefined,
    timestamp: timestamp ?? undefined,
  });
  return { text: `${head.slice(0, -1)},"data":${data}}` };
}

/**
 * Classes of SQLSTATE that pass by themselves: connections, a standby that may not write yet, deadlocks, no
 * room, locks, an end or a start of the server, its disk, its faults.
 */
const PASSING = /^(08|25|40|53|55|57|58|XX)/;

/** Rows that are locked and yet stay as they are would be published again and again. */
function requireAll(count: number, { count: changed, command }: { count: number; command: string }): void {
  if (changed === count) return;
  throw new CommandError(
    `PostgreSQL: a ${command} of ${count} rows changed ${changed}: does row-level security hide them, or a trigger keep them?`,
  );
}

function toldOf(error: unknown): Error {
  if (error instanceof CommandError) return error;
  const state = error instanceof SQL.PostgresError ? error.errno : undefined;
  const reason = `PostgreSQL: ${messageOf(error)}`;
  // Without a state it is the client that speaks: the server is not reached.
  return state === undefined || PASSING.test(state)
    ? new SourceAway(reason)
    : new CommandError(`${reason} (${state})`);
}

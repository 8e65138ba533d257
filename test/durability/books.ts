import { Database } from "bun:sqlite";
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "../kit/app.ts";
import type { Receipt, Recorder } from "../kit/recorder.ts";
import type { Service } from "../kit/service.ts";
import type { Acknowledged, Publishers } from "./publishers.ts";
import { clientOf } from "./setup.ts";

/** What the service says of itself, over its API. */
export interface LoggedEvent {
  id: string;
  type: string;
  external_id: string | null;
  delivery_count: number;
}

export interface LoggedDelivery {
  id: string;
  event_id: string;
  endpoint_id: string;
  status: string;
  attempt_count: number;
}

export interface Books {
  acknowledged: readonly Acknowledged[];
  receipts: readonly Receipt[];
  events: readonly LoggedEvent[];
  deliveries: readonly LoggedDelivery[];
}

const SETTLE_MS_MAX = 60_000;

/** Waits until no delivery is open, and takes down what everyone says. */
export async function settleBooks(
  service: Service,
  recorder: Recorder,
  publishers: Publishers,
): Promise<Books> {
  const client = clientOf(service);
  await whenNothingIsOpen(client, SETTLE_MS_MAX);
  const events = await readList<LoggedEvent>(client, "/v1/events");
  const deliveries = await readList<LoggedDelivery>(client, "/v1/deliveries");
  return { acknowledged: publishers.acknowledged, events, deliveries, receipts: await recorder.receipts() };
}

/** Reads a list of the API to its end. */
export async function readList<Row>(client: Client, path: string): Promise<Row[]> {
  const rows: Row[] = [];
  let cursor = "";
  do {
    const { status, json } = await client.get(`${path}${path.includes("?") ? "&" : "?"}limit=250${cursor}`);
    if (status !== 200) throw new Error(`${path} answered ${status}`);
    rows.push(...(json.data as Row[]));
    cursor = typeof json.next_cursor === "string" ? `&cursor=${json.next_cursor}` : "";
  } while (cursor !== "");
  return rows;
}

/** Resolves when no delivery waits or is under way any more. */
export async function whenNothingIsOpen(client: Client, deadlineMs: number): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  for (const status of ["pending", "retrying"]) {
    while ((await firstPage(client, `/v1/deliveries?status=${status}&limit=1`)).length > 0) {
      if (performance.now() > deadline) throw new Error(`deliveries are ${status} after ${deadlineMs} ms`);
      await Bun.sleep(50);
    }
  }
}

async function firstPage(client: Client, path: string): Promise<unknown[]> {
  return (await client.get(path)).json.data as unknown[];
}

/** What a database file holds that the API does not say. */
export interface Inspection {
  integrity: string;
  attempts: number;
  /** Deliveries whose attempts are not numbered 1, 2, 3 … up to `attempt_count`. */
  misnumbered: number;
  /** Deliveries of the live project that were tried, and what was metered. */
  tried: number;
  metered: number;
}

/** Inspects a copy: the files themselves, a WAL that waits for recovery included, stay as they are. */
export function inspectCopy(dataDir: string): Inspection {
  return withCopy(dataDir, (sqlite) => ({
    integrity: scalar(sqlite, "PRAGMA integrity_check") as string,
    attempts: countAttempts(sqlite),
    misnumbered: scalar(sqlite, MISNUMBERED) as number,
    tried: scalar(sqlite, "SELECT count(*) FROM delivery WHERE attempt_count > 0") as number,
    metered: scalar(sqlite, "SELECT coalesce(sum(deliveries), 0) FROM usage") as number,
  }));
}

/** How many attempts a stopped or killed process has on disk. */
export function countAttemptsInCopy(dataDir: string): number {
  return withCopy(dataDir, countAttempts);
}

const MISNUMBERED = `SELECT count(*) FROM delivery d LEFT JOIN (
    SELECT delivery_id, count(*) AS rows, count(DISTINCT number) AS numbers, min(number) AS first, max(number) AS last
    FROM attempt GROUP BY delivery_id
  ) a ON a.delivery_id = d.id
  WHERE coalesce(a.rows, 0) <> d.attempt_count
     OR (a.rows > 0 AND (a.numbers <> a.rows OR a.first <> 1 OR a.last <> a.rows))`;

function countAttempts(sqlite: Database): number {
  return scalar(sqlite, "SELECT count(*) FROM attempt") as number;
}

export function withCopy<Found>(dataDir: string, look: (sqlite: Database) => Found): Found {
  const folder = mkdtempSync(join(tmpdir(), "sealpost-copy-"));
  for (const name of ["sealpost.db", "sealpost.db-wal"]) {
    if (existsSync(join(dataDir, name))) copyFileSync(join(dataDir, name), join(folder, name));
  }
  const sqlite = new Database(join(folder, "sealpost.db"));
  try {
    return look(sqlite);
  } finally {
    sqlite.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function scalar(sqlite: Database, sql: string): unknown {
  const row = sqlite.query<Record<string, unknown>, []>(sql).get();
  return Object.values(row ?? {})[0];
}

import type { Database } from "bun:sqlite";
import { dirname } from "node:path";
import { Cipher } from "../core/cipher.ts";
import type { EarlierCell } from "../core/ids.ts";
import type { MovedTo, SourceSecrets } from "../core/model.ts";
import { openDatabase, readOnly } from "./database.ts";
import { forgetInstallation, installationOf } from "./identity.ts";
import { Meta } from "./meta.ts";
import { SCHEMA_VERSION, schemaOf } from "./migrations.ts";
import { SEALED_TABLES, sealedPlace } from "./resources/sealing.ts";
import { overwriting } from "./secure-delete.ts";
import { lastKey } from "./store-keys.ts";

/**
 * How accounts leave a cell: the one they come from marks them in its rows, and the one that takes them
 * begins with a copy of the whole database. Afterwards both databases hold all the accounts, and
 * `moved_to` says which ones live in the other cell.
 */

const PAST_CELLS = "past_cells";
const OWN_CELL = "cell";

/** The cells from whose copies this one began, oldest first. */
export function readEarlierCells(sqlite: Database): EarlierCell[] {
  return JSON.parse(new Meta(sqlite).text(PAST_CELLS) ?? "[]") as EarlierCell[];
}

/** Inside a write, with the marks of those that leave: whoever takes them learns whose ids they have. */
export function nameCell(meta: Meta, cell: string): void {
  meta.setText(OWN_CELL, cell);
}

/** Whoever waits for accounts. */
export interface Taker {
  cell: string;
  taker: string;
}

/** What a copy of another cell's database says to whoever waits for accounts. */
export interface Offer {
  /** Whose copy it is. */
  installation: string | null;
  /** Accounts that have moved to the cell that asks. */
  accounts: number;
  /** Those of them for which it has answered once: what is here is no longer all that they have. */
  arrived: number;
  /** Plans that its accounts are on. */
  plans: string[];
  /** The version of the schema. */
  schema: number;
  /** Ids of the keys by which its secrets are encrypted, which `cipher` lacks. */
  missingKeys: string[];
}

/**
 * Reads a copy at `path`, which Litestream may be writing: throws where it is in the middle of that. `taker`:
 * the data directory of whoever asks.
 */
export function readOffer(path: string, { cell, taker }: Taker, cipher: Cipher): Offer {
  return readOnly(path, (sqlite) => {
    const schema = schemaOf(sqlite);
    const isOlder = schema < SCHEMA_VERSION;
    return {
      installation: installationOf(sqlite),
      accounts: isOlder ? 0 : countMovedTo(sqlite, cell, IS_FOR_TAKER, taker),
      arrived: isOlder ? 0 : countMovedTo(sqlite, cell, "AND moved_to ->> 'hasArrived'"),
      plans: isOlder ? [] : plansIn(sqlite),
      schema,
      missingKeys: keyIdsIn(sqlite).filter((id) => !cipher.has(id)),
    };
  });
}

function plansIn(sqlite: Database): string[] {
  const sql = "SELECT DISTINCT plan FROM account WHERE moved_to IS NULL OR NOT moved_to ->> 'hasArrived'";
  return sqlite
    .query<{ plan: string }, []>(sql)
    .all()
    .map(({ plan }) => plan);
}

const IS_FOR_TAKER = "AND moved_to ->> 'isOnDisk' AND coalesce(moved_to ->> 'taker', ?2) = ?2";

/** Those that fulfil `more` too, which may name `?2`. */
function countMovedTo(sqlite: Database, cell: string, more = "", ...second: string[]): number {
  const sql = `SELECT count(*) AS accounts FROM account WHERE moved_to ->> 'cell' = ?1 ${more}`;
  return sqlite.query<{ accounts: number }, string[]>(sql).get(cell, ...second)?.accounts ?? 0;
}

function keyIdsIn(sqlite: Database): string[] {
  const parts = SEALED_TABLES.map((table) => `SELECT substr(sealed, 1, 4) AS id FROM ${table}`);
  const rows = sqlite.query<{ id: Uint8Array }, []>(parts.join(" UNION ")).all();
  return rows.map(({ id }) => Cipher.keyId(id));
}

/** What became of a copy. */
export interface Taken {
  accounts: number;
  /** The cell that they come from. */
  from: string;
}

/**
 * Makes the copy at `path`, which nobody writes to any more, the database of the cell `cell`: the accounts
 * that have moved to it live in it. All others are in the cell that they come from, also those that have left
 * that one for a third, whose callers only that one knows. An installation of its own, with new ids behind
 * those that it has. Throws where nothing has moved to it.
 */
export function splitOff(path: string, cell: string, cipher: Cipher): Taken {
  const disk = openDatabase(dirname(path));
  try {
    return disk.sqlite.transaction(() => divide(disk.sqlite, cell, cipher))();
  } finally {
    disk.close();
  }
}

function divide(sqlite: Database, cell: string, cipher: Cipher): Taken {
  const meta = new Meta(sqlite);
  const from = meta.text(OWN_CELL);
  const accounts = countMovedTo(sqlite, cell);
  if (from === null || accounts === 0) throw new Error(`no account has moved to cell ${cell}`);
  const elsewhere: MovedTo = { cell: from, machines: [], isOnDisk: true, taker: null, hasArrived: true };
  sqlite.run("UPDATE account SET moved_to = CASE WHEN moved_to ->> 'cell' = ? THEN NULL ELSE ? END", [
    cell,
    JSON.stringify(elsewhere),
  ]);
  overwriting(sqlite, () => forgetOthers(sqlite, cipher));
  const past = [...readEarlierCells(sqlite), { cell: from, lastKey: lastKey(sqlite) }];
  meta.setText(PAST_CELLS, JSON.stringify(past));
  forgetInstallation(sqlite);
  return { accounts, from };
}

const NO_SECRETS: SourceSecrets = {
  secret: "",
  previousSecret: null,
  signingSecret: null,
  previousSigningSecret: null,
  previousExpiresAt: null,
  credentials: {},
  pendingVerificationToken: null,
};

/**
 * Nobody comes here for accounts that live elsewhere: their keys, links and sources have no use here. What
 * may be much is for maintenance (src/maintenance/elsewhere.ts), as callers wait meanwhile.
 */
function forgetOthers(sqlite: Database, cipher: Cipher): void {
  const accounts = "SELECT id FROM account WHERE moved_to IS NOT NULL";
  const projects = `SELECT id FROM project WHERE account_id IN (${accounts})`;
  for (const table of ["api_key", "portal_link", "project_logo"])
    sqlite.run(`DELETE FROM ${table} WHERE project_id IN (${projects})`);
  const empty = sqlite.prepare<void, [Uint8Array, number]>(
    "UPDATE source SET status = 'deleted', consumer_id = NULL, name = '', config = '{}', sealed = ? WHERE id = ?",
  );
  const theirs = sqlite.query<{ id: number }, []>(`SELECT id FROM source WHERE project_id IN (${projects})`);
  for (const { id } of theirs.all())
    empty.run(cipher.seal(JSON.stringify(NO_SECRETS), sealedPlace("source", id)), id);
}

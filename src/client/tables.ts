import { isObject } from "../core/json/value.ts";
import {
  type Call,
  coloured,
  EXIT,
  printable,
  printableJson,
  runCommandLine,
  tableOf,
  UsageError,
} from "../platform/command-line.ts";
import { Api } from "./api.ts";
import { findInstallation } from "./installation.ts";

type Row = Readonly<Record<string, unknown>>;

interface Column {
  head: string;
  read: (row: Row) => unknown;
}

interface Table {
  path: string;
  /** Options that filter the list, each with the parameter of the query that it becomes. */
  filters: Readonly<Record<string, string>>;
  columns: readonly Column[];
}

const field = (name: string, head = name): Column => ({ head, read: (row) => row[name] });
const ID = field("id");
const CREATED = field("created_at", "created");

/** The lists that the public API has, as tables. */
const TABLES = {
  events: {
    path: "/v1/events",
    filters: { type: "type", status: "status", consumer: "consumer_id", source: "source_id", search: "q" },
    columns: [
      ID,
      field("type"),
      field("delivery_count", "deliveries"),
      field("consumer_id", "consumer"),
      CREATED,
    ],
  },
  deliveries: {
    path: "/v1/deliveries",
    filters: {
      type: "event_type",
      status: "status",
      consumer: "consumer_id",
      endpoint: "endpoint_id",
      event: "event_id",
      search: "q",
    },
    columns: [
      ID,
      field("event_type", "type"),
      field("endpoint_id", "endpoint"),
      field("status"),
      field("attempt_count", "attempts"),
      { head: "why", read: (row) => row["dead_reason"] ?? row["waiting_for"] },
      field("next_attempt_at", "next"),
      CREATED,
    ],
  },
  endpoints: {
    path: "/v1/endpoints",
    filters: { status: "status", kind: "kind", consumer: "consumer_id", search: "q" },
    columns: [
      ID,
      field("kind"),
      { head: "status", read: statusOfEndpoint },
      { head: "types", read: ({ event_types: types }) => (Array.isArray(types) ? types.join(",") : "*") },
      // What a kind is led to stands in its config; of many it is more than one field.
      { head: "to", read: ({ url, description }) => url ?? description },
      CREATED,
    ],
  },
  keys: {
    path: "/v1/api-keys",
    filters: {},
    columns: [
      ID,
      field("name"),
      field("prefix", "begins with"),
      { head: "scopes", read: ({ scopes }) => (Array.isArray(scopes) ? scopes.join(",") : scopes) },
      field("last_used_at", "last used"),
      field("expires_at", "expires"),
      CREATED,
    ],
  },
  sources: {
    path: "/v1/sources",
    filters: {},
    columns: [
      ID,
      field("provider"),
      field("name"),
      field("status"),
      { head: "accepted", read: ({ counters }) => (isObject(counters) ? counters["accepted"] : null) },
      { head: "last refusal", read: ({ last_rejected: last }) => (isObject(last) ? last["reason"] : null) },
      CREATED,
    ],
  },
} as const satisfies Record<string, Table>;

export type TableName = keyof typeof TABLES;

/** Options of a table; those that filter it are texts. */
export interface TableOptions extends Readonly<Record<string, string | boolean | undefined>> {
  limit?: string;
  profile?: string;
  json?: boolean;
}

const LIMIT = { default: 25, max: 10_000, page: 250 } as const;

/** `sealpost events`, `deliveries`, `endpoints`, `sources` and `keys list`: the newest of a list. */
export function runTable(name: TableName, { options, usage }: Call<TableOptions>): Promise<number> {
  const table: Table = TABLES[name];
  const print = async () => {
    const count = readLimit(options.limit);
    const api = new Api(findInstallation(options.profile, process.env));
    const { rows, hasMore } = await readRows(api, {
      path: table.path,
      query: queryOf(table, options),
      count,
    });
    if (options.json === true) for (const row of rows) console.log(printableJson(row));
    else printTable(table, rows);
    // Beside the list, so that whoever reads the list gets it alone.
    if (hasMore) console.error(`There are more than ${count}: --limit says how many are shown`);
    return EXIT.good;
  };
  return runCommandLine(usage, print);
}

function readLimit(text: string | undefined): number {
  const count = Number(text ?? LIMIT.default);
  if (Number.isInteger(count) && count >= 1 && count <= LIMIT.max) return count;
  throw new UsageError(`--limit must be a number from 1 to ${LIMIT.max}`);
}

function queryOf({ filters }: Table, options: TableOptions): [string, string][] {
  return Object.entries(filters).flatMap(([option, parameter]): [string, string][] => {
    const value = options[option];
    return typeof value === "string" ? [[parameter, value]] : [];
  });
}

interface Listing {
  path: string;
  query: readonly [string, string][];
  count: number;
}

async function readRows(
  api: Api,
  { path, query, count }: Listing,
): Promise<{ rows: Row[]; hasMore: boolean }> {
  const rows: Row[] = [];
  const parameters = () => ({
    ...Object.fromEntries(query),
    limit: String(Math.min(LIMIT.page, count - rows.length)),
  });
  for await (const page of api.pages<Row>(path, parameters)) {
    rows.push(...page.data);
    if (rows.length >= count) return { rows, hasMore: page.next_cursor !== null };
  }
  return { rows, hasMore: false };
}

function printTable({ columns }: Table, rows: readonly Row[]): void {
  const texts = rows.map((row) => columns.map(({ read }) => textOf(read(row))));
  const heads = columns.map(({ head }) => head);
  console.log(tableOf(heads, texts, (at, text) => (heads[at] === "status" ? inColour(text) : text)));
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return "-";
  return printable(typeof value === "string" ? value : JSON.stringify(value));
}

function statusOfEndpoint({ status, disabled_reason: reason, failing_since: failing }: Row): string {
  if (typeof reason === "string") return `${String(status)} (${reason})`;
  return failing === null || failing === undefined ? String(status) : `${String(status)}, failing`;
}

/** By what a status asks of whoever reads it: nothing, patience, or a look. */
export function inColour(text: string): string {
  const [word = ""] = text.trim().split(/\s|,/);
  if (text.includes("failing") || ["dead", "disabled"].includes(word)) return coloured("red", text);
  if (["retrying", "pending", "paused", "awaiting_secret"].includes(word)) return coloured("yellow", text);
  return ["delivered", "active"].includes(word) ? coloured("green", text) : text;
}

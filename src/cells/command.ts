import { readConfig } from "../config.ts";
import { createLogger, writeOrLose } from "../platform/log.ts";
import {
  type Call,
  EXIT,
  printable,
  printableJson,
  runCommandLine,
  tableOf,
  UsageError,
} from "../platform/command-line.ts";
import { SettingsError } from "../platform/start-error.ts";
import { envoyConfig } from "./envoy.ts";
import { DatabaseError } from "../store/database.ts";
import { haproxyConfig } from "./haproxy.ts";
import { type CellList, readCellList } from "./list.ts";
import { mergeMetrics } from "./metrics.ts";
import { moveAccounts } from "./move.ts";
import { takeAccounts } from "./take.ts";
import { askCells, type Get, readAccounts, readUsage, type Told } from "./operator.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** What `sealpost cells config` can write. */
const ROUTERS: ReadonlyMap<string, (list: CellList) => string> = new Map([
  ["haproxy", haproxyConfig],
  ["envoy", envoyConfig],
]);

/** What the commands of `sealpost cells` are given on the command line, beside other words. */
export interface CellsOptions {
  json?: boolean;
  month?: string;
  from?: string;
  to?: string;
}

type Work = (words: readonly string[], options: CellsOptions) => number | Promise<number>;

/** What each word after `sealpost cells` asks for. The last three ask all cells. */
const WORK = {
  config: printConfig,
  take,
  move,
  accounts: question(readAccounts, printAccounts),
  usage: question((get, { month }) => readUsage(get, month ?? null), printUsage),
  metrics: question(
    (get) => get("/metrics"),
    // Not process.stdout.write: what a pipe has not taken would be lost as the process ends.
    (told) => console.log(mergeMetrics(told).trimEnd()),
  ),
} satisfies Record<string, Work>;

export type CellsVerb = keyof typeof WORK;

/** `sealpost cells <verb>`; answers the exit code: 1 where a cell could not be asked. */
export function runCells(verb: CellsVerb, { words, options, usage }: Call<CellsOptions>): Promise<number> {
  const work: Work = WORK[verb];
  return runCommandLine(usage, async () => work(words, options), DatabaseError);
}

function printConfig([name = "", ...paths]: readonly string[]): number {
  const write = ROUTERS.get(name);
  if (write === undefined)
    throw new UsageError(`sealpost cells config knows ${[...ROUTERS.keys()].join(", ")}`);
  console.log(write(readCellList(onlyFile(paths))));
  return EXIT.good;
}

/** Reads the settings of the service, which the same unit starts on what was taken. */
async function take(words: readonly string[], { from }: CellsOptions): Promise<number> {
  if (from === undefined || words.length > 0)
    throw new UsageError("sealpost cells take needs --from with the replica of the other cell");
  const read = readConfig(process.env);
  if (!read.ok) throw new SettingsError(read.problems);
  const logger = createLogger(
    read.config.logLevel,
    writeOrLose(process.stdout, () => {}),
    Date.now,
  );
  try {
    await takeAccounts(read.config, { env: process.env, logger, from });
  } finally {
    logger.flush();
  }
  return EXIT.good;
}

async function move(words: readonly string[], { to: target }: CellsOptions): Promise<number> {
  const path = words.at(-1);
  const accounts = words.slice(0, -1);
  if (target === undefined || path === undefined || accounts.length === 0)
    throw new UsageError("Ids of accounts, --to with the cell, and the file that lists the cells are needed");
  const { cells } = readCellList(path);
  const parts = { cells, token: tokenOf(process.env), accounts, to: target };
  const { from, to, seconds } = await moveAccounts(parts);
  console.log(`${accounts.join(", ")}: moved from cell ${from} to cell ${to} in ${seconds} s`);
  return EXIT.good;
}

function onlyFile(words: readonly string[]): string {
  const [path] = words;
  if (path === undefined || words.length > 1) throw new UsageError("One file that lists the cells is needed");
  return path;
}

function tokenOf(env: Env): string {
  const token = env["SEALPOST_OPERATOR_TOKEN"] ?? "";
  if (token !== "") return token;
  throw new SettingsError(["SEALPOST_OPERATOR_TOKEN must be the operator's token of the cells"]);
}

type Answered<T> = { cell: string; value: T };

/** `read` asks one cell, `print` shows what all of them told. */
function question<T>(
  read: (get: Get, options: CellsOptions) => Promise<T>,
  print: (told: readonly Answered<T>[], options: CellsOptions) => void,
): Work {
  return async (words, options) => {
    const { cells } = readCellList(onlyFile(words));
    const token = tokenOf(process.env);
    const told: Told<T>[] = await askCells(cells, token, (get) => read(get, options));
    const answered = told.filter((one): one is Answered<T> => "value" in one);
    print(answered, options);
    for (const one of told) if ("problem" in one) console.error(`cell ${one.cell}: ${one.problem}`);
    return answered.length === told.length ? EXIT.good : EXIT.failed;
  };
}

type AccountsOfCells = readonly Answered<Awaited<ReturnType<typeof readAccounts>>>[];

function printAccounts(told: AccountsOfCells, { json }: CellsOptions): void {
  const rows = told.flatMap(({ cell, value }) => value.map((account) => ({ cell, ...account })));
  if (json) return printLines(rows);
  const heads = ["cell", "account", "plan", "state", "deliveries", "name"];
  const texts = rows.map(({ cell, id, plan, suspended, usage, name }) => {
    return [cell, id, plan, suspended ? "suspended" : "active", String(usage.deliveries), printable(name)];
  });
  console.log(tableOf(heads, texts));
}

type UsageOfCells = readonly Answered<Awaited<ReturnType<typeof readUsage>>>[];

function printUsage(told: UsageOfCells, { json }: CellsOptions): void {
  if (json) return printLines(told.flatMap(({ cell, value }) => value.map((row) => ({ cell, ...row }))));
  const rows = told.map(({ cell, value }) => ({ cell, accounts: value.length, ...sumOf(value) }));
  const all = { cell: "all", accounts: rows.reduce((sum, row) => sum + row.accounts, 0), ...sumOf(rows) };
  const texts = [...rows, all].map(({ cell, accounts, deliveries, overage }) => {
    return [cell, String(accounts), String(deliveries), String(overage)];
  });
  console.log(tableOf(["cell", "accounts", "deliveries", "overage"], texts));
}

function sumOf(rows: readonly { deliveries: number; overage: number }[]) {
  const sum = { deliveries: 0, overage: 0 };
  for (const row of rows) {
    sum.deliveries += row.deliveries;
    sum.overage += row.overage;
  }
  return sum;
}

function printLines(rows: readonly object[]): void {
  for (const row of rows) console.log(printableJson(row));
}

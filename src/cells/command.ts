import { readConfig } from "../config.ts";
import { createLogger, writeOrLose } from "../platform/log.ts";
import { EXIT, parseWords, runCommandLine, tableOf, UsageError } from "../platform/command-line.ts";
import { SettingsError } from "../platform/start-error.ts";
import { envoyConfig } from "./envoy.ts";
import { DatabaseError } from "../store/database.ts";
import { haproxyConfig } from "./haproxy.ts";
import { type CellList, readCellList } from "./list.ts";
import { mergeMetrics } from "./metrics.ts";
import { moveAccounts } from "./move.ts";
import { takeAccounts } from "./take.ts";
import { askCells, type Get, readAccounts, readUsage, type Told } from "./operator.ts";

const USAGE = `usage: sealpost cells config haproxy|envoy CELLS.json
       sealpost cells accounts CELLS.json [--json]
       sealpost cells usage CELLS.json [--month 2026-11] [--json]
       sealpost cells metrics CELLS.json
       sealpost cells take --from s3://bucket/path
       sealpost cells move ACCOUNT... --to 2B CELLS.json`;

type Env = Readonly<Record<string, string | undefined>>;

/** What `sealpost cells config` can write. */
const ROUTERS: ReadonlyMap<string, (list: CellList) => string> = new Map([
  ["haproxy", haproxyConfig],
  ["envoy", envoyConfig],
]);

interface Options {
  json: boolean;
  month: string | null;
}

/** What all cells are asked for: `from` reads one cell, `print` shows what all of them told. */
const QUESTIONS = new Map([
  ["accounts", question(readAccounts, printAccounts)],
  ["usage", question((get, { month }) => readUsage(get, month), printUsage)],
  [
    "metrics",
    question(
      (get) => get("/metrics"),
      // Not process.stdout.write: what a pipe has not taken would be lost as the process ends.
      (told) => console.log(mergeMetrics(told).trimEnd()),
    ),
  ],
]);

/** `sealpost cells`; answers the exit code: 1 where a cell could not be asked. */
export function runCells([verb = "", ...words]: readonly string[]): Promise<number> {
  const run = async () => {
    const own = OWN_WORK.get(verb);
    if (own !== undefined) return own(words);
    const ask = QUESTIONS.get(verb);
    if (ask === undefined)
      throw new UsageError("sealpost cells can config, accounts, usage, metrics, take and move");
    const { values, positionals } = parseWords(words, {
      json: { type: "boolean" },
      month: { type: "string" },
    });
    const { cells } = readCellList(onlyFile(positionals));
    return ask(cells, tokenOf(process.env), { json: values.json === true, month: values.month ?? null });
  };
  return runCommandLine(USAGE, run, DatabaseError);
}

/** What does more than ask all cells. */
const OWN_WORK = new Map<string, (words: readonly string[]) => number | Promise<number>>([
  ["config", printConfig],
  ["take", take],
  ["move", move],
]);

function printConfig(words: readonly string[]): number {
  const [name = "", ...paths] = parseWords(words, {}).positionals;
  const write = ROUTERS.get(name);
  if (write === undefined)
    throw new UsageError(`sealpost cells config knows ${[...ROUTERS.keys()].join(", ")}`);
  console.log(write(readCellList(onlyFile(paths))));
  return EXIT.good;
}

/** Reads the settings of the service, which the same unit starts on what was taken. */
async function take(words: readonly string[]): Promise<number> {
  const { values, positionals } = parseWords(words, { from: { type: "string" } });
  if (values.from === undefined || positionals.length > 0)
    throw new UsageError("sealpost cells take needs --from with the replica of the other cell");
  const read = readConfig(process.env);
  if (!read.ok) throw new SettingsError(read.problems);
  const logger = createLogger(
    read.config.logLevel,
    writeOrLose(process.stdout, () => {}),
    Date.now,
  );
  try {
    await takeAccounts(read.config, { env: process.env, logger, from: values.from });
  } finally {
    logger.flush();
  }
  return EXIT.good;
}

async function move(words: readonly string[]): Promise<number> {
  const { values, positionals } = parseWords(words, { to: { type: "string" } });
  const path = positionals.at(-1);
  const accounts = positionals.slice(0, -1);
  if (values.to === undefined || path === undefined || accounts.length === 0)
    throw new UsageError("Ids of accounts, --to with the cell, and the file that lists the cells are needed");
  const { cells } = readCellList(path);
  const parts = { cells, token: tokenOf(process.env), accounts, to: values.to };
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

function question<T>(
  read: (get: Get, options: Options) => Promise<T>,
  print: (told: readonly Answered<T>[], options: Options) => void,
) {
  return async (cells: CellList["cells"], token: string, options: Options): Promise<number> => {
    const told: Told<T>[] = await askCells(cells, token, (get) => read(get, options));
    const answered = told.filter((one): one is Answered<T> => "value" in one);
    print(answered, options);
    for (const one of told) if ("problem" in one) console.error(`cell ${one.cell}: ${one.problem}`);
    return answered.length === told.length ? EXIT.good : EXIT.failed;
  };
}

type AccountsOfCells = readonly Answered<Awaited<ReturnType<typeof readAccounts>>>[];

function printAccounts(told: AccountsOfCells, { json }: Options): void {
  const rows = told.flatMap(({ cell, value }) => value.map((account) => ({ cell, ...account })));
  if (json) return printLines(rows);
  const heads = ["cell", "account", "plan", "state", "deliveries", "name"];
  const texts = rows.map(({ cell, id, plan, suspended, usage, name }) => {
    return [cell, id, plan, suspended ? "suspended" : "active", String(usage.deliveries), printable(name)];
  });
  console.log(tableOf(heads, texts));
}

type UsageOfCells = readonly Answered<Awaited<ReturnType<typeof readUsage>>>[];

function printUsage(told: UsageOfCells, { json }: Options): void {
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

/** Customers choose the names: nothing of them may steer a terminal. */
function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, "?");
}

function printLines(rows: readonly object[]): void {
  for (const row of rows) console.log(JSON.stringify(row));
}

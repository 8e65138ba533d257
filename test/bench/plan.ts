/**
 * How many cells, machines and requests so many deliveries a month need, what breaks first, and what a day of
 * many cells looks like when machines, zones and the object store fail. It measures nothing: its inputs are
 * figures of the pages, and yours.
 *
 *   bun test/bench/plan.ts                    sizes, and what can be done about what breaks first
 *   bun test/bench/plan.ts days               the simulated days
 *   bun test/bench/plan.ts inputs             each input, its unit, and where it comes from
 *
 *   [--set name=value]…  [--inputs mine.json]  [--json]
 *   [--deliveries 1e9,2e9]  [--cells 1000] [--seed 1] [--days 1000]
 */
import { readFileSync } from "node:fs";
import { parseArgs, type ParseArgsConfig } from "node:util";
import { messageOf } from "../../src/core/errors.ts";
import { runCommandLine, tableOf, UsageError } from "../../src/platform/command-line.ts";
import { SettingsError } from "../../src/platform/start-error.ts";
import { type Inputs, readInputs } from "./plan-inputs.ts";
import { planFor } from "./plan-model.ts";
import {
  DAYS,
  daysTable,
  inputsTable,
  leversTable,
  simulateDays,
  SIZES,
  sizesTable,
  type Table,
} from "./plan-tables.ts";

const USAGE = `usage: bun test/bench/plan.ts [sizes | days | inputs] [--set name=value]… [--inputs FILE.json] [--json]
       sizes: [--deliveries 1e9,2e9]   days: [--deliveries 1e11] [--cells 1000] [--seed 1] [--days 1000]`;
const DAYS_MAX = 100_000;
const CELLS_MAX = 1_000_000;

process.exit(
  await runCommandLine(USAGE, async () => {
    const { values, positionals } = parseWords(process.argv.slice(2), {
      set: { type: "string", multiple: true },
      inputs: { type: "string" },
      json: { type: "boolean" },
      deliveries: { type: "string" },
      cells: { type: "string" },
      seed: { type: "string" },
      days: { type: "string" },
    });
    const [verb = "sizes", ...more] = positionals;
    if (more.length > 0) throw new UsageError("One word says what is printed");
    const inputs = readInputs({
      ...fileOf(values.inputs),
      ...Object.fromEntries((values.set ?? []).map(pairOf)),
    });
    const print = values.json === true ? printJson : printTables;
    if (verb === "inputs") print(inputs, [inputsTable(inputs)]);
    else if (verb === "sizes") printSizes(print, inputs, values.deliveries);
    else if (verb === "days") printDays(print, inputs, values);
    else throw new UsageError("plan.ts prints sizes, days and inputs");
    return 0;
  }),
);

type Print = (value: unknown, tables: readonly Table[]) => void;

/** The options and other words; throws UsageError. */
function parseWords<O extends NonNullable<ParseArgsConfig["options"]>>(words: readonly string[], options: O) {
  try {
    return parseArgs({ args: [...words], options, allowPositionals: true });
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
}

function printSizes(print: Print, inputs: Inputs, asked: string | undefined): void {
  const sizes = asked?.split(",").map((text) => numberOf("--deliveries", text, 1, 1e15)) ?? SIZES;
  const plans = sizes.map((size) => planFor(size, inputs));
  print(plans, [sizesTable(inputs, sizes), leversTable(inputs, sizes)]);
}

function printDays(
  print: Print,
  inputs: Inputs,
  words: Partial<Record<keyof typeof DAYS | "seed", string>>,
): void {
  const asked = {
    deliveries: numberOf("--deliveries", words.deliveries ?? DAYS.deliveries, 1, 1e15),
    cells: wholeOf("--cells", words.cells ?? DAYS.cells, CELLS_MAX),
    days: wholeOf("--days", words.days ?? DAYS.days, DAYS_MAX),
    seed: wholeOf("--seed", words.seed ?? 1, 2 ** 31),
  };
  const days = simulateDays(asked, inputs);
  print(days, [daysTable(days)]);
}

function printJson(value: unknown): void {
  console.log(JSON.stringify(value, null, 2));
}

function printTables(_: unknown, tables: readonly Table[]): void {
  console.log(tables.map(({ head, rows }) => tableOf(head, rows)).join("\n\n"));
}

function numberOf(name: string, text: string | number, least: number, most: number): number {
  const value = Number(text);
  if (value >= least && value <= most) return value;
  throw new UsageError(`${name} must be a number from ${least} to ${most}`);
}

function wholeOf(name: string, text: string | number, most: number): number {
  const value = numberOf(name, text, 1, most);
  if (Number.isInteger(value)) return value;
  throw new UsageError(`${name} must be a whole number`);
}

function pairOf(text: string): [string, unknown] {
  const [name = "", value] = text.split(/=(.*)/s);
  if (value === undefined) throw new UsageError(`--set takes name=value, not ${text}`);
  return [name, jsonOf(value, `--set ${name}`)];
}

function fileOf(path: string | undefined): object {
  if (path === undefined) return {};
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new SettingsError([`The inputs cannot be read: ${messageOf(error)}`]);
  }
  const value = jsonOf(text, path);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new SettingsError([`${path} must be an object of inputs`]);
}

function jsonOf(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new SettingsError([`${name} is not JSON: ${messageOf(error)}`]);
  }
}

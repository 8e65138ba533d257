import { messageOf } from "../core/errors.ts";
import { SettingsError, StartError } from "./start-error.ts";

/** What the commands of the executable have in common: errors, exit codes, tables. */

/** How a command was called. */
export interface Call<Options> {
  /** What stands beside the options. */
  words: readonly string[];
  options: Options;
  /** The line that says how it is called, for what is wrong with the words. */
  usage: string;
}

export const EXIT = { good: 0, failed: 1, wrongUsage: 2 } as const;

/** The words of a command are wrong: one sentence. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** A command could not do what it was asked for: the message tells all. */
export class CommandError extends Error {
  override name = "CommandError";
}

/** What a command may also end with, beside the errors of settings and of the start: a message tells all. */
type Expected = new (...args: never[]) => Error;

/** Runs a command, and answers the exit code. What it throws that it may throw is one message. */
export async function runCommandLine(
  usage: string,
  work: () => Promise<number>,
  ...expected: readonly Expected[]
): Promise<number> {
  // What is under way is ended and removed as the process ends.
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => process.exit(EXIT.failed));
  return tellErrors(usage, work, ...expected);
}

/** The same for a command that ends by itself where a signal comes. */
export async function tellErrors(
  usage: string,
  work: () => Promise<number>,
  ...expected: readonly Expected[]
): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UsageError) console.error(`${printableLines(error.message)}\n${usage}`);
    else if (error instanceof SettingsError) console.error(error.problems.join("\n"));
    else if ([CommandError, StartError, ...expected].some((one) => error instanceof one))
      console.error(printableLines(messageOf(error)));
    else throw error;
    const isWrong = error instanceof UsageError || error instanceof SettingsError;
    return isWrong ? EXIT.wrongUsage : EXIT.failed;
  }
}

/** Rows below their heads, in columns as wide as they need; `paint` colours what stands in a column. */
export function tableOf(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  paint: (column: number, text: string) => string = (_, text) => text,
): string {
  const all = [heads, ...rows];
  const widths = heads.map((_, at) => Math.max(...all.map((row) => (row[at] ?? "").length)));
  const lineOf = (row: readonly string[]) =>
    row.map((text, at) => paint(at, text.padEnd(at === heads.length - 1 ? 0 : (widths[at] ?? 0)))).join("  ");
  return all.map((row) => lineOf(row).trimEnd()).join("\n");
}

/** Others choose names and bodies: nothing of them may steer a terminal. */
export function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, "?");
}

/** The same of a text of several lines. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}

/** A value as one line of JSON that steers no terminal either, and means the same. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(/\p{C}/gu, escaped);
}

/** Each half of a surrogate pair by itself, as JSON has it. */
function escaped(text: string): string {
  const units = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}

const COLOURS = { green: 32, red: 31, yellow: 33 } as const;

/** In colour where standard output is a terminal that has them, and NO_COLOR does not forbid it. */
export function coloured(colour: keyof typeof COLOURS, text: string): string {
  const { NO_COLOR: forbidden = "", TERM: terminal } = process.env;
  const hasColours = process.stdout.isTTY && forbidden === "" && terminal !== "dumb";
  return hasColours ? `\u001b[${COLOURS[colour]}m${text}\u001b[39m` : text;
}

import { type Call, CommandError } from "../../../platform/command-line.ts";
import { readInput, STDIN } from "../../input.ts";
import { type ImportOptions, runImport } from "../import.ts";
import { type ImportRecord, readRecord } from "../records.ts";

/** As many wrong lines are told as a screen holds. */
const FAULTS_MAX = 20;

/** `sealpost import ndjson`: records of a file, one a line. */
export function runImportNdjson(call: Call<ImportOptions>): Promise<number> {
  const [file = STDIN] = call.words;
  return runImport(call, () => ({ records: readNdjson(file), whole: null }));
}

/** The records of a file. Throws CommandError with each line that is none. */
export async function* readNdjson(file: string): AsyncGenerator<ImportRecord> {
  // A mark of the byte order at its start is no part of the text.
  const text = new TextDecoder().decode(await readInput(file));
  const faults: string[] = [];
  const records: ImportRecord[] = [];
  for (const [at, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const record = readRecord(line);
    if (typeof record === "string") faults.push(`line ${at + 1}: ${record}`);
    else records.push(record);
  }
  if (faults.length > 0) throw new CommandError(shownFaults(faults));
  yield* records;
}

function shownFaults(faults: readonly string[]): string {
  const shown = faults.slice(0, FAULTS_MAX);
  const rest = faults.length - shown.length;
  return [...shown, ...(rest > 0 ? [`and ${rest} more`] : [])].join("\n");
}

import { readFileSync } from "node:fs";
import { messageOf } from "../core/errors.ts";
import { CommandError } from "../platform/command-line.ts";

/** In place of a file's name: standard input. */
export const STDIN = "-";

/** Words that stand apart, or with commas between them. */
export function listOf(given: readonly string[] | undefined): string[] | undefined {
  return given?.flatMap((text) => text.split(",")).map((text) => text.trim());
}

/** The bytes of a file that a command is given, or of standard input. */
export async function readInput(path: string): Promise<Uint8Array> {
  try {
    return path === STDIN ? await Bun.stdin.bytes() : readFileSync(path);
  } catch (error) {
    throw new CommandError(`${path} cannot be read: ${messageOf(error)}`);
  }
}

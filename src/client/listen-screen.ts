import { parseObject } from "../core/json/value.ts";
import { coloured, printable, printableJson } from "../platform/command-line.ts";
import type { Forwarded } from "./forward.ts";
import { printLine, timeOfDay } from "./terminal.ts";
import type { PolledMessage } from "./poll-loop.ts";

/** One that was forwarded, and what came back. */
interface Shown {
  message: PolledMessage;
  forwarded: Forwarded;
}

/**
 * What `sealpost listen` prints: a line for each forward on standard output, all else on standard error.
 * Types and bodies are others': nothing of them steers the terminal.
 */
export class ListenScreen {
  readonly #isJson: boolean;
  readonly #withBodies: boolean;
  #last: Shown | null = null;

  constructor({ isJson, withBodies }: { isJson: boolean; withBodies: boolean }) {
    this.#isJson = isJson;
    this.#withBodies = withBodies;
  }

  begin(begun: { at: string; url: string; secret: string; isTakenUp: boolean }): void {
    const { at, url, secret, isTakenUp } = begun;
    console.error(`Listening at ${at}. Each delivery goes to ${url}, signed with\n  ${secret}`);
    if (isTakenUp) console.error("A run before this one did not end: what it left waiting comes first.");
    if (process.stdin.isTTY) console.error("r sends the last one again, b shows its bodies, q ends.");
  }

  show(message: PolledMessage, forwarded: Forwarded, isAgain: boolean): void {
    this.#last = { message, forwarded };
    const line = this.#isJson ? printableJson(this.#rowOf(this.#last, isAgain)) : lineOf(this.#last, isAgain);
    printLine(line);
    if (this.#withBodies && !this.#isJson) this.showLast();
  }

  /** The body of the last one, and of what came back. */
  showLast(): void {
    if (this.#last === null) return;
    const { message, forwarded } = this.#last;
    console.log(`  > ${printable(message.body)}`);
    if (forwarded.status === null || forwarded.text === "") return;
    for (const line of forwarded.text.trimEnd().split("\n")) console.log(`  < ${printable(line)}`);
  }

  #rowOf({ message, forwarded }: Shown, isAgain: boolean) {
    const { status, durationMs, text } = forwarded;
    return {
      webhook_id: message.headers["webhook-id"],
      type: typeOf(message),
      status,
      duration_ms: durationMs,
      again: isAgain,
      error: status === null ? text : null,
      ...(this.#withBodies && { body: message.body, answer: status === null ? null : text }),
    };
  }
}

function lineOf({ message, forwarded }: Shown, isAgain: boolean): string {
  const { status, durationMs, text } = forwarded;
  const isGood = status !== null && status >= 200 && status < 300;
  const outcome = status === null ? `no answer: ${printable(text)}` : String(status);
  const id = message.headers["webhook-id"];
  const parts = [timeOfDay(), printable(typeOf(message)), id, coloured(isGood ? "green" : "red", outcome)];
  return [...parts, `${durationMs} ms`, ...(isAgain ? ["again"] : [])].join("  ");
}

/** Of the envelope; a transformation may have left it out. */
function typeOf({ body }: PolledMessage): string {
  const type = parseObject(body)?.["type"];
  return typeof type === "string" ? type : "?";
}

/** One JSON line per unit of work on standard output. Lines are gathered and written together. */

import type { ErrorCode } from "../core/errors.ts";
import { formatRfc3339 } from "../core/rfc3339.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

type LineLevel = Exclude<LogLevel, "silent">;

export interface Logger {
  log: (level: LineLevel, msg: string, fields?: LogFields) => void;
  /**
   * A line of the hot path: `fields` as JSON text (`"a":1,"b":"x"`) of words, numbers and public ids of ours,
   * nothing else.
   */
  logPlain(level: LineLevel, msg: string, fields: string): void;
  flush(): void;
}

const FLUSH_MS = 50;
const BUFFER_CHARS_MAX = 64 * 1024;
/** What waits for a reader of the log that does not read: more would fill the memory. */
const UNREAD_BYTES_MAX = 4 * 1024 * 1024;
/** The last net: nothing that looks like a credential leaves, whatever field it came in. */
const CREDENTIALS = /(whsec_|whsk_|sp_live_|sp_test_|spl_|Bearer )[A-Za-z0-9+/=_.-]+/g;

export function hideCredentials(text: string): string {
  return text.replace(CREDENTIALS, "$1***");
}

export function createLogger(level: LogLevel, write: (text: string) => void, now: () => number): Logger {
  const least = LOG_LEVELS.indexOf(level);
  let buffer = "";
  let timer: ReturnType<typeof setTimeout> | null = null;
  const flush = () => {
    if (timer) clearTimeout(timer);
    timer = null;
    const text = buffer;
    buffer = "";
    if (text !== "") write(text);
  };
  const isOff = (lineLevel: LineLevel) => LOG_LEVELS.indexOf(lineLevel) < least;
  const append = (line: string) => {
    buffer += line;
    if (buffer.length > BUFFER_CHARS_MAX) flush();
    else timer ??= setTimeout(flush, FLUSH_MS);
  };
  return {
    log(lineLevel, msg, fields) {
      if (isOff(lineLevel)) return;
      const head = `{"ts":"${formatRfc3339(now())}","level":"${lineLevel}","msg":${JSON.stringify(msg)}`;
      const rest = JSON.stringify(fields ?? {}).slice(1);
      const line = rest === "}" ? `${head}}\n` : `${head},${rest}\n`;
      append(hideCredentials(line));
    },
    logPlain(lineLevel, msg, fields) {
      if (!isOff(lineLevel))
        append(`{"ts":"${formatRfc3339(now())}","level":"${lineLevel}","msg":"${msg}",${fields}}\n`);
    },
    flush,
  };
}

/**
 * Writes to a stream that may be on a full disk, or whose reader is slow or gone: lines are lost then, and
 * nothing else. `tellLost` is called with how many, once it can be written again.
 */
export function writeOrLose(
  stream: Pick<NodeJS.WriteStream, "on" | "write" | "writableLength">,
  tellLost: (lines: number) => void,
): (text: string) => void {
  let lost = 0;
  const lose = (text: string) => {
    lost += text.split("\n").length - 1;
  };
  const tell = () => {
    const lines = lost;
    lost = 0;
    if (lines > 0) tellLost(lines);
  };
  // Whoever wrote is told as well; an error that nobody listens to ends the process.
  stream.on("error", () => {});
  return (text) => {
    if (stream.writableLength >= UNREAD_BYTES_MAX) lose(text);
    else stream.write(text, (error) => (error ? lose(text) : tell()));
  };
}

/** What the log tells of a request: the pattern of the path, never the path, query, body or token. */
export interface RequestLine {
  requestId: string;
  method: string;
  route: string;
  status: number;
  /** The code of the error that it was answered with. */
  refusal: ErrorCode | null;
  durationMs: number;
  /** null where nobody was recognised. */
  projectId: number | null;
}

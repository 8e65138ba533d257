/** One JSON line per unit of work on standard output (contract section 11). Lines are gathered and written together. */

export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface Logger {
  log(level: Exclude<LogLevel, "silent">, msg: string, fields?: LogFields): void;
  flush(): void;
}

const FLUSH_MS = 50;
const BUFFER_CHARS_MAX = 64 * 1024;
/** The last net: nothing that looks like a credential leaves, whatever field it came in. */
const CREDENTIALS = /(whsec_|whsk_|sp_live_|sp_test_|spl_|Bearer )[A-Za-z0-9+/=_.-]+/g;

export function createLogger(level: LogLevel, write: (text: string) => void, now: () => number): Logger {
  const least = LOG_LEVELS.indexOf(level);
  let buffer = "";
  let timer: ReturnType<typeof setTimeout> | null = null;
  const stampOf = stamper();
  const flush = () => {
    if (timer) clearTimeout(timer);
    timer = null;
    const text = buffer;
    buffer = "";
    if (text !== "") write(text.replace(CREDENTIALS, "$1***"));
  };
  return {
    log(lineLevel, msg, fields) {
      if (LOG_LEVELS.indexOf(lineLevel) < least) return;
      const head = `{"ts":"${stampOf(now())}","level":"${lineLevel}","msg":${JSON.stringify(msg)}`;
      const rest = JSON.stringify(fields ?? {}).slice(1);
      buffer += rest === "}" ? `${head}}\n` : `${head},${rest}\n`;
      if (buffer.length > BUFFER_CHARS_MAX) flush();
      else timer ??= setTimeout(flush, FLUSH_MS);
    },
    flush,
  };
}

/** RFC 3339 of an instant; lines that are written together share it. */
function stamper(): (at: number) => string {
  let last = Number.NaN;
  let stamp = "";
  return (at) => {
    if (at !== last) stamp = new Date(at).toISOString();
    last = at;
    return stamp;
  };
}

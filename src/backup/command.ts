import { type Config, readConfig } from "../config.ts";
import { formatRfc3339, parseRfc3339 } from "../core/rfc3339.ts";
import { keyTime } from "../core/ids.ts";
import { DatabaseError } from "../store/database.ts";
import { type Call, EXIT, runCommandLine, UsageError } from "../platform/command-line.ts";
import { SettingsError } from "../platform/start-error.ts";
import { withoutPassword } from "../replica/litestream-command.ts";
import type { Copy } from "../store/copy.ts";
import { rotateMasterKey } from "./rotate-master-key.ts";
import { restoreBackup, type Restored } from "./restore.ts";
import type { Source } from "../replica/source.ts";
import { verifyBackup } from "./verify.ts";

const WITHIN_SECONDS = 60;

/** What `sealpost restore` is given on the command line. */
export interface RestoreOptions {
  at?: string;
  json?: boolean;
}

/** `sealpost restore`; answers the exit code. */
export function runRestore({ options, usage }: Call<RestoreOptions>): Promise<number> {
  return run(usage, async () => {
    const at = options.at === undefined ? null : parseRfc3339(options.at);
    if (options.at !== undefined && at === null) throw new UsageError("--at must be a time of RFC 3339");
    const restored = await restoreBackup(configured(), process.env, at);
    const { source, copy, path } = restored;
    const found = { ...foundIn(source, copy), restored_to: path, problems: copy.problems };
    print(options.json === true, { ...found, next: nextOf(restored) });
    return restored.copy.problems.length === 0 ? EXIT.good : EXIT.failed;
  });
}

/** What `sealpost backup verify` is given on the command line. */
export interface VerifyOptions {
  within?: string;
  withoutDatabase?: boolean;
  json?: boolean;
}

/** `sealpost backup verify`; answers the exit code. */
export function runVerify({ options, usage }: Call<VerifyOptions>): Promise<number> {
  return run(usage, async () => {
    const within = Number(options.within ?? WITHIN_SECONDS);
    if (!(within > 0)) throw new UsageError("--within must be a number of seconds above 0");
    const found = await verifyBackup(configured(), process.env, {
      withinSeconds: within,
      hasDatabase: options.withoutDatabase !== true,
    });
    const { source, copy, seconds, behindSeconds, problems } = found;
    const verdict = problems.length === 0 ? "good" : "bad";
    const lag = { behind_seconds: behindSeconds, seconds, verdict, problems };
    print(options.json === true, { ...foundIn(source, copy), ...lag });
    return problems.length === 0 ? EXIT.good : EXIT.failed;
  });
}

/** What `sealpost rotate-master-key` is given on the command line. */
export interface RotateOptions {
  json?: boolean;
}

/** `sealpost rotate-master-key`; answers the exit code. */
export function runRotate({ options, usage }: Call<RotateOptions>): Promise<number> {
  return run(usage, async () => {
    const { encrypted, left, keyFile, isKeyMade } = await rotateMasterKey(configured());
    const problems =
      left === 0
        ? []
        : [`${left} secrets need a key that is not given: give it behind the others, and call again`];
    const next = left > 0 ? null : (keyFile ?? "SEALPOST_SECRET_KEY");
    print(options.json === true, {
      encrypted,
      left,
      key_made: isKeyMade ? "yes" : "no",
      problems,
      next: next === null ? [] : [nextKeyOf(next)],
    });
    return left === 0 ? EXIT.good : EXIT.failed;
  });
}

/** What may be done with the old keys. */
function nextKeyOf(place: string): string {
  return `Every secret is encrypted by the first key of ${place}: keep a copy of it elsewhere. The others open older backups: keep them for as long as you may restore one.`;
}

function run(usage: string, work: () => Promise<number>): Promise<number> {
  return runCommandLine(usage, work, DatabaseError);
}

function configured(): Config {
  const read = readConfig(process.env);
  if (!read.ok) throw new SettingsError(read.problems);
  return read.config;
}

/** What was found, name by name: as lines for people, or as JSON. */
type Found = Record<string, string | number | null | Record<string, number> | readonly string[]>;

function print(isJson: boolean, found: Found): void {
  if (isJson) return console.log(JSON.stringify(found, null, 2));
  for (const [name, value] of Object.entries(found)) {
    if (Array.isArray(value)) for (const one of value) console.log(line(name, one));
    else if (value !== null)
      console.log(line(name, textOf(value as Exclude<typeof value, readonly string[]>)));
  }
}

function textOf(value: string | number | Record<string, number>): string {
  if (typeof value !== "object") return String(value);
  return Object.entries(value)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");
}

function foundIn(source: Source, { bytes, schema, rows, newestKey, secrets }: Copy): Found {
  return {
    replica: withoutPassword(source.url),
    restored_before: source.before === null ? null : formatRfc3339(source.before),
    bytes,
    schema,
    rows,
    newest_row_at: newestKey === 0 ? null : formatRfc3339(keyTime(newestKey)),
    secrets,
  };
}

/** How to go on from what was restored. */
function nextOf({ source, copy }: Restored): string[] {
  const start =
    source.before === null && source.generation === null
      ? "Start the service on it with the same settings."
      : "Start the service on it with another LITESTREAM_REPLICA_URL: this one goes on from what is newest.";
  const key = "Put secret.key beside it, or set SEALPOST_SECRET_KEY, which opens its secrets.";
  return copy.secrets === null ? [key, start] : [start];
}

const NAME_WIDTH = 17;

function line(name: string, text: string): string {
  return `${name.padEnd(NAME_WIDTH)}${text}`;
}

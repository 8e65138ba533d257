import { SettingsError } from "../platform/start-error.ts";
import { generationUrl, splitGeneration } from "../replica/generations.ts";
import { findLease } from "../replica/lease.ts";
import { LitestreamCommand } from "../replica/litestream-command.ts";
import { openObjects } from "../replica/objects.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Which replica is restored, and up to where. */
export interface Source {
  url: string;
  /** Of a pair: whose path that is. Null: there is no pair. */
  generation: number | null;
  /** Unix milliseconds: what was uploaded from then on is left out. Null: all of it is restored. */
  before: number | null;
}

/**
 * What LITESTREAM_REPLICA_URL holds: of a pair the newest generation, or that which was written to at the
 * instant `at` (Unix milliseconds). Throws SettingsError where there is no replica, or none of that time.
 */
export async function findSource(
  env: Env,
  litestream: LitestreamCommand,
  at: number | null,
): Promise<Source> {
  const base = env["LITESTREAM_REPLICA_URL"] ?? "";
  if (base === "")
    throw new SettingsError([
      "LITESTREAM_REPLICA_URL must say where the replica is, for example LITESTREAM_REPLICA_URL=s3://bucket/path",
    ]);
  const newest = await newestGeneration(base, env);
  if (at === null) return { url: urlOf(base, newest), generation: newest, before: null };
  for (let generation = newest; generation === null || generation >= 0; generation--) {
    const url = urlOf(base, generation);
    const times = (await litestream.files(url)).map((file) => file.at);
    // Litestream knows no moment after the last change.
    if (Math.min(...times) < at) return { url, generation, before: Math.max(...times) < at ? null : at };
    if (generation === null) break;
  }
  throw new SettingsError([`LITESTREAM_REPLICA_URL holds nothing from before ${new Date(at).toISOString()}`]);
}

/** Null where the URL is not that of a pair, or that of one of its generations. */
async function newestGeneration(base: string, env: Env): Promise<number | null> {
  const objects = splitGeneration(base) === null ? openObjects(base, env) : null;
  const found = objects === null ? null : await findLease(objects);
  return found === null ? null : (found.lease.from ?? found.lease.generation);
}

function urlOf(base: string, generation: number | null): string {
  return generation === null ? base : generationUrl(base, generation);
}

/** Throws SettingsError where the PATH does not lead to it. */
export function requireLitestream(): LitestreamCommand {
  const litestream = LitestreamCommand.find();
  if (litestream !== null) return litestream;
  throw new SettingsError(["PATH must lead to litestream, for example PATH=/usr/local/bin:$PATH"]);
}

/** As it may be shown: a password in it is for nobody's log. */
export function shownUrl(url: string): string {
  if (!URL.canParse(url)) return url;
  const { password } = new URL(url);
  return password === "" ? url : url.replace(`:${password}@`, ":***@");
}

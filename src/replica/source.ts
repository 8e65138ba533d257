import { messageOf } from "../core/errors.ts";
import { SettingsError, StartError } from "../platform/start-error.ts";
import { generationUrl, splitGeneration } from "./generations.ts";
import { findLease, sourceOf } from "./lease.ts";
import { LitestreamCommand, NO_LITESTREAM } from "./litestream-command.ts";
import { NoCredentials, openObjects } from "./objects.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Which replica is restored, and up to where. */
export interface Source {
  url: string;
  /** Of a pair: whose path that is. Null: there is no pair. */
  generation: number | null;
  /** False where a machine has the lease whose own generation holds nothing yet: it goes on from this one. */
  isSettled: boolean;
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
  const { newest, isSettled } = await newestGeneration(base, env);
  // Files are told apart by the second.
  const second = at === null ? null : Math.floor(at / 1000) * 1000;
  if (second === null) return { url: urlOf(base, newest), generation: newest, isSettled, before: null };
  for (let generation = newest; generation === null || generation >= 0; generation--) {
    const url = urlOf(base, generation);
    const times = (await litestream.files(url)).map((file) => file.at);
    // Litestream knows no moment after the last change.
    const isAfterAll = Math.max(...times) < second;
    if (Math.min(...times) < second)
      return { url, generation, isSettled, before: isAfterAll ? null : second };
    if (generation === null) break;
  }
  throw new SettingsError([
    `LITESTREAM_REPLICA_URL holds nothing from before ${new Date(second).toISOString()}`,
  ]);
}

interface Newest {
  /** Null where the URL is not that of a pair, or that of one of its generations. */
  newest: number | null;
  isSettled: boolean;
}

const NO_PAIR: Newest = { newest: null, isSettled: true };

async function newestGeneration(base: string, env: Env): Promise<Newest> {
  const objects = splitGeneration(base) === null ? openObjects(base, env) : null;
  if (objects === null) return NO_PAIR;
  try {
    const found = await findLease(objects);
    if (found === null) return NO_PAIR;
    return { newest: sourceOf(found.lease), isSettled: found.lease.from === null };
  } catch (error) {
    // No pair can be made without.
    if (error instanceof NoCredentials) return NO_PAIR;
    if (error instanceof SettingsError) throw error;
    throw new StartError(`It cannot be read whether the replica is that of a pair: ${messageOf(error)}`);
  }
}

function urlOf(base: string, generation: number | null): string {
  return generation === null ? base : generationUrl(base, generation);
}

/** Throws SettingsError where the PATH does not lead to it. */
export function requireLitestream(): LitestreamCommand {
  const litestream = LitestreamCommand.find();
  if (litestream !== null) return litestream;
  throw new SettingsError([NO_LITESTREAM]);
}

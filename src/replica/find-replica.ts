import { join, resolve } from "node:path";
import { SettingsError } from "../platform/start-error.ts";
import { splitGeneration } from "./generations.ts";
import {
  adoptLease,
  describeLease,
  findLease,
  type HeldLease,
  HOLDER_VARIABLE,
  type HolderParts,
} from "./lease.ts";
import { LitestreamCommand } from "./litestream-command.ts";
import { findLitestream, Litestream, litestreamAbove } from "./litestream.ts";
import { openObjects } from "./objects.ts";
import { Replica } from "./replica.ts";

/**
 * The replica that is meant; null where none is. Throws SettingsError where one is meant and none is made:
 * Litestream above this process, or its setting in the environment, and nobody who replicates the database of
 * this data directory.
 */
export async function findReplica(
  dataDir: string,
  env: Readonly<Record<string, string | undefined>>,
  holder: HolderParts,
): Promise<Replica | null> {
  const dir = resolve(dataDir);
  const path = join(dir, "sealpost.db");
  const url = env["LITESTREAM_REPLICA_URL"] ?? "";
  const found = await findLitestream(path);
  if (found instanceof Litestream) {
    const lease = await findOwnLease(url, env, holder);
    const command = LitestreamCommand.above() ?? LitestreamCommand.find();
    return new Replica(found, openObjects(url, env), dir, lease, async () => command?.endOf(url) ?? 0);
  }
  const isUnder = litestreamAbove() !== null;
  if (!isUnder && url === "" && found === null) return null;
  const who = isUnder ? "Litestream runs above this process" : "LITESTREAM_REPLICA_URL is set";
  const what =
    found === null
      ? `and ${join(dir, "litestream.sock")} does not answer`
      : `but replicates ${found.join(", ")}`;
  throw new SettingsError([
    `SEALPOST_DATA_DIR is ${dir}, and nobody replicates ${path}: ${who}, ${what}. Both must be told the same directory, which has to be there before Litestream starts, for example SEALPOST_DATA_DIR=/data litestream replicate -exec sealpost`,
  ]);
}

/**
 * The lease under which the replica's path is written; null where it is no path of a pair. Throws
 * SettingsError where somebody else has the lease, or where this one is started without.
 */
async function findOwnLease(
  url: string,
  env: Readonly<Record<string, string | undefined>>,
  parts: HolderParts,
): Promise<HeldLease | null> {
  const split = splitGeneration(url);
  const objects = openObjects(split?.base ?? url, env);
  if (objects === null) return null;
  if (split !== null)
    return adoptLease(objects, { holder: env[HOLDER_VARIABLE] ?? "", generation: split.generation }, parts);
  // What cannot be read is told by whoever reads the mark.
  const other = await findLease(objects).catch((error: unknown) => {
    if (error instanceof SettingsError) throw error;
    return null;
  });
  if (other === null) return null;
  throw new SettingsError([
    `LITESTREAM_REPLICA_URL is that of a pair (the lease is ${describeLease(other.lease)}): start with sealpost standby`,
  ]);
}

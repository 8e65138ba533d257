import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { findSource, requireLitestream } from "../backup/source.ts";
import type { Config } from "../config.ts";
import { Cipher } from "../core/cipher.ts";
import type { Logger } from "../platform/log.ts";
import { SettingsError, StartError } from "../platform/start-error.ts";
import type { LitestreamCommand } from "../replica/litestream-command.ts";
import { hasDatabase, lockDirectory } from "../store/database.ts";
import { SCHEMA_VERSION } from "../store/migrations.ts";
import { type Offer, readOffer, splitOff } from "../store/moving.ts";
import { Follower } from "../standby/follower.ts";
import { openWaitingRoom } from "../standby/waiting-room.ts";

/**
 * A new cell begins with accounts of another one: it follows that cell's replica, and once accounts there
 * have moved to it, the copy becomes its database. The mark that a move leaves in the rows is all that they
 * agree by: before it is in the replica the accounts are the other cell's, and from then on this one's.
 */

const LOOK_MS = 200;
/** How often it is asked which generation of a pair is the newest. */
const FIND_MS = 5000;
/** What a machine that waits says of itself in `/readyz`, for `sealpost cells move`. */
export const WAITS_AS = "waits_for_accounts_as";

type Env = Readonly<Record<string, string | undefined>>;

interface TakeParts {
  env: Env;
  logger: Logger;
  /** The replica of the cell that the accounts come from. */
  from: string;
}

/**
 * Resolves once the data directory holds the database of this cell: at once where it does already. Throws
 * SettingsError where this machine could not go on with what it copies.
 */
export async function takeAccounts(config: Config, { env, logger, from }: TakeParts): Promise<void> {
  const dir = resolve(config.dataDir);
  if (hasDatabase(dir)) {
    logger.log("info", "there is a database: nothing is taken", { data_dir: dir });
    return;
  }
  if (config.secretKeys === null)
    throw new SettingsError([
      "SEALPOST_SECRET_KEY must be that of the cell that the accounts come from, for example SEALPOST_SECRET_KEY=$(cat secret.key)",
    ]);
  const litestream = requireLitestream();
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const lock = lockDirectory(dir);
  const follower = new Follower(litestream, dir, logger.log);
  process.on("exit", () => follower.kill());
  follower.clear();
  const leave = openWaitingRoom(
    config,
    () => ({ transactions: 0, seconds: follower.position > 0 ? 0 : null }),
    {
      sentence: `This machine waits to take accounts as cell ${config.cell}.`,
      members: { [WAITS_AS]: config.cell },
    },
  );
  try {
    logger.log("info", "waiting for accounts", { cell: config.cell });
    const url = await untilOffered(follower, new Cipher(config.secretKeys), {
      config,
      env,
      from,
      logger,
      litestream,
    });
    await follower.catchUp(url);
    const { path } = follower;
    if (path === null) throw new Error("the copy is gone");
    const taken = splitOff(path, config.cell);
    follower.install();
    logger.log("info", "this cell has its accounts", { ...taken });
  } finally {
    await follower.end();
    await leave();
    lock.release();
  }
}

interface Offered {
  config: Config;
  env: Env;
  from: string;
  logger: Logger;
  litestream: LitestreamCommand;
}

/** Follows until accounts have moved to this cell; answers the replica that says so. */
async function untilOffered(
  follower: Follower,
  cipher: Cipher,
  { config, env, from, logger, litestream }: Offered,
): Promise<string> {
  let url = from;
  const findNewest = async () => {
    try {
      return (await findSource({ ...env, LITESTREAM_REPLICA_URL: from }, litestream, null)).url;
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      logger.log("warn", "the other cell's replica cannot be read now", { error: error.message });
      return url;
    }
  };
  for (let foundAt = Number.NEGATIVE_INFINITY; ; await Bun.sleep(LOOK_MS)) {
    if (performance.now() - foundAt >= FIND_MS) {
      url = await findNewest();
      foundAt = performance.now();
    }
    await follower.follow(url);
    const offer = look(follower, config.cell, cipher);
    if (offer === null) continue;
    requireUsable(offer);
    if (offer.accounts > 0) return url;
  }
}

/** Null where there is no copy, or Litestream is in the middle of writing to it. */
function look({ path, position }: Follower, cell: string, cipher: Cipher): Offer | null {
  if (path === null || position === 0) return null;
  try {
    return readOffer(path, cell, cipher);
  } catch (error) {
    if (error instanceof SettingsError) throw error;
    return null;
  }
}

/** Before anything moves. */
function requireUsable({ schema, missingKeys }: Offer): void {
  const problems: string[] = [];
  if (missingKeys.length > 0)
    problems.push(
      `SEALPOST_SECRET_KEY lacks the key ${missingKeys.join(", ")}, by which the other cell encrypts: both need the same`,
    );
  if (schema !== SCHEMA_VERSION)
    problems.push(
      `The other cell has schema ${schema} and this version ${SCHEMA_VERSION}: run the same version in both`,
    );
  if (problems.length > 0) throw new SettingsError(problems);
}

import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { findSource, requireLitestream, type Source } from "../replica/source.ts";
import type { Config } from "../config.ts";
import { Cipher } from "../core/cipher.ts";
import { findPlan } from "../core/plans.ts";
import type { Logger } from "../platform/log.ts";
import { SettingsError, StartError } from "../platform/start-error.ts";
import type { LitestreamCommand } from "../replica/litestream-command.ts";
import { writerOf } from "../replica/writer.ts";
import { hasDatabase, lockDirectory } from "../store/database.ts";
import { SCHEMA_VERSION } from "../store/migrations.ts";
import { type Offer, readOffer, splitOff } from "../store/moving.ts";
import { Follower } from "../replica/follower.ts";
import { openWaitingRoom, type Waiting } from "../replica/waiting-room.ts";

/**
 * A new cell begins with accounts of another one: it follows that cell's replica, and once accounts there
 * have moved to it, the copy becomes its database. The mark that a move leaves in the rows is all that they
 * agree by: before it is in the replica the accounts are the other cell's, and from then on this one's.
 */

const LOOK_MS = 200;
const RETRY_MS = 1000;
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
  await requireNoReplica(env, litestream);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const lock = lockDirectory(dir);
  const follower = new Follower(litestream, dir, logger.log);
  process.on("exit", () => follower.kill());
  follower.clear();
  const parts = { follower, env, logger, from, litestream, taker: writerOf(dir) };
  const cipher = new Cipher(config.secretKeys);
  const waiting = new Waiter(config, cipher, parts);
  const leave = openWaitingRoom(config, () => waiting.describe());
  try {
    logger.log("info", "waiting for accounts", { cell: config.cell });
    const path = await waiting.untilTaken();
    const taken = splitOff(path, config.cell, cipher);
    follower.install();
    logger.log("info", "this cell has its accounts", { ...taken });
  } finally {
    await follower.end();
    await leave();
    lock.release();
  }
}

/** Whoever has lost the disk of a cell that was made already restores that, in place of beginning anew. */
async function requireNoReplica(env: Env, litestream: LitestreamCommand): Promise<void> {
  if ((env["LITESTREAM_REPLICA_URL"] ?? "") === "") return;
  const { url } = await findSource(env, litestream, null);
  if (await litestream.holdsAny(url))
    throw new SettingsError([
      "LITESTREAM_REPLICA_URL holds a replica: restore it by sealpost restore, or name an empty path",
    ]);
}

interface WaiterParts extends TakeParts {
  follower: Follower;
  litestream: LitestreamCommand;
  /** The name of this data directory: of two machines that wait as one cell, one gets the accounts. */
  taker: string;
}

/** Follows another cell's replica until accounts there have moved to this machine. */
class Waiter {
  /** What the copy said when it was last looked at. */
  #offer: Offer | null = null;
  #url: string | null = null;

  constructor(
    private readonly config: Config,
    private readonly cipher: Cipher,
    private readonly parts: WaiterParts,
  ) {}

  /** For whoever asks meanwhile. */
  describe(): Waiting {
    const { cell } = this.config;
    const copy = this.#offer ? "It has a copy of the other cell" : "It has no copy of the other cell yet";
    return {
      sentence: `This machine waits to take accounts as cell ${cell}. ${copy}.`,
      members: {
        [WAITS_AS]: cell,
        taker: this.parts.taker,
        installation: this.#offer?.installation ?? null,
      },
    };
  }

  /** Resolves with the copy that has them, which nobody writes to any more. */
  async untilTaken(): Promise<string> {
    const { follower } = this.parts;
    for (;;) {
      const url = await this.#untilOffered();
      if (await this.#catchUp(url)) {
        const { path } = follower;
        // Meanwhile the accounts may have been given to another machine.
        const isOffered = (this.#look()?.accounts ?? 0) > 0;
        if (path !== null && isOffered && (await this.#isStillNewest(url))) return path;
      }
      await follower.end();
      this.#offer = null;
    }
  }

  /** False where the replica cannot be reached now: the accounts have left, and wait until it can. */
  async #catchUp(url: string): Promise<boolean> {
    try {
      await this.parts.follower.catchUp(url);
      return true;
    } catch (error) {
      this.#warnOf(error);
      await Bun.sleep(RETRY_MS);
      return false;
    }
  }

  /** Throws what is no fault of the replica, or of the way to it. */
  #warnOf(error: unknown): void {
    if (!(error instanceof StartError)) throw error;
    this.parts.logger.log("warn", "the other cell's replica cannot be read now", { error: error.message });
  }

  /** Answers the replica whose copy says so. */
  async #untilOffered(): Promise<string> {
    for (let foundAt = Number.NEGATIVE_INFINITY; ; await Bun.sleep(LOOK_MS)) {
      if (performance.now() - foundAt >= FIND_MS) {
        this.#url = (await this.#find())?.url ?? this.#url;
        foundAt = performance.now();
      }
      if (this.#url === null) continue;
      await this.parts.follower.follow(this.#url);
      this.#offer = this.#look() ?? this.#offer;
      if (this.#offer === null) continue;
      requireUsable(this.#offer, this.config);
      if (this.#offer.accounts > 0) return this.#url;
    }
  }

  /**
   * Of a pair, another machine may have taken over without the row that says so, whose upload came too late:
   * then that machine still owns the accounts. One that takes over after this look has the row.
   */
  async #isStillNewest(url: string): Promise<boolean> {
    for (;;) {
      const source = await this.#find();
      if (source !== null) return source.isSettled && source.url === url;
      await Bun.sleep(LOOK_MS);
    }
  }

  /** Null where it cannot be read at the moment. */
  async #find(): Promise<Source | null> {
    const { env, from, litestream } = this.parts;
    try {
      return await findSource({ ...env, LITESTREAM_REPLICA_URL: from }, litestream, null);
    } catch (error) {
      this.#warnOf(error);
      return null;
    }
  }

  /** Null where there is no copy, or Litestream is in the middle of writing to it. */
  #look(): Offer | null {
    const { path, position } = this.parts.follower;
    if (path === null || position === 0) return null;
    try {
      return readOffer(path, { cell: this.config.cell, taker: this.parts.taker }, this.cipher);
    } catch {
      return null;
    }
  }
}

/** Before anything moves. */
function requireUsable({ schema, missingKeys, plans, arrived }: Offer, config: Config): void {
  const problems: string[] = [];
  if (missingKeys.length > 0)
    problems.push(
      `SEALPOST_SECRET_KEY lacks the key ${missingKeys.join(", ")}, by which the other cell encrypts: both need the same`,
    );
  if (schema !== SCHEMA_VERSION)
    problems.push(
      `The other cell has schema ${schema} and this version ${SCHEMA_VERSION}: run the same version in both`,
    );
  const lost = plans.filter((plan) => findPlan(config.plans, plan) === undefined);
  if (lost.length > 0)
    problems.push(`SEALPOST_PLANS lacks ${lost.join(", ")}, on which accounts of the other cell are`);
  if (arrived > 0)
    problems.push(
      `Accounts have been in cell ${config.cell} already: restore its own replica, as the other cell has let go of them`,
    );
  if (problems.length > 0) throw new SettingsError(problems);
}

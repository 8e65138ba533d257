import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { resolve } from "node:path";
import type { Config } from "../config.ts";
import { Cipher } from "../core/cipher.ts";
import type { Logger } from "../platform/log.ts";
import { SettingsError, StartError } from "../platform/start-error.ts";
import { GENERATIONS_FOLDER, generationUrl } from "../replica/generations.ts";
import {
  describeLease,
  findLease,
  HeldLease,
  hasSource,
  HOLDER_VARIABLE,
  type Lease,
  type Role,
  roleOf,
  type Sight,
  sourceOf,
  type Succession,
  successionOf,
  SILENCE_MS,
  type OwnDatabase,
} from "../replica/lease.ts";
import { LitestreamCommand, NO_LITESTREAM } from "../replica/litestream-command.ts";
import { MARK_FILE, MARK_SILENCE_MS, readMark } from "../replica/mark.ts";
import { type Objects, openObjects } from "../replica/objects.ts";
import { SCHEMA_VERSION } from "../store/migrations.ts";
import { VERSION } from "../transport/user-agent.ts";
import { Directory } from "./directory.ts";
import { Follower } from "../replica/follower.ts";
import { openWaitingRoom, type Waiting } from "../replica/waiting-room.ts";

const LOOK_MS = 500;
/** After a failure. */
const AGAIN_MS = 3000;
/** For how long a primary may be starting before another one takes its place. */
const START_MS = 120_000;
/** Of a service that runs alone. */
const NO_GENERATION: Succession = { generation: 0, from: null, kept: null };
const PROBE = "sealpost-lease-probe";

interface StandbyParts {
  logger: Logger;
  env: Readonly<Record<string, string | undefined>>;
  /** A primary of an older schema is followed, and its database is brought up to date at the take-over. */
  mayUpgrade: boolean;
}

/** What stands beside the replica: the lease, or the mark of a service that had none. */
interface Seen {
  lease: Lease;
  /** As it was read: it changes with every renewal. */
  text: string;
  /** Null where there is no lease yet. */
  tag: string | null;
}

/** One machine of a pair: follows the primary's replica for as long as there is one, and then becomes it. */
export class Standby {
  readonly #directory: Directory;
  readonly #url: string;
  readonly #objects: Objects;
  readonly #cipher: Cipher;
  readonly #follower: Follower;
  readonly #litestream: LitestreamCommand;
  /** Frees the port, where it is open. */
  #leave: (() => Promise<void>) | null = null;
  /** That there is no copy to take over with is told once. */
  #isTold = false;
  /** The lease as it was last seen, and since when it has not changed. */
  #seen: Seen | null = null;
  #since = 0;
  /** That it is a standby is told once. */
  #isFollowing = false;
  /** The lease has changed while this machine looked. */
  #hasChanged = false;
  /** See Lease. */
  readonly #holder = randomBytes(16).toString("hex");
  /** Since when the machine that has the lease is starting, in any generation; null where it answers. */
  #startingSince: number | null = null;
  /** When the copy was last as far as the lease said; null where there is none. */
  #levelAt: number | null = null;

  /** Throws SettingsError where a pair cannot be made with these settings. */
  constructor(
    private readonly config: Config,
    private readonly parts: StandbyParts,
  ) {
    const { env, logger } = parts;
    const url = env["LITESTREAM_REPLICA_URL"] ?? "";
    const objects = openObjects(url, env);
    const litestream = LitestreamCommand.find();
    const problems: string[] = [];
    if (objects === null)
      problems.push(
        `LITESTREAM_REPLICA_URL must be that of a bucket or a folder, which both machines reach, for example LITESTREAM_REPLICA_URL=s3://bucket/path`,
      );
    if (config.secretKeys === null)
      problems.push(
        `SEALPOST_SECRET_KEY must be set, and be the same for both machines, for example SEALPOST_SECRET_KEY=$(openssl rand -base64 32)`,
      );
    if (litestream === null) problems.push(NO_LITESTREAM);
    if (objects === null || config.secretKeys === null || litestream === null)
      throw new SettingsError(problems);
    this.#directory = new Directory(resolve(config.dataDir));
    this.#url = url;
    this.#objects = objects;
    this.#cipher = new Cipher(config.secretKeys);
    this.#litestream = litestream;
    this.#follower = new Follower(litestream, this.#directory.path, logger.log);
  }

  /** Resolves once this machine has the lease and the newest database, with what starts the primary. */
  async untilPrimary(): Promise<{ command: string[]; env: Record<string, string | undefined> }> {
    const lock = this.#directory.lock();
    try {
      this.#follower.clear();
      await requireConditions(this.#objects);
      let generation: number | null = null;
      while (generation === null) {
        const role = await this.#look();
        if (role === "follow") await this.#follow();
        else if (role === "wait") this.#wait();
        else if (role !== null) generation = await this.#tryToBecome(role);
        if (generation === null) await Bun.sleep(LOOK_MS);
      }
      return this.#primary(generation);
    } finally {
      await this.#leave?.();
      lock.release();
    }
  }

  /** At once: the process ends. */
  kill(): void {
    this.#follower.kill();
  }

  /** Null where the lease cannot be read at the moment. */
  async #look(): Promise<Role | null> {
    let seen: Seen | null;
    try {
      seen = await this.#find();
    } catch (error) {
      if (error instanceof SettingsError) throw error;
      this.parts.logger.log("warn", "the lease cannot be read", { error: String(error) });
      // Time in which nothing is seen is no silence of the primary.
      this.#since = Number.POSITIVE_INFINITY;
      this.#startingSince = null;
      return null;
    }
    // After the answer, as what it tells may have been written at any time before.
    const now = performance.now();
    if (seen !== null) this.#requireSame(seen.lease);
    else if (this.#seen !== null) throw new StartError(GONE);
    if (this.#seen !== null && seen?.text !== this.#seen.text) this.#hasChanged = true;
    if (seen?.text !== this.#seen?.text || this.#since > now) this.#since = now;
    const isSame = seen?.lease.writer === this.#seen?.lease.writer;
    const startingSince = isSame ? this.#startingSince : null;
    this.#startingSince = seen === null || seen.lease.isOpen ? null : (startingSince ?? now);
    this.#seen = seen;
    return roleOf(seen?.lease ?? null, this.#own, this.#sightAt(now));
  }

  #sightAt(now: number): Sight {
    const silenceMs = this.#seen?.tag === null ? MARK_SILENCE_MS : SILENCE_MS;
    const isStuck = this.#startingSince !== null && now - this.#startingSince >= START_MS;
    if (isStuck || now - this.#since >= silenceMs) return "silent";
    return this.#hasChanged ? "changing" : "still";
  }

  get #own(): OwnDatabase {
    const { writer, place, generation, identity, copiedTo } = this.#directory;
    return { writer, place, generation, start: identity.start, beat: identity.beat, copiedTo };
  }

  async #find(): Promise<Seen | null> {
    const found = await findLease(this.#objects);
    if (found !== null) return found;
    const text = (await this.#objects.read(MARK_FILE))?.text;
    const mark = text === undefined ? null : readMark(text);
    if (text === undefined || mark === null) return null;
    const { installation, writer, host, ended, at, start, beat } = mark;
    const known = { installation, writer, place: null, host, ended, at, start, beat, isOpen: true };
    return { lease: { ...this.#newLease(NO_GENERATION), ...known }, text, tag: null };
  }

  /** Throws SettingsError where this machine could not go on with what the primary has written. */
  #requireSame({ installation, key, schema, version }: Lease): void {
    const own = this.#directory.identity.installation;
    const problems: string[] = [];
    if (own !== null && installation !== null && own !== installation)
      problems.push(
        `LITESTREAM_REPLICA_URL is the replica of another installation than the database in SEALPOST_DATA_DIR (${this.#directory.path}): name the right replica, or an empty directory`,
      );
    if (!this.#cipher.has(key))
      problems.push(
        `SEALPOST_SECRET_KEY lacks the key ${key}, by which the primary encrypts: both machines need the same`,
      );
    if (schema > SCHEMA_VERSION)
      problems.push(
        `The primary (${version}) has schema ${schema} and this version (${VERSION}) knows ${SCHEMA_VERSION}: start the newer version here`,
      );
    if (schema < SCHEMA_VERSION && !this.parts.mayUpgrade)
      problems.push(
        `The primary (${version}) has schema ${schema} and this version (${VERSION}) has ${SCHEMA_VERSION}: to upgrade by this take-over start sealpost standby --upgrade`,
      );
    if (problems.length > 0) throw new SettingsError(problems);
  }

  #newLease(succession: Succession): Lease {
    return {
      ...this.#directory.identity,
      writer: this.#directory.writer,
      place: this.#directory.place,
      holder: this.#holder,
      host: hostname(),
      ...succession,
      key: this.#cipher.currentKeyId,
      schema: SCHEMA_VERSION,
      version: VERSION,
      txid: 0,
      ended: false,
      isOpen: false,
      renewals: 0,
      at: new Date().toISOString(),
    };
  }

  /** Answers whoever asks, until this machine is the primary. */
  #wait(): void {
    this.#leave ??= openWaitingRoom(this.config, () => this.#waiting());
  }

  async #follow(): Promise<void> {
    const { lease } = this.#seen ?? {};
    if (!lease) return;
    this.#wait();
    if (!this.#isFollowing) this.parts.logger.log("info", "standby", { primary: describeLease(lease) });
    this.#isFollowing = true;
    // Until the other one begins, this database may be the newest that there is.
    if (!hasSource(lease, this.#own)) this.#supersede();
    await this.#copy(lease);
  }

  async #copy(lease: Lease): Promise<void> {
    await this.#follower.follow(generationUrl(this.#url, sourceOf(lease)));
    const { position } = this.#follower;
    if (position === 0) this.#levelAt = null;
    else if (lease.from === null && position >= lease.txid) this.#levelAt = performance.now();
    else this.#levelAt ??= performance.now();
  }

  /** How far the copy is behind; in seconds: since it was last as far as the primary said. */
  #waiting(): Waiting {
    const { lease } = this.#seen ?? {};
    const transactions = Math.max(0, (lease?.txid ?? 0) - this.#follower.position);
    const seconds = this.#behindSeconds;
    const copy =
      seconds === null
        ? "It has no copy yet"
        : `Its copy is ${transactions} transactions and ${seconds} s behind`;
    return {
      sentence: `This machine is a standby. ${copy}.`,
      members: { behind_transactions: transactions, behind_seconds: seconds },
    };
  }

  get #behindSeconds(): number | null {
    return this.#levelAt === null ? null : Math.round((performance.now() - this.#levelAt) / 100) / 10;
  }

  /** Null where somebody else was first, or the store fails: then it is looked anew. */
  async #tryToBecome(role: "begin" | "resume" | "take"): Promise<number | null> {
    try {
      const generation = await this.#become(role);
      if (generation !== null) return generation;
    } catch (error) {
      if (error instanceof SettingsError) throw error;
      this.parts.logger.log("warn", "this machine cannot become the primary yet", { error: String(error) });
      await Bun.sleep(AGAIN_MS);
    }
    this.#wait();
    return null;
  }

  /** Takes the lease and the database. Answers the generation; null where somebody else was first. */
  async #become(role: "begin" | "resume" | "take"): Promise<number | null> {
    const { log } = this.parts.logger;
    const lease = this.#leaseFor(role);
    const last = this.#seen;
    if (role === "begin") await this.#requireNothing();
    if (role !== "take") await this.#follower.end();
    if (role === "take" && !(await this.#hasCopy(last))) return null;
    const held = new HeldLease(this.#objects, lease, last?.tag ?? null, {
      monotonic: () => performance.now(),
      now: Date.now,
      log,
      onLost: ({ message }) => log("warn", message),
    });
    if (!(await held.change())) return null;
    held.keep();
    try {
      if (role === "take") {
        await this.#follower.catchUp(generationUrl(this.#url, sourceOf(lease)));
        if (!(await held.change())) return null;
        this.#supersede();
        this.#follower.install();
      }
      const { generation } = lease;
      if (generation !== this.#directory.generation) this.#directory.forgetUploads();
      this.#directory.belongsTo(generation);
      log("info", "this machine is the primary", {
        role,
        generation,
        ...(last && { last: describeLease(last.lease) }),
      });
      return generation;
    } catch (error) {
      // Nothing was written: whoever has the newest disk, or a copy, begins at once.
      if (role === "take") await held.end().catch(() => {});
      throw error;
    } finally {
      await held.rest();
    }
  }

  /** The lease that is written now, over what was seen. */
  #leaseFor(role: "begin" | "resume" | "take"): Lease {
    const seen = this.#seen && { lease: this.#seen.lease, isLease: this.#seen.tag !== null };
    const next = successionOf(role, seen, this.#own);
    const made = this.#newLease(next);
    if (seen === null) return made;
    const { installation, schema, start, beat } = seen.lease;
    const txid = sourceOf(seen.lease) === sourceOf(next) ? seen.lease.txid : 0;
    return { ...made, installation, schema, start, beat, txid };
  }

  /**
   * False where there is no copy yet, which is made then. Only with one the lease is taken: whoever comes
   * back with its own disk meanwhile goes on with that.
   */
  async #hasCopy(last: Seen | null): Promise<boolean> {
    if (last === null) return false;
    this.#wait();
    await this.#copy(last.lease);
    if (this.#follower.position > 0) return true;
    if (!this.#isTold)
      this.parts.logger.log("warn", "the primary is silent, and this machine has no copy to go on with yet");
    this.#isTold = true;
    return false;
  }

  /** A replica that nobody has marked is not ours to begin beside, and a lease does not go by itself. */
  async #requireNothing(): Promise<void> {
    const { generation, hasDatabase, path } = this.#directory;
    const isPair = (generation ?? 0) > 0 || (await this.#objects.holdsAny(GENERATIONS_FOLDER));
    if (isPair) throw new SettingsError([GONE]);
    if (hasDatabase || !(await this.#litestream.holdsAny(this.#url))) return;
    throw new SettingsError([
      `LITESTREAM_REPLICA_URL holds a replica that no service has marked: restore it into SEALPOST_DATA_DIR (${path}) first, or name an empty path`,
    ]);
  }

  #supersede(): void {
    const folder = this.#directory.supersede();
    if (folder === null) return;
    this.parts.logger.log("warn", "the database of this directory has a successor: it is kept aside", {
      folder,
    });
  }

  #primary(generation: number) {
    const service = Bun.isStandaloneExecutable ? [process.execPath] : [process.execPath, Bun.main];
    const url = generationUrl(this.#url, generation);
    const own = { LITESTREAM_REPLICA_URL: url, SEALPOST_DATA_DIR: this.#directory.path };
    const env = { ...this.parts.env, ...own, [HOLDER_VARIABLE]: this.#holder };
    const quoted = service.map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(" ");
    return { command: [this.#litestream.path, "replicate", "-exec", quoted], env };
  }
}

const GONE = `The lease at LITESTREAM_REPLICA_URL is gone, and generations are there: restore the newest of them into an empty directory, and start sealpost standby there with another URL`;

/** Tries what a lease stands on. Throws SettingsError where two machines could both take it. */
async function requireConditions(objects: Objects): Promise<void> {
  const name = `${PROBE}-${randomBytes(8).toString("hex")}`;
  try {
    const first = await objects.replace(name, "1", null);
    const again = await objects.replace(name, "2", null);
    const next = first === null ? null : await objects.replace(name, "3", first);
    const stale = first === null ? null : await objects.replace(name, "4", first);
    if (first !== null && again === null && next !== null && stale === null) return;
  } catch (error) {
    throw new StartError(`The place of the replica cannot be written to: ${String(error)}`);
  } finally {
    await objects.remove(name).catch(() => {});
  }
  throw new SettingsError([
    "LITESTREAM_REPLICA_URL is in a store without conditional writes (If-None-Match, If-Match), on which the lease of a pair stands: choose a store that has them",
  ]);
}

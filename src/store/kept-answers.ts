import { limit } from "../core/limits.ts";
import { pagesOf } from "./cleanup/removal.ts";
import type { Store } from "./store.ts";

const DAY_MS = 86_400_000;

/** Whose key it is. */
export interface KeyOwner {
  /** Who bears what is kept; 0 is the operator. */
  accountId: number;
  /** Negative for a link over the whole project. */
  projectId: number;
  consumerId: string | null;
}

type LinksOfConsumer = Pick<KeyOwner, "projectId"> & { consumerId: string };

/** What a key of an owner stands for. */
export interface KeptAnswer {
  /** Of the request. */
  fingerprint: string;
  status: number;
  /** JSON, or empty. */
  body: string;
}

/**
 * Answers kept under an Idempotency-Key for a day: those of changes on the disk, with the change; those of
 * calls that changed nothing in memory, as asking again after a restart does no harm.
 */
export class KeptAnswers {
  readonly #find;
  readonly #save;
  readonly #past;
  readonly #leave;
  readonly #hasPast;
  readonly #anyOf;
  readonly #dropOf;
  /** Oldest first. */
  readonly #unchanging = new Map<string, Unchanging>();
  /**
   * Bytes of today's answers to changes: of each account, of all its links, and of each consumer. A restart
   * begins anew.
   */
  readonly #changed = new Map<string, number>();
  /** Bytes that are kept of calls that changed nothing: of each account, and of all its links. */
  readonly #unchanged = new Map<string, number>();
  #unchangingBytes = 0;
  /** How often something was erased, of each project in which something was; since the start. */
  readonly #erasures = new Map<number, number>();
  #day = 0;

  constructor(private readonly store: Store) {
    const { sqlite } = store;
    this.#find = sqlite.prepare<KeptAnswer, [number, string, string, number]>(
      "SELECT fingerprint, status, body FROM idempotency WHERE project_id = ? AND consumer_id = ? AND key = ? AND created_at > ?",
    );
    this.#save = sqlite.prepare<void, [number, string, string, string, number, string, number]>(
      "INSERT OR REPLACE INTO idempotency VALUES (?, ?, ?, ?, ?, ?, ?)",
    );
    this.#hasPast = sqlite.prepare<object, [number]>(
      "SELECT 1 FROM idempotency WHERE created_at <= ? LIMIT 1",
    );
    this.#past = sqlite.prepare<Past, [number, number]>(
      `SELECT project_id, consumer_id, key, octet_length(body) AS bytes FROM idempotency
       WHERE created_at <= ? LIMIT ?`,
    );
    this.#leave = sqlite.prepare<void, [number, string, string]>(
      "DELETE FROM idempotency WHERE project_id = ? AND consumer_id = ? AND key = ?",
    );
    this.#anyOf = sqlite.prepare<object, [number, string]>(
      "SELECT 1 FROM idempotency WHERE project_id = ? AND consumer_id = ? LIMIT 1",
    );
    this.#dropOf = sqlite.prepare<void, [number, string, number]>(
      `DELETE FROM idempotency WHERE project_id = ?1 AND consumer_id = ?2 AND key IN
       (SELECT key FROM idempotency WHERE project_id = ?1 AND consumer_id = ?2 LIMIT ?3)`,
    );
  }

  find(owner: KeyOwner, key: string): KeptAnswer | null {
    this.#dropPast();
    const known = this.#unchanging.get(nameOf(owner, key));
    if (known) return known.kept;
    const since = this.store.now() - limit("idempotencyKeptMs");
    return this.#find.get(owner.projectId, owner.consumerId ?? "", key, since);
  }

  /**
   * Takes room for the answer of a change. An account has so many bytes a day, and its links as many
   * together; each consumer has a part of those, so that none takes them from the others. `size`: of the
   * answer's body.
   */
  takeRoom(owner: KeyOwner, key: string, size: number): boolean {
    this.#beginDay();
    return take(this.#changed, weightOf(owner, key, size), roomsOf(owner));
  }

  /** The change did not happen: what was taken for its answer is free again. */
  giveRoomBack(owner: KeyOwner, key: string, size: number): void {
    const bytes = weightOf(owner, key, size);
    for (const [name] of roomsOf(owner)) giveBack(this.#changed, name, bytes);
  }

  /** Inside a write: the answer of a change. */
  save(owner: KeyOwner, key: string, { fingerprint, status, body }: KeptAnswer): void {
    const { projectId, consumerId } = owner;
    this.#save.run(projectId, consumerId ?? "", key, fingerprint, status, body, this.store.now());
  }

  /** How often something of the owner's project was erased. */
  erasuresOf(owner: KeyOwner): number {
    return this.#erasures.get(projectOf(owner)) ?? 0;
  }

  /**
   * The answer of a call that changed nothing, where there is room for it. `asOf`: `erasuresOf` when the call
   * began; where something was erased since, the call may have read it before, and its answer is not kept.
   */
  keepUnchanging(owner: KeyOwner, key: string, kept: KeptAnswer, asOf: number): void {
    this.#dropPast();
    if (asOf !== this.erasuresOf(owner)) return;
    const bytes = weightOf(owner, key, kept.body.length);
    const payer = payerOf(owner);
    if (this.#unchangingBytes + bytes > limit("keptUnchangedTotalBytesMax")) return;
    if (!take(this.#unchanged, bytes, [[payer, limit("keptUnchangedBytesMax")]])) return;
    this.#unchangingBytes += bytes;
    const projectId = projectOf(owner);
    this.#unchanging.set(nameOf(owner, key), { kept, projectId, payer, bytes, at: this.store.now() });
  }

  /** Of those calls what is past its day. */
  #dropPast(): void {
    const past = this.store.now() - limit("idempotencyKeptMs");
    for (const [name, kept] of this.#unchanging) {
      if (kept.at > past) return;
      this.#drop(name, kept);
    }
  }

  /** Something of a project is erased, which answers of its calls that changed nothing may show. */
  forgetUnchanging(projectId: number): void {
    this.#erasures.set(projectId, (this.#erasures.get(projectId) ?? 0) + 1);
    for (const [name, kept] of this.#unchanging) if (kept.projectId === projectId) this.#drop(name, kept);
  }

  #drop(name: string, { payer, bytes }: Unchanging): void {
    this.#unchanging.delete(name);
    this.#unchangingBytes -= bytes;
    giveBack(this.#unchanged, payer, bytes);
  }

  /** True where an answer to a change is kept for a link of this consumer. */
  hasChangesOf({ projectId, consumerId }: LinksOfConsumer): boolean {
    return this.#anyOf.get(projectId, consumerId) !== null;
  }

  /** Inside a write: removes a slice of these answers, and says how many. */
  dropChangesOf({ projectId, consumerId }: LinksOfConsumer): number {
    return this.#dropOf.run(projectId, consumerId, limit("sliceRows")).changes;
  }

  /** Removes a slice of what is past its day, by rows and by what they weigh; answers how many. */
  async expire(): Promise<number> {
    const before = this.store.now() - limit("idempotencyKeptMs");
    if (!this.#hasPast.get(before)) return 0;
    return this.store.write(() => {
      let rows = 0;
      let cost = 0;
      for (const { project_id, consumer_id, key, bytes } of this.#past.all(before, limit("sliceRows"))) {
        if (cost >= limit("sliceRows")) break;
        this.#leave.run(project_id, consumer_id, key);
        cost += 1 + pagesOf(bytes);
        rows++;
      }
      return rows;
    });
  }

  #beginDay(): void {
    const day = Math.floor(this.store.now() / DAY_MS);
    if (day === this.#day) return;
    this.#day = day;
    this.#changed.clear();
  }
}

/** An answer that is kept no longer, and what it weighs. */
interface Past {
  project_id: number;
  consumer_id: string;
  key: string;
  bytes: number;
}

/** The answer of a call that changed nothing. */
interface Unchanging {
  kept: KeptAnswer;
  projectId: number;
  payer: string;
  bytes: number;
  at: number;
}

/** What a kept answer weighs, with its name and the fingerprint, wherever it is kept. */
function weightOf(owner: KeyOwner, key: string, size: number): number {
  return limit("keptAnswerBytes") + nameOf(owner, key).length + size;
}

type Room = [name: string, max: number];

/** Where answers of an owner's changes have to find room. */
function roomsOf(owner: KeyOwner): Room[] {
  const rooms: Room[] = [[payerOf(owner), limit("keptChangedBytesMax")]];
  if (isOfLink(owner)) rooms.push([nameOf(owner, ""), limit("keptChangedOfConsumerBytesMax")]);
  return rooms;
}

/** Takes bytes out of each of these rooms, or, where one of them has too few, out of none. */
function take(taken: Map<string, number>, bytes: number, rooms: readonly Room[]): boolean {
  const after = rooms.map(([name, max]) => ({ name, max, bytes: (taken.get(name) ?? 0) + bytes }));
  if (after.some((room) => room.bytes > room.max)) return false;
  for (const room of after) taken.set(room.name, room.bytes);
  return true;
}

/** Who holds nothing any more has no entry. */
function giveBack(taken: Map<string, number>, name: string, bytes: number): void {
  const left = (taken.get(name) ?? 0) - bytes;
  if (left > 0) taken.set(name, left);
  else taken.delete(name);
}

function isOfLink({ projectId, consumerId }: KeyOwner): boolean {
  return consumerId !== null || projectId < 0;
}

/** Whose calls a link over the whole project answers too. */
function projectOf({ projectId }: KeyOwner): number {
  return Math.abs(projectId);
}

/** Accounts are made by the operator alone: nobody else adds to these names. */
function payerOf(owner: KeyOwner): string {
  return `${isOfLink(owner) ? "links" : "keys"} of ${owner.accountId}`;
}

/** One text for a key of an owner. */
export function nameOf({ projectId, consumerId }: KeyOwner, key: string): string {
  return JSON.stringify([projectId, consumerId, key]);
}

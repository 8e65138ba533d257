import type { Caller } from "../../core/caller.ts";
import { invalid, Problem } from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";
import { type KeptAnswer, type KeyOwner, nameOf } from "../../store/kept-answers.ts";
import { type HttpParts, OPERATOR_KEY } from "./parts.ts";
import type { Answer, AnyRoute } from "./route.ts";

/** Fields that are secret in every answer that has them at its top. */
export const SECRET_FIELDS: readonly string[] = ["secret", "key", "api_key", "private_key", "embed_html"];

export const PRINTABLE_ASCII = /^[\x20-\x7e]+$/;

/** The request's Idempotency-Key, or null where it has none. Throws 422 where it is malformed. */
export function readIdempotencyKey(request: Request): string | null {
  const key = request.headers.get("idempotency-key");
  if (key === null) return null;
  const max = limit("idempotencyKeyLengthMax");
  if (key.length <= max && PRINTABLE_ASCII.test(key)) return key;
  throw invalid("Idempotency-Key", `Expected 1 to ${max} printable ASCII characters.`);
}

/** SHA-256 over method, path with query, and body. */
export function fingerprint(request: Request, bytes: Uint8Array): string {
  const { pathname, search } = new URL(request.url);
  const hash = new Bun.CryptoHasher("sha256");
  return hash.update(`${request.method} ${pathname}${search}\n`).update(bytes).digest("hex");
}

/** One request that carries an Idempotency-Key. A portal token's keys never meet the project's own. */
export class KeyedRequest {
  private isSaved = false;
  /** The answer is kept, whatever becomes of the request. */
  private isKept = false;
  private hasRoom = false;
  /** Bytes of the body that room was taken for; null where none was. */
  private roomTaken: number | null = null;
  private readonly asOf: number;

  /** Before the handler reads anything. */
  constructor(
    private readonly parts: HttpParts,
    private readonly owner: KeyOwner,
    private readonly key: string,
    private readonly print: string,
    private readonly secretFields: readonly string[],
  ) {
    this.asOf = parts.keptAnswers.erasuresOf(owner);
  }

  /** The answer that the first request with this key got. Throws 422 where that was another request. */
  findKept(): Answer | null {
    const kept = this.parts.keptAnswers.find(this.owner, this.key);
    if (kept === null) return null;
    if (kept.fingerprint !== this.print) {
      throw new Problem("idempotency_key_reused", "Use a new Idempotency-Key for another path or body.");
    }
    const headers = { "idempotency-replayed": "true" };
    if (kept.body === "") return { status: kept.status, headers };
    return {
      status: kept.status,
      body: kept.body,
      headers: { ...headers, "content-type": "application/json" },
    };
  }

  /**
   * Keeps the answer to a change, inside its transaction. Throws 429 where the caller's room is used up: a
   * change whose answer is not kept would happen again. Publishing has room by its new events.
   */
  saveChange(answer: Answer, isPublish: boolean): void {
    if (!isSuccess(answer)) return;
    const kept = this.keptOf(answer);
    const repeated = answer.repeated ?? 0;
    const size = isPublish ? Math.ceil(repeated * kept.body.length) : kept.body.length;
    // A transaction may run again after a rollback.
    this.hasRoom ||= size === 0 || this.takeRoom(size);
    if (!this.hasRoom && repeated === 1) return;
    if (!this.hasRoom) throw noRoom();
    this.parts.keptAnswers.save(this.owner, this.key, kept);
    this.isSaved = true;
  }

  /** Before a change that is done outside of the answer's transaction. Throws 429 as `saveChange` does. */
  beginChange(): void {
    this.hasRoom ||= this.takeRoom(limit("keptUnseenBytes"));
    if (!this.hasRoom) throw noRoom();
  }

  private takeRoom(size: number): boolean {
    if (!this.parts.keptAnswers.takeRoom(this.owner, this.key, size)) return false;
    this.roomTaken = size;
    return true;
  }

  /**
   * Once the transaction that keeps the answer is on disk, the answer has its room for good. Answers the very
   * promise of the store: whoever goes on after one of its own would come behind those that were written
   * later, and what they changed would be undone in memory.
   */
  keepRoom(committed: Promise<Answer>): Promise<Answer> {
    // `committed` tells whoever asked what fails.
    void committed.then(
      () => (this.isKept = this.isSaved),
      () => {},
    );
    return committed;
  }

  /** The request was refused or failed: nothing is kept for it, unless it failed after its commit. */
  giveRoomBack(): void {
    if (this.roomTaken !== null && !this.isKept)
      this.parts.keptAnswers.giveRoomBack(this.owner, this.key, this.roomTaken);
  }

  /**
   * Keeps the answer of a handler that did not commit it with its own writes, where there is room for it.
   * `requireCaller`, inside the write: of a link that is erased with its consumer nothing more is kept.
   */
  async saveUnlessSaved(answer: Answer, requireCaller: () => void): Promise<void> {
    if (this.isSaved || !isSuccess(answer)) return;
    const { keptAnswers } = this.parts;
    const kept = this.keptOf(answer);
    if (!this.hasRoom) return keptAnswers.keepUnchanging(this.owner, this.key, kept, this.asOf);
    await this.parts.writeFor(this.owner.projectId, () => {
      requireCaller();
      keptAnswers.save(this.owner, this.key, kept);
    });
  }

  /** Without its secrets. */
  private keptOf(answer: Answer): KeptAnswer {
    const text = typeof answer.body === "string" ? answer.body : "";
    const body = answer.json === undefined ? text : withoutFields(answer.json, this.secretFields);
    return { fingerprint: this.print, status: answer.status, body };
  }
}

function noRoom(): Problem {
  return new Problem("rate_limited", "Today's answers to this caller's keyed changes use up their room.", {
    headers: { "retry-after": "3600" },
  });
}

function isSuccess({ status }: Answer): boolean {
  return status >= 200 && status <= 299;
}

/** Lets one request per key run at a time. A restart forgets them: what was cut is not running. */
export class RunningKeys {
  private readonly running = new Set<string>();

  /** Throws 409 where a request with this key is running. */
  async hold<T>(owner: KeyOwner, key: string, run: () => Promise<T>): Promise<T> {
    const name = nameOf(owner, key);
    if (this.running.has(name)) {
      throw new Problem("idempotency_in_progress", "Try again when the first request has been answered.");
    }
    this.running.add(name);
    try {
      return await run();
    } finally {
      this.running.delete(name);
    }
  }
}

/**
 * True where idempotency is promised (src/docs/behaviour.md): a POST under `/v1` by a caller who is known.
 */
export function takesIdempotencyKey(route: AnyRoute): boolean {
  return route.method === "POST" && route.path.startsWith("/v1/") && route.access !== "none";
}

function withoutFields(json: unknown, paths: readonly string[]): string {
  const copy: unknown = JSON.parse(JSON.stringify(json));
  for (const path of [...SECRET_FIELDS, ...paths]) removeField(copy, path.split("."));
  return JSON.stringify(copy);
}

function removeField(value: unknown, [name = "", ...rest]: readonly string[]): void {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    for (const entry of value) removeField(entry, [name, ...rest]);
  } else if (rest.length === 0) {
    Reflect.deleteProperty(value, name);
  } else {
    removeField(Reflect.get(value, name), rest);
  }
}

/**
 * A link over the whole project has a key space of its own too, below the one of operators: no project has
 * that key.
 */
export function keyOwnerOf(caller: Caller | null): KeyOwner {
  if (caller === null) return { accountId: OPERATOR_KEY, projectId: OPERATOR_KEY, consumerId: null };
  const { kind, accountId, projectId, consumerId } = caller;
  const isProjectLink = kind === "portal" && consumerId === null;
  return { accountId, projectId: isProjectLink ? -projectId : projectId, consumerId };
}

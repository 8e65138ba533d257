import { type Problem, unavailable } from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";

const RETRY_SECONDS = 1;
/** What is kept free of a share before more is begun: a page, as the largest are. */
const RESERVE = 1 / 16;

/** Of which kind they are: what bounds them, and what whoever is refused is told. */
interface Kind {
  whole: Parameters<typeof limit>[0];
  ofAccount: Parameters<typeof limit>[0];
  detail: string;
}

export const REQUESTS: Kind = {
  whole: "bodiesInFlightBytesMax",
  ofAccount: "accountBodiesBytesMax",
  detail: "Too many bodies are coming in at once. Send it again in a moment.",
};

export const ANSWERS: Kind = {
  whole: "answersInFlightBytesMax",
  ofAccount: "accountAnswersBytesMax",
  detail: "Too many large answers are not read yet. Read those, and ask again in a moment.",
};

/** Whose bodies are counted together: at the door of the sources nobody is known, so all of them are one. */
export const ANYBODY = "anybody";

/** One body: of a request, from its first byte to the answer; of an answer, from its text to its end. */
export interface BodyInFlight {
  /** Counts bytes that have come, or are about to. Throws 503 where this body is the one that has to go. */
  take(bytes: number): void;
  /**
   * Until `settle` this body may be refused for another's sake: then `refuse` is called. A body that never
   * says so stays.
   */
  whenRefused(refuse: (problem: Problem) => void): void;
  /** The body is complete: it is worked on, and is not refused any more. */
  settle(): void;
  end(): void;
}

/** What a member has of the bodies that may be refused: those of which bytes have come, the oldest first. */
interface Member {
  bytes: number;
  bodies: Set<Body>;
}

/** An account. The sums of its members are kept as they change: a refusal adds up no bodies. */
class Holder {
  bytes = 0;
  /** How many. */
  bodies = 0;
  readonly #members = new Map<string, Member>();

  constructor(readonly name: string) {}

  /** More bytes of a body that may be refused, or fewer. */
  come(body: Body, bytes: number): void {
    let member = this.#members.get(body.member);
    if (!member) this.#members.set(body.member, (member = { bytes: 0, bodies: new Set() }));
    member.bytes += bytes;
    member.bodies.add(body);
  }

  /** It is not refused any more, or is over. */
  leave(body: Body): void {
    const member = this.#members.get(body.member);
    if (!member?.bodies.delete(body)) return;
    member.bytes -= body.bytes;
    if (member.bodies.size === 0) this.#members.delete(body.member);
  }

  /** Whether no member has more than this one. */
  hasMost(name: string): boolean {
    const member = this.#members.get(name);
    return member !== undefined && member.bytes === this.#most(null);
  }

  /** Which of its bodies goes, so that `current` has room; undefined where none may. */
  victim(current: Body): Body | undefined {
    const spared = current.stays ? current : null;
    const most = this.#most(spared);
    if (most === 0) return undefined;
    const own = this === current.holder ? this.#members.get(current.member) : undefined;
    if (this.name !== ANYBODY && own !== undefined && shareOf(own, spared) === most) return current;
    for (const member of this.#members.values()) {
      if (shareOf(member, spared) !== most) continue;
      return this.name === ANYBODY ? oldestOf(member, spared) : newestOf(member, spared);
    }
    return undefined;
  }

  #most(spared: Body | null): number {
    let most = 0;
    for (const member of this.#members.values()) most = Math.max(most, shareOf(member, spared));
    return most;
  }
}

/** What it has without the one that is spared. */
function shareOf(member: Member, spared: Body | null): number {
  return spared !== null && member.bodies.has(spared) ? member.bytes - spared.bytes : member.bytes;
}

/**
 * The bytes of all bodies of a kind: of requests, that come in or are worked on, counted as they come; of
 * answers, that are written or on their way to a reader who takes his time. Each account has a share;
 * where its own bodies exceed that, or all together exceed the whole and it has the most, one of its bodies
 * is refused. That is one of whichever of its members (a key, or the links of a consumer) has the most: the
 * one which would exceed it, or the newest, so that those under way are completed. Of anybody's it is the
 * oldest, so that whoever sends slowly on purpose keeps out nobody.
 */
export class BodiesInFlight {
  readonly #holders = new Map<string, Holder>();
  #bytes = 0;

  constructor(private readonly kind = REQUESTS) {}

  /** Of all bodies together. */
  get bytes(): number {
    return this.#bytes;
  }

  /** One that `stays` is never refused for its own sake, where there is another: its change is made. */
  begin(name: string, member = "", stays = false): BodyInFlight {
    let holder = this.#holders.get(name);
    if (!holder) this.#holders.set(name, (holder = new Holder(name)));
    holder.bodies++;
    return new Body(this, holder, name === ANYBODY ? "" : member, stays);
  }

  /** Throws 503 where the next of this member would be the one that has to go. */
  requireRoom(name: string, member: string): void {
    const holder = this.#holders.get(name);
    if (holder === undefined) return;
    const { whole, ofAccount } = this.kind;
    const reserve = limit(ofAccount) * RESERVE;
    const isFull =
      holder.bytes > limit(ofAccount) - reserve ||
      (this.#bytes > limit(whole) - reserve && this.#largest() === holder);
    if (isFull && holder.hasMost(member)) throw this.refusal();
  }

  /** Only for `Body`. */
  refusal(): Problem {
    return unavailable(this.kind.detail, RETRY_SECONDS);
  }

  /** Only for `Body`. */
  count(body: Body, bytes: number): void {
    this.#bytes += bytes;
    body.bytes += bytes;
    body.holder.bytes += bytes;
    if (body.isComing && bytes !== 0) body.holder.come(body, bytes);
    if (bytes <= 0) return;
    const { whole, ofAccount } = this.kind;
    while (body.holder.bytes > limit(ofAccount) && this.#refuseOf(body.holder, body)) continue;
    while (this.#bytes > limit(whole) && this.#refuseOf(this.#largest(), body)) continue;
  }

  /** Only for `Body`. */
  forget(body: Body): void {
    const { holder } = body;
    this.count(body, -body.bytes);
    if (--holder.bodies === 0) this.#holders.delete(holder.name);
  }

  #largest(): Holder {
    const [first, ...others] = this.#holders.values();
    if (first === undefined) throw new Error("bytes of nobody");
    return others.reduce((most, holder) => (holder.bytes > most.bytes ? holder : most), first);
  }

  /**
   * Refuses one of the holder's bodies, or else, where all of them are worked on already, `current`. False
   * where there is none but one that stays.
   */
  #refuseOf(holder: Holder, current: Body): boolean {
    const victim = holder.victim(current) ?? current;
    if (victim === current && current.stays) return false;
    victim.end();
    if (victim === current) throw this.refusal();
    victim.refuse(this.refusal());
    return true;
  }
}

function oldestOf({ bodies }: Member, spared: Body | null): Body | undefined {
  for (const body of bodies) if (body !== spared) return body;
  return undefined;
}

function newestOf({ bodies }: Member, spared: Body | null): Body | undefined {
  let newest: Body | undefined;
  for (const body of bodies) if (body !== spared) newest = body;
  return newest;
}

class Body implements BodyInFlight {
  bytes = 0;
  /** It may be refused. */
  isComing = false;
  #isOver = false;
  #refuse: ((problem: Problem) => void) | null = null;

  constructor(
    private readonly all: BodiesInFlight,
    readonly holder: Holder,
    readonly member: string,
    readonly stays: boolean,
  ) {}

  take(bytes: number): void {
    // A piece of it may have been on its way here.
    if (this.#isOver) throw this.all.refusal();
    this.all.count(this, bytes);
  }

  whenRefused(refuse: (problem: Problem) => void): void {
    this.#refuse = refuse;
    this.isComing = true;
    if (this.bytes > 0) this.holder.come(this, this.bytes);
  }

  refuse(problem: Problem): void {
    this.#refuse?.(problem);
  }

  settle(): void {
    this.isComing = false;
    this.holder.leave(this);
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.settle();
    this.all.forget(this);
  }
}

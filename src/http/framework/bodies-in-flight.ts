import { isGuest } from "../../core/caller.ts";
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

/** Whose bodies are counted together: at the door of the sources nobody is known before the verification. */
export const ANYBODY = "anybody";

/** One body: of a request, from its first byte to the answer; of an answer, from its text to its end. */
export interface BodyInFlight {
  /** Counts bytes that have come, or are about to. Throws 503 where this body is the one that has to go. */
  take(bytes: number): void;
  /**
   * The body comes in, or is whole and waits: until `settle` it may be refused for another's sake, and
   * `refuse` is called then. Else it counts as worked on.
   */
  whenRefused(refuse: (problem: Problem) => void, isWhole?: boolean): void;
  /** It is worked on, and not refused any more. Throws 503 where it was, or its member has its share. */
  settle(): void;
  /** Whose it is from now on. Throws 503 where there is no room. */
  moveTo(name: string, member: string): void;
  end(): void;
}

interface Member {
  /** Of its bodies that may be refused: those of which bytes have come, the oldest first. */
  bytes: number;
  readonly bodies: Set<Body>;
  /** Bytes of those that are worked on. */
  worked: number;
}

/** An account. The sums of its members are kept as they change. */
class Holder {
  bytes = 0;
  worked = 0;
  /** Of what is worked on, that of guests. */
  ofGuests = 0;
  /** How many. */
  bodies = 0;
  readonly #members = new Map<string, Member>();

  constructor(readonly name: string) {}

  /** More bytes of a body, or fewer. */
  count(body: Body, bytes: number): void {
    this.bytes += bytes;
    let member = this.#members.get(body.member);
    if (!member) this.#members.set(body.member, (member = { bytes: 0, bodies: new Set(), worked: 0 }));
    if (body.isComing) {
      member.bytes += bytes;
      member.bodies.add(body);
    } else {
      this.worked += bytes;
      member.worked += bytes;
      if (isGuest(body.member)) this.ofGuests += bytes;
    }
    if (body.bytes === 0) member.bodies.delete(body);
    if (member.bodies.size === 0 && member.worked === 0) this.#members.delete(body.member);
  }

  workedOf(member: string): number {
    return this.#members.get(member)?.worked ?? 0;
  }

  get mayBeRefused(): boolean {
    return this.bytes > this.worked;
  }

  /** Whether no member has more than this one. */
  hasMost(name: string): boolean {
    const member = this.#members.get(name);
    return member !== undefined && member.bytes === this.#most(null);
  }

  /** Which of its bodies goes, so that `current` has room; undefined where none may. */
  victim(current: Body, random: () => number): Body | undefined {
    const spared = current.stays ? current : null;
    const most = this.#most(spared);
    if (most === 0) return undefined;
    const own = this === current.holder ? this.#members.get(current.member) : undefined;
    if (this.name !== ANYBODY && own !== undefined && shareOf(own, spared) === most) return current;
    for (const member of this.#members.values()) {
      if (shareOf(member, spared) !== most) continue;
      return (this.name === ANYBODY && anyComing(member, spared, random())) || newestOf(member, spared);
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
 * The bytes of all bodies of a kind: of requests, that come in, wait or are worked on, counted as they come;
 * of answers, that are written or on their way to a reader who takes his time. A body is its caller's; that
 * of a request whose caller is not known is anybody's, until it is known or waits for its source's account.
 *
 * Each account has a share; where its own bodies exceed that, or all together exceed the whole and it has
 * the most, one of its bodies is refused that is not worked on. That is one of whichever of its members (a
 * key, the links of a consumer, a source) has the most: the one which would exceed it, or the newest, so
 * that those under way are completed. Of anybody's it is one by chance that still comes in. So neither a
 * slow sender nor a sender of very many keeps out the others. What is whole by then is not lost for that.
 *
 * What is worked on stays, so it leaves room: an account has no more of it than all accounts leave free of
 * the whole, and a guest no more than all guests leave free of theirs. However many take what they can,
 * somewhat is left for one more, and what is left for the account's own keys does not depend on guests.
 */
export class BodiesInFlight {
  readonly #holders = new Map<string, Holder>();
  #bytes = 0;
  #worked = 0;

  constructor(
    private readonly kind = REQUESTS,
    private readonly random = () => Math.random(),
  ) {}

  /** Of all bodies together. */
  get bytes(): number {
    return this.#bytes;
  }

  /** One that `stays` is never refused for its own sake, where there is another: its change is made. */
  begin(name: string, member = "", stays = false): BodyInFlight {
    return new Body(this, this.#enter(name), name === ANYBODY ? "" : member, stays);
  }

  #enter(name: string): Holder {
    let holder = this.#holders.get(name);
    if (!holder) this.#holders.set(name, (holder = new Holder(name)));
    holder.bodies++;
    return holder;
  }

  #leave(holder: Holder): void {
    if (--holder.bodies === 0) this.#holders.delete(holder.name);
  }

  /** Throws 503 where the next of this member would be the one that has to go. */
  requireRoom(name: string, member: string): void {
    const holder = this.#holders.get(name);
    if (holder === undefined) return;
    const { whole, ofAccount } = this.kind;
    const reserve = limit(ofAccount) * RESERVE;
    const isFull =
      holder.bytes > limit(ofAccount) - reserve ||
      (this.#bytes > limit(whole) - reserve && this.#largest(holder) === holder);
    if (isFull && holder.hasMost(member)) throw this.refusal();
  }

  /** Only for `Body`. */
  refusal(): Problem {
    return unavailable(this.kind.detail, RETRY_SECONDS);
  }

  /** Only for `Body`. */
  count(body: Body, bytes: number): void {
    this.#add(body, bytes);
    if (bytes <= 0) return;
    const { whole, ofAccount } = this.kind;
    while (body.holder.bytes > limit(ofAccount) && this.#refuseOf(body.holder, body)) continue;
    while (this.#bytes > limit(whole) && this.#refuseOf(this.#largest(body.holder), body)) continue;
    if (!body.isComing) this.#requireShare(body);
  }

  /** Only for `Body`: it comes in or waits (`isComing`), or is worked on. */
  mark(body: Body, isComing: boolean): void {
    const { bytes } = body;
    this.#add(body, -bytes);
    body.isComing = isComing;
    this.#add(body, bytes);
    if (!isComing) this.#requireShare(body);
  }

  /** Only for `Body`. */
  move(body: Body, name: string, member: string): void {
    const { holder, bytes } = body;
    if (name === holder.name && member === body.member) return;
    this.#add(body, -bytes);
    body.holder = this.#enter(name);
    body.member = member;
    this.#leave(holder);
    this.count(body, bytes);
  }

  /** Only for `Body`. */
  forget(body: Body): void {
    this.#add(body, -body.bytes);
    this.#leave(body.holder);
  }

  #add(body: Body, bytes: number): void {
    if (bytes === 0) return;
    this.#bytes += bytes;
    if (!body.isComing) this.#worked += bytes;
    body.bytes += bytes;
    body.holder.count(body, bytes);
  }

  /** Of a body that is worked on. */
  #requireShare(body: Body): void {
    const { holder, member } = body;
    const isOver =
      holder.worked + this.#worked > limit(this.kind.whole) ||
      (isGuest(member) && holder.workedOf(member) + holder.ofGuests > limit("guestBodiesBytesMax"));
    if (!isOver) return;
    body.end();
    throw this.refusal();
  }

  /** Of those who have a body that may be refused, and `own`, whoever has the most. */
  #largest(own: Holder): Holder {
    let most = own;
    for (const holder of this.#holders.values())
      if (holder.mayBeRefused && holder.bytes > most.bytes) most = holder;
    return most;
  }

  /**
   * Refuses one of the holder's bodies, or else, where all of them are worked on already, `current`. False
   * where there is none but one that stays.
   */
  #refuseOf(holder: Holder, current: Body): boolean {
    const victim = holder.victim(current, this.random) ?? current;
    if (victim === current && current.stays) return false;
    victim.end();
    if (victim === current) throw this.refusal();
    victim.refuse(this.refusal());
    return true;
  }
}

/**
 * One by chance, the larger the likelier: then few have to go. `random`: from 0 up to 1. Undefined where none
 * still comes in.
 */
function anyComing({ bodies, bytes }: Member, spared: Body | null, random: number): Body | undefined {
  let at = random * bytes;
  let last: Body | undefined;
  for (const body of bodies) {
    at -= body.bytes;
    if (body === spared || body.isWhole) continue;
    last = body;
    if (at < 0) return body;
  }
  return last;
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
  /** Nothing more of it is to come. */
  isWhole = false;
  #isOver = false;
  #refuse: ((problem: Problem) => void) | null = null;

  constructor(
    private readonly all: BodiesInFlight,
    public holder: Holder,
    public member: string,
    readonly stays: boolean,
  ) {}

  take(bytes: number): void {
    this.#requireStanding();
    this.all.count(this, bytes);
  }

  whenRefused(refuse: (problem: Problem) => void, isWhole = false): void {
    this.#refuse = refuse;
    this.isWhole = isWhole;
    if (!this.isComing) this.all.mark(this, true);
  }

  refuse(problem: Problem): void {
    this.#refuse?.(problem);
  }

  settle(): void {
    this.#requireStanding();
    if (this.isComing) this.all.mark(this, false);
  }

  moveTo(name: string, member: string): void {
    this.#requireStanding();
    this.all.move(this, name, member);
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.all.forget(this);
  }

  /** It may have been refused while a piece of it was on its way here, or while it waited. */
  #requireStanding(): void {
    if (this.#isOver) throw this.all.refusal();
  }
}

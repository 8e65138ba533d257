import { type Problem, unavailable } from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";

const RETRY_SECONDS = 1;

function refusal(): Problem {
  return unavailable("Too many bodies are coming in at once. Send it again in a moment.", RETRY_SECONDS);
}

/** Whose bodies are counted together: at the door of the sources nobody is known, so all of them are one. */
export const ANYBODY = "anybody";

/** One body, from its first byte to the answer of its request. */
export interface BodyInFlight {
  /** Counts bytes that have come, or are about to. Throws 503 where this body is the one that has to go. */
  take(bytes: number): void;
  /**
   * It may go for another body's sake until `settle`: then `refuse` is called. One that never says so stays.
   */
  whenRefused(refuse: (problem: Problem) => void): void;
  /** It is complete: it is worked on, and is not refused any more. */
  settle(): void;
  end(): void;
}

interface Holder {
  name: string;
  bytes: number;
  /** How many. */
  bodies: number;
  /** Those of them that may be refused, the oldest first. */
  coming: Set<Body>;
}

/**
 * The bytes of all bodies that come in or are worked on, counted as they come. Each account has a share;
 * where its own bodies exceed that, or all together exceed the whole and it has the most, one of its bodies
 * is refused. That is one of whichever of its members (a key, or the links of a consumer) has the most: the
 * one which would exceed it, or the newest, so that those under way are completed. Of anybody's it is the
 * oldest, so that whoever sends slowly on purpose keeps out nobody.
 */
export class BodiesInFlight {
  readonly #holders = new Map<string, Holder>();
  #bytes = 0;

  /** Of all bodies together. */
  get bytes(): number {
    return this.#bytes;
  }

  begin(name: string, member = ""): BodyInFlight {
    let holder = this.#holders.get(name);
    if (!holder) this.#holders.set(name, (holder = { name, bytes: 0, bodies: 0, coming: new Set() }));
    holder.bodies++;
    return new Body(this, holder, member);
  }

  /** Only for `Body`. */
  count(body: Body, bytes: number): void {
    this.#bytes += bytes;
    body.bytes += bytes;
    body.holder.bytes += bytes;
    if (bytes <= 0) return;
    while (body.holder.bytes > limit("accountBodiesBytesMax")) this.#refuseOf(body.holder, body);
    while (this.#bytes > limit("bodiesInFlightBytesMax")) this.#refuseOf(this.#largest(), body);
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

  /** Refuses one of the holder's bodies, or else, where all of them are worked on already, `current`. */
  #refuseOf(holder: Holder, current: Body): void {
    const victim = victimOf(holder, current) ?? current;
    victim.end();
    if (victim === current) throw refusal();
    victim.refuse(refusal());
  }
}

function victimOf(holder: Holder, current: Body): Body | undefined {
  const coming = [...holder.coming].filter(({ bytes }) => bytes > 0);
  if (holder.name === ANYBODY) return coming[0];
  const ofMembers = new Map<string, number>();
  for (const { member, bytes } of coming) ofMembers.set(member, (ofMembers.get(member) ?? 0) + bytes);
  const most = Math.max(...ofMembers.values());
  const isOfMost = ({ member }: Body) => ofMembers.get(member) === most;
  return holder === current.holder && isOfMost(current) ? current : coming.findLast(isOfMost);
}

class Body implements BodyInFlight {
  bytes = 0;
  #isOver = false;
  #refuse: ((problem: Problem) => void) | null = null;

  constructor(
    private readonly all: BodiesInFlight,
    readonly holder: Holder,
    readonly member: string,
  ) {}

  take(bytes: number): void {
    // A piece of it may have been on its way here.
    if (this.#isOver) throw refusal();
    this.all.count(this, bytes);
  }

  whenRefused(refuse: (problem: Problem) => void): void {
    this.#refuse = refuse;
    this.holder.coming.add(this);
  }

  refuse(problem: Problem): void {
    this.#refuse?.(problem);
  }

  settle(): void {
    if (this.#refuse !== null) this.holder.coming.delete(this);
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.settle();
    this.all.forget(this);
  }
}

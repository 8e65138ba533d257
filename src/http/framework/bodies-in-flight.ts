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
  /** Calls `refuse` where another body's bytes leave no room for this one, until `settle`. */
  whenRefused(refuse: (problem: Problem) => void): void;
  /** It is complete: it is worked on, and is not refused any more. */
  settle(): void;
  end(): void;
}

interface Holder {
  caller: string;
  bytes: number;
  /** The oldest first. */
  bodies: Set<Body>;
}

/**
 * The bytes of all bodies that come in or are worked on, counted as they come. Each caller has a share; where
 * its own bodies exceed that, or all together exceed the whole and it has the most, one of its bodies is
 * refused. Of a known caller that is the one which would exceed it, so that those under way are completed;
 * of anybody's the oldest, so that whoever sends slowly on purpose keeps out nobody.
 */
export class BodiesInFlight {
  readonly #holders = new Map<string, Holder>();
  #bytes = 0;

  /** Of all bodies together. */
  get bytes(): number {
    return this.#bytes;
  }

  begin(caller: string): BodyInFlight {
    let holder = this.#holders.get(caller);
    if (!holder) this.#holders.set(caller, (holder = { caller, bytes: 0, bodies: new Set() }));
    const body = new Body(this, holder);
    holder.bodies.add(body);
    return body;
  }

  /** Only for `Body`. */
  count(body: Body, bytes: number): void {
    this.#bytes += bytes;
    body.bytes += bytes;
    body.holder.bytes += bytes;
    if (bytes <= 0) return;
    while (body.holder.bytes > limit("callerBodiesBytesMax")) this.#refuseOf(body.holder, body);
    while (this.#bytes > limit("bodiesInFlightBytesMax")) this.#refuseOf(this.#largest(), body);
  }

  /** Only for `Body`. */
  forget(body: Body): void {
    const { holder } = body;
    if (!holder.bodies.delete(body)) return;
    this.count(body, -body.bytes);
    if (holder.bodies.size === 0) this.#holders.delete(holder.caller);
  }

  #largest(): Holder {
    const [first, ...others] = this.#holders.values();
    if (first === undefined) throw new Error("bytes of nobody");
    return others.reduce((most, holder) => (holder.bytes > most.bytes ? holder : most), first);
  }

  /** Refuses one of the holder's bodies, or else, where all of them are worked on already, `current`. */
  #refuseOf(holder: Holder, current: Body): void {
    const inTurn = holder.caller === ANYBODY ? holder.bodies : [...holder.bodies].reverse();
    const other = holder === current.holder && holder.caller !== ANYBODY ? current : null;
    const victim = other ?? [...inTurn].find((body) => body.isComing && body.bytes > 0) ?? current;
    this.forget(victim);
    if (victim === current) throw refusal();
    victim.refuse(refusal());
  }
}

class Body implements BodyInFlight {
  bytes = 0;
  isComing = true;
  #refuse: ((problem: Problem) => void) | null = null;

  constructor(
    private readonly all: BodiesInFlight,
    readonly holder: Holder,
  ) {}

  take(bytes: number): void {
    // A piece of it may have been on its way here.
    if (!this.holder.bodies.has(this)) throw refusal();
    this.all.count(this, bytes);
  }

  whenRefused(refuse: (problem: Problem) => void): void {
    this.#refuse = refuse;
  }

  refuse(problem: Problem): void {
    this.#refuse?.(problem);
  }

  settle(): void {
    this.isComing = false;
  }

  end(): void {
    this.all.forget(this);
  }
}

import { restAfter } from "../core/structures/slices.ts";

/**
 * How long work that goes on in slices steps back for the others, who have the disk and the loop meanwhile.
 */
export interface JobControl {
  /** True where no further slice may begin. */
  isStopping: () => boolean;
  /** Between two slices. */
  rest: () => Promise<void>;
}

/** Rests by what the slice before took. */
export function createJobControl(isStopping: () => boolean): JobControl {
  let begin = performance.now();
  return {
    isStopping,
    async rest() {
      const ms = restAfter(performance.now() - begin);
      await new Promise((resolve) => setTimeout(resolve, ms));
      begin = performance.now();
    },
  };
}

/** An owner who has nothing costs microseconds: so many are looked at without a rest. */
const OWNERS_A_TURN = 50;
/** Looks at owners who had nothing, for each slice of the others. */
const LOOKS_A_SLICE = 10;

/** Whose work it is: owners, by their accounts. */
export interface Owners<Owner> {
  accounts(): Iterable<number>;
  of(accountId: number): Iterable<Owner>;
}

/**
 * Does the work of many owners. Their accounts take turns, a slice each, and in an account its owners do so:
 * one's, however much, and however many owners have it, does not hold up another's. `slice` answers how many
 * rows it did, or null where its owner has nothing left, which needs no rest. Answers how many rows were
 * done.
 */
export async function inTurns<Owner>(
  owners: Owners<Owner>,
  { isStopping, rest }: JobControl,
  slice: (owner: Owner) => Promise<number | null>,
): Promise<number> {
  let looks = 0;
  const lookAt = async (owner: Owner) => {
    if (++looks % OWNERS_A_TURN === 0) await rest();
    return slice(owner);
  };
  const control = { isStopping, looks: () => looks };
  /** Of accounts that have something. */
  const begun = new Map<number, AsyncGenerator<number, void>>();
  const sliceOf = async (accountId: number) => {
    const slices = begun.get(accountId) ?? slicesOf(() => owners.of(accountId), lookAt, control);
    begun.set(accountId, slices);
    const { done, value } = await slices.next();
    if (done !== true) return value;
    begun.delete(accountId);
    return null;
  };
  let rows = 0;
  for await (const some of slicesOf(() => owners.accounts(), sliceOf, control)) {
    rows += some;
    await rest();
  }
  return rows;
}

/**
 * A slice of each, then another one of each that had something, and so on. Who had nothing is looked at again
 * while others go on, as seldom as costs little beside their slices; only those that go on are held.
 */
async function* slicesOf<One>(
  all: () => Iterable<One>,
  slice: (one: One) => Promise<number | null>,
  { isStopping, looks }: { isStopping: () => boolean; looks: () => number },
): AsyncGenerator<number, void> {
  // Slices until all are looked at again.
  let left = 0;
  let busy: One[] = [];
  do {
    const isOfAll = left <= 0;
    const some = isOfAll ? all() : busy;
    let cost = 0;
    busy = [];
    for (const one of some) {
      if (isStopping()) return;
      const before = looks();
      const rows = await slice(one);
      cost += looks() - before;
      if (rows === null) continue;
      busy.push(one);
      yield rows;
    }
    left = isOfAll ? cost / LOOKS_A_SLICE : left - busy.length;
  } while (busy.length > 0);
}

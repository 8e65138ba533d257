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

/**
 * Does the work of many owners, who take turns, a slice each: one's, however much, does not hold up
 * another's. `slice` answers how many rows it did, or null where its owner has nothing left, which needs no
 * rest. Owners who had nothing are looked at again while others go on, as seldom as costs little beside their
 * slices; only those that go on are held. Answers how many rows were done.
 */
export async function inTurns<Owner>(
  all: () => Iterable<Owner>,
  { isStopping, rest }: JobControl,
  slice: (owner: Owner) => Promise<number | null>,
): Promise<number> {
  let rows = 0;
  let looks = 0;
  // Slices until all are looked at again.
  let left = 0;
  let busy: Owner[] = [];
  do {
    const isOfAll = left <= 0;
    const owners = isOfAll ? all() : busy;
    const before = looks;
    busy = [];
    for (const owner of owners) {
      if (isStopping()) return rows;
      if (++looks % OWNERS_A_TURN === 0) await rest();
      const some = await slice(owner);
      if (some === null) continue;
      rows += some;
      busy.push(owner);
      await rest();
    }
    left = isOfAll ? (looks - before) / LOOKS_A_SLICE : left - busy.length;
  } while (busy.length > 0);
  return rows;
}

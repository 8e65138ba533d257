/** Long work takes turns of the event loop: however many are at it, one turn has one share. */
import { beforeEach, expect, test } from "bun:test";
import { TurnQueue } from "../../src/store/turn-queue.ts";

/** Pieces of work that fit into a share. */
const PIECES = 3;

let scheduled: (() => void)[];
let piecesLeft: number;
let done: string[];
let queue: TurnQueue;

beforeEach(() => {
  [scheduled, piecesLeft, done] = [[], PIECES, []];
  queue = new TurnQueue({
    schedule: (next) => scheduled.push(next),
    beginShare() {
      piecesLeft = PIECES;
      return {
        get isOver() {
          return piecesLeft <= 0;
        },
      };
    },
  });
});

async function work(name: string, pieces: number): Promise<void> {
  for (let piece = 1; piece <= pieces; piece++) {
    if (queue.isOver) await queue.next();
    piecesLeft--;
    done.push(name + piece);
  }
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

/** A turn of the loop: what it did. */
async function turn(): Promise<string[]> {
  const before = done.length;
  for (const next of scheduled.splice(0)) next();
  await settle();
  return done.slice(before);
}

test("all that are at work share each turn, and go on in the order in which they came", async () => {
  const all = Promise.all([work("a", 3), work("b", 2), work("c", 3), work("d", 1)]);
  await settle();
  const turns = [done.slice()];
  while (scheduled.length > 0) turns.push(await turn());
  await all;
  expect(done.toSorted()).toEqual(["a1", "a2", "a3", "b1", "b2", "c1", "c2", "c3", "d1"]);
  for (const one of turns) expect(one.length).toBeLessThanOrEqual(PIECES);
  expect(turns.filter((one) => one.length > 0)).toHaveLength(3);
});

test("who comes while others wait has no more of the turn than is left", async () => {
  const early = work("early", 5);
  await settle();
  expect(done).toEqual(["early1", "early2", "early3"]);
  const late = work("late", 1);
  await settle();
  expect(done).toHaveLength(3);
  while (scheduled.length > 0) await turn();
  await Promise.all([early, late]);
  expect(done).toEqual(["early1", "early2", "early3", "early4", "early5", "late1"]);
});

test("who asks again much later begins a turn of its own", async () => {
  await work("a", 3);
  expect(queue.isOver).toBe(true);
  await turn();
  expect([queue.isOver, piecesLeft]).toEqual([false, PIECES]);
});

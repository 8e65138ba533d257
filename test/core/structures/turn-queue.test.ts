/** Long work takes turns of the event loop: however many are at it, one turn has one share. */
import { beforeEach, describe, expect, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { limit } from "../../../src/core/limits.ts";
import {
  atOnce,
  isHeavy,
  type Pieces,
  piecewise,
  TurnQueue,
} from "../../../src/core/structures/turn-queue.ts";

/** Pieces of work that fit into a share. */
const PIECES = 3;

let scheduled: (() => void)[];
let piecesLeft: number;
let done: string[];
let queue: TurnQueue;
/** How long the pieces of a name's work take, in milliseconds. */
let lengths: Record<string, number>;
let clockMs: number;

beforeEach(() => {
  [scheduled, piecesLeft, done, lengths, clockMs] = [[], PIECES, [], {}, 0];
  queue = new TurnQueue({
    schedule: (next) => scheduled.push(next),
    monotonic: () => clockMs,
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

/** How work lets others go first, before each of its pieces. */
type Ask = () => Promise<void> | undefined;
const look: Ask = () => (queue.isOver ? queue.next() : undefined);
const giveWay: Ask = () => queue.giveWay();
const wait: Ask = () => queue.next();
const takeOwnTurn: Ask = () => queue.ownTurn();

/** `size`: what a piece takes of a share. */
async function work(name: string, pieces: number, ask: Ask, size = 1): Promise<void> {
  for (let piece = 1; piece <= pieces; piece++) {
    const waiting = ask();
    if (waiting) await waiting;
    piecesLeft -= size;
    clockMs += lengths[name] ?? 0;
    done.push(name + piece);
  }
}

/** A turn of the loop: what it did. */
async function turn(): Promise<string> {
  const before = done.length;
  for (const next of scheduled.splice(0)) next();
  await nextTurn();
  return done.slice(before).join(" ");
}

/** What is done until now, and then in each turn of the loop in which something is. */
async function turnsOf(...all: Promise<void>[]): Promise<string> {
  await nextTurn();
  const turns = [done.join(" ")];
  while (scheduled.length > 0) turns.push(await turn());
  await Promise.all(all);
  return turns.filter((one) => one !== "").join(", ");
}

test("all that are at work share each turn, and go on in the order in which they came", async () => {
  const turns = await turnsOf(work("a", 3, look), work("b", 2, look), work("c", 3, look), work("d", 1, look));
  expect(turns).toBe("a1 a2 a3, b1 b2 c1, d1 c2 c3");
});

test("who comes while others wait has no more of the turn than is left", async () => {
  const early = work("early", 5, look);
  await nextTurn();
  const late = work("late", 1, giveWay);
  expect(await turnsOf(early, late)).toBe("early1 early2 early3, early4 early5 late1");
});

test("who asks again much later begins a turn of its own", async () => {
  await work("a", 3, look);
  expect(queue.isOver).toBe(true);
  await turn();
  expect([queue.isOver, piecesLeft]).toEqual([false, PIECES]);
});

test("who gives way goes on at once while there is time left", async () => {
  expect(await turnsOf(work("a", 5, giveWay))).toBe("a1 a2 a3, a4 a5");
});

test("who gives way goes behind those who wait, in the turn that they share", async () => {
  const first = work("x", 3, look);
  expect(await turnsOf(first, work("a", 3, giveWay), work("b", 2, giveWay))).toBe(
    "x1 x2 x3, a1 b1 a2, b2 a3",
  );
});

describe("a heavy piece", () => {
  test("has a turn of its own, one a turn, in the order in which it was asked for, whoever asks", async () => {
    const all = [work("a", 3, takeOwnTurn), work("b", 2, takeOwnTurn), work("c", 1, takeOwnTurn)];
    expect(await turnsOf(...all)).toBe("a1, b1, c1, a2, b2, a3");
  });

  test("shares its turn with nobody who waits, however small it is", async () => {
    const all = [work("heavy", 2, takeOwnTurn, 0), work("light", 1, wait), work("more", 1, wait)];
    expect(await turnsOf(...all)).toBe("heavy1, light1 more1, heavy2");
  });

  test("has every second turn, where many of both kinds wait", async () => {
    const heavy = ["A", "B", "C", "D"].map((name) => work(name, 1, takeOwnTurn));
    const light = [work("x", 4, look), work("y", 4, look), work("z", 1, look)];
    expect(await turnsOf(...heavy, ...light)).toBe("x1 x2 x3, A1, x4 y1 y2, B1, z1 y3 y4, C1, D1");
  });

  test("counts in the share of its turn: who comes after it in that turn waits for the next one", async () => {
    const heavy = work("heavy", 1, takeOwnTurn, PIECES);
    expect(await turn()).toBe("heavy1");
    expect(queue.isOver).toBe(true);
    expect(await turnsOf(heavy, work("light", 1, giveWay))).toBe("heavy1, light1");
  });

  test("is one of a body above the limit", async () => {
    const bytes = limit("lightBodyBytesMax");
    expect([isHeavy(bytes), isHeavy(bytes + 1)]).toEqual([false, true]);
    const ask = () => queue.giveWay(bytes + 1);
    expect(
      await turnsOf(
        work("light", 1, () => queue.giveWay(bytes)),
        work("a", 1, ask),
        work("b", 1, ask),
      ),
    ).toBe("light1, a1, b1");
  });
});

describe("callers", () => {
  const stays = new AbortController().signal;

  test("take turns, so that whoever asks for much holds up nobody else", async () => {
    const crowd = Array.from({ length: 4 }, (_, n) =>
      work(`a${n}.`, 2, () => queue.of("a", stays).ownTurn()),
    );
    const one = work("b", 2, () => queue.of("b", stays).ownTurn());
    expect(await turnsOf(...crowd, one)).toBe("a0.1, b1, a1.1, b2, a2.1, a3.1, a0.2, a1.2, a2.2, a3.2");
    const light = Array.from({ length: 4 }, (_, n) =>
      work(`c${n}.`, 1, () => queue.of("c", stays).next(), PIECES),
    );
    const other = work("d", 1, () => queue.of("d", stays).next(), PIECES);
    done = [];
    expect(await turnsOf(...light, other)).toBe("c0.1, d1, c1.1, c2.1, c3.1");
  });

  test("of one account take turns within its own, however many they are", async () => {
    const of = (account: string, member: string) => () => queue.of(account, stays, member).ownTurn();
    const crowd = Array.from({ length: 3 }, (_, n) => work(`a${n}.`, 1, of("a", "link")));
    const key = work("k", 1, of("a", "key"));
    const other = work("b", 3, of("b", "key"));
    expect(await turnsOf(...crowd, key, other)).toBe("a0.1, b1, k1, b2, a1.1, b3, a2.1");
  });

  test("pay for a long piece by being passed over, where others wait", async () => {
    lengths = { long: 12 };
    const long = work("long", 3, () => queue.of("a", stays).next(), PIECES);
    const short = work("s", 6, () => queue.of("b", stays).giveWay());
    expect(await turnsOf(long, short)).toBe("long1, s1 s2 s3, s4 s5 s6, long2, long3");
  });

  test("owe for heavy pieces among heavy ones alone: their light work goes on beside that of others", async () => {
    lengths = { heavy: 12 };
    const all = [
      work("heavy", 4, () => queue.of("a", stays).ownTurn(), PIECES),
      work("a", 4, () => queue.of("a", stays).next()),
      work("b", 4, () => queue.of("b", stays).next()),
    ];
    expect(await turnsOf(...all)).toBe("heavy1, a1 b1 a2, heavy2, b2 a3 b3, heavy3, a4 b4, heavy4");
  });

  test("that all owe go on by what they owe least", async () => {
    lengths = { long: 12, mid: 2 };
    const long = work("long", 2, () => queue.of("a", stays).next(), PIECES);
    const mid = work("mid", 5, () => queue.of("b", stays).next(), PIECES);
    expect((await turnsOf(long, mid)).split(", ")).toEqual([
      "long1",
      "mid1",
      "mid2",
      "mid3",
      "mid4",
      "mid5",
      "long2",
    ]);
  });

  test("pay for what they did without a wait as well", async () => {
    lengths = { look: 12 };
    const waiting = work("s", 2, () => queue.of("b", stays).next());
    function* long(): Pieces<number> {
      clockMs += 12;
      piecesLeft -= PIECES;
      done.push("look");
      yield 0;
      return done.push("end");
    }
    const works = [1, 2].map(() => queue.of("a", stays).inPieces(1, long));
    await turnsOf(waiting, ...works.map(async (one) => void (await one)));
    expect(done.join(" ")).toBe("look s1 s2 end look end");
  });

  test("that have left do no more: whoever waits for them is told by the signal's reason", async () => {
    const leaving = new AbortController();
    const left = work("a", 5, () => queue.of("a", leaving.signal).ownTurn()).catch(String);
    const stayed = work("b", 2, () => queue.of("b", stays).ownTurn());
    expect(await turn()).toBe("a1");
    leaving.abort();
    expect(await turnsOf(stayed)).toContain("b1, b2");
    expect([await left, done.filter((piece) => piece.startsWith("a"))]).toEqual([
      expect.stringContaining("AbortError"),
      ["a1"],
    ]);
  });
});

describe("work in the thread pool", () => {
  /** Works whose ends the test gives, in the order in which they began. */
  let ends: { end(): void; fail(): void }[];
  beforeEach(() => (ends = []));

  const pooled = (account: string, name: string, signal: AbortSignal | null = null) =>
    queue.of(account, signal, "").inPool(() => {
      done.push(name);
      return new Promise<string>((resolve, reject) =>
        ends.push({ end: () => resolve(name), fail: () => reject(new Error(name)) }),
      );
    });

  /** Ends each as soon as it has begun, and tells how many were at work at most. */
  async function endAll(): Promise<number> {
    let most = 0;
    for (await nextTurn(); ends.length > 0; await nextTurn()) {
      most = Math.max(most, ends.length);
      ends.shift()?.end();
    }
    return most;
  }

  test("is done one at a time, and the accounts take turns", async () => {
    const all = [
      pooled("a", "a1"),
      pooled("a", "a2"),
      pooled("a", "a3"),
      pooled("b", "b1"),
      pooled("c", "c1"),
    ];
    expect(await endAll()).toBe(1);
    expect(done).toEqual(["a1", "a2", "b1", "c1", "a3"]);
    expect(await Promise.all(all)).toEqual(["a1", "a2", "a3", "b1", "c1"]);
    const later = pooled("a", "a4");
    await endAll();
    expect(await later).toBe("a4");
  });

  test("that fails, or whose caller has left, keeps nobody from it", async () => {
    const failed = pooled("a", "a1").catch(String);
    const left = pooled("b", "b1", AbortSignal.abort()).catch(String);
    const last = pooled("c", "c1");
    await nextTurn();
    ends.shift()?.fail();
    expect(await endAll()).toBe(1);
    expect([await failed, await left, await last]).toEqual([
      "Error: a1",
      expect.stringContaining("AbortError"),
      "c1",
    ]);
    expect(done).toEqual(["a1", "c1"]);
  });
});

describe("work that keeps what it parsed", () => {
  const light = limit("lightBodyBytesMax");
  const heavy = light + 1;

  function* inPieces(name: string, pieces: number, next?: 0): Pieces<void> {
    for (let piece = 1; piece <= pieces; piece++) {
      if (piece > 1) yield next;
      piecesLeft--;
      done.push(name + piece);
    }
  }

  /** Does the work, each piece of which is as heavy as its body; `next` 0: each but the first is light. */
  const keeping = async (account: string, member: string, bytes = heavy, pieces = 2, next?: 0) =>
    queue.of(account, null, member).inPieces(bytes, () => inPieces(`${account}${member}.`, pieces, next));

  test("is done one by one in an account, whose callers take turns", async () => {
    const all = [keeping("a", "1"), keeping("a", "1"), keeping("a", "2"), keeping("b", "1")];
    expect(await turnsOf(...all)).toBe("a1.1, b1.1, a1.2, b1.2, a1.1, a1.2, a2.1, a2.2");
  });

  test("is done at once where it is light and ends within this turn", () => {
    const made = queue.inPieces(light, () => inPieces("a", PIECES - 1));
    expect([made, done]).toEqual([undefined, ["a1", "a2"]]);
  });

  test("has not begun while a light one of its account waits for turns", async () => {
    const all = ["1", "2", "3"].map((member) => keeping("a", member, light, 4));
    expect(await turnsOf(...all)).toBe("a1.1 a1.2 a1.3, a1.4 a2.1 a2.2, a2.3 a2.4 a3.1, a3.2 a3.3 a3.4");
  });

  test("begins anew where it does not end within a turn in which another one waits already", async () => {
    const first = keeping("a", "1", light, 4);
    // The next turn has begun, and its waiters are not resumed yet.
    scheduled.shift()?.();
    const all = [first, keeping("a", "2", light, 4), keeping("b", "1", light, 1)];
    expect(await turnsOf(...all)).toBe("a1.1 a1.2 a1.3 a2.1 a2.2 a2.3, a1.4 b1.1 a2.1, a2.2 a2.3 a2.4");
  });

  test("waits for none of the other weight, and may have light pieces", async () => {
    const all = [keeping("a", "1", heavy, 4, 0), keeping("a", "2", light, 1)];
    expect(await turnsOf(...all)).toBe("a2.1, a1.1 a1.2 a1.3, a1.4");
  });

  test.each([light, heavy])(
    "of %d bytes makes room for the next one where it fails, or its caller has left",
    async (bytes) => {
      await work("x", PIECES, look);
      done = [];
      const left = queue.of("a", AbortSignal.abort("left"));
      const gone = async () => left.inPieces(bytes, () => inPieces("left", 1));
      const refused = gone().catch(String);
      const broken = async () =>
        queue.of("a", null).inPieces(bytes, function* (): Pieces<void> {
          yield;
          throw new Error("broken");
        });
      const failed = broken().catch(String);
      const after = keeping("a", "1", bytes, 1);
      expect(await turnsOf(after)).toBe("a1.1");
      expect([await refused, await failed]).toEqual(["left", "Error: broken"]);
    },
  );
});

test.each([
  [0, 0],
  [100, 0],
  [101, 1],
  [1000, 9],
])("a list of %i lets others go first %i times", (length, yields) => {
  const all = Array.from({ length }, (_, at) => at);
  const seen: number[] = [];
  expect([...piecewise(all, (one) => seen.push(one))]).toEqual(Array<0>(yields).fill(0));
  expect(seen).toEqual(all);
  atOnce(piecewise(all, (one) => seen.push(one)));
  expect(seen).toEqual([...all, ...all]);
});

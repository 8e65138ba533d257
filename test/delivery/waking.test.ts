import { expect, test } from "bun:test";
import { wakingByTurns, wakingTimer } from "../../src/delivery/waking.ts";
import { SetClock, steadyOver } from "../kit/clock.ts";

/** Turns of a loop that come round when the test says so, each with time for `share` wakes. */
class Loop {
  #next: (() => void)[] = [];

  constructor(private readonly share: number) {}

  schedule = (next: () => void): void => void this.#next.push(next);

  beginShare = () => {
    let left = this.share;
    return {
      get isOver() {
        return left-- <= 0;
      },
    };
  };

  turn(): void {
    for (const next of this.#next.splice(0)) next();
  }
}

function setUp(share: number) {
  const set = new SetClock(0);
  const loop = new Loop(share);
  const wakes = wakingTimer(steadyOver(set), wakingByTurns(loop));
  const woken: string[] = [];
  const timer = (at: number, name: string, accountId = 1) => wakes(accountId, at, () => woken.push(name));
  return { set, loop, woken, timer };
}

test("timers that come due at one instant wake in shares of turns, in their order", () => {
  const { set, loop, woken, timer } = setUp(2);
  for (const name of ["a", "b", "c", "d", "e", "f"]) timer(100, name);
  set.advance(100);
  expect(woken).toEqual(["a", "b"]);
  loop.turn();
  // The first of a later turn goes whatever time there is.
  expect(woken).toEqual(["a", "b", "c", "d", "e"]);
  loop.turn();
  expect(woken).toEqual(["a", "b", "c", "d", "e", "f"]);
});

test("what comes due later waits behind those that are due already", () => {
  const { set, loop, woken, timer } = setUp(1);
  for (const [at, name] of [
    [100, "a"],
    [100, "b"],
    [101, "c"],
  ] as const)
    timer(at, name);
  set.advance(100);
  set.advance(1);
  expect(woken).toEqual(["a"]);
  loop.turn();
  loop.turn();
  expect(woken).toEqual(["a", "b", "c"]);
});

test("the accounts take turns, however many of one are due before the other's", () => {
  const { set, loop, woken, timer } = setUp(1);
  for (let at = 0; at < 1000; at++) timer(100, `a${at}`);
  timer(100, "b0", 2);
  timer(100, "b1", 2);
  set.advance(100);
  for (let turn = 0; turn < 3; turn++) loop.turn();
  expect(woken).toEqual(["a0", "a1", "b0", "a2", "b1", "a3", "a4"]);
});

test("one goes in each turn, however little time there is", () => {
  const { set, loop, woken, timer } = setUp(0);
  timer(100, "a");
  timer(100, "b");
  set.advance(100);
  expect(woken).toEqual([]);
  loop.turn();
  expect(woken).toEqual(["a"]);
  loop.turn();
  expect(woken).toEqual(["a", "b"]);
});

test("what is called off does not wake, also where it is due and waits for its turn", () => {
  const { set, loop, woken, timer } = setUp(1);
  timer(100, "a");
  const callOffDue = timer(100, "b");
  const callOffLater = timer(200, "c");
  set.advance(100);
  callOffDue();
  callOffLater();
  loop.turn();
  set.advance(100);
  loop.turn();
  expect(woken).toEqual(["a"]);
});

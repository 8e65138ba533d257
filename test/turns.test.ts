/** Heavy work takes turns: the event loop comes round between any two pieces of it. */
import { describe, expect, test } from "bun:test";
import { limit } from "../src/core/limits.ts";
import { heavyTurn, isHeavy } from "../src/turns.ts";

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("heavy work", () => {
  test("has one piece a turn of the loop, in the order in which it was asked for, whoever asks", async () => {
    const done: string[] = [];
    const work = async (name: string, pieces: number) => {
      for (let piece = 1; piece <= pieces; piece++) {
        await heavyTurn();
        done.push(`${name}${piece}`);
      }
    };
    const all = Promise.all([work("a", 3), work("b", 2), work("c", 1)]);
    const afterTurns: number[] = [];
    while (done.length < 6) {
      await turn();
      afterTurns.push(done.length);
    }
    await all;
    expect(done).toEqual(["a1", "b1", "c1", "a2", "b2", "a3"]);
    const steps = afterTurns.map((count, at) => count - (afterTurns[at - 1] ?? 0));
    expect(Math.max(...steps)).toBe(1);
  });

  test("begins with bodies above the limit", () => {
    expect([isHeavy(limit("lightBodyMax")), isHeavy(limit("lightBodyMax") + 1)]).toEqual([false, true]);
  });
});

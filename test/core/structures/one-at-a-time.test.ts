import { expect, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { OneAtATime } from "../../../src/core/structures/one-at-a-time.ts";

test("works go one at a time, and the lines of those that wait take turns", async () => {
  const one = new OneAtATime();
  const done: string[] = [];
  const ends: (() => void)[] = [];
  const run = (...names: string[]) =>
    one.run(names, async () => {
      done.push(names.join(" "));
      await new Promise<void>((resolve) => ends.push(resolve));
    });
  const all = [run("a", "x"), run("a", "x"), run("a", "x"), run("a", "y"), run("b", "z")];
  for (let n = 1; n <= all.length; n++) {
    expect([done.length, ends.length]).toEqual([n, 1]);
    ends.shift()?.();
    await nextTurn();
  }
  await Promise.all(all);
  expect(done).toEqual(["a x", "a x", "b z", "a y", "a x"]);
});

test("one that fails holds up nobody, and who comes later finds it free", async () => {
  const one = new OneAtATime();
  const fail = () => Promise.reject<string>(new Error("failed"));
  const [first, second] = [one.run(["a"], fail), one.run(["a"], () => Promise.resolve("second"))];
  expect(first).rejects.toThrow("failed");
  expect(await second).toBe("second");
  expect(await one.run(["b"], () => Promise.resolve("third"))).toBe("third");
});

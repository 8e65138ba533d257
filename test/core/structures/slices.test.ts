import { expect, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { limit } from "../../../src/core/limits.ts";
import { restAfter, Slices } from "../../../src/core/structures/slices.ts";

/** Slices by a clock that they move, and rests that end when the test says so. */
class Stage {
  now = 0;
  readonly rests: { ms: number; end: () => void }[] = [];
  readonly done: string[] = [];
  readonly slices = new Slices({
    monotonic: () => this.now,
    later: (ms, end) => void this.rests.push({ ms, end }),
  });

  run(name: string, accountId: number, projectId: number, tookMs = 5): Promise<string | null> {
    return this.slices.run(accountId, projectId, () => {
      this.done.push(name);
      this.now += tookMs;
      return Promise.resolve(name);
    });
  }

  async rest(): Promise<void> {
    await nextTurn();
    for (const { end } of this.rests.splice(0)) end();
    await nextTurn();
  }
}

test("accounts take turns, in them their projects, and nobody has a slice before the rest is over", async () => {
  const stage = new Stage();
  const all = [
    stage.run("a1", 1, 10),
    stage.run("a2", 1, 10),
    stage.run("a3", 1, 11),
    stage.run("a4", 1, 12),
    stage.run("b1", 2, 20),
  ];
  for (let n = 1; n <= all.length; n++) {
    await nextTurn();
    expect(stage.done.length).toBe(n);
    await stage.rest();
  }
  expect(stage.done).toEqual(["a1", "a2", "b1", "a3", "a4"]);
  expect(await Promise.all(all)).toEqual(["a1", "a2", "a3", "a4", "b1"]);
});

test("it is answered before its rest, which is twice as long as it took, within bounds", async () => {
  const stage = new Stage();
  expect(await stage.run("a", 1, 1, 30)).toBe("a");
  await nextTurn();
  expect(stage.rests.map(({ ms }) => ms)).toEqual([60]);
  expect([0, 1, 7, 10_000].map(restAfter)).toEqual([
    limit("sliceRestMsMin"),
    limit("sliceRestMsMin"),
    14,
    limit("sliceRestMsMax"),
  ]);
});

test("who finds nothing to do needs no rest; what is to be done is asked once it is one's turn", async () => {
  const stage = new Stage();
  let isThere = true;
  const first = stage.run("a", 1, 1);
  const second = stage.slices.run(1, 2, () => (isThere ? Promise.resolve("was there") : null));
  const third = stage.run("c", 1, 3);
  isThere = false;
  await stage.rest();
  expect([await first, await second, await third]).toEqual(["a", null, "c"]);
  expect(stage.rests.length).toBe(1);
});

test("one that fails is told to who asked for it, and is followed by a rest too", async () => {
  const stage = new Stage();
  expect(stage.slices.run(1, 1, () => Promise.reject(new Error("failed")))).rejects.toThrow("failed");
  const next = stage.run("b", 1, 1);
  await nextTurn();
  expect([stage.done.length, stage.rests.length]).toEqual([0, 1]);
  await stage.rest();
  expect(await next).toBe("b");
});

test("one that throws before it begins is told to who asked for it too, and the next one runs", async () => {
  const stage = new Stage();
  const thrown = stage.slices.run(1, 1, () => {
    throw new Error("the disk cannot be read");
  });
  const next = stage.run("b", 1, 1);
  await expect(thrown).rejects.toThrow("the disk cannot be read");
  expect(await next).toBe("b");
});

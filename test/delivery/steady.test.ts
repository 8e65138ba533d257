import { expect, test } from "bun:test";
import { openSteadyClock } from "../../src/delivery/steady.ts";
import { DatingClock } from "../../src/platform/clock.ts";
import { Meta } from "../../src/store/meta.ts";
import { Store } from "../../src/store/store.ts";
import { SetClock } from "../kit/clock.ts";
import { openMemory } from "../kit/memory.ts";
import { storeParts } from "../kit/store-parts.ts";

const NOON = Date.UTC(2026, 10, 21, 12);
const HOUR_MS = 3_600_000;

function open() {
  const wall = new SetClock(NOON);
  const dates = new DatingClock(wall);
  const sqlite = openMemory();
  const store = new Store(sqlite, storeParts({ now: dates.now }));
  const meta = new Meta(sqlite);
  const tally = { waiting: 0 };
  const clock = openSteadyClock({ store, meta, tally }, dates);
  const kept = () => [meta.number("clock_lead_ms"), meta.number("clock_passed_ms") - NOON];
  const look = () => {
    clock.look();
    return store.settled();
  };
  return { wall, store, tally, clock, kept, look };
}

test("where the clock stands is written with whatever is written, once in half a minute", async () => {
  const { wall, store, kept } = open();
  const seen: number[][] = [];
  for (const ms of [0, 29_000, 1000, HOUR_MS]) {
    wall.advance(ms);
    // A write that fails takes nothing of it along.
    await store
      .write(() => {
        throw new Error("refused");
      })
      .catch(() => {});
    seen.push(kept());
    await store.write(() => {});
    seen.push(kept());
  }
  expect(seen.slice(1)).toEqual([
    [0, 0],
    [0, 0],
    [0, 0],
    [0, 0],
    [0, 30_000],
    [0, 30_000],
    [0, 30_000 + HOUR_MS],
  ]);
});

test("a step of the wall clock is written at once, also where no delivery waits", async () => {
  const { wall, kept, look } = open();
  const seen: number[][] = [];
  for (const step of [0, -HOUR_MS, 0, 6 * 24 * HOUR_MS]) {
    wall.advance(60_000);
    wall.step(step);
    await look();
    seen.push(kept());
  }
  expect(seen).toEqual([
    [0, -NOON],
    [HOUR_MS, 120_000],
    [HOUR_MS, 120_000],
    [-143 * HOUR_MS, 240_000],
  ]);
});

test("while something waits it is written although nothing else is, and where the clock was set at once", async () => {
  const { wall, tally, kept, look } = open();
  await look();
  tally.waiting = 1;
  const seen: number[][] = [kept()];
  for (const [ms, step] of [
    [0, 0],
    [20_000, 0],
    [20_000, 0],
    [1, -HOUR_MS],
    [1, 24 * HOUR_MS],
  ] as const) {
    wall.advance(ms);
    wall.step(step);
    await look();
    seen.push(kept());
  }
  expect(seen).toEqual([
    [0, -NOON],
    [0, 0],
    [0, 0],
    [0, 40_000],
    [HOUR_MS, 40_001],
    [-23 * HOUR_MS, 40_002],
  ]);
});

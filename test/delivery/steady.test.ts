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

/** A process; with `sqlite` the next one, which finds what another has left. */
function open(wall = new SetClock(NOON), sqlite = openMemory()) {
  const dates = new DatingClock(wall);
  const store = new Store(sqlite, storeParts({ now: dates.now }));
  const meta = new Meta(sqlite);
  const tally = { waiting: 0 };
  const clock = openSteadyClock({ store, meta, tally }, dates);
  const kept = () => [meta.number("clock_lead_ms"), meta.number("clock_passed_ms") - NOON];
  const look = () => {
    clock.look();
    return store.settled();
  };
  return { wall, dates, sqlite, store, tally, clock, kept, look };
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
    [0, 60_000],
    [HOUR_MS, 120_000],
    [HOUR_MS, 120_000],
    [-143 * HOUR_MS, 240_000],
  ]);
});

test("a step is written whoever sees it: the job that looks for it begins anew then, and comes later", async () => {
  const { wall, dates, store, kept, look } = open();
  await look();
  wall.step(HOUR_MS);
  dates.now();
  await store.settled();
  expect(kept()).toEqual([-HOUR_MS, 0]);
});

test("it is written although nothing else is: each hour, each half minute while something waits, at once where the clock was set", async () => {
  const { wall, tally, kept, look } = open();
  await look();
  wall.advance(59 * 60_000);
  await look();
  const seen: number[][] = [kept()];
  wall.advance(60_000);
  await look();
  seen.push(kept());
  tally.waiting = 1;
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
    [0, 0],
    [0, HOUR_MS],
    [0, HOUR_MS],
    [0, HOUR_MS],
    [0, HOUR_MS + 40_000],
    [HOUR_MS, HOUR_MS + 40_001],
    [-23 * HOUR_MS, HOUR_MS + 40_002],
  ]);
});

const MINUTE_MS = 60_000;

test("what passes between two processes is down time, unless it is a few minutes, and no later start forgets it", async () => {
  const first = open();
  await first.look();
  const { wall, sqlite } = first;
  const began = first.clock.now();
  wall.advance(9 * MINUTE_MS);
  const second = open(wall, sqlite);
  second.tally.waiting = 1;
  await second.look();
  wall.advance(48 * HOUR_MS);
  const third = open(wall, sqlite);
  expect(third.clock.downSince(began)).toBe(48 * HOUR_MS);
  // It dies before it writes anything.
  wall.advance(HOUR_MS);
  const fourth = open(wall, sqlite);
  await fourth.look();
  expect(fourth.clock.downSince(began)).toBe(49 * HOUR_MS);
  expect(fourth.clock.downSince(fourth.clock.now())).toBe(0);
  wall.advance(MINUTE_MS);
  expect(open(wall, sqlite).clock.downSince(began)).toBe(49 * HOUR_MS);
});

test("a clock that is ahead at one start, and right at the next, counts as so much down time, and does no more", async () => {
  const first = open();
  await first.look();
  const { wall, sqlite } = first;
  const began = first.clock.now();
  const ran = ({ clock }: ReturnType<typeof open>) => clock.now() - began - clock.downSince(began);
  wall.step(144 * HOUR_MS);
  const ahead = open(wall, sqlite);
  await ahead.look();
  expect(ran(ahead)).toBe(0);
  wall.step(-144 * HOUR_MS);
  const right = open(wall, sqlite);
  await right.look();
  for (let n = 0; n < 60; n++) {
    wall.advance(MINUTE_MS);
    await right.look();
  }
  expect(ran(right)).toBe(HOUR_MS);
  wall.advance(MINUTE_MS);
  const later = open(wall, sqlite);
  expect(ran(later)).toBe(HOUR_MS + MINUTE_MS);
});

test("a clock that is behind at one start, and right at the next, makes nothing negative", async () => {
  const first = open();
  await first.look();
  const { wall, sqlite } = first;
  const began = first.clock.now();
  wall.step(-144 * HOUR_MS);
  await open(wall, sqlite).look();
  wall.step(144 * HOUR_MS);
  wall.advance(MINUTE_MS);
  const { clock } = open(wall, sqlite);
  expect([clock.now() - began, clock.downSince(began)]).toEqual([MINUTE_MS, 0]);
});

test("a process that stood still, as its machine slept, was down; a clock that is set meanwhile is no sleep", async () => {
  const { wall, clock, look } = open();
  await look();
  const began = clock.now();
  wall.step(144 * HOUR_MS);
  await look();
  wall.advance(5000);
  expect(clock.downSince(began)).toBe(0);
  // Whoever asks before anybody has looked is told of it too.
  wall.advance(144 * HOUR_MS);
  expect(clock.downSince(began)).toBe(144 * HOUR_MS);
});

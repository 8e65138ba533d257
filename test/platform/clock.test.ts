import { describe, expect, test } from "bun:test";
import { createSteadyClock } from "../../src/platform/clock.ts";
import { startApp } from "../kit/app.ts";
import { SetClock } from "../kit/clock.ts";
import { RunningClock } from "../kit/running-clock.ts";

const NOON = Date.UTC(2026, 10, 21, 12);
const HOUR_MS = 3_600_000;

function steadyAt(at: number, lead = 0, passed = 0) {
  const wall = new SetClock(at);
  const leads: number[] = [];
  const told: number[] = [];
  const awaited = { now: false };
  const steady = createSteadyClock(wall, {
    lead,
    passed,
    onStep: (now) => void leads.push(now),
    isAwaited: () => awaited.now,
    onPassed: (now) => void told.push(now),
  });
  return { wall, steady, leads, told, awaited };
}

describe("the steady clock", () => {
  test("goes with the wall clock, also where that jumps ahead", () => {
    const { wall, steady, leads } = steadyAt(NOON);
    wall.advance(HOUR_MS);
    expect([steady.now(), steady.toWall(steady.now()), leads]).toEqual([NOON + HOUR_MS, NOON + HOUR_MS, []]);
  });

  test("goes on where the wall clock is set back, and shows the wall clock's times", () => {
    const { wall, steady, leads } = steadyAt(NOON);
    wall.advance(-HOUR_MS);
    expect(steady.now()).toBe(NOON);
    wall.advance(60_000);
    expect([steady.now(), steady.toWall(steady.now()), leads]).toEqual([
      NOON + 60_000,
      NOON - HOUR_MS + 60_000,
      [HOUR_MS],
    ]);
  });

  test("waits for a wall clock that is behind by less than a second", () => {
    const { wall, steady, leads } = steadyAt(NOON);
    wall.advance(-900);
    expect([steady.now(), leads]).toEqual([NOON, []]);
    wall.advance(1000);
    expect(steady.now()).toBe(NOON + 100);
  });

  test("knows after a restart how far it is ahead, and that it is no earlier than what has passed", () => {
    expect(steadyAt(NOON, HOUR_MS).steady.now()).toBe(NOON + HOUR_MS);
    const { steady, leads } = steadyAt(NOON, 0, NOON + HOUR_MS);
    expect([steady.now(), leads]).toEqual([NOON + HOUR_MS, [HOUR_MS]]);
  });

  test("tells every half minute what has passed while somebody waits, and always where the wall clock jumps ahead", () => {
    const { wall, steady, told, awaited } = steadyAt(NOON, 0, NOON);
    for (let n = 0; n < 3; n++) {
      wall.advance(20_000);
      steady.now();
    }
    expect(told).toEqual([]);
    awaited.now = true;
    steady.now();
    wall.advance(29_000);
    steady.now();
    wall.advance(1000);
    steady.now();
    awaited.now = false;
    wall.advance(24 * HOUR_MS);
    steady.now();
    expect(told.map((at) => at - NOON)).toEqual([60_000, 90_000, 90_000 + 24 * HOUR_MS]);
  });

  test("wakes whoever waits after the time that was told, however the wall clock is set", () => {
    const { wall, steady } = steadyAt(NOON);
    let woken = 0;
    steady.timer(NOON + 30_000, () => void woken++);
    wall.advance(-HOUR_MS);
    steady.now();
    wall.advance(29_000);
    expect(woken).toBe(0);
    wall.advance(1000);
    expect(woken).toBe(1);
  });
});

test("a retry comes when it was told to, although the clock is set back by a day and the service is killed", async () => {
  const clock = new RunningClock();
  await using app = await startApp({ clock });
  let answer = 500;
  let requests = 0;
  using receiver = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch() {
      requests++;
      return new Response(null, { status: answer });
    },
  });
  await app.live.create("/v1/endpoints", { url: receiver.url.href, retry: { schedule: [3600] } });
  const event = { type: "a.b", data: {} };
  expect((await app.live.post("/v1/events", event)).status).toBe(202);
  const retrying = () => app.live.get("/v1/deliveries?status=retrying");
  const only = async () => ((await retrying()).json.data as { next_attempt_at: string }[])[0];
  await app.until(only);
  clock.set(clock.now() - 24 * HOUR_MS);
  const waits = async () => Date.parse((await only())?.next_attempt_at ?? "") - clock.now();
  expect(await waits()).toBeLessThan(1.2 * HOUR_MS);
  // What is new goes at once.
  answer = 200;
  expect((await app.live.post("/v1/events", event)).status).toBe(202);
  await app.until(async () => (await retrying()) && requests === 2);
  await app.stop();
  clock.set(clock.now() - 24 * HOUR_MS);
  await app.start();
  expect(await waits()).toBeLessThan(1.2 * HOUR_MS);
  clock.set(clock.now() + 1.2 * HOUR_MS);
  await app.until(async () => (await retrying()) && requests === 3);
});

import { describe, expect, test } from "bun:test";
import { countSleep, createSteadyClock, DatingClock, type Step } from "../../src/platform/clock.ts";
import { startApp } from "../kit/app.ts";
import { SetClock } from "../kit/clock.ts";
import { RunningClock } from "../kit/running-clock.ts";

const clockPath = import.meta.resolve("../../src/platform/clock.ts");
const NOON = Date.UTC(2026, 10, 21, 12);
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function steadyAt(at: number, lead = 0, passed = 0) {
  const wall = new SetClock(at);
  const dates = new DatingClock(wall);
  const steady = createSteadyClock(dates, { lead, passed });
  return { wall, dates, steady };
}

/** What the clock is, and what people see of it. */
function shown({ steady }: Pick<ReturnType<typeof steadyAt>, "steady">): [now: number, seen: number] {
  const now = steady.now() - NOON;
  return [now, steady.toWall(steady.now()) - NOON];
}

describe("the steady clock", () => {
  test("goes by the time that passes, and shows the wall clock's times", () => {
    const it = steadyAt(NOON);
    it.wall.advance(HOUR_MS);
    expect(shown(it)).toEqual([HOUR_MS, HOUR_MS]);
  });

  test("goes on where the wall clock is set back", () => {
    const it = steadyAt(NOON);
    it.wall.step(-HOUR_MS);
    expect(shown(it)).toEqual([0, -HOUR_MS]);
    it.wall.advance(MINUTE_MS);
    expect(shown(it)).toEqual([MINUTE_MS, MINUTE_MS - HOUR_MS]);
    expect(it.steady.lead()).toBe(HOUR_MS);
  });

  test("goes on where it is set ahead, by little or by much", () => {
    const it = steadyAt(NOON);
    it.wall.step(4 * MINUTE_MS);
    expect(shown(it)).toEqual([0, 4 * MINUTE_MS]);
    it.wall.step(DAY_MS);
    expect(shown(it)).toEqual([0, 4 * MINUTE_MS]);
    it.wall.advance(10 * MINUTE_MS);
    expect(shown(it)).toEqual([10 * MINUTE_MS, DAY_MS + 14 * MINUTE_MS]);
    expect(it.steady.lead()).toBe(-DAY_MS - 4 * MINUTE_MS);
  });

  test.each([
    ["set back and put right", [-DAY_MS, DAY_MS]],
    ["set ahead and put right", [DAY_MS, -DAY_MS]],
    ["set back twice, and put right at once", [-HOUR_MS, -HOUR_MS, 2 * HOUR_MS]],
    ["set to and fro", [-HOUR_MS, 2 * HOUR_MS, -3 * HOUR_MS, 2 * HOUR_MS]],
  ])("is what it would be where the wall clock is %s", (_, steps) => {
    const it = steadyAt(NOON);
    for (const step of steps) {
      it.wall.step(step);
      it.dates.now();
      it.wall.advance(5000);
    }
    const passed = steps.length * 5000;
    expect(shown(it)).toEqual([passed, passed]);
    expect(it.steady.lead()).toBe(0);
  });

  test("leaves a wall clock alone that is wrong by less than a second", () => {
    const { wall, steady } = steadyAt(NOON);
    wall.step(-900);
    expect([steady.toWall(NOON), steady.lead()]).toEqual([NOON, 0]);
    wall.step(-200);
    expect([steady.toWall(NOON), steady.lead()]).toEqual([NOON - 1100, 0 + 1100]);
  });

  test("wakes whoever waits after the time that was told, however the wall clock is set", () => {
    const { wall, dates, steady } = steadyAt(NOON);
    let woken = 0;
    steady.timer(NOON + 90_000, () => void woken++);
    for (const step of [-HOUR_MS, DAY_MS, -DAY_MS + HOUR_MS]) {
      wall.step(step);
      dates.now();
      wall.advance(29_000);
    }
    wall.advance(2999);
    expect(woken).toBe(0);
    wall.advance(1);
    expect(woken).toBe(1);
  });
});

describe("after a restart the steady clock", () => {
  const minuteLater = (lead: number, passed: number) => steadyAt(NOON, lead, passed).steady.now() - NOON;

  test("is ahead of the wall clock, or behind it, as it was", () => {
    expect(minuteLater(HOUR_MS, NOON + HOUR_MS - MINUTE_MS)).toBe(HOUR_MS);
    expect(minuteLater(-HOUR_MS, NOON - HOUR_MS - MINUTE_MS)).toBe(-HOUR_MS);
    // What was written is inexact by the smallest step.
    expect(minuteLater(-HOUR_MS, NOON - HOUR_MS + 900)).toBe(-HOUR_MS + 900);
  });

  test("is the wall clock where that was put right meanwhile", () => {
    expect(minuteLater(DAY_MS, NOON - MINUTE_MS)).toBe(0);
    expect(minuteLater(-DAY_MS, NOON - MINUTE_MS)).toBe(0);
  });

  test("is where it was where the wall clock was set back meanwhile", () => {
    expect(minuteLater(0, NOON + DAY_MS)).toBe(DAY_MS);
    expect(minuteLater(HOUR_MS, NOON + DAY_MS)).toBe(DAY_MS);
  });
});

describe("the clock that dates rows", () => {
  function datesAt(at: number) {
    const wall = new SetClock(at);
    const dates = new DatingClock(wall);
    const steps: Step[] = [];
    dates.onStep((step) => void steps.push(step));
    return { wall, dates, steps };
  }

  test("is the wall clock, also where that is set back, or ahead by a little", () => {
    const { wall, dates, steps } = datesAt(NOON);
    for (const step of [-DAY_MS, 5 * MINUTE_MS, -900]) {
      wall.step(step);
      expect(dates.now()).toBe(wall.now());
    }
    expect(steps).toEqual([
      { byMs: -DAY_MS, isDoubted: false },
      { byMs: 5 * MINUTE_MS, isDoubted: false },
    ]);
  });

  test("goes on by the time of before for ten minutes where the wall clock is set ahead by more", () => {
    const { wall, dates, steps } = datesAt(NOON);
    wall.step(365 * DAY_MS);
    expect(dates.now()).toBe(NOON);
    wall.advance(3000);
    wall.step(DAY_MS);
    expect(dates.now()).toBe(NOON + 3000);
    wall.advance(10 * MINUTE_MS - 3001);
    expect(dates.now()).toBe(NOON + 10 * MINUTE_MS - 1);
    wall.advance(1);
    expect(dates.now()).toBe(wall.now());
    expect(steps.map(({ isDoubted }) => isDoubted)).toEqual([true, true]);
  });

  test("believes a clock at once that was set back and is put right, even days later", () => {
    const { wall, dates } = datesAt(NOON);
    wall.step(-30 * DAY_MS);
    dates.now();
    wall.advance(DAY_MS);
    wall.step(30 * DAY_MS + 4 * MINUTE_MS);
    expect(dates.now()).toBe(NOON + DAY_MS + 4 * MINUTE_MS);
  });

  test("doubts anew after the wall clock was put right", () => {
    const { wall, dates } = datesAt(NOON);
    for (let n = 0; n < 3; n++) {
      wall.step(DAY_MS);
      dates.now();
      wall.advance(9 * MINUTE_MS);
      expect(dates.now()).toBe(wall.now() - DAY_MS);
      wall.step(-DAY_MS);
      expect(dates.now()).toBe(wall.now());
    }
  });
});

test("the clock counts that the machine slept, which stops the monotonic clock", () => {
  let [awake, boot] = [5, 1_000_000];
  const elapsed = countSleep(
    () => awake,
    () => boot,
  );
  const pass = (ms: number, sleptMs: number) => {
    awake += ms;
    boot += ms + sleptMs;
    return elapsed();
  };
  expect(pass(2000, 9)).toBe(2005);
  expect(pass(2000, HOUR_MS)).toBe(4005 + HOUR_MS + 9);
  expect(pass(2000, 0)).toBe(6005 + HOUR_MS + 9);
});

const event = { type: "a.b", data: {} };

/** The service, with an endpoint whose receiver fails until it is told otherwise. */
async function failing(answer: () => Response) {
  const clock = new RunningClock();
  const app = await startApp({ clock });
  let requests = 0;
  let isDown = true;
  const receiver = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch() {
      requests++;
      return isDown ? answer() : new Response();
    },
  });
  await app.live.create("/v1/endpoints", { url: receiver.url.href, retry: { schedule: [3600] } });
  expect((await app.live.post("/v1/events", event)).status).toBe(202);
  const retrying = () => app.live.get("/v1/deliveries?status=retrying");
  const only = async () => ((await retrying()).json.data as { next_attempt_at: string }[])[0];
  await app.until(only);
  return {
    app,
    clock,
    requests: () => requests,
    heal: () => void (isDown = false),
    /** So many requests have come. */
    reached: (count: number) => app.until(async () => (await retrying()) && requests === count),
    waits: async () => Date.parse((await only())?.next_attempt_at ?? "") - clock.now(),
    async [Symbol.asyncDispose]() {
      await receiver.stop(true);
      await app[Symbol.asyncDispose]();
    },
  };
}

test("a retry comes when it was told to, although the clock is set back by a day and the service is killed", async () => {
  await using it = await failing(() => new Response(null, { status: 500 }));
  const { app, clock } = it;
  clock.step(-DAY_MS);
  expect(await it.waits()).toBeLessThan(1.2 * HOUR_MS);
  // What is new goes at once.
  it.heal();
  expect((await app.live.post("/v1/events", event)).status).toBe(202);
  await it.reached(2);
  await app.stop();
  clock.step(-DAY_MS);
  await app.start();
  expect(await it.waits()).toBeLessThan(1.2 * HOUR_MS);
  clock.set(clock.now() + 1.2 * HOUR_MS);
  await it.reached(3);
});

test.each([-DAY_MS, DAY_MS])(
  "retry-after is kept where the clock is set by %d ms and put right",
  async (step) => {
    await using it = await failing(
      () => new Response(null, { status: 429, headers: { "retry-after": "5400" } }),
    );
    const { clock } = it;
    const asked = await it.waits();
    expect(asked).toBeGreaterThan(1.4 * HOUR_MS);
    for (const by of [step, -step, step, -step]) {
      clock.step(by);
      const ahead = by === step && step > 0 ? step : 0;
      expect(Math.abs((await it.waits()) + ahead - asked)).toBeLessThan(MINUTE_MS);
    }
    clock.set(clock.now() + asked - MINUTE_MS);
    await it.waits();
    expect(it.requests()).toBe(1);
    it.heal();
    clock.set(clock.now() + 2 * MINUTE_MS);
    await it.reached(2);
  },
);

test("what comes after a glitch of the clock, a year ahead, is dated and listed as it came", async () => {
  const clock = new RunningClock();
  await using app = await startApp({ clock });
  const publish = async () => {
    const { status, json } = await app.live.post("/v1/events", event);
    expect(status).toBe(202);
    return json as { id: string; created_at: string };
  };
  const late = ({ created_at: at }: { created_at: string }) => Math.abs(Date.parse(at) - clock.now());
  const before = await publish();
  clock.step(365 * DAY_MS);
  await publish();
  clock.step(-365 * DAY_MS);
  const after = await publish();
  expect(late(after)).toBeLessThan(MINUTE_MS);
  const until = new Date(clock.now() + HOUR_MS).toISOString();
  const listed = (await app.live.get(`/v1/events?until=${until}`)).json.data as { id: string }[];
  expect(listed.length).toBe(3);
  expect([listed[0]?.id, listed[2]?.id]).toEqual([after.id, before.id]);
  await app.stop();
  await app.start();
  expect(late(await publish())).toBeLessThan(MINUTE_MS);
});

test("tells the time also when the process has no file left", async () => {
  const program = `
    const { openSync } = await import("node:fs");
    const { systemClock } = await import(${JSON.stringify(clockPath)});
    try { for (;;) openSync("/dev/null", "r"); } catch {}
    const before = systemClock.elapsed();
    Bun.sleepSync(1100);
    console.log(systemClock.elapsed() - before >= 1000);`;
  const child = Bun.spawn(["bash", "-c", `ulimit -n 64; exec ${process.execPath} -e "$PROGRAM"`], {
    env: { ...process.env, PROGRAM: program },
    stdout: "pipe",
    stderr: "pipe",
  });
  expect([await child.stdout.text(), await child.stderr.text()]).toEqual(["true\n", ""]);
});

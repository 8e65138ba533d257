/** Time in which the service is down ends nothing: nobody could be sent anything, or fetch it. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { DownTimes } from "../../src/delivery/down-times.ts";
import { startApp } from "../kit/app.ts";
import { startReceiver } from "../kit/receiver.ts";
import { RunningClock } from "../kit/running-clock.ts";

const DAY_MS = 86_400_000;

describe("the times in which nothing ran", () => {
  test("are what they were in the next process", () => {
    const before = new DownTimes(null);
    before.add(10, 20);
    before.add(30, 35);
    const after = new DownTimes(before.toText());
    expect([0, 10, 15, 20, 25, 30, 34, 35, 40].map((at) => after.since(at))).toEqual([
      15, 15, 10, 5, 5, 5, 1, 0, 0,
    ]);
  });

  test("and the time in which something ran are all the time there was", () => {
    const stretches = fc.array(fc.record({ down: fc.nat(9), up: fc.integer({ min: 1, max: 9 }) }));
    fc.assert(
      fc.property(stretches, fc.double({ min: 0, max: 1, noNaN: true }), (all, part) => {
        const times = new DownTimes(null);
        const isDown: boolean[] = [];
        for (const { down, up } of all) {
          if (down > 0) times.add(isDown.length, isDown.length + down);
          isDown.push(...Array<boolean>(down).fill(true), ...Array<boolean>(up).fill(false));
        }
        const at = Math.floor(part * isDown.length);
        expect(times.since(at)).toBe(isDown.slice(at).filter(Boolean).length);
      }),
    );
  });

  test("are not more and more: the oldest become one, and none of them is forgotten", () => {
    const times = new DownTimes(null);
    for (let n = 0; n < 5000; n++) times.add(n * 10, n * 10 + 1);
    expect(times.toText().length).toBeLessThan(20_000);
    expect(times.since(49_000)).toBe(100);
    expect(times.since(0)).toBeGreaterThan(5000);
  });
});

/** What fails, and what waits, when the process ends; `between` is what happens until the next one. */
async function acrossDownTime(clock: RunningClock, between: () => void) {
  await using app = await startApp({ clock });
  await using receiver = startReceiver();
  const url = receiver.at("fails", () => new Response(null, { status: 500 }));
  const endpoints: string[] = [];
  const events: string[] = [];
  for (const [type, fields] of Object.entries({
    quiet: { url, retry: { schedule: [] } },
    tried: { url, retry: { schedule: [60, 86_400] } },
    fetched: { kind: "poll", config: {} },
  })) {
    endpoints.push((await app.live.create("/v1/endpoints", { ...fields, event_types: [type] })).id ?? "");
    const { json } = await app.live.post("/v1/events", { type, data: {} });
    events.push(String(json["id"]));
  }
  const stateOf = async (event: string) => {
    const { json } = await app.live.get(`/v1/deliveries?event_id=${event}`);
    const [found] = json["data"] as { status: string; attempt_count: number }[];
    return found ? `${found.status} ${found.attempt_count}` : "gone";
  };
  const states = () => Promise.all(events.map(stateOf));
  const until = (wanted: string[]) => app.until(async () => String(await states()) === String(wanted));
  await until(["dead 1", "retrying 1", "pending 0"]);
  await app.stop();
  between();
  await app.start();
  // It is due at once, and every job has run by then.
  await app.until(async () => !(await states()).includes("retrying 1"));
  const statuses = endpoints.map(async (id) => (await app.live.get(`/v1/endpoints/${id}`)).json["status"]);
  return { statuses: await Promise.all(statuses), states: await states() };
}

/** What had ended leaves by its age. */
const nothingEnded = {
  statuses: ["active", "active", "active"],
  states: ["gone", "retrying 2", "pending 0"],
};

test("an endpoint stays, and what nobody fetched, where the service was down for longer than their days", async () => {
  const clock = new RunningClock();
  expect(await acrossDownTime(clock, () => clock.set(clock.now() + 40 * DAY_MS))).toEqual(nothingEnded);
}, 30_000);

test("they stay, too, where a start finds a clock that is far ahead", async () => {
  const clock = new RunningClock();
  expect(await acrossDownTime(clock, () => clock.step(40 * DAY_MS))).toEqual(nothingEnded);
}, 30_000);

/** What nobody could fetch, as the service itself held it back, does not expire. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Endpoint } from "../../src/core/model.ts";
import { isPolled } from "../../src/destinations/destinations.ts";
import { Retention } from "../../src/maintenance/retention.ts";
import { courses, type Held, HeldBack } from "../kit/held-back.ts";
import { jobControlOf } from "../kit/job-control.ts";

const HOUR_MS = 3_600_000;

let held: HeldBack;
let retention: Retention;

beforeEach(open);

async function open(): Promise<void> {
  held = await HeldBack.open();
  const { data, services } = held.api;
  retention = new Retention({ data, actors: services.actors, expires: ({ kind }) => isPolled(kind) });
}

afterEach(() => held[Symbol.asyncDispose]());

describe("what was never fetched", () => {
  async function polled(): Promise<Endpoint> {
    return held.api.endpoint({ url: "", kind: "poll", config: {}, eventTypes: ["a.b"] });
  }

  const control = jobControlOf({ rest: async () => {} });

  /** Passes of retention, hour by hour, for so many days. */
  async function expire(days: number): Promise<void> {
    for (let hours = days * 24; hours > 0; hours -= 6) {
      held.clock.advance(6 * HOUR_MS);
      await held.api.data.index.writeDown();
      await retention.run(control);
    }
  }

  /** What waits stays for this time, and for a week after `opens`. */
  async function keeps(ids: readonly number[], days: number, opens: () => Promise<unknown>): Promise<void> {
    await expire(days);
    await opens();
    await expire(6.5);
    expect(held.statusesOf(ids)).toEqual(ids.map(() => "pending"));
    await expire(1);
    expect(held.statusesOf(ids)).toEqual(ids.map(() => "cancelled"));
  }

  test("does not expire while it waits for the plan, nor for its time after that", async () => {
    await held.operate({ plan: "one" });
    await held.api.endpoint({ url: held.api.receiver.url("used"), eventTypes: ["used"] });
    await held.api.settled((await held.api.publish("used")).id);
    const waiting = await held.receive(2, await polled());
    expect(waiting.map((id) => held.api.data.deliveries.get(id)?.due)).toEqual([null, null]);
    held.releaser.start();
    await keeps(waiting, 9, async () => {
      await held.operate({ plan: "week" });
      await held.api.data.store.settled();
    });
  });

  test("does not expire while its account is suspended, nor for its time after that", async () => {
    await held.operate({ plan: "week" });
    const endpoint = await polled();
    const ids = await held.receive(2, endpoint);
    await held.operate({ suspended: true });
    await keeps(ids, 9, () => held.operate({ suspended: false }));
  });

  test("does not expire while its endpoint is paused, nor for its time after that", async () => {
    await held.operate({ plan: "week" });
    const endpoint = await polled();
    const ids = await held.receive(2, endpoint);
    const path = `/v1/endpoints/${held.api.data.ids.encode("ep", endpoint.id)}`;
    expect((await held.api.call("POST", `${path}/pause`)).status).toBe(200);
    await keeps(ids, 9, () => held.api.call("POST", `${path}/resume`));
  });

  test("expires after a week that counts, whatever comes between its days", async () => {
    const course = async (steps: readonly Held[]) => {
      await held[Symbol.asyncDispose]();
      await open();
      await held.operate({ plan: "week" });
      const ids = await held.receive(1, await polled());
      let counted = 0;
      for (const step of steps) {
        // Another plan begins the week anew, at both ends of its days.
        if (step.by === "plan") counted = 0;
        await held.holdBack(step, expire);
        // What is there can be fetched, also where nothing can be published.
        if (step.by === "nothing" || step.by === "plan") counted += step.days;
        // To the hour of the job; some days later its event is gone too.
        const isThere = held.statusesOf(ids)[0] === "pending";
        if (counted !== 7) expect([steps, isThere]).toEqual([steps, counted < 7]);
        if (counted >= 7) return;
        if (step.by === "suspension" || step.by === "plan") counted = 0;
      }
    };
    await fc.assert(fc.asyncProperty(courses, course), { numRuns: 20 });
  });

  test("expires after its time where nobody was kept from it", async () => {
    await held.operate({ plan: "week" });
    const ids = await held.receive(2, await polled());
    await keeps(ids, 0, async () => {});
  });
});

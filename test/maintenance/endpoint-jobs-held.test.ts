/**
 * Time in which the service itself held deliveries back, as the plan was used up or the account
 * suspended, disables no endpoint.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Endpoint } from "../../src/core/model.ts";
import { disableFailing } from "../../src/maintenance/endpoint-jobs.ts";
import { jobControlOf } from "../kit/job-control.ts";
import { courses, type Held, HeldBack } from "../kit/held-back.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let held: HeldBack;

beforeEach(async () => {
  held = await HeldBack.open();
});

afterEach(() => held[Symbol.asyncDispose]());

const stateOf = ({ id }: Endpoint) => {
  const now = held.api.data.endpoints.get(id);
  return now?.disabledReason ?? now?.status;
};

/** As the job does it minute by minute, for so many days. */
async function pass(days: number): Promise<void> {
  for (let hours = days * 24; hours > 0; hours -= 12) {
    held.clock.advance(12 * HOUR_MS);
    await held.api.data.store.settled();
    await disableFailing(held.api.data, held.api.services.actors, jobControlOf());
  }
}

const untilAttempts = (ids: readonly number[], count: number) =>
  held.api.until(async () => ids.every((id) => held.api.data.deliveries.get(id)?.attemptCount === count));

describe("an endpoint that has failed", () => {
  /** It answers 500 to all; its first failure is on disk. */
  async function failed(schedule: readonly number[] = []): Promise<Endpoint> {
    const url = held.api.receiver.at("fails", () => new Response(null, { status: 500 }));
    const endpoint = await held.api.endpoint({ url, retry: { schedule }, eventTypes: ["a.b"] });
    const { id } = await held.api.publish("a.b");
    await held.api.settled(id, ["dead", "retrying"]);
    return endpoint;
  }

  test("keeps what waits for the plan, which is tried for five days once the month has turned", async () => {
    await held.operate({ plan: "one" });
    const endpoint = await failed();
    const waiting = await held.receive(3, endpoint);
    held.releaser.start();
    await pass(10);
    expect([stateOf(endpoint), ...held.statusesOf(waiting)]).toEqual([
      "active",
      "pending",
      "pending",
      "pending",
    ]);
    // The month has a place for one: it fails, and says nothing yet.
    held.clock.advance(DAY_MS);
    const [first = 0, ...others] = waiting;
    await untilAttempts([first], 1);
    await pass(6);
    expect([stateOf(endpoint), ...held.statusesOf(others)]).toEqual(["active", "pending", "pending"]);
    await held.operate({ plan: "week" });
    await untilAttempts(others, 1);
    await held.api.data.store.settled();
    expect([stateOf(endpoint), ...held.statusesOf(others)]).toEqual(["active", "dead", "dead"]);
    await pass(5);
    expect(stateOf(endpoint)).toBe("failing");
  });

  test("is tried for five days after others gave a place back, by which alone nobody changed it", async () => {
    await held.operate({ plan: "two" });
    const endpoint = await failed();
    const holder = await held.api.endpoint({ url: "", status: "paused", eventTypes: ["held"] });
    await held.api.publish("held");
    const [waiting = 0] = await held.receive(1, endpoint);
    held.releaser.start();
    await pass(6);
    const [place = 0] = held.api.services.actors.inMemory(holder.id).held;
    await held.api.data.store.write(() => held.api.data.deliveries.cancel(place));
    held.clock.advance(60_000);
    await untilAttempts([waiting], 1);
    await held.api.data.store.settled();
    expect([stateOf(endpoint), ...held.statusesOf([waiting])]).toEqual(["active", "dead"]);
    const { updatedAt, openedAt } = held.api.data.endpoints.get(endpoint.id) ?? {};
    expect([updatedAt, openedAt]).toEqual([endpoint.updatedAt, held.clock.now()]);
  });

  test("is not disabled by a try by hand, while others wait for the plan", async () => {
    await held.operate({ plan: "one" });
    const endpoint = await failed();
    const waiting = await held.receive(2, endpoint);
    await pass(6);
    const path = `/v1/endpoints/${held.api.data.ids.encode("ep", endpoint.id)}/test`;
    const tried = await held.api.call("POST", path, {});
    await held.api.data.store.settled();
    expect([Math.floor(tried.status / 100), stateOf(endpoint)]).toEqual([2, "active"]);
    expect(held.statusesOf(waiting)).toEqual(["pending", "pending"]);
  });

  test("is not disabled while nothing can be published, nor for five days after that", async () => {
    await held.operate({ plan: "one" });
    const endpoint = await failed();
    await pass(11);
    expect([new Date(held.clock.now()).getUTCDate(), stateOf(endpoint)]).toEqual([1, "active"]);
    await pass(4.5);
    expect(stateOf(endpoint)).toBe("active");
    await pass(0.5);
    expect(stateOf(endpoint)).toBe("failing");
  });

  test("is not disabled for five days after another plan", async () => {
    await held.operate({ plan: "one" });
    const endpoint = await failed();
    await pass(6);
    await held.operate({ plan: "week" });
    await pass(4.5);
    expect(stateOf(endpoint)).toBe("active");
    await held.operate({ plan: "pro" });
    await pass(4.5);
    expect(stateOf(endpoint)).toBe("active");
    await pass(0.5);
    expect(stateOf(endpoint)).toBe("failing");
  });

  test("is not disabled by a suspension in which nothing was sent", async () => {
    const endpoint = await failed();
    await pass(1);
    await held.operate({ suspended: true });
    await pass(6);
    expect(stateOf(endpoint)).toBe("active");
    await held.operate({ suspended: false });
    await pass(4.5);
    expect(stateOf(endpoint)).toBe("active");
    await pass(0.5);
    expect(stateOf(endpoint)).toBe("failing");
  });

  test("has five days of attempts after a suspension, and its account's row says from when", async () => {
    const day = 24 * 3600;
    const endpoint = await failed([day, 2 * day, 2 * day]);
    const ids = held.api.services.actors.inMemory(endpoint.id).held;
    await held.operate({ suspended: true });
    await pass(6);
    await held.operate({ suspended: false });
    await untilAttempts(ids, 2);
    await held.api.data.store.settled();
    expect([stateOf(endpoint), ...held.statusesOf(ids)]).toEqual(["active", "retrying"]);
    const row = held.api.data.store.sqlite
      .query<{ at: number }, []>("SELECT opened_at AS at FROM account")
      .get();
    expect(row?.at).toBe(held.clock.now());
    await pass(2.5);
    await untilAttempts(ids, 3);
    expect([stateOf(endpoint), ...held.statusesOf(ids)]).toEqual(["active", "retrying"]);
    await pass(2.5);
    await held.api.until(async () => stateOf(endpoint) === "failing");
  });

  test("is disabled after five days that count, whatever comes between them", async () => {
    const course = async (steps: readonly Held[]) => {
      await held[Symbol.asyncDispose]();
      held = await HeldBack.open();
      await held.operate({ plan: "week" });
      const endpoint = await failed();
      let counted = 0;
      for (const step of steps) {
        await held.holdBack(step, pass);
        if (step.by === "nothing") counted += step.days;
        const isOver = counted >= 5;
        expect(stateOf(endpoint)).toBe(isOver ? "failing" : "active");
        if (isOver) return;
        if (step.by === "suspension" || step.by === "plan") counted = 0;
      }
    };
    await fc.assert(fc.asyncProperty(courses, course), { numRuns: 20 });
  });
});

/** An endpoint that was disabled or paused is active again while outcomes are on their way to the disk. */
import { expect, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { limit } from "../../src/core/limits.ts";
import { ActorStage } from "../kit/actor-stage.ts";

const LATER_MS = 10_000;

/** Disabled, and enabled while a slice is on its way and an attempt under way. */
function openedWhileEnding(): ActorStage {
  const stage = new ActorStage();
  stage.change({ maxConcurrency: 2 });
  stage.deliver();
  stage.deliver(LATER_MS);
  stage.change({ status: "disabled", disabledReason: "failing" });
  stage.change({ status: "active", disabledReason: null });
  return stage;
}

/** Then an attempt by hand is answered 410. */
async function goneWhileEnding(): Promise<ActorStage> {
  const stage = openedWhileEnding();
  stage.deliver(LATER_MS);
  stage.byHand(3);
  stage.flying.pop()?.(410);
  await nextTurn();
  return stage;
}

test.each([
  ["enabled", { status: "disabled" }],
  ["resumed", { status: "paused" }],
] as const)(
  "what an attempt is told that began before the endpoint was %s closes and slows nothing",
  async (_, change) => {
    for (const status of [410, 503]) {
      const stage = new ActorStage();
      stage.change({ maxConcurrency: 2 });
      stage.deliver();
      stage.change(change);
      stage.change({ status: "active" });
      stage.deliver();
      await stage.answer(status);
      stage.deliver();
      const [{ settlement } = {}] = stage.recording;
      expect([settlement?.disable, settlement?.healthChanged]).toEqual([null, false]);
      expect([settlement?.change?.status, stage.actor.mode, stage.flying.length]).toEqual([
        "retrying",
        "sending",
        2,
      ]);
    }
  },
);

test("closing outlasts a slice that is on its way since the endpoint was disabled before", async () => {
  const stage = await goneWhileEnding();
  for (const done of stage.disposing.splice(0)) done();
  await nextTurn();
  stage.deliver();
  expect([stage.actor.mode, stage.flying.length, stage.recording.length]).toEqual(["closing", 1, 1]);
  await stage.write();
  expect(stage.actor.mode).toBe("disposing");
});

test("a slice that is on its way is waited for where the endpoint is not disabled in the end", async () => {
  const stage = await goneWhileEnding();
  stage.change({ config: { url: "https://elsewhere.example/" } });
  for (const { done } of stage.recording.splice(0)) done();
  await nextTurn();
  stage.deliver();
  expect([stage.actor.mode, stage.flying.length]).toEqual(["disposing", 1]);
  for (const done of stage.disposing.splice(0)) done();
  await nextTurn();
  expect([stage.actor.mode, stage.flying.length]).toEqual(["sending", 2]);
});

test("failures from before a pause are forgotten: it does not count as days without a success", async () => {
  const stage = new ActorStage();
  stage.deliver();
  stage.deliver();
  await stage.answer(500);
  stage.change({ status: "paused" });
  await stage.answer(500);
  await stage.write();
  stage.clock.advance(limit("disableAfterMs"));
  stage.change({ status: "active" });
  await stage.answer(500);
  expect(stage.recording.map(({ settlement }) => settlement.disable)).toEqual([null]);
});

/** What an actor starts in this turn of the loop, and what in a later one. */
import { expect, test } from "bun:test";
import { ActorStage } from "../kit/actor-stage.ts";

test("of what may start at once the rest waits for later turns, where a turn is over", () => {
  const stage = new ActorStage();
  stage.change({ status: "paused", maxConcurrency: 100 });
  for (let at = 0; at < 5; at++) stage.deliver();
  stage.isTurnOver = true;
  stage.change({ status: "active" });
  expect(stage.flying.length).toBe(1);
  for (let turn = 2; turn <= 5; turn++) {
    stage.clock.advance(1);
    expect(stage.flying.length).toBe(turn);
  }
});

test("what has to start later stands in the queue, and starts in a later turn", () => {
  const stage = new ActorStage();
  stage.deliver(0, "later");
  expect([stage.flying.length, stage.actor.inMemory.held]).toEqual([0, [1]]);
  stage.clock.advance(1);
  expect(stage.flying.length).toBe(1);
});

test("of those that are due behind others at a limited rate each says that it waits for that", () => {
  const stage = new ActorStage();
  stage.change({ rateLimitPerSecond: 10 });
  for (let at = 0; at < 3; at++) stage.deliver(0, "later");
  const now = stage.clock.now();
  expect([1, 2, 3].map((id) => stage.actor.waitingFor(id, now))).toEqual([null, "rate_limit", "rate_limit"]);
  stage.change({ rateLimitPerSecond: null });
});

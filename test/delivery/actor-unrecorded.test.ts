/** What an actor makes of an attempt whose outcome no transaction takes. */
import { expect, test } from "bun:test";
import { ActorStage } from "../kit/actor-stage.ts";

test("an attempt that failed and cannot be recorded is made again at its time, not at once", async () => {
  const stage = new ActorStage();
  stage.deliver();
  await stage.answer(500);
  await stage.refuse();
  expect([stage.flying.length, stage.actor.mode]).toEqual([0, "waiting"]);
  stage.clock.advance(60_000);
  expect(stage.flying.length).toBe(1);
  await stage.answer(200);
  await stage.refuse();
  expect(stage.actor.mode).toBe("idle");
});

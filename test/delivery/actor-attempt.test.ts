/** What an actor tells of itself and holds while an attempt comes to its end. */
import { expect, test } from "bun:test";
import { ActorStage } from "../kit/actor-stage.ts";

const LATER_MS = 10_000;

test("an endpoint that was slowed down counts as backing off until that is over, whatever waits longer", async () => {
  const stage = new ActorStage();
  stage.deliver();
  await stage.answer(503);
  await stage.write();
  expect([stage.actor.mode, stage.actor.isBackingOff]).toEqual(["backing_off", true]);
  // The next attempt is planned a minute after the first.
  stage.clock.advance(LATER_MS);
  expect([stage.flying.length, stage.actor.isBackingOff]).toEqual([0, false]);
});

test("a shared slot is held until the outcome is on disk, so that what a slow disk has not taken has a bound", async () => {
  const stage = new ActorStage();
  for (let n = 0; n < 3; n++) stage.deliver();
  await stage.answer(200);
  await stage.answer(200);
  expect([stage.flying.length, stage.recording.length, stage.slotsTaken]).toEqual([1, 2, 3]);
  await stage.write();
  expect([stage.flying.length, stage.slotsTaken]).toEqual([1, 1]);
  await stage.answer(200);
  await stage.refuse();
  expect([stage.flying.length, stage.slotsTaken]).toEqual([0, 0]);
});

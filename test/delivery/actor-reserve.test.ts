/** Attempts by hand that are reserved while what they are to send is written. */
import { expect, test } from "bun:test";
import { limit } from "../../src/core/limits.ts";
import { ActorStage } from "../kit/actor-stage.ts";

test("they count as those in flight do, until they are given back, be it twice", async () => {
  const stage = new ActorStage();
  for (let n = 0; n < 2; n++) stage.deliver(1000);
  stage.byHand(1);
  const few = limit("concurrencyDefault");
  const reserved = Array.from({ length: few }, () => stage.actor.reserveByHand());
  expect(reserved.pop()).toBe("full");
  stage.byHand(2);
  expect(stage.flying).toHaveLength(1);
  const [giveBack] = reserved;
  if (typeof giveBack !== "function") throw new Error("nothing was reserved");
  giveBack();
  giveBack();
  expect([stage.actor.reserveByHand(), stage.actor.reserveByHand()]).toEqual([expect.any(Function), "full"]);
  await stage.answer(200);
  stage.byHand(2);
  expect(stage.flying).toHaveLength(1);
});

test("there is none where there would be no attempt", () => {
  const stage = new ActorStage();
  stage.isFull = true;
  expect(stage.actor.reserveByHand()).toBe("full");
  stage.change({ status: "disabled" });
  expect(stage.actor.reserveByHand()).toBe("closed");
  void stage.actor.stop();
  expect(stage.actor.reserveByHand()).toBe("stopping");
});

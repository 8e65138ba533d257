/** What waits at an endpoint that is closed ends in its account's turn, which others may have first. */
import { expect, test } from "bun:test";
import { ActorStage } from "../kit/actor-stage.ts";

const LATER_MS = 60_000;

test("while others have their turn it ends nothing, and goes on at once where it is enabled meanwhile", async () => {
  const stage = new ActorStage();
  stage.deliver(LATER_MS);
  stage.isLineTaken = true;
  stage.change({ status: "disabled" });
  expect([stage.actor.mode, stage.actor.queued, stage.inLine.length]).toEqual(["disposing", 1, 1]);
  stage.change({ status: "active" });
  expect(stage.actor.mode).toBe("waiting");
  stage.change({ status: "disabled" });
  stage.change({ status: "deleted" });
  expect(stage.inLine.length).toBe(1);
  await stage.openLine();
  expect([stage.actor.queued, stage.disposing.length]).toEqual([0, 1]);
  await stage.write();
  expect([stage.actor.isGone, stage.rows.size]).toEqual([true, 0]);
});

test("a turn that comes too late ends nothing, and the next disabling asks for another one", async () => {
  const stage = new ActorStage();
  stage.deliver(LATER_MS);
  stage.isLineTaken = true;
  stage.change({ status: "disabled" });
  stage.change({ status: "active" });
  await stage.openLine();
  expect([stage.actor.mode, stage.disposing.length]).toEqual(["waiting", 0]);
  stage.change({ status: "disabled" });
  expect(stage.disposing.length).toBe(1);
});

test("it stops although its turn to end what waits has not come", async () => {
  const stage = new ActorStage();
  stage.deliver(LATER_MS);
  stage.isLineTaken = true;
  stage.change({ status: "disabled" });
  await stage.actor.stop();
  await stage.openLine();
  expect([stage.disposing.length, stage.rows.size]).toEqual([0, 1]);
});

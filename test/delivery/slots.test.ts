/** Attempts of all endpoints share a number of slots (src/delivery/actors.ts). */
import { expect, test } from "bun:test";
import { systemClock } from "../../src/platform/clock.ts";
import { makeActors } from "../kit/actors.ts";
import { malformed, type Sent, UNREADABLE } from "../../src/delivery/send.ts";
import { Pipeline } from "../../src/pipeline/pipeline.ts";
import { steadyOver } from "../kit/clock.ts";
import { startApi } from "../http/log-kit.ts";

test("an endpoint that finds none waits, is counted, and goes on when another one has ended", async () => {
  await using api = await startApi();
  const { data } = api;
  const ends: ((sent: Sent) => void)[] = [];
  const { actors } = makeActors(data, {
    clock: steadyOver(systemClock),
    send: () => new Promise((resolve) => ends.push(resolve)),
    attemptsMax: 2,
  });
  const pipeline = new Pipeline({
    data,
    outlet: actors,
    onAccepted() {},
    onExhausted() {},
    onRefusedFilter() {},
  });
  const { projectId } = await api.endpoint({ url: api.receiver.url("slots") });
  const event = { type: "a.b", timestamp: 0, data: "{}", consumerId: null, externalId: null, sourceId: null };
  const prepared = await pipeline.prepare(projectId, [
    { ...event, isTest: false, hops: 0 },
    { ...event, isTest: false, hops: 0 },
  ]);
  await prepared.commit(
    (accepted) => accepted,
    (run) => data.store.write(run),
  );
  expect(actors.counts()).toMatchObject({ inFlight: 1, withoutSlot: 1 });
  ends.shift()?.(malformed(0, UNREADABLE));
  await api.until(async () => ends.length === 1 && actors.counts().withoutSlot === 0);
  ends.shift()?.(malformed(0, UNREADABLE));
  await actors.stop();
});

/**
 * A loop through another service ends: each delivery tells how many have led to it, and the door takes no
 * more than a few.
 */
import { expect, spyOn, test } from "bun:test";
import { HOPS_HEADER, readHops } from "../../src/core/hops.ts";
import { limit } from "../../src/core/limits.ts";
import { startApp } from "../kit/app.ts";
import { Receiver } from "../kit/receiver.ts";
import { expectProblem } from "../http/kit.ts";
import { createSource, readSource } from "../http/sources/kit.ts";

test("a loop through a service that passes the header on ends after a few rounds", async () => {
  await using app = await startApp();
  await using receiver = new Receiver();
  const source = await createSource(app, "service");
  const statuses: number[] = [];
  const url = receiver.at("forward", async ({ headers }, nth) => {
    const { status } = await fetch(app.url + source.ingest_path, {
      method: "POST",
      headers: {
        authorization: `Bearer ${source.secret}`,
        "content-type": "application/json",
        [HOPS_HEADER]: headers[HOPS_HEADER] ?? "",
      },
      body: JSON.stringify({ type: "loop.again", nth }),
    });
    statuses.push(status);
    return new Response();
  });
  await app.live.create("/v1/endpoints", { url });
  await app.live.post("/v1/events", { type: "loop.begins", data: {} });
  const rounds = limit("hopsMax") + 1;
  const requests = await receiver.arrived("forward", rounds);
  expect(requests.map(({ headers }) => headers[HOPS_HEADER])).toEqual(
    Array.from({ length: rounds }, (_, n) => String(n + 1)),
  );
  const { counters } = await app.until(async () => {
    const now = await readSource(app, source);
    return (now.counters.rejected as Record<string, number>)["loop"] === 1 && now;
  });
  expect([statuses.at(-1), counters.accepted]).toEqual([508, rounds - 1]);
  expect(receiver.requests("forward")).toHaveLength(rounds);
});

test("whoever publishes what came out of a delivery says so by the same header", async () => {
  await using app = await startApp();
  await using receiver = new Receiver();
  await app.live.create("/v1/endpoints", { url: receiver.url("hops") });
  const publish = (path: string, body: unknown, hops: string) =>
    app.live.send("POST", path, { json: body, headers: { [HOPS_HEADER]: hops } });
  const event = { type: "a.b", data: {} };
  expect((await publish("/v1/events", event, "3")).status).toBe(202);
  expect((await publish("/v1/events/batch", { events: [event] }, "7")).status).toBe(202);
  expect((await publish("/v1/events", event, "many")).status).toBe(202);
  const sent = (await receiver.arrived("hops", 3)).map(({ headers }) => headers[HOPS_HEADER]);
  expect(new Set(sent)).toEqual(new Set(["1", "4", "8"]));
  const beyond = String(limit("hopsMax") + 1);
  expectProblem(await publish("/v1/events", event, beyond), 508, "loop_detected");
  expectProblem(await publish("/v1/events/batch", { events: [event] }, beyond), 508, "loop_detected");
  for (const hops of [`1, ${beyond}`, "9".repeat(7), "9".repeat(400)])
    expectProblem(await publish("/v1/events", event, hops), 508, "loop_detected");
});

test("of very many counts in the header the first twenty are read", () => {
  using parsed = spyOn(RegExp.prototype, "test");
  expect(readHops(new Headers({ [HOPS_HEADER]: `2, 9,${"1,".repeat(7000)}3` }))).toBe(9);
  expect(parsed).toHaveBeenCalledTimes(20);
});

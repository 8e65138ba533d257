/** What happens where a plan is used up. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { expectProblem } from "../http/kit.ts";
import { operatorOf } from "../kit/operator.ts";
import {
  Bench,
  batch,
  countEvents,
  deliveries,
  metered,
  publish,
  publishMany,
  remainingIn,
  usage,
} from "../store/counts/kit.ts";

let bench: Bench;

beforeAll(async () => {
  bench = await Bench.open();
});

afterAll(() => bench[Symbol.asyncDispose]());

describe("what remains", () => {
  test("stands in every publish answer of a plan that blocks: accepted, seen before, answered again, refused", async () => {
    const { live } = await bench.tenant();
    await bench.endpoint(live, bench.path());
    const key = { "idempotency-key": "k" };
    const send = (fields: object) => publish(live, fields as Record<string, unknown>);
    expect(remainingIn(await live.post("/v1/events", { type: "a.b", data: {} }, key))).toBe("4");
    const again = await live.post("/v1/events", { type: "a.b", data: {} }, key);
    expect([again.headers.get("idempotency-replayed"), remainingIn(again)]).toEqual(["true", "4"]);
    expect(remainingIn(await send({ external_id: "x" }))).toBe("3");
    expect(remainingIn(await send({ external_id: "x" }))).toBe("3");
    expect(remainingIn(await send({ type: "" }))).toBe("3");
    expect(remainingIn(await batch(live, 3))).toBe("0");
    expect([(await send({})).status, remainingIn(await send({}))]).toEqual([402, "0"]);
    // What was there before costs nothing, so its publisher still learns that it is there.
    const known = await send({ external_id: "x" });
    expect([known.status, known.json["duplicate"], remainingIn(known)]).toEqual([200, true, "0"]);
  });

  test("does not stand in the answers of a plan that goes on", async () => {
    const { live } = await bench.tenant("two");
    expect(remainingIn(await publish(live))).toBeNull();
  });
});

describe("at the limit", () => {
  test("publishing and replaying are 402 and store nothing; tests, dry runs and reading go on", async () => {
    const { live } = await bench.tenant();
    const { id } = await bench.endpoint(live, bench.path());
    await publishMany(live, 5);
    await bench.settled(live);
    const before = await countEvents(live);
    const [delivery] = await deliveries(live);
    const event = ((await live.get("/v1/events")).json["data"] as { id: string }[])[0];
    const refused = await publish(live);
    expectProblem(refused, 402, "plan_limit_reached");
    expect(refused.json.detail).toContain("five");
    expect(refused.json.detail).toContain("2026-12-01T00:00:00.000Z");
    for (const reply of [
      await batch(live, 2),
      await live.post(`/v1/events/${event?.id}/replay`),
      await live.post("/v1/replays", { status: ["delivered"] }),
    ]) {
      expectProblem(reply, 402, "plan_limit_reached");
    }
    expect((await live.get("/v1/replays")).json["data"]).toEqual([]);
    expect((await live.post("/v1/replays", { status: ["delivered"], dry_run: true })).json["matched"]).toBe(
      5,
    );
    expect((await live.post(`/v1/deliveries/${delivery?.id}/retry`)).status).toBe(202);
    expect((await live.post(`/v1/endpoints/${id}/test`)).status).toBe(200);
    expect(await countEvents(live)).toBe(before + 1);
    expect(await metered(live)).toBe(5);
  });

  test("a bulk replay that would exceed it is refused whole, one that fits has its places from the start", async () => {
    const { live } = await bench.tenant();
    const name = bench.path();
    bench.receiver.at(name, () => new Response(null, { status: 500 }));
    await bench.endpoint(live, name);
    await publishMany(live, 2);
    await bench.settled(live);
    expect((await live.post("/v1/replays", { rate_per_second: 1 })).json["matched"]).toBe(2);
    expect(await usage(live)).toMatchObject({ remaining: 1 });
    const refused = await live.post("/v1/replays", { status: ["dead", "pending", "delivered"] });
    expectProblem(refused, 402, "plan_limit_reached");
    expect(refused.json.detail).toContain("1 remain");
    await bench.receiver.arrived(name, 4);
    await bench.settled(live);
    expect(await usage(live)).toMatchObject({ deliveries: 4, remaining: 1 });
  });

  test("a consumer is told that there is no room, and nothing of the plan or of what remains", async () => {
    const { live } = await bench.tenant();
    const fields = { consumer_id: "anna", event_types: ["own"] };
    const { id } = await bench.endpoint(live, bench.path(), fields);
    const { url } = await live.create("/v1/portal-links", {
      consumer_id: "anna",
      manage: true,
    });
    const link = bench.app.with(String(url).split("#")[1] ?? "");
    for (let n = 0; n < 2; n++) await publish(live, { type: "own", consumer_id: "anna" });
    await bench.settled(live);
    await bench.endpoint(live, bench.path());
    await publishMany(live, 2);
    const details = async () => {
      const replies = [
        await link.post("/v1/replays", { status: ["delivered"], endpoint_id: id }),
        ...((await usage(live))["remaining"] === 0
          ? [await link.post(`/v1/events/${(await deliveries(link))[0]?.event_id}/replay`)]
          : []),
      ];
      for (const reply of replies) {
        expectProblem(reply, 402, "plan_limit_reached");
        expect(remainingIn(reply)).toBeNull();
      }
      return replies.map(({ json }) => json.detail);
    };
    expect(await usage(live)).toMatchObject({ remaining: 1 });
    const [said] = await details();
    expect(said).toBe(
      "The account's plan has no room for this. The next month begins 2026-12-01T00:00:00.000Z.",
    );
    await publish(live);
    expect(await usage(live)).toMatchObject({ remaining: 0 });
    expect(await details()).toEqual([said, said]);
    const published = await publish(link);
    expect([published.status, remainingIn(published)]).toEqual([403, null]);
  });

  test("a burst is accepted up to it and not beyond", async () => {
    const { live } = await bench.tenant();
    const { id } = await bench.endpoint(live, bench.path());
    await live.post(`/v1/endpoints/${id}/pause`);
    const replies = await Promise.all(Array.from({ length: 60 }, () => publish(live)));
    const accepted = replies.filter(({ status }) => status === 202);
    expect([accepted.length, replies.filter(({ status }) => status === 402).length]).toEqual([5, 55]);
    expect(await countEvents(live)).toBe(5);
    expect(await usage(live)).toMatchObject({ deliveries: 0, remaining: 0 });
  });

  test("a batch is accepted whole or not at all", async () => {
    const { live } = await bench.tenant();
    await bench.endpoint(live, bench.path());
    const refused = await batch(live, 6);
    expectProblem(refused, 402, "plan_limit_reached");
    expect(refused.json.detail).toContain(
      "five includes 5 deliveries a month, and fewer remain than this batch",
    );
    expect(remainingIn(refused)).toBe("5");
    expect(await countEvents(live)).toBe(0);
    expect((await batch(live, 5)).status).toBe(202);
  });

  test("one event may exceed it by its own fan-out: all of it is sent", async () => {
    const { live } = await bench.tenant();
    const name = bench.path();
    for (let n = 0; n < 4; n++) await bench.endpoint(live, name, { event_types: n === 0 ? null : ["wide"] });
    await publishMany(live, 4);
    expect(remainingIn(await publish(live, { type: "wide" }))).toBe("0");
    await bench.receiver.arrived(name, 8);
    await bench.settled(live);
    expect(await usage(live)).toMatchObject({ deliveries: 8, remaining: 0, overage: 0 });
    expectProblem(await publish(live), 402, "plan_limit_reached");
  });

  test("an attempt by hand of what was never tried needs a place too", async () => {
    const { live } = await bench.tenant();
    const name = bench.path();
    const { id } = await bench.endpoint(live, name);
    await live.post(`/v1/endpoints/${id}/pause`);
    await publish(live);
    const [cancelled] = await deliveries(live);
    await live.post(`/v1/deliveries/${cancelled?.id}/cancel`);
    await publishMany(live, 5);
    expectProblem(await live.post(`/v1/deliveries/${cancelled?.id}/retry`), 402, "plan_limit_reached");
    const [pending] = await deliveries(live, "&status=pending");
    expect((await live.post(`/v1/deliveries/${pending?.id}/retry`)).status).toBe(202);
    await bench.receiver.arrived(name, 1);
    await bench.app.until(async () => (await metered(live)) === 1);
    expect(await usage(live)).toMatchObject({ remaining: 0 });
  });

  test("a change of the plan holds from the next request on, up and down", async () => {
    const account = await bench.tenant();
    const { live } = account;
    await bench.endpoint(live, bench.path());
    await publishMany(live, 5);
    expect((await publish(live)).status).toBe(402);
    await bench.changePlan(account, "unlimited");
    expect((await publish(live)).status).toBe(202);
    await bench.settled(live);
    await bench.changePlan(account, "five");
    expectProblem(await publish(live), 402, "plan_limit_reached");
    expect(await usage(live)).toMatchObject({ deliveries: 6, remaining: 0 });
  });

  test("a plan that does not block goes on, and counts the overage", async () => {
    const { id, live } = await bench.tenant("two");
    await bench.endpoint(live, bench.path());
    await publishMany(live, 5);
    await bench.settled(live);
    expect(await usage(live)).toMatchObject({
      deliveries: 5,
      limit: 2,
      remaining: 0,
      overage: 3,
      retention_days: 3,
    });
    const { text, headers } = await operatorOf(bench.app).get("/v1/operator/usage?month=2026-11");
    expect(headers.get("content-type")).toBe("application/x-ndjson");
    const lines = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines).toContainEqual({
      account_id: id,
      plan: "two",
      month: "2026-11",
      deliveries: 5,
      overage: 3,
    });
    expect(lines.filter(({ plan }) => plan !== "two").every(({ overage }) => overage === 0)).toBe(true);
  });
});

test("a restart knows what is accepted and not yet sent", async () => {
  await using other = await Bench.open();
  const { live, keys } = await other.tenant("five");
  const { id } = await other.endpoint(live, other.path());
  await live.post(`/v1/endpoints/${id}/pause`);
  await publishMany(live, 3);
  await other.app.stop();
  await other.app.start();
  const client = other.app.with(keys.live);
  expect(await usage(client)).toMatchObject({ deliveries: 0, remaining: 2 });
  expect((await batch(client, 3)).status).toBe(402);
  expect(remainingIn(await batch(client, 2))).toBe("0");
  await client.post(`/v1/endpoints/${id}/resume`);
  await other.settled(client);
  expect(await usage(client)).toMatchObject({ deliveries: 5, remaining: 0 });
});

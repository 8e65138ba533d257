/** What is metered, and what tells of it. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { expectProblem } from "../../http/kit.ts";
import { operatorOf } from "../../kit/operator.ts";
import { Bench, deliveries, metered, publish, publishMany, remainingIn, USAGE, usage } from "./kit.ts";

let bench: Bench;

beforeAll(async () => {
  bench = await Bench.open();
});

afterAll(() => bench[Symbol.asyncDispose]());

describe("metering counts", () => {
  test("a delivery once, whatever its retries, in every answer that tells of it", async () => {
    const { id, live } = await bench.tenant();
    const name = bench.path();
    bench.receiver.at(name, (_, nth) => new Response(null, { status: nth < 3 ? 500 : 204 }));
    await bench.endpoint(live, name, { retry: { schedule: [1, 1, 1] } });
    await publish(live);
    await bench.receiver.arrived(name, 3);
    await bench.settled(live);
    expect(await usage(live)).toEqual({
      plan: "five",
      period: { start: "2026-11-01T00:00:00.000Z", end: "2026-12-01T00:00:00.000Z" },
      deliveries: 1,
      limit: 5,
      remaining: 4,
      overage: 0,
      metered: true,
      retention_days: 30,
      body_retention_days: 30,
      attempt_retention_days: 30,
    });
    const { json } = await operatorOf(bench.app).get(`/v1/operator/accounts/${id}`);
    expect(json["usage"]).toEqual({
      month: "2026-11",
      deliveries: 1,
      limit: 5,
      remaining: 4,
      overage: 0,
    });
  });

  test("each replay once, with the old message or a new one", async () => {
    const { live } = await bench.tenant();
    await bench.endpoint(live, bench.path());
    const { json } = await publish(live);
    await bench.settled(live);
    for (const body of [{}, { new_message_id: true }]) {
      expect((await live.post(`/v1/events/${String(json["id"])}/replay`, body)).status).toBe(202);
      await bench.settled(live);
    }
    expect((await live.post("/v1/replays", { status: ["delivered"] })).status).toBe(202);
    await bench.app.until(async () => (await metered(live)) === 5);
    expect(remainingIn(await publish(live))).toBe("0");
  });

  test("nothing for tests: events for trying an endpoint, also by hand, and whole projects", async () => {
    const { live, test: testing } = await bench.tenant();
    const name = bench.path();
    bench.receiver.at(name, () => new Response(null, { status: 500 }));
    const { id } = await bench.endpoint(live, name);
    await live.post(`/v1/endpoints/${id}/test`);
    const [tried] = await deliveries(live);
    await live.post(`/v1/deliveries/${tried?.id}/retry`);
    await bench.receiver.arrived(name, 2);
    await bench.app.until(async () => (await deliveries(live))[0]?.attempt_count === 2);
    expect(await usage(live)).toMatchObject({ deliveries: 0, remaining: 5 });

    const other = bench.path();
    await bench.endpoint(testing, other);
    for (let n = 0; n < 7; n++) expect(remainingIn(await publish(testing))).toBeNull();
    await bench.receiver.arrived(other, 7);
    await bench.settled(testing);
    expect(await usage(testing)).toMatchObject({
      deliveries: 0,
      limit: null,
      remaining: null,
      metered: false,
    });
    expect(await metered(live)).toBe(0);
  });

  test("nothing for the replay of a test event, also where the plan's deliveries are used up", async () => {
    const { live } = await bench.tenant();
    const name = bench.path();
    const { id } = await bench.endpoint(live, name);
    await live.post(`/v1/endpoints/${id}/test`);
    const [tried] = await deliveries(live);
    const replay = (body: object) => live.post(`/v1/events/${tried?.event_id}/replay`, body);
    await publishMany(live, 4);
    await bench.receiver.arrived(name, 5);
    for (const body of [{}, { new_message_id: true }]) {
      expect((await replay(body)).status).toBe(202);
      await bench.settled(live);
      expect(await usage(live)).toMatchObject({ deliveries: 4, remaining: 1 });
    }
    const { json } = await live.get(`/v1/deliveries/${tried?.id}/attempts`);
    expect(json["data"]).toMatchObject([{ trigger: "replay" }, { trigger: "test" }]);
    await publish(live);
    expect((await replay({})).status).toBe(202);
    await bench.receiver.arrived(name, 9);
    await bench.settled(live);
    expect(await usage(live)).toMatchObject({ deliveries: 5, remaining: 0 });
  });

  test("nothing for what never reached the network, and gives its place back", async () => {
    const { live } = await bench.tenant();
    await bench.endpoint(live, bench.path(), { transformations: [{ op: "unwrap", path: "data.missing" }] });
    await publish(live);
    await bench.settled(live);
    expect(await deliveries(live)).toMatchObject([{ status: "dead" }]);
    expect(await usage(live)).toMatchObject({ deliveries: 0, remaining: 5 });
  });

  test("what was cancelled before its first attempt not at all", async () => {
    const { live } = await bench.tenant();
    const { id } = await bench.endpoint(live, bench.path());
    await live.post(`/v1/endpoints/${id}/pause`);
    expect(remainingIn(await publish(live))).toBe("4");
    const [pending] = await deliveries(live);
    await live.post(`/v1/deliveries/${pending?.id}/cancel`);
    expect(await usage(live)).toMatchObject({ deliveries: 0, remaining: 5 });
  });
});

describe("usage by day", () => {
  test("has every day up to now, of the account or of the caller's project", async () => {
    const { id, live } = await bench.tenant("unlimited");
    const more = await operatorOf(bench.app).create(`/v1/operator/accounts/${id}/projects`, {
      name: "b",
      mode: "live",
    });
    const sibling = bench.app.with(String(more["api_key"]));
    for (const client of [live, sibling]) {
      await bench.endpoint(client, bench.path());
      await publishMany(client, 2);
      await bench.settled(client);
    }
    const own = String((await live.get("/v1/project")).json["id"]);
    const days = async (query: string) =>
      (await live.get(`${USAGE}?by=day${query}`)).json["data"] as { day: string; deliveries: number }[];
    const all = await days("");
    expect(all).toHaveLength(30);
    expect([all[0], all.at(-1)]).toEqual([
      { day: "2026-11-01", deliveries: 0 },
      { day: "2026-11-30", deliveries: 4 },
    ]);
    expect((await days(`&project=${own}`)).at(-1)?.deliveries).toBe(2);
    expect((await days(`&project=${more["id"]}`)).at(-1)?.deliveries).toBe(0);
    expect(await days("&month=2026-10")).toHaveLength(31);
    expect(await days("&month=2027-10")).toEqual([]);
  });

  test.each([
    ["month=2026-13", "month"],
    ["month=0026-11", "month"],
    ["month=now", "month"],
    ["by=hour", "by"],
    ["by=day&project=x", "project"],
    ["project=proj_01KAHM8ZZZ00K1M2N3P4Q5R6S7", "project"],
  ])("refuses %s", async (query, pointer) => {
    const { live } = await bench.tenant();
    const reply = await live.get(`${USAGE}?${query}`);
    expectProblem(reply, 422, "invalid_request");
    expect(reply.json.errors?.map((fault) => fault.pointer)).toEqual([pointer]);
  });

  test("of all accounts is the operator's, for a month that exists", async () => {
    const { live } = await bench.tenant();
    expectProblem(await live.get("/v1/operator/usage"), 401, "unauthenticated");
    expectProblem(await operatorOf(bench.app).get("/v1/operator/usage?month=2026-0"), 422, "invalid_request");
    const { text } = await operatorOf(bench.app).get("/v1/operator/usage?month=2020-01");
    expect(
      text
        .trimEnd()
        .split("\n")
        .every((line) => JSON.parse(line).deliveries === 0),
    ).toBe(true);
  });
});

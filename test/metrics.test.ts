/** What an operator sees in /metrics of the whole service: every wait has a number. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { limit } from "../src/core/limits.ts";
import { operatorOf } from "./kit/operator.ts";
import { Bench, publish, publishMany } from "./metering/kit.ts";

let bench: Bench;

beforeAll(async () => {
  bench = await Bench.open();
});

afterAll(() => bench[Symbol.asyncDispose]());

const print = async ({ app } = bench) => (await operatorOf(app).get("/metrics")).text;

/** A gauge without labels. */
async function gauge(name: string, of = bench): Promise<number> {
  const line = (await print(of)).split("\n").find((one) => one.startsWith(`${name} `));
  return Number(line?.slice(name.length));
}

const failing = () => new Response(null, { status: 500 });

describe("/metrics", () => {
  test("describes every number once, and each is a number", async () => {
    const lines = (await print()).trimEnd().split("\n");
    const described = lines.filter((line) => line.startsWith("# HELP ")).map((line) => line.split(" ")[2]);
    expect(new Set(described).size).toBe(described.length);
    const samples = lines.filter((line) => !line.startsWith("#"));
    for (const sample of samples) expect(sample).toMatch(/^[a-z_]+(\{[^}]*\})? -?[0-9.e+-]+$/);
    for (const name of [
      "sealpost_events_waiting_for_plan",
      "sealpost_events_fanning_out",
      "sealpost_endpoints_backing_off",
      "sealpost_endpoints_without_slot",
      "sealpost_replays_running",
      "sealpost_erasures_running",
      "sealpost_writes_waiting",
    ])
      expect([name, await gauge(name)]).toEqual([name, 0]);
  });

  test("counts the events that wait for a plan, over all accounts, also after a restart", async () => {
    await using own = await Bench.open();
    const accounts = [await own.tenant("none"), await own.tenant("none")] as const;
    for (const { live } of accounts) {
      await own.endpoint(live);
      await own.endpoint(live);
      const ingest = await own.source(live);
      expect((await ingest("1")).status).toBe(200);
    }
    expect(await gauge("sealpost_events_waiting_for_plan", own)).toBe(2);
    await own.app.stop();
    await own.app.start();
    expect(await gauge("sealpost_events_waiting_for_plan", own)).toBe(2);
    await own.changePlan(accounts[0], "unlimited");
    await own.app.until(async () => (await gauge("sealpost_events_waiting_for_plan", own)) === 1);
  });

  test("counts endpoints that are left alone, until they answer again", async () => {
    const { live } = await bench.tenant("unlimited");
    const path = bench.path();
    bench.receiver.at(path, failing);
    const { id = "" } = await bench.endpoint(live, path);
    await publishMany(live, limit("failuresBeforeBackoff"));
    await bench.settled(live);
    expect(await gauge("sealpost_endpoints_backing_off")).toBe(1);
    bench.receiver.at(path, () => new Response());
    await live.post(`/v1/endpoints/${id}/test`);
    await publish(live);
    await bench.app.until(async () => (await gauge("sealpost_endpoints_backing_off")) === 0);
  });

  test("counts bulk replays that are under way", async () => {
    const { live } = await bench.tenant("unlimited");
    const path = bench.path();
    bench.receiver.at(path, failing);
    await bench.endpoint(live, path);
    await publishMany(live, 3);
    await bench.settled(live);
    const { json } = await live.post("/v1/replays", { rate_per_second: 1 });
    expect(await gauge("sealpost_replays_running")).toBe(1);
    await live.post(`/v1/replays/${String(json["id"])}/cancel`);
    expect(await gauge("sealpost_replays_running")).toBe(0);
  });

  test("counts attempts that are under way", async () => {
    const { live } = await bench.tenant("unlimited");
    const path = bench.path();
    const gate = Promise.withResolvers<Response>();
    bench.receiver.at(path, () => gate.promise);
    await bench.endpoint(live, path);
    await publish(live);
    await bench.receiver.arrived(path);
    expect(await gauge("sealpost_attempts_in_flight")).toBe(1);
    gate.resolve(new Response());
    await bench.app.until(async () => (await gauge("sealpost_attempts_in_flight")) === 0);
  });
});

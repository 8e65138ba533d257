/** What an operator sees in /metrics of the whole service: every wait has a number. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { limit } from "../../src/core/limits.ts";
import { NAMED_ACCOUNTS_MAX } from "../../src/platform/account-attempts.ts";
import { operatorOf } from "../kit/operator.ts";
import { RunningClock } from "../kit/running-clock.ts";
import { requireTool } from "../kit/tools.ts";
import { batch, Bench, deliveries, publish, publishMany } from "../store/counts/kit.ts";

const SERIES_MAX = 270;

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

/** The number of one series, its labels as they stand. */
async function counter(seriesName: string, of = bench): Promise<number> {
  const line = (await print(of)).split("\n").find((one) => one.startsWith(`${seriesName} `));
  return Number(line?.slice(seriesName.length) ?? 0);
}

describe("the backlog", () => {
  /** More than an actor holds in memory. */
  const EVENTS = 2 * limit("actorQueueMax");

  test("is counted whole, in memory and in the database, over restarts, and ends by outcome", async () => {
    await using own = await Bench.open();
    const { live } = await own.tenant("unlimited");
    const { id = "" } = await own.endpoint(live);
    await live.post(`/v1/endpoints/${id}/pause`);
    for (let sent = 400; sent <= EVENTS; sent += 400) {
      await batch(live, 400);
      const held = Math.min(sent, limit("actorQueueMax"));
      // What is on its way to the actor does not know yet that the actor is full.
      await own.app.until(async () => (await gauge("sealpost_queue_depth", own)) >= held);
    }
    expect(await gauge("sealpost_deliveries_due", own)).toBe(EVENTS);
    expect(await gauge("sealpost_queue_depth", own)).toBeLessThan(EVENTS);
    await own.app.stop();
    await own.app.start();
    expect(await gauge("sealpost_deliveries_due", own)).toBe(EVENTS);
    const [first] = await deliveries(live);
    await live.post(`/v1/deliveries/${first?.id}/cancel`);
    expect(await gauge("sealpost_deliveries_due", own)).toBe(EVENTS - 1);
    await live.post(`/v1/endpoints/${id}/resume`);
    await own.app.until(async () => (await gauge("sealpost_deliveries_due", own)) === 0);
    const ended = (labels: string) => counter(`sealpost_deliveries_ended_total{${labels}}`, own);
    expect(await ended('status="cancelled",reason="none"')).toBe(1);
    expect(await ended('status="delivered",reason="none"')).toBe(EVENTS - 1);
  });

  test("is old where the service falls behind, and not where an endpoint is paused, or an account suspended", async () => {
    const clock = new RunningClock();
    await using own = await Bench.open(clock);
    const { live, id } = await own.tenant("unlimited");
    const suspend = (suspended: boolean) =>
      operatorOf(own.app).patch(`/v1/operator/accounts/${id}`, { suspended });
    const path = own.path();
    const gate = Promise.withResolvers<Response>();
    own.receiver.at(path, () => gate.promise.then(() => new Response()));
    await own.endpoint(live, path, { max_concurrency: 1 });
    const paused = await own.endpoint(live);
    await live.post(`/v1/endpoints/${paused["id"]}/pause`);
    await publishMany(live, 2);
    await own.receiver.arrived(path);
    clock.set(clock.now() + 5000);
    expect(await gauge("sealpost_oldest_due_age_seconds", own)).toBeGreaterThanOrEqual(5);
    await suspend(true);
    expect(await gauge("sealpost_oldest_due_age_seconds", own)).toBe(0);
    await suspend(false);
    gate.resolve(new Response());
    await own.app.until(async () => (await gauge("sealpost_deliveries_due", own)) === 2);
    expect(await gauge("sealpost_oldest_due_age_seconds", own)).toBe(0);
  });

  test("begins as late as time has passed, though the clock was set back while the first attempt ran", async () => {
    const clock = new RunningClock();
    await using own = await Bench.open(clock);
    const { live } = await own.tenant("unlimited");
    const path = own.path();
    const gate = Promise.withResolvers<Response>();
    own.receiver.at(path, () => gate.promise);
    await own.endpoint(live, path);
    await publishMany(live, 1);
    await own.receiver.arrived(path);
    clock.step(-250_000);
    gate.resolve(new Response());
    // The outcome is counted right after it is on disk.
    await own.app.until(async () => (await counter("sealpost_delivery_lag_seconds_count", own)) === 1);
    expect(await counter("sealpost_delivery_lag_seconds_sum", own)).toBeLessThan(100);
  });

  test("that arrives although it was cancelled has come to both ends", async () => {
    await using own = await Bench.open();
    const { live } = await own.tenant("unlimited");
    const path = own.path();
    const gate = Promise.withResolvers<void>();
    own.receiver.at(path, () => gate.promise.then(() => new Response()));
    await own.endpoint(live, path);
    await publishMany(live, 1);
    await own.receiver.arrived(path);
    const [sent] = await deliveries(live);
    await live.post(`/v1/deliveries/${sent?.id}/cancel`);
    gate.resolve();
    await own.app.until(async () => (await deliveries(live))[0]?.status === "delivered");
    const ended = (status: string) =>
      counter(`sealpost_deliveries_ended_total{status="${status}",reason="none"}`, own);
    expect([await ended("cancelled"), await ended("delivered")]).toEqual([1, 1]);
  });

  test("that arrives again, as somebody tries it by hand, came to its end before", async () => {
    await using own = await Bench.open();
    const { live } = await own.tenant("unlimited");
    await own.endpoint(live);
    await publishMany(live, 1);
    await own.settled(live);
    const [arrived] = await deliveries(live);
    for (let attempts = 2; attempts <= 3; attempts++) {
      expect((await live.post(`/v1/deliveries/${arrived?.id}/retry`)).status).toBe(202);
      await own.app.until(async () => (await deliveries(live))[0]?.attempt_count === attempts);
    }
    expect(await counter('sealpost_deliveries_ended_total{status="delivered",reason="none"}', own)).toBe(1);
    expect((await deliveries(live))[0]?.completed_at).toBe(arrived?.completed_at);
  });

  test("ends as dead with its reason", async () => {
    const { live } = await bench.tenant("unlimited");
    const path = bench.path();
    bench.receiver.at(path, failing);
    await bench.endpoint(live, path);
    const series = 'sealpost_deliveries_ended_total{status="dead",reason="exhausted"}';
    const before = await counter(series);
    await publishMany(live, 3);
    await bench.settled(live);
    expect(await counter(series)).toBe(before + 3);
  });
});

describe("events and attempts", () => {
  /** The sum of a counter's series. */
  async function total(name: string, own: Bench): Promise<number> {
    const lines = (await print(own)).split("\n").filter((line) => line.startsWith(`${name}{`));
    return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  }

  test("are counted once each, tests and what a poller acknowledges too", async () => {
    await using own = await Bench.open();
    const { live } = await own.tenant("unlimited");
    await own.endpoint(live);
    const { id, secret } = await live.create("/v1/endpoints", { kind: "poll", config: {} });
    const pull = async (query: string) =>
      (await own.app.with(String(secret)).get(`/poll/${id}${query}`)).json as Record<string, unknown>;
    await publishMany(live, 3);
    for (let left = 2; left > 0; left--)
      expect((await live.post(`/v1/endpoints/${id}/test`, {})).status).toBe(202);
    const page = await pull("");
    expect(page["data"]).toHaveLength(5);
    await pull(`?cursor=${String(page["next_cursor"])}`);
    await own.app.until(async () => (await gauge("sealpost_deliveries_due", own)) === 0);
    expect(await total("sealpost_events_accepted_total", own)).toBe(5);
    expect(await counter('sealpost_events_accepted_total{origin="test"}', own)).toBe(2);
    // Three are pushed; the poller fetches those three and the two tests.
    expect(await total("sealpost_attempts_total", own)).toBe(3 + 5);
  });
});

describe("success", () => {
  test("is told by account and by the kind of the endpoint, but for what pollers fetch", async () => {
    await using own = await Bench.open();
    const [{ live, id: good }, { live: other, id: bad }] = [
      await own.tenant("unlimited"),
      await own.tenant("unlimited"),
    ];
    await own.endpoint(live);
    const { id, secret } = await live.create("/v1/endpoints", { kind: "poll", config: {} });
    const path = own.path();
    own.receiver.at(path, failing);
    await own.endpoint(other, path);
    await publishMany(live, 3);
    await publishMany(other, 2);
    await own.app.until(async () => (await gauge("sealpost_attempts_in_flight", own)) === 0);
    await own.settled(other);
    expect((await own.app.with(String(secret)).get(`/poll/${id}`)).status).toBe(200);
    const byAccount = (account: string, result: string) =>
      counter(`sealpost_account_attempts_total{account="${account}",result="${result}"}`, own);
    const byKind = (result: string) =>
      counter(`sealpost_kind_attempts_total{kind="http",result="${result}"}`, own);
    await own.app.until(async () => (await byKind("delivered")) === 3);
    expect([await byAccount(good, "delivered"), await byAccount(good, "failed")]).toEqual([3, 0]);
    expect([await byAccount(bad, "delivered"), await byAccount(bad, "failed")]).toEqual([0, 2]);
    expect([await byAccount("other", "delivered"), await byAccount("other", "failed")]).toEqual([0, 0]);
    expect(await byKind("failed")).toBe(2);
    expect(await print(own)).not.toContain('kind="poll"');
  });
});

describe("what is refused", () => {
  test("is told by its reason: what a caller is answered, and what a source refuses in silence", async () => {
    await using own = await Bench.open();
    const { live } = await own.tenant("unlimited");
    const refused = (api: string, reason: string) =>
      counter(`sealpost_http_requests_refused_total{api="${api}",reason="${reason}"}`, own);
    expect((await live.post("/v1/events", { data: {} })).status).toBe(422);
    expect((await own.app.with("sp_live_nobody").post("/v1/events", {})).status).toBe(401);
    expect((await live.get("/v1/events/evt_nobody")).status).toBe(404);
    expect((await own.app.with(null).post("/ingest/src_nobody", {})).status).toBe(401);
    await publish(live);
    expect(await refused("publish", "invalid_request")).toBe(1);
    expect(await refused("publish", "unauthenticated")).toBe(1);
    expect(await refused("management", "not_found")).toBe(1);
    expect(await counter('sealpost_ingest_rejected_total{reason="unknown_source"}', own)).toBe(1);
    const told = (await print(own)).match(/^sealpost_http_requests_refused_total.* (\d+)$/gm);
    expect(told).toHaveLength(3);
  });
});

describe("what /metrics tells of the process", () => {
  test("requests by API and status, commits, syncs, the loop, and the disk", async () => {
    const { live } = await bench.tenant("unlimited");
    const name = (api: string, status: number) =>
      `sealpost_http_requests_total{api="${api}",status="${status}"}`;
    const before = await Promise.all([
      counter(name("publish", 202)),
      counter(name("management", 404)),
      counter('sealpost_http_request_duration_seconds_count{api="publish"}'),
      counter("sealpost_commit_duration_seconds_count"),
      counter("sealpost_fsync_duration_seconds_count"),
    ]);
    await publish(live);
    await live.get("/v1/events/evt_nobody");
    expect(await counter(name("publish", 202))).toBe(before[0] + 1);
    expect(await counter(name("management", 404))).toBe(before[1] + 1);
    expect(await counter('sealpost_http_request_duration_seconds_count{api="publish"}')).toBe(before[2] + 1);
    expect(await counter("sealpost_commit_duration_seconds_count")).toBeGreaterThan(before[3]);
    expect(await counter("sealpost_fsync_duration_seconds_count")).toBeGreaterThan(before[4]);
    await bench.app.until(async () => (await counter("sealpost_event_loop_lag_seconds_count")) > 0);
    expect(await gauge("sealpost_writable")).toBe(1);
    expect(await gauge("sealpost_disk_free_bytes")).toBeGreaterThan(1_000_000);
    expect(await gauge("sealpost_replicas")).toBe(0);
  });

  test("counts what was to wait for a replica that is not there", async () => {
    const { live } = await bench.tenant("unlimited");
    const refused = 'sealpost_replica_refused_total{when="before"}';
    const before = await counter(refused);
    const event = { type: "order.paid", data: {} };
    expect((await live.post("/v1/events", event, { "sealpost-durability": "replica" })).status).toBe(503);
    expect(await counter(refused)).toBe(before + 1);
    expect(await counter("sealpost_replica_confirmed_events_total")).toBe(0);
  });

  test("stays below 300 series, whatever there is and whatever happens", async () => {
    const samples = (await print()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    // What has not happened yet has no series: every outcome with each class of status, each API with
    // twenty statuses, and every reason of a refusal.
    const open = new Set(samples.map((line) => line.split(/[{ ]/)[0]));
    expect(open.has("sealpost_attempts_total")).toBe(true);
    expect(samples.length).toBeLessThan(SERIES_MAX);
    const { live } = await bench.tenant("unlimited");
    for (let n = 0; n < 50; n++) await bench.endpoint(live);
    await publish(live);
    await bench.settled(live);
    // More accounts than get a name.
    for (let n = 0; n < 2 * NAMED_ACCOUNTS_MAX; n++) {
      const { live: another } = await bench.tenant("unlimited");
      await bench.endpoint(another);
      await publish(another);
      await bench.settled(another);
    }
    const after = (await print()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    expect(after.length).toBeLessThan(SERIES_MAX);
    const named = after.filter((line) => line.startsWith("sealpost_account_attempts_total{"));
    expect(named).toHaveLength(2 * (NAMED_ACCOUNTS_MAX + 1));
    for (const line of after) {
      expect(line).not.toMatch(/(ep|proj|evt|msg)_[0-9A-Z]{6}/);
      if (!named.includes(line)) expect(line).not.toMatch(/acct_[0-9A-Z]{6}/);
    }
  });

  test.skipIf(!requireTool("promtool", "apt-get install prometheus"))(
    "is as Prometheus wants it",
    async () => {
      const child = Bun.spawn(["promtool", "check", "metrics"], {
        stdin: new Response(await print()),
        stdout: "pipe",
        stderr: "pipe",
      });
      const said = (await new Response(child.stdout).text()) + (await new Response(child.stderr).text());
      expect([await child.exited, said]).toEqual([0, ""]);
    },
  );
});

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

/** Two things that happen to an endpoint in the same moment (src/delivery/actors.ts). */
import { afterEach, expect, test } from "bun:test";
import { startApp, type TestApp } from "../kit/app.ts";
import { change, isDisabled } from "../kit/broken-rows.ts";
import { steadyOver } from "../kit/clock.ts";
import { ANSWERED, openTestData, type TestData } from "../kit/data.ts";
import { startReceiver } from "../kit/receiver.ts";
import { LIMITS } from "../../src/core/limits.ts";
import { type Endpoint, HEALTHY } from "../../src/core/model.ts";
import type { Settlement } from "../../src/delivery/actor-parts.ts";
import { loadDelivery } from "../../src/delivery/load.ts";
import { type AttemptReport, Recorder } from "../../src/delivery/recorder.ts";
import type { Sent } from "../../src/delivery/send.ts";
import { systemClock } from "../../src/platform/clock.ts";

type Made = { id: string };

const queueMax = LIMITS.actorQueueMax.value;
const setQueueMax = (value: number) => ((LIMITS.actorQueueMax as { value: number }).value = value);

afterEach(() => setQueueMax(queueMax));

/** True where one delivery has this status. */
async function listed(app: TestApp, status: string): Promise<boolean> {
  const { json } = await app.live.get(`/v1/deliveries?status=${status}`);
  return (json["data"] as unknown[]).length === 1;
}

test("a 410 to an event that was erased meanwhile disables the endpoint, which can be enabled again", async () => {
  await using app = await startApp();
  await using receiver = startReceiver();
  const answer = Promise.withResolvers<void>();
  const url = receiver.at("gone", async (_, nth) => {
    if (nth > 1) return new Response(null, { status: 204 });
    await answer.promise;
    return new Response(null, { status: 410 });
  });
  const { id } = await app.live.create<Made>("/v1/endpoints", { url });
  const event = await app.live.post("/v1/events", { type: "a.b", data: {} });
  await receiver.arrived("gone");
  expect((await app.live.delete(`/v1/events/${String(event.json["id"])}`)).status).toBe(204);
  answer.resolve();
  await app.until(() => isDisabled(app, id));
  await app.live.post(`/v1/endpoints/${id}/enable`);
  await app.live.post("/v1/events", { type: "a.b", data: {} });
  await receiver.arrived("gone", 2);
});

test("an endpoint that ceases to keep the order forgets nothing that is parked in the same transaction", async () => {
  await using app = await startApp();
  await using receiver = startReceiver();
  const ordered = { url: receiver.url("parked"), ordering: "fifo", max_concurrency: 100 };
  const { id } = await app.live.create<Made>("/v1/endpoints", ordered);
  await app.live.post(`/v1/endpoints/${id}/pause`);
  const events = Array.from({ length: 500 }, () => ({ type: "a.b", data: {} }));
  for (let times = 0; times < 2; times++) await app.live.post("/v1/events/batch", { events });
  await Promise.all([
    app.live.patch(`/v1/endpoints/${id}`, { ordering: "none" }),
    app.live.post("/v1/events", { type: "a.b", data: {} }),
    app.live.post("/v1/events", { type: "a.b", data: {} }),
  ]);
  await app.live.post(`/v1/endpoints/${id}/resume`);
  await receiver.arrived("parked", 1002);
});

test("an attempt that cannot be recorded is told of, holds up no other, and is made again after the next start", async () => {
  await using app = await startApp();
  await using receiver = startReceiver();
  await app.live.create<Made>("/v1/endpoints", { url: receiver.url("refused") });
  change(
    app,
    `CREATE TRIGGER refusal BEFORE INSERT ON attempt WHEN NEW.delivery_id = (SELECT min(id) + 1 FROM event)
     BEGIN SELECT RAISE(ABORT, 'refused by the test'); END`,
  );
  await app.live.post("/v1/events", { type: "a.b", data: { number: 1 } });
  await app.live.post("/v1/events", { type: "a.b", data: { number: 2 } });
  await receiver.arrived("refused", 2);
  await app.until(() => listed(app, "delivered"));
  await app.stop();
  expect(app.log()).toContain("record of an attempt failed");
  change(app, "DROP TRIGGER refusal");
  await app.start();
  await receiver.arrived("refused", 3);
});

test.each([400, 410])(
  "the outcome of a %d that SQLite does not take is written plainly: counted, in the log, and told once",
  async (statusCode) => {
    const told: string[] = [];
    await using it = await openTestData({ report: (work) => void told.push(work) });
    const endpoint = await it.endpoint();
    const { recorder, settlement, reports } = await failed(it, endpoint, statusCode);
    const error = { code: Object, detail: null } as unknown as Sent["error"];
    const sent = { ...settlement.sent, error, responseBody: new Uint8Array([1]) };
    const disable = statusCode === 410 ? "gone" : null;
    expect(await recorder.record({ ...settlement, sent, disable })).toBe("applied");
    const { id } = settlement.load.delivery;
    const plain = { statusCode, outcome: "rejected", error: null, responseBody: null };
    expect([...it.data.attempts.ofDelivery(id, it.data.store.latestKey + 1, 9)]).toMatchObject([plain]);
    expect(it.data.deliveries.get(id)).toMatchObject({ status: "dead", attemptCount: 1, metered: true });
    expect(it.data.endpoints.get(endpoint.id)?.disabledReason).toBe(disable);
    expect([told, reports.map(({ number }) => number)]).toEqual([["record of an attempt"], [1]]);
  },
);

test("what is under way when its endpoint is disabled is decided by its outcome, wherever it waited", async () => {
  setQueueMax(1);
  await using app = await startApp();
  await using receiver = startReceiver();
  const answer = Promise.withResolvers<void>();
  const url = receiver.at("parked-busy", async (_, nth) => {
    if (nth > 2) return new Response(null, { status: 410 });
    await answer.promise;
    return new Response(null, { status: 204 });
  });
  const { id } = await app.live.create<Made>("/v1/endpoints", { url, max_concurrency: 2 });
  await app.live.post(`/v1/endpoints/${id}/pause`);
  for (let n = 0; n < 5; n++) await app.live.post("/v1/events", { type: "a.b", data: {} });
  await app.live.post(`/v1/endpoints/${id}/resume`);
  await receiver.arrived("parked-busy", 2);
  await app.live.post(`/v1/endpoints/${id}/test`);
  await app.until(() => isDisabled(app, id));
  const states = async () => {
    const { json } = await app.live.get(`/v1/deliveries?endpoint_id=${id}&event_type=a.b`);
    return (json["data"] as { status: string }[]).map(({ status }) => status).sort();
  };
  await app.until(async () => (await states()).filter((status) => status === "dead").length >= 3);
  expect(await states()).toEqual(["dead", "dead", "dead", "pending", "pending"]);
  answer.resolve();
  await app.until(async () => !(await states()).includes("pending"));
  expect(await states()).toEqual(["dead", "dead", "dead", "delivered", "delivered"]);
  const { json } = await app.live.get(`/v1/endpoints/${id}/stats`);
  // The test itself is the fourth.
  expect(json["total"]).toMatchObject({ dead: 4, delivered: 2 });
});

test("an attempt by hand that fails after its delivery was cancelled shows no next one", async () => {
  await using app = await startApp();
  await using receiver = startReceiver();
  const answer = Promise.withResolvers<void>();
  const url = receiver.at("cancelled", async (_, nth) => {
    if (nth > 1) await answer.promise;
    return new Response(null, { status: 500 });
  });
  await app.live.create<Made>("/v1/endpoints", { url, retry: { schedule: [3600] } });
  await app.live.post("/v1/events", { type: "a.b", data: {} });
  await app.until(() => listed(app, "retrying"));
  const [row] = (await app.live.get("/v1/deliveries")).json["data"] as Made[];
  const retried = app.live.post(`/v1/deliveries/${row?.id}/retry`);
  await receiver.arrived("cancelled", 2);
  expect((await app.live.post(`/v1/deliveries/${row?.id}/cancel`)).status).toBe(200);
  answer.resolve();
  await retried;
  const attempts = async () =>
    (await app.live.get(`/v1/deliveries/${row?.id}/attempts`)).json["data"] as Record<string, unknown>[];
  await app.until(async () => (await attempts()).length === 2);
  expect(
    (await attempts()).map((attempt) => [attempt["number"], attempt["next_attempt_at"] === null]),
  ).toEqual([
    [2, true],
    [1, false],
  ]);
});

/** The outcome of an attempt that is answered with a status other than 2xx, and what writes it. */
async function failed(it: TestData, endpoint: Endpoint, statusCode: number) {
  const id = await it.data.store.write(() => it.insertDelivery(it.insertEvent(), endpoint.id));
  const load = loadDelivery(it.data, id);
  if (load === null) throw new Error("a delivery is gone that was just written");
  const rest = {
    outcome: "rejected",
    saysGone: statusCode === 410,
    messageId: "",
    endpointId: "",
    slows: false,
    retryAfterMs: null,
  } as const;
  const sent: Sent = { ...ANSWERED, ...rest, statusCode };
  const dead = { status: "dead", step: 1, due: null, deadReason: "gone" } as const;
  const none = { queueOrder: null, health: HEALTHY, healthChanged: false, disable: null };
  const settlement: Settlement<Sent> = { endpoint, load, trigger: "publish", sent, change: dead, ...none };
  const reports: AttemptReport[] = [];
  const onAttempt = (report: AttemptReport) => void reports.push(report);
  const recorder = new Recorder(it.data, { clock: steadyOver(systemClock), onAttempt });
  return { recorder, settlement, reports };
}

test("what changes an endpoint after a 410 in the same transaction holds in memory too", async () => {
  for (const fields of [{ status: "deleted" }, { description: "new" }] as const) {
    await using it = await openTestData();
    const { endpoints } = it.data;
    const endpoint = await it.endpoint();
    const { recorder, settlement } = await failed(it, endpoint, 410);
    await Promise.all([
      recorder.record({ ...settlement, disable: "gone" }),
      endpoints.change(endpoint.id, () => fields),
    ]);
    const known = endpoints.get(endpoint.id);
    if ("status" in fields) expect(known).toBeUndefined();
    else expect(known).toMatchObject({ status: "disabled", description: "new" });
  }
});

test.each(["disabled", "paused"] as const)(
  "an outcome of before an endpoint that was %s is active again says nothing of it",
  async (status) => {
    await using it = await openTestData();
    const { endpoints, health, store } = it.data;
    const disabledReason = status === "disabled" ? "failing" : null;
    const endpoint = await it.endpoint({ status, disabledReason });
    const failing = { ...HEALTHY, failuresInRow: 100, failingSince: 1 };
    await store.write(() => health.set(endpoint.id, failing));
    const { recorder, settlement } = await failed(it, endpoint, 500);
    const enabling = store.write(() => {
      health.set(endpoint.id, HEALTHY);
      return endpoints.update(endpoint.id, () => ({ status: "active", disabledReason: null }));
    });
    const recorded = recorder.record({ ...settlement, health: failing, healthChanged: true });
    const enabled = await enabling;
    if (enabled !== null) endpoints.announce(enabled);
    await recorded;
    expect(health.get(endpoint.id)).toEqual(HEALTHY);
  },
);

test("an endpoint whose break is over is told as left alone no more", async () => {
  await using it = await openTestData();
  const { recorder, settlement, reports } = await failed(it, await it.endpoint(), 500);
  for (const ms of [-3_600_000, 3_600_000]) {
    const health = { ...HEALTHY, failuresInRow: 2, failingSince: 1, slowUntil: Date.now() + ms };
    await recorder.record({ ...settlement, health, healthChanged: true });
  }
  expect(reports.map(({ leftAloneUntil }) => leftAloneUntil !== null)).toEqual([false, true]);
});

/** Secrets of endpoints, the test call and the numbers. */
import { describe, expect, test } from "bun:test";
import type { AttemptAnswer } from "../../../src/http/deliveries/attempt-shape.ts";
import { appForFile, receiverForFile } from "../../kit/for-file.ts";
import { hang, isSignedByKey, type ReceivedRequest, verifyDelivery } from "../../kit/receiver.ts";
import { expectProblem, type Reply } from "../kit.ts";

const app = appForFile();
const receiver = receiverForFile();

let names = 0;

interface Made {
  id: string;
  secret: string;
  public_key?: string;
  name: string;
  type: string;
}

async function create(fields: Record<string, unknown> = {}): Promise<Made> {
  const name = `s${++names}`;
  const type = `secret.${name}`;
  const body = { url: receiver.url(name), event_types: [type], ...fields };
  return { ...(await app.live.create<Omit<Made, "name" | "type">>("/v1/endpoints", body)), name, type };
}

/** Publishes one event and gives the request that carries it. */
async function deliver({ name, type }: Made): Promise<ReceivedRequest> {
  const before = receiver.requests(name).length;
  await app.live.post("/v1/events", { type, data: {} });
  const request = (await receiver.arrived(name, before + 1))[before];
  if (!request) throw new Error("nothing arrived");
  return request;
}

const entriesOf = ({ headers }: ReceivedRequest) => (headers["webhook-signature"] ?? "").split(" ");
const rotate = (id: string, body?: unknown) => app.live.post(`/v1/endpoints/${id}/rotate-secret`, body);
const attemptOf = ({ json }: Reply) => json as unknown as AttemptAnswer;

describe("rotating", () => {
  test("both secrets sign until the overlap ends; a second rotation drops the oldest", async () => {
    const endpoint = await create();
    const first = await rotate(endpoint.id, { expiry_hours: 1 });
    expect(Object.keys(first.json)).toEqual(["secret", "previous_secret_expires_at"]);
    const expires = Date.parse(String(first.json["previous_secret_expires_at"]));
    expect(Math.abs(expires - Date.now() - 3_600_000)).toBeLessThan(60_000);
    const during = await deliver(endpoint);
    expect(entriesOf(during)).toHaveLength(2);
    verifyDelivery(during, endpoint.secret);
    verifyDelivery(during, String(first.json["secret"]));

    const second = await rotate(endpoint.id);
    const later = await deliver(endpoint);
    expect(entriesOf(later)).toHaveLength(2);
    verifyDelivery(later, String(first.json["secret"]));
    verifyDelivery(later, String(second.json["secret"]));
    expect(() => verifyDelivery(later, endpoint.secret)).toThrow();
    const read = await app.live.get(`/v1/endpoints/${endpoint.id}/secret`);
    expect(read.json as unknown).toEqual(second.json);
    expect(read.headers.get("cache-control")).toBe("no-store");
  });

  test("expiry_hours 0 ends the previous secret at once", async () => {
    const endpoint = await create();
    const { json } = await rotate(endpoint.id, { expiry_hours: 0 });
    expect(json["previous_secret_expires_at"]).toBeNull();
    const request = await deliver(endpoint);
    expect(entriesOf(request)).toHaveLength(1);
    verifyDelivery(request, String(json["secret"]));
  });

  test("the key of v1a is rotated with it", async () => {
    const endpoint = await create({ signature_versions: ["v1", "v1a"] });
    const { json } = await rotate(endpoint.id);
    const publicKey = String(json["public_key"]);
    expect(publicKey).not.toBe(String(endpoint.public_key));
    const request = await deliver(endpoint);
    expect(entriesOf(request).map((entry) => entry.split(",")[0])).toEqual(["v1", "v1", "v1a", "v1a"]);
    expect(isSignedByKey(request, publicKey)).toBe(true);
    expect(isSignedByKey(request, String(endpoint.public_key))).toBe(true);
  });

  test("v1a that is taken away during the overlap signs no more, also when it comes back", async () => {
    const endpoint = await create({ signature_versions: ["v1", "v1a"] });
    await rotate(endpoint.id);
    await app.live.patch(`/v1/endpoints/${endpoint.id}`, { signature_versions: ["v1"] });
    const { json } = await app.live.patch(`/v1/endpoints/${endpoint.id}`, {
      signature_versions: ["v1", "v1a"],
    });
    const request = await deliver(endpoint);
    expect(isSignedByKey(request, String(json["public_key"]))).toBe(true);
    expect(isSignedByKey(request, String(endpoint.public_key))).toBe(false);
  });

  test.each([-1, 169, 1.5, "24", null])("expiry_hours %p is refused", async (hours) => {
    const { id } = await create();
    const reply = await rotate(id, { expiry_hours: hours });
    expectProblem(reply, 422, "invalid_request");
    expect(reply.json.errors?.map(({ pointer }) => pointer)).toEqual(["/expiry_hours"]);
  });
});

describe("a test event", () => {
  test("is sent at once, signed, to whatever the endpoint subscribes to, and answers the attempt", async () => {
    const endpoint = await create({ event_types: ["something.else"], consumer_id: "acme" });
    const reply = await app.live.post(`/v1/endpoints/${endpoint.id}/test`, { type: "invoice.paid" });
    expect(reply.status).toBe(200);
    const attempt = attemptOf(reply);
    expect(attempt).toMatchObject({
      endpoint_id: endpoint.id,
      trigger: "test",
      number: 1,
      outcome: "delivered",
      status_code: 204,
      next_attempt_at: null,
    });
    const [request] = receiver.requests(endpoint.name);
    if (!request) throw new Error("nothing arrived");
    verifyDelivery(request, endpoint.secret);
    expect(request.body.toString()).toBe(attempt.request_body ?? "");
    expect(JSON.parse(request.body.toString())).toMatchObject({ type: "invoice.paid" });
    const delivery = await app.live.get(`/v1/deliveries/${attempt.delivery_id}`);
    const event = await app.live.get(`/v1/events/${String(delivery.json["event_id"])}`);
    expect(event.json).toMatchObject({ type: "invoice.paid", test: true, consumer_id: "acme" });
  });

  test("has a type of its own where none is given, and goes to a paused endpoint too", async () => {
    const { id } = await create();
    await app.live.post(`/v1/endpoints/${id}/pause`);
    const attempt = attemptOf(await app.live.post(`/v1/endpoints/${id}/test`));
    expect(JSON.parse(attempt.request_body ?? "")).toMatchObject({ type: "test.event" });
    expect(attempt.outcome).toBe("delivered");
  });

  test("that fails is answered too, is not tried again, and says nothing of the endpoint's health", async () => {
    const { id, name } = await create();
    receiver.at(name, () => new Response("broken", { status: 500 }));
    const attempt = attemptOf(await app.live.post(`/v1/endpoints/${id}/test`));
    expect(attempt).toMatchObject({
      outcome: "rejected",
      status_code: 500,
      response_body: "broken",
      next_attempt_at: null,
    });
    const delivery = await app.live.get(`/v1/deliveries/${attempt.delivery_id}`);
    expect(delivery.json).toMatchObject({ status: "dead", dead_reason: "exhausted" });
    expect((await app.live.get(`/v1/endpoints/${id}`)).json["failing_since"]).toBeNull();
  });

  test("that times out is answered after the endpoint's timeout", async () => {
    const { id, name } = await create({ timeout_seconds: 1 });
    receiver.at(name, hang);
    expect(attemptOf(await app.live.post(`/v1/endpoints/${id}/test`)).outcome).toBe("timeout");
  });

  test("with an Idempotency-Key is sent once", async () => {
    const { id, name } = await create();
    const key = { "idempotency-key": `test-${id}` };
    const [first, second] = [
      await app.live.post(`/v1/endpoints/${id}/test`, {}, key),
      await app.live.post(`/v1/endpoints/${id}/test`, {}, key),
    ];
    expect(second.json).toEqual(first.json);
    expect(receiver.requests(name)).toHaveLength(1);
  });

  test.each(["a..b", "a b", "", "*"])("of the type %p is refused", async (type) => {
    const { id } = await create();
    const reply = await app.live.post(`/v1/endpoints/${id}/test`, { type });
    expectProblem(reply, 422, "invalid_request");
    expect(reply.json.errors?.map(({ pointer }) => pointer)).toEqual(["/type"]);
  });
});

describe("stats", () => {
  test("count what was delivered, failed and given up, of one endpoint and of all", async () => {
    const good = await create();
    const bad = await create({ retry: { schedule: [] } });
    receiver.at(bad.name, () => new Response(null, { status: 500 }));
    for (const endpoint of [good, good, bad]) await deliver(endpoint);
    const pointsOf = async (path: string) =>
      (await app.live.get(path)).json["data"] as Record<string, unknown>[];
    const seen = await app.until(async () => {
      const [one] = await pointsOf(`/v1/endpoints/${bad.id}/stats`);
      const [two] = await pointsOf(`/v1/endpoints/${good.id}/stats?by=day`);
      return one?.["dead"] === 1 && two?.["delivered"] === 2 && { one, two };
    });
    expect(seen.one).toMatchObject({ delivered: 0, failed: 1, dead: 1 });
    expect(seen.two).toMatchObject({ delivered: 2, failed: 0, dead: 0 });
    expect(String(seen.one["at"])).toMatch(/:00:00\.000Z$/);
    expect(String(seen.two["at"])).toMatch(/T00:00:00\.000Z$/);
    expect(seen.one["p50_ms"]).toBeNumber();
    const all = await pointsOf("/v1/stats");
    expect(all.reduce((sum, point) => sum + Number(point["dead"]), 0)).toBeGreaterThanOrEqual(2);
  });

  test("of a span without anything are empty", async () => {
    const { id } = await create();
    const { json } = await app.live.get(
      `/v1/endpoints/${id}/stats?since=2026-01-01T00:00:00Z&until=2026-01-02T00:00:00Z`,
    );
    const total = { delivered: 0, failed: 0, dead: 0, p50_ms: null, p95_ms: null };
    expect(json as unknown).toEqual({ data: [], total, waiting: 0 });
  });

  test("of several endpoints say of each what came to it, what waits and what came last", async () => {
    const good = await create();
    const slow = await create({ retry: { schedule: [3600] } });
    receiver.at(slow.name, () => new Response(null, { status: 500 }));
    await deliver(good);
    await deliver(slow);
    const path = `/v1/stats/endpoints?endpoint_ids=${slow.id},ep_none,${good.id}`;
    const rows = await app.until(async () => {
      const data = (await app.live.get(path)).json["data"] as Record<string, unknown>[];
      return data[0]?.["failed"] === 1 && data[1]?.["delivered"] === 1 && data;
    });
    expect(rows).toMatchObject([
      { endpoint_id: slow.id, delivered: 0, dead: 0, waiting: 1, last_delivery: { status: "retrying" } },
      { endpoint_id: good.id, failed: 0, waiting: 0, last_delivery: { status: "delivered" } },
    ]);
    const one = (await app.live.get(`/v1/endpoints/${slow.id}/stats`)).json;
    expect(one).toMatchObject({ waiting: 1, total: { failed: 1 } });
    const many = Array.from({ length: 101 }, () => good.id).join(",");
    expectProblem(await app.live.get(`/v1/stats/endpoints?endpoint_ids=${many}`), 422, "invalid_request");
  });

  test.each([
    ["since=yesterday", "since"],
    ["until=5", "until"],
    ["since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z", "since"],
    ["since=2026-01-01T00:00:00Z&until=2026-02-02T00:00:00Z", "since"],
    ["by=day&since=2025-01-01T00:00:00Z&until=2026-02-02T00:00:00Z", "since"],
    ["by=week", "by"],
  ])("%s is refused", async (query, pointer) => {
    const { id } = await create();
    for (const path of [`/v1/endpoints/${id}/stats`, "/v1/stats"]) {
      const reply = await app.live.get(`${path}?${query}`);
      expectProblem(reply, 422, "invalid_request");
      expect(reply.json.errors?.map((fault) => fault.pointer)).toEqual([pointer]);
    }
  });

  test("31 days by hour and 366 by day are not too long", async () => {
    const hours = "since=2026-01-01T00:00:00Z&until=2026-02-01T00:00:00Z";
    const days = "by=day&since=2025-01-01T00:00:00Z&until=2026-01-02T00:00:00Z";
    for (const query of [hours, days]) expect((await app.live.get(`/v1/stats?${query}`)).status).toBe(200);
  });
});

/** Answers that wait for the replica: publishes, batches and ingests, and what becomes of them without it. */
import { afterEach, describe, expect, test } from "bun:test";
import { LIMITS } from "../../../src/core/limits.ts";
import type { DeliveryAnswer } from "../../../src/http/deliveries/shape.ts";
import type { PublishedAnswer } from "../../../src/http/events/shape.ts";
import type { GateByHand } from "../../kit/replica-gate.ts";
import { type Api, type EventRow, expectRefusal, type Page, type Reply, startApi } from "../log-kit.ts";

const REPLICA = { "sealpost-durability": "replica" };

const limits = LIMITS as unknown as Record<string, { value: number }>;
const usual = { eventRowsMax: LIMITS.eventRowsMax.value, actorQueueMax: LIMITS.actorQueueMax.value };

function setLimit(name: keyof typeof usual, value: number): void {
  const limit = limits[name];
  if (limit) limit.value = value;
}

afterEach(() => {
  for (const name of ["eventRowsMax", "actorQueueMax"] as const) setLimit(name, usual[name]);
});

const post = (api: Api, body: object, headers: Record<string, string> = REPLICA, path = "/v1/events") =>
  api.call("POST", path, body, "full", headers);
const eventsOf = async (api: Api, type: string) =>
  (await api.get<Page<EventRow>>(`/v1/events?type=${type}`)).data;
const answerOf = (reply: Reply) => reply.json as unknown as PublishedAnswer;

/** True where the answer is not there after everything that needs no replica. */
async function isWaiting(api: Api, answer: Promise<unknown>): Promise<boolean> {
  await api.data.store.settled();
  await api.tick();
  return (await Promise.race([answer, Promise.resolve("waiting")])) === "waiting";
}

/** The answer, once the replica was asked so often and has confirmed everything. */
async function confirmed<T>(replica: GateByHand, answer: Promise<T>, asked = 1): Promise<T> {
  await replica.asked(asked);
  replica.confirm();
  return answer;
}

describe("an answer after the replica has it", () => {
  test("and the delivery too: neither is there before", async () => {
    await using api = await startApi();
    const { receiver, replica } = api;
    await api.endpoint({ url: receiver.url("held") });
    const answer = post(api, { type: "order.paid", data: {} });
    await replica.asked();
    expect(await isWaiting(api, answer)).toBe(true);
    expect(receiver.requests("held")).toHaveLength(0);
    replica.confirm();
    const { status, headers } = await answer;
    expect([status, headers.get("sealpost-durability")]).toEqual([202, "replica"]);
    await receiver.arrived("held");
    expect([replica.confirmed, replica.refused]).toEqual([1, []]);
  });

  test("is not gone before by hand: a replay and a retry are refused until the replica has it", async () => {
    await using api = await startApi();
    const { receiver, replica } = api;
    await api.endpoint({ url: receiver.url("by-hand") });
    const answer = post(api, { type: "order.paid", data: {} });
    await replica.asked();
    const [event] = await eventsOf(api, "order.paid");
    const list = await api.get<Page<{ id: string }>>(`/v1/deliveries?event_id=${event?.id}`);
    const [delivery] = list.data;
    const ways = [`/v1/events/${event?.id}/replay`, `/v1/deliveries/${delivery?.id}/retry`];
    for (const way of ways) {
      const refused = await api.call("POST", way, {});
      expectRefusal(refused, 409, "conflict");
      expect(refused.json["detail"]).toContain("does not have this event yet");
    }
    expect(receiver.requests("by-hand")).toHaveLength(0);
    await confirmed(replica, answer);
    await receiver.arrived("by-hand");
    expect((await api.call("POST", `/v1/events/${event?.id}/replay`, {})).status).toBe(202);
    await receiver.arrived("by-hand", 2);
  });

  test("is given to all of a batch, and counts its events", async () => {
    await using api = await startApi();
    const events = [1, 2, 3].map((n) => ({ type: "order.paid", data: { n } }));
    const answer = post(api, { events }, REPLICA, "/v1/events/batch");
    const { status, headers } = await confirmed(api.replica, answer);
    expect([status, headers.get("sealpost-durability")]).toEqual([202, "replica"]);
    expect(api.replica.confirmed).toBe(3);
  });

  test("waits for the deliveries of a wide event, which are written once the replica has it", async () => {
    setLimit("eventRowsMax", 2);
    await using api = await startApi();
    for (const name of ["a", "b", "c"]) await api.endpoint({ url: api.receiver.url(name) });
    const answer = post(api, { type: "order.paid", data: {} });
    await api.replica.asked();
    await api.data.store.settled();
    expect(api.data.fanouts.count()).toBe(1);
    expect(answerOf(await confirmed(api.replica, answer)).delivery_count).toBe(3);
    for (const name of ["a", "b", "c"]) await api.receiver.arrived(name);
  });

  test("does not hold up what asks for the disk alone, at the same endpoint", async () => {
    await using api = await startApi();
    await api.endpoint({ url: api.receiver.url("both"), ordering: "fifo" });
    const held = post(api, { type: "order.paid", data: { n: 1 } });
    await api.replica.asked();
    expect((await post(api, { type: "order.paid", data: { n: 2 } }, {})).status).toBe(202);
    await api.receiver.arrived("both");
    await confirmed(api.replica, held);
    const bodies = (await api.receiver.arrived("both", 2)).map(
      ({ body }) => JSON.parse(body.toString()).data.n,
    );
    expect(bodies).toEqual([2, 1]);
  });

  test("comes in the order of the commits to an endpoint that keeps the order", async () => {
    await using api = await startApi();
    await api.endpoint({ url: api.receiver.url("ordered"), ordering: "fifo" });
    const answers = [1, 2, 3, 4].map((n) => post(api, { type: "order.paid", data: { n } }));
    await api.data.store.settled();
    await confirmed(api.replica, Promise.all(answers), 4);
    const arrived = await api.receiver.arrived("ordered", 4);
    expect(arrived.map(({ body }) => JSON.parse(body.toString()).data.n)).toEqual([1, 2, 3, 4]);
  });

  test("is asked for in no other words", async () => {
    await using api = await startApi();
    for (const text of ["Replica", "s3", ""]) {
      const reply = await post(api, { type: "order.paid", data: {} }, { "sealpost-durability": text });
      expectRefusal(reply, 422, "invalid_request", ["sealpost-durability"]);
    }
  });

  test("is the service's where that says so; then a request may ask for the disk alone", async () => {
    await using api = await startApi();
    api.services.durability = "replica";
    const answer = await confirmed(api.replica, post(api, { type: "order.paid", data: {} }, {}));
    expect(answer.headers.get("sealpost-durability")).toBe("replica");
    const less = await post(api, { type: "order.paid", data: {} }, { "sealpost-durability": "disk" });
    expect([less.status, less.headers.get("sealpost-durability")]).toEqual([202, null]);
  });
});

describe("without the replica", () => {
  test("503 is answered at once, and nothing is stored or sent", async () => {
    await using api = await startApi();
    const { replica } = api;
    await api.endpoint({ url: api.receiver.url("none") });
    replica.problem = "Litestream is gone.";
    const reply = await post(api, { type: "order.paid", data: {} });
    expectRefusal(reply, 503, "replica_unavailable");
    expect(reply.json.detail).toBe("Litestream is gone. Nothing was stored by this request.");
    expect(Number(reply.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await eventsOf(api, "order.paid")).toEqual([]);
    expect([replica.confirmed, replica.refused]).toEqual([0, ["before"]]);
    expect((await post(api, { type: "order.paid", data: {} }, {})).status).toBe(202);
  });

  test("an event that is not confirmed in time is not acknowledged, and sent once it is", async () => {
    await using api = await startApi();
    const { replica, receiver } = api;
    replica.waitMs = 20;
    await api.endpoint({ url: receiver.url("late") });
    const reply = await post(api, { type: "order.late", data: { n: 1 } });
    expectRefusal(reply, 503, "replica_unavailable");
    expect(reply.json.detail).toContain("may be delivered later");
    expect(replica.refused).toEqual(["after"]);
    expect(await eventsOf(api, "order.late")).toHaveLength(1);
    expect(receiver.requests("late")).toHaveLength(0);
    replica.confirm();
    const [arrived] = await receiver.arrived("late");
    expect(JSON.parse(arrived?.body.toString() ?? "").data).toEqual({ n: 1 });
  });

  test.each([
    ["external_id", { external_id: "o-1" }, {}, 200],
    ["Idempotency-Key", {}, { "idempotency-key": "k-1" }, 202],
  ])("it is found again by its %s, and answered once the replica has it", async (_, fields, key, status) => {
    await using api = await startApi();
    const { replica, receiver } = api;
    await api.endpoint({ url: receiver.url("again") });
    replica.waitMs = 20;
    const ask = () => post(api, { type: "order.again", data: {}, ...fields }, { ...REPLICA, ...key });
    for (let nth = 0; nth < 2; nth++) expectRefusal(await ask(), 503, "replica_unavailable");
    replica.problem = "Litestream is gone.";
    expectRefusal(await ask(), 503, "replica_unavailable");
    [replica.problem, replica.waitMs] = [null, 5000];
    const repeated = await confirmed(replica, ask(), 3);
    expect([repeated.status, repeated.headers.get("sealpost-durability")]).toEqual([status, "replica"]);
    const known = await eventsOf(api, "order.again");
    expect(known.map(({ id }) => id)).toEqual([answerOf(repeated).id]);
    await receiver.arrived("again");
    await api.settled(answerOf(repeated).id);
    expect(receiver.requests("again")).toHaveLength(1);
    expect(replica.confirmed).toBe(1);
  });
});

describe("a delivery that the replica holds back", () => {
  const makeEndpoint = async (api: Api, kind: string, name = "own") => {
    const config = kind === "poll" ? {} : { url: api.receiver.url(name) };
    return String((await api.call("POST", "/v1/endpoints", { kind, config })).json["id"]);
  };
  const deliveries = async (api: Api) => (await api.get<Page<DeliveryAnswer>>("/v1/deliveries")).data;

  test.each(["http", "poll"])("says so, and goes on by itself (%s)", async (kind) => {
    await using api = await startApi();
    await makeEndpoint(api, kind);
    const answer = post(api, { type: "order.paid", data: {} });
    await api.replica.asked();
    expect(await deliveries(api)).toMatchObject([{ status: "pending", waiting_for: "replica" }]);
    await confirmed(api.replica, answer);
    expect(await deliveries(api)).toMatchObject([{ waiting_for: null }]);
  });

  test.each([
    ["http", 100],
    ["http", 0],
    ["poll", 100],
  ])("is cancelled with its endpoint, and never sent (%s, %d in memory)", async (kind, queueMax) => {
    setLimit("actorQueueMax", queueMax);
    await using api = await startApi();
    const { data, receiver, replica } = api;
    replica.waitMs = 20;
    const id = await makeEndpoint(api, kind);
    const other = await makeEndpoint(api, "http", "other");
    for (let n = 0; n < 3; n++)
      expectRefusal(await post(api, { type: "order.paid", data: {} }), 503, "replica_unavailable");
    expect((await api.call("DELETE", `/v1/endpoints/${id}`)).status).toBe(204);
    await data.store.settled();
    const of = async (endpointId: string) =>
      (await deliveries(api))
        .filter((delivery) => delivery.endpoint_id === endpointId)
        .map(
          ({ status, next_attempt_at: next, waiting_for: why }) => [status, next === null, why] as unknown[],
        );
    const cancelled = Array.from({ length: 3 }, () => ["cancelled", true, null]);
    expect(await of(id)).toEqual(cancelled);
    const held = Array.from({ length: 3 }, () => ["pending", false, "replica"]);
    expect(await of(other)).toEqual(held);
    replica.confirm();
    await receiver.arrived("other", 3);
    await data.store.settled();
    expect(await of(id)).toEqual(cancelled);
    expect(receiver.requests("own")).toHaveLength(0);
  });
});

describe("what waits in the database is held too", () => {
  test("where the endpoint's queue is full", async () => {
    setLimit("actorQueueMax", 1);
    await using api = await startApi();
    const { replica, receiver } = api;
    const gate = Promise.withResolvers<Response>();
    receiver.at("full", (_, nth) => (nth === 1 ? gate.promise : new Response()));
    await api.endpoint({ url: receiver.url("full"), maxConcurrency: 1 });
    await api.publish("order.paid");
    await receiver.arrived("full");
    await api.publish("order.paid");
    const held = post(api, { type: "order.paid", data: {} });
    await replica.asked();
    const parked = await api.publish("order.paid");
    gate.resolve(new Response());
    await api.settled(parked.id);
    expect(receiver.requests("full")).toHaveLength(3);
    const { id } = answerOf(await confirmed(replica, held));
    await api.settled(id);
    expect(receiver.requests("full")).toHaveLength(4);
  });

  test("where a poller fetches it", async () => {
    await using api = await startApi();
    const made = await api.call("POST", "/v1/endpoints", { kind: "poll", config: {} });
    const poll = async (cursor = "") => {
      const path = `/poll/${String(made.json["id"])}?limit=10${cursor}`;
      const { json } = await api.call("GET", path, undefined, String(made.json["secret"]));
      const { data, next_cursor } = json as unknown as { data: { body: string }[]; next_cursor: string };
      return { numbers: data.map(({ body }) => JSON.parse(body).data.n), cursor: next_cursor };
    };
    const held = post(api, { type: "order.paid", data: { n: 1 } });
    await api.replica.asked();
    await api.publish("order.paid", { data: { n: 2 } });
    const first = await poll();
    expect(first.numbers).toEqual([2]);
    // What was handed out is acknowledged, although one that is held stands before it.
    expect((await poll(`&cursor=${first.cursor}`)).numbers).toEqual([]);
    await confirmed(api.replica, held);
    expect((await poll(`&cursor=${first.cursor}`)).numbers).toEqual([1]);
  });
});

describe("a source", () => {
  test("may ask for the replica; what it repeats is answered once the replica has it", async () => {
    await using api = await startApi();
    const { replica } = api;
    const source = await api.call("POST", "/v1/sources", {
      provider: "service",
      name: "s",
      durability: "replica",
    });
    expect([source.status, source.json["durability"]]).toEqual([201, "replica"]);
    const knock = () =>
      api.call("POST", String(source.json["ingest_path"]), { id: "d-1", type: "came" }, "none", {
        "x-service-token": String(source.json["secret"]),
      });
    replica.problem = "Litestream is gone.";
    expectRefusal(await knock(), 503, "replica_unavailable");
    [replica.problem, replica.waitMs] = [null, 20];
    expectRefusal(await knock(), 503, "replica_unavailable");
    replica.waitMs = 5000;
    const { status, json } = await confirmed(replica, knock(), 2);
    expect([status, json["duplicate"]]).toEqual([200, true]);
    expect(await eventsOf(api, "service.came")).toHaveLength(1);

    const path = `/v1/sources/${String(source.json["id"])}`;
    expectRefusal(await api.call("PATCH", path, { durability: "s3" }), 422, "invalid_request", [
      "/durability",
    ]);
    expect((await api.call("PATCH", path, { durability: null })).json["durability"]).toBeNull();
    expect((await knock()).status).toBe(200);
  });
});

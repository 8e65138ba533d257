/** Who gets an event, and that a wide fan-out loses nothing, keeps the order, and survives a stop. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { limit } from "../../src/core/limits.ts";
import { type Api, type Page, startApi } from "../http/log-kit.ts";
import { Client, startApp } from "../kit/app.ts";
import { type Receiver, startReceiver } from "../kit/receiver.ts";
import { startService } from "../kit/service.ts";

const WIDE = limit("fanoutAtOnceMax") + 200;
const DEADLINE_MS = 15_000;
/** The service of its own process keeps the limits on requests. */
const UNLIMITED = { SEALPOST_MANAGEMENT_RATE_LIMIT: "0" };

/** Endpoints by the API, a hundred at once. */
async function createMany(client: Client, count: number, fields: Record<string, unknown>): Promise<void> {
  for (let made = 0; made < count; made += 100) {
    const some = Array.from({ length: Math.min(100, count - made) }, () =>
      client.post("/v1/endpoints", { url: "http://127.0.0.1:9/", ...fields }),
    );
    for (const reply of await Promise.all(some)) expect(reply.status).toBe(201);
  }
}

async function countDeliveries(client: Client, eventId: string): Promise<number> {
  let count = 0;
  let cursor: string | null = "";
  while (cursor !== null) {
    const { json } = await client.get(`/v1/deliveries?limit=250&event_id=${eventId}${cursor}`);
    count += (json["data"] as unknown[]).length;
    const next = json["next_cursor"] as string | null;
    cursor = next && `&cursor=${next}`;
  }
  return count;
}

/** Resolves once so many deliveries have come, each at least once: a crash repeats some. */
async function arrivedOnce(receiver: Receiver, name: string, count: number): Promise<void> {
  let known = 0;
  for (let least = count; known < count; least++) {
    const arrived = await receiver.arrived(name, least, DEADLINE_MS);
    known = new Set(arrived.map(({ headers }) => headers["webhook-id"])).size;
    least = arrived.length;
  }
}

describe("a wide fan-out", () => {
  test("is counted at once, goes on after a crash in the middle, and ends with every delivery", async () => {
    await using receiver = startReceiver();
    await using service = await startService({ env: UNLIMITED });
    const client = () => new Client(service, service.keys.live);
    await createMany(client(), WIDE, { url: receiver.url("wide"), event_types: ["wide"] });
    const { json } = await client().post("/v1/events", { type: "wide", data: {} });
    expect(json["delivery_count"]).toBe(WIDE);
    await service.kill9();
    await service.restart();
    await arrivedOnce(receiver, "wide", WIDE);
    expect(await countDeliveries(client(), String(json["id"]))).toBe(WIDE);
  }, 20_000);

  test.each([
    ["written with its event", 400],
    ["written after its event", WIDE],
  ])("%s, is overtaken by no later event where an endpoint keeps the order", async (_name, width) => {
    await using receiver = startReceiver();
    await using app = await startApp();
    await createMany(app.live, width, { event_types: ["wide"] });
    await app.live.create("/v1/endpoints", { url: receiver.url("ordered"), ordering: "fifo" });
    await Promise.all([
      app.live.post("/v1/events", { type: "wide", data: { n: 1 } }),
      app.live.post("/v1/events", { type: "wide", data: { n: 2 } }),
      app.live.post("/v1/events", { type: "narrow", data: { n: 3 } }),
    ]);
    const arrived = await receiver.arrived("ordered", 3);
    const accepted = (await app.live.get("/v1/events")).json["data"] as { id: string }[];
    const order = await Promise.all(
      accepted.toReversed().map(async ({ id }) => (await app.live.get(`/v1/events/${id}`)).json["data"]),
    );
    expect(arrived.map(({ body }) => JSON.parse(body.toString()).data)).toEqual(order);
  });

  test("may be a batch: every event of it is delivered once", async () => {
    await using receiver = startReceiver();
    await using app = await startApp();
    for (const name of ["a", "b", "c"]) {
      await app.live.create("/v1/endpoints", { url: receiver.url(name), max_concurrency: 100 });
    }
    const events = Array.from({ length: 500 }, (_, n) => ({ type: "many", data: { n } }));
    const { status, json } = await app.live.post("/v1/events/batch", { events });
    expect(status).toBe(202);
    const counts = (json["data"] as { delivery_count: number }[]).map((event) => event.delivery_count);
    expect(new Set(counts)).toEqual(new Set([3]));
    for (const name of ["a", "b", "c"]) {
      const arrived = await receiver.arrived(name, 500);
      const numbers = arrived.map(
        ({ body }) => (JSON.parse(body.toString()) as { data: { n: number } }).data.n,
      );
      expect(numbers.toSorted((x, y) => x - y)).toEqual(events.map(({ data }) => data.n));
    }
  });
});

describe("filters", () => {
  let api: Api;

  beforeAll(async () => {
    api = await startApi();
  });

  afterAll(() => api[Symbol.asyncDispose]());

  test("choose among those that subscribe, and the timeline says who was left out", async () => {
    const make = (amount: number) =>
      api.endpoint({ url: api.receiver.url("filters"), eventTypes: ["f.*"], filter: { data: { amount } } });
    const [yes, no] = [await make(1), await make(2)];
    const { id, delivery_count } = await api.publish("f.a", { data: { amount: 1 } });
    expect(delivery_count).toBe(1);
    expect((await api.settled(id)).map(({ endpoint_id }) => endpoint_id)).toEqual([yes.publicId]);
    const { data } = await api.get<Page<{ kind: string; endpoint_id?: string }>>(`/v1/events/${id}/timeline`);
    expect(data.filter(({ kind }) => kind === "filtered").map(({ endpoint_id }) => endpoint_id)).toEqual([
      no.publicId,
    ]);
  });

  test("hold as they are when an event comes, changed or taken away", async () => {
    const endpoint = await api.endpoint({
      url: api.receiver.url("changed"),
      eventTypes: ["g"],
      filter: { type: "no" },
    });
    const count = async () => (await api.publish("g")).delivery_count;
    expect(await count()).toBe(0);
    await api.change(endpoint, { filter: { type: "g" } });
    expect(await count()).toBe(1);
    await api.change(endpoint, { filter: null });
    expect(await count()).toBe(1);
  });
});

test("an event that is too much for a filter does not match it, and one line of the log says so", async () => {
  await using app = await startApp();
  const clauses = Array.from({ length: 120 }, (_, at) => ({ $neq: at + 5 }));
  const filter = { data: { x: { $and: clauses } } };
  const url = "http://127.0.0.1:9/";
  const first = await app.live.create("/v1/endpoints", { url, filter });
  await app.live.create("/v1/endpoints", { url, filter });
  const data = { x: Array.from({ length: 400_000 }, () => 1) };
  const { json } = await app.live.post("/v1/events", { type: "huge", data });
  expect(json["delivery_count"]).toBe(0);
  await app.stop();
  const lines = app
    .log()
    .split("\n")
    .filter((line) => line.includes("filter exhausted"));
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    expect.objectContaining({ level: "warn", event_type: "huge", endpoint_id: first["id"], endpoints: 2 }),
  ]);
});

test("where very many filters are too much together, the heavy ones of the rest do not match, and the others do", async () => {
  await using app = await startApp();
  const url = "http://127.0.0.1:9/";
  const heavy = { data: { x: { $neq: 5 } } };
  for (let n = 0; n < 20; n++) await app.live.create("/v1/endpoints", { url, filter: heavy });
  await app.live.create("/v1/endpoints", { url, filter: { data: { n: 1 } } });
  const length = 400_000;
  const { json } = await app.live.post("/v1/events", {
    type: "huge",
    data: { n: 1, x: Array(length).fill(1) },
  });
  const judged = Math.ceil(limit("eventFilterStepsMax") / length);
  expect(json["delivery_count"]).toBe(judged + 1);
  await app.stop();
  expect(app.log()).toContain(`"event_type":"huge"`);
  expect(app.log()).toContain(`"endpoints":${20 - judged}`);
});

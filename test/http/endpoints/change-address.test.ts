/**
 * What is decided before a write holds only where it still does inside the write: endpoints that move, and
 * replays that meet.
 */
import { describe, expect, test } from "bun:test";
import { limit } from "../../../src/core/limits.ts";
import { type Endpoint, HEALTHY } from "../../../src/core/model.ts";
import type { DeliveryAnswer } from "../../../src/http/deliveries/shape.ts";
import { startApp } from "../../kit/app.ts";
import { apiForFile, type Page } from "../log-kit.ts";

const api = apiForFile();

const answers =
  (status: number, headers: Record<string, string> = {}) =>
  () =>
    new Response(null, { status, headers });
const idOf = ({ id }: { id: number }) => api.data.ids.encode("ep", id);
/** Without a word to the disk. */
async function until(holds: () => boolean): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`it did not come about: ${holds.toString()}`);
    await Bun.sleep(1);
  }
}
const patch = (id: string, body: object) => api.call("PATCH", `/v1/endpoints/${id}`, body);

test("a 410 of the address before disables nothing, and its delivery goes on to the new one", async () => {
  const gate = Promise.withResolvers<void>();
  const before = api.receiver.at("before", async () => {
    await gate.promise;
    return new Response(null, { status: 410 });
  });
  const made = await api.endpoint({ url: before, eventTypes: ["m.gone"], retry: { schedule: [1] } });
  const event = await api.publish("m.gone");
  await api.receiver.arrived("before", 1);
  expect((await patch(idOf(made), { url: api.receiver.at("after", answers(200)) })).status).toBe(200);
  gate.resolve();
  await api.settled(event.id, ["delivered"]);
  expect(api.data.endpoints.get(made.id)?.status).toBe("active");
});

test("a break that the address before asked for ends with the move", async () => {
  const busy = api.receiver.at("busy", answers(429, { "retry-after": "86400" }));
  const made = await api.endpoint({ url: busy, eventTypes: ["m.slow"] });
  await api.publish("m.slow");
  await api.until(() => Promise.resolve(api.services.actors.isLeftAlone(made.id)));
  await patch(idOf(made), { url: api.receiver.at("quick", answers(200)) });
  const event = await api.publish("m.slow");
  await api.settled(event.id, ["delivered"]);
  expect(api.data.health.get(made.id).slowUntil).toBe(0);
});

test("resume ends a break, also of an endpoint that was not paused", async () => {
  let status = 429;
  const url = api.receiver.at("break", () => {
    const headers = { "retry-after": "86400" };
    return new Response(null, { status, headers: status === 429 ? headers : {} });
  });
  const made = await api.endpoint({ url, eventTypes: ["m.break"] });
  await api.publish("m.break");
  await api.until(() => Promise.resolve(api.services.actors.isLeftAlone(made.id)));
  status = 200;
  const waiting = await api.publish("m.break");
  expect((await api.call("POST", `/v1/endpoints/${idOf(made)}/resume`)).status).toBe(200);
  await api.settled(waiting.id, ["delivered"]);
});

/** The delivery of an event, once it waits for its endpoint, which is left alone. */
function held(event: { id: string }): Promise<DeliveryAnswer> {
  return api.until(async () => {
    const { data } = await api.get<Page<DeliveryAnswer>>(`/v1/deliveries?event_id=${event.id}`);
    return data.find(({ waiting_for: why }) => why === "backoff");
  });
}

/** Each way in which somebody says that an endpoint may be tried again. */
const ENDINGS: Record<string, (endpoint: Endpoint) => Promise<unknown>> = {
  "a move": (made) => patch(idOf(made), { url: api.receiver.at("elsewhere", answers(200)) }),
  "/resume": (made) => api.call("POST", `/v1/endpoints/${idOf(made)}/resume`),
  "/resume after a pause": async (made) => {
    await api.call("POST", `/v1/endpoints/${idOf(made)}/pause`);
    await api.call("POST", `/v1/endpoints/${idOf(made)}/resume`);
  },
  // In one transaction, so that the actor ends nothing in between.
  "/enable": async (made) => {
    const { endpoints, health, store } = api.data;
    const written = store.write(() => {
      endpoints.update(made.id, () => ({ status: "disabled" }));
      health.set(made.id, HEALTHY);
      return endpoints.update(made.id, () => ({ status: "active" }));
    });
    const enabled = await written;
    if (!enabled) throw new Error("the endpoint is gone");
    endpoints.announce({ ...enabled, status: "disabled" });
    endpoints.announce(enabled);
  },
};

describe.each(["none", "fifo"] as const)("a break of a day, where the order is %s", (ordering) => {
  const endsWith = async (ending: string) => {
    let status = 429;
    const name = `day-${ordering}-${ending.replaceAll(/\W/g, "")}`;
    const url = api.receiver.at(name, () => {
      const headers = { "retry-after": "86400" };
      return new Response(null, { status, ...(status === 429 && { headers }) });
    });
    const type = `m.${name}`;
    const made = await api.endpoint({ url, eventTypes: [type], ordering, retry: { schedule: [1] } });
    const tried = await api.publish(type);
    const first = await held(tried);
    const waiting = await api.publish(type);
    const second = await held(waiting);
    const inHours = (text: string | null | undefined) => (Date.parse(text ?? "") - Date.now()) / 3_600_000;
    for (const one of [first, second]) expect(inHours(one.next_attempt_at)).toBeCloseTo(24, 1);
    const attempts = `/v1/deliveries/${first.id}/attempts`;
    const [made429] = (await api.get<Page<DeliveryAnswer>>(attempts)).data;
    expect(made429?.next_attempt_at).toBe(first.next_attempt_at);
    status = 200;
    await ENDINGS[ending]?.(made);
    const [now] = await api.settled(tried.id, ["retrying", "delivered"]);
    if (now?.status === "retrying") expect(inHours(now.next_attempt_at)).toBeLessThan(0.01);
    await api.settled(tried.id, ["delivered"]);
    await api.settled(waiting.id, ["delivered"]);
  };

  // Side by side, as each waits a second for its retry.
  test(`ends for what was tried before, too, with ${Object.keys(ENDINGS).join(", ")}`, async () => {
    await Promise.all(Object.keys(ENDINGS).map(endsWith));
  });
});

test("a break of a day outlives a restart, and ends after it", async () => {
  await using app = await startApp();
  let status = 429;
  using receiver = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () =>
      new Response(null, { status, ...(status === 429 && { headers: { "retry-after": "86400" } }) }),
  });
  const fields = { url: receiver.url.href, ordering: "fifo", retry: { schedule: [1] } };
  const { id } = await app.live.create("/v1/endpoints", fields);
  await app.live.post("/v1/events", { type: "a.b", data: {} });
  const list = async (states: string) =>
    (await app.live.get(`/v1/deliveries?status=${states}`)).json["data"] as DeliveryAnswer[];
  const [before] = await app.until(async () => {
    const retrying = await list("retrying");
    return retrying[0]?.waiting_for === "backoff" && retrying;
  });
  await app.stop();
  await app.start();
  const [after] = await list("retrying");
  expect(after).toEqual(before as DeliveryAnswer);
  expect(after?.waiting_for).toBe("backoff");
  status = 200;
  expect((await app.live.post(`/v1/endpoints/${id}/resume`)).status).toBe(200);
  await app.until(async () => (await list("delivered")).length === 1);
});

test("a retry-after of an answer that slows nothing down holds its own delivery alone", async () => {
  let asked = "7200";
  const url = api.receiver.at(
    "own",
    () => new Response(null, { status: 500, headers: { "retry-after": asked } }),
  );
  await api.endpoint({ url, eventTypes: ["m.own"], retry: { schedule: [3600] } });
  const hoursOf = async (event: { id: string }) => {
    const [delivery] = await api.settled(event.id, ["retrying"]);
    return (Date.parse(delivery?.next_attempt_at ?? "") - Date.now()) / 3_600_000;
  };
  const late = await api.publish("m.own");
  expect(await hoursOf(late)).toBeCloseTo(2, 1);
  asked = "1";
  expect(await hoursOf(await api.publish("m.own"))).toBeCloseTo(1, 1);
  expect(await hoursOf(late)).toBeCloseTo(2, 1);
});

test("an attempt by hand that is answered with a break holds the endpoint, and no delivery after resume", async () => {
  let [status, headers]: [number, Record<string, string>] = [500, {}];
  const url = api.receiver.at("hand", () => new Response(null, { status, headers }));
  const made = await api.endpoint({ url, eventTypes: ["m.hand"], retry: { schedule: [2] } });
  const event = await api.publish("m.hand");
  const [delivery] = await api.settled(event.id, ["retrying"]);
  [status, headers] = [503, { "retry-after": "86400" }];
  expect((await api.call("POST", `/v1/deliveries/${delivery?.id}/retry`)).status).toBe(202);
  const shown = await held(event);
  expect(shown.status).toBe("retrying");
  expect(Date.parse(shown.next_attempt_at ?? "") - Date.now()).toBeGreaterThan(23 * 3_600_000);
  [status, headers] = [200, {}];
  expect((await api.call("POST", `/v1/endpoints/${idOf(made)}/resume`)).status).toBe(200);
  await api.settled(event.id, ["delivered"]);
});

test("a break that the last attempt of an erased event was answered with holds after a restart, too", async () => {
  const gate = Promise.withResolvers<void>();
  const url = api.receiver.at("erased", async () => {
    await gate.promise;
    return new Response(null, { status: 429, headers: { "retry-after": "86400" } });
  });
  const made = await api.endpoint({ url, eventTypes: ["m.erased"] });
  const { id } = await api.publish("m.erased");
  await api.receiver.arrived("erased", 1);
  expect((await api.call("DELETE", `/v1/events/${id}`)).status).toBeLessThan(300);
  expect((await api.call("GET", `/v1/events/${id}`)).status).toBe(404);
  gate.resolve();
  await api.until(() => Promise.resolve(api.services.actors.isLeftAlone(made.id)));
  await api.until(async () => api.data.health.get(made.id).slowUntil > 0);
});

describe("a 429 that comes while /resume is on its way", () => {
  /** Two attempts that end when the test says so; then nothing is on disk before it says so. */
  async function hanging(name: string) {
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    let [sent, isWell] = [0, false];
    const url = api.receiver.at(name, async () => {
      if (isWell) return new Response(null, { status: 200 });
      await gates[sent++]?.promise;
      return new Response(null, { status: 429, headers: { "retry-after": "86400" } });
    });
    const type = `m.${name}`;
    const made = await api.endpoint({ url, eventTypes: [type], retry: { schedule: [1] } });
    const events = [await api.publish(type), await api.publish(type)];
    await api.receiver.arrived(name, 2);
    return { made, events, gates, heal: () => void (isWell = true) };
  }

  const requireEnded = async (made: Endpoint, events: readonly { id: string }[]) => {
    await api.until(async () => api.data.health.get(made.id).slowUntil === 0);
    for (const event of events) await api.settled(event.id, ["delivered"]);
    expect(api.data.health.get(made.id)).toEqual(HEALTHY);
  };

  test("before it is written: is over with it", async () => {
    const { made, events, gates, heal } = await hanging("between");
    expect((await api.call("POST", `/v1/endpoints/${idOf(made)}/pause`)).status).toBe(200);
    const disk = Promise.withResolvers<void>();
    api.diskWaitsFor = disk.promise;
    const { commits } = api.data.store;
    const earlier = api.data.store.write(() => {});
    await until(() => api.data.store.commits > commits);
    const resumed = api.call("POST", `/v1/endpoints/${idOf(made)}/resume`);
    await until(() => api.data.store.waiting > 0);
    for (const gate of gates) gate.resolve();
    await until(() => api.services.actors.isLeftAlone(made.id));
    heal();
    disk.resolve();
    await earlier;
    expect((await resumed).status).toBe(200);
    await requireEnded(made, events);
  });

  test("while the disk writes it: is over with its answer, on disk too", async () => {
    const { made, events, gates, heal } = await hanging("meanwhile");
    gates[0].resolve();
    await api.until(async () => api.data.health.get(made.id).slowUntil > 0);
    const disk = Promise.withResolvers<void>();
    api.diskWaitsFor = disk.promise;
    const resumed = api.call("POST", `/v1/endpoints/${idOf(made)}/resume`);
    await until(() => api.data.health.get(made.id).slowUntil === 0);
    const { waiting } = api.data.store;
    gates[1].resolve();
    await until(() => api.data.store.waiting > waiting);
    heal();
    disk.resolve();
    expect((await resumed).status).toBe(200);
    await requireEnded(made, events);
  });
});

test("two replays of what is missing at once make one delivery each", async () => {
  const events = await Promise.all(Array.from({ length: 20 }, () => api.publish("m.missing")));
  const url = api.receiver.at("late", answers(200));
  const made = await api.endpoint({ url, eventTypes: ["m.missing"] });
  const replay = () =>
    api.call("POST", "/v1/replays", { missing: true, endpoint_id: idOf(made), event_types: ["m.missing"] });
  expect((await Promise.all([replay(), replay()])).map(({ status }) => status)).toEqual([202, 202]);
  await api.until(async () => {
    const { data } = await api.get<Page<unknown>>("/v1/replays");
    return data.every((one) => (one as { status: string }).status === "completed");
  });
  const path = `/v1/deliveries?endpoint_id=${idOf(made)}&limit=250`;
  const { data } = await api.get<Page<DeliveryAnswer>>(path);
  expect(new Set(data.map(({ event_id: id }) => id)).size).toBe(events.length);
  expect(data).toHaveLength(events.length);
});

describe("a replay of one event asks inside its write, too", () => {
  /** An endpoint with a delivery, changed on disk; nobody has heard of that yet. */
  async function changing(type: string, change: Partial<Endpoint>) {
    const url = api.receiver.at(type, answers(200));
    const made = await api.endpoint({ url, eventTypes: [type] });
    const event = await api.publish(type, { consumer_id: "anna" });
    const [delivery] = await api.settled(event.id, ["delivered"]);
    const changed = await api.data.store.write(() => api.data.endpoints.update(made.id, () => change));
    const remember = () => changed && api.data.endpoints.announce(changed);
    return { made, event, delivery, remember };
  }

  const OTHERWISE: [string, Partial<Endpoint>, number, number][] = [
    ["disabled", { status: "disabled", disabledReason: "failing" }, 409, 409],
    ["deleted", { status: "deleted" }, 422, 202],
    ["another consumer's", { consumerId: "bert" }, 422, 202],
  ];

  test.each(OTHERWISE)("whether its endpoint is %s by now", async (name, change, named, former) => {
    const { made, event, delivery, remember } = await changing(`m.by-now-${name.length}`, change);
    const replay = (body: object) => api.call("POST", `/v1/events/${event.id}/replay`, body);
    expect((await replay({ endpoint_ids: [idOf(made)] })).status).toBe(named);
    expect((await replay({ endpoint_ids: [idOf(made)], new_message_id: true })).status).toBe(named);
    const unnamed = await replay({});
    expect(unnamed.status).toBe(former);
    if (former === 202) expect(unnamed.json["data"]).toEqual([]);
    remember();
    const { data } = await api.get<Page<DeliveryAnswer>>(`/v1/deliveries?event_id=${event.id}`);
    expect(data).toEqual([delivery as DeliveryAnswer]);
  });

  test("for every slice of a wide one, which is accepted as it was asked for", async () => {
    const width = 2 * limit("eventRowsMax") + 10;
    const url = api.receiver.url("slices");
    const made = await Promise.all(
      Array.from({ length: width }, () => api.endpoint({ url, eventTypes: ["m.slices"], status: "paused" })),
    );
    const event = await api.publish("m.slices");
    const listed = `/v1/deliveries?event_id=${event.id}&format=ndjson`;
    await api.until(async () => (await api.call("GET", listed)).text.split("\n").length > width);
    const [second, last] = [made.at(limit("eventRowsMax")), made.at(-1)];
    if (!second || !last) throw new Error("there are too few");
    const disk = Promise.withResolvers<void>();
    api.diskWaitsFor = disk.promise;
    const { commits } = api.data.store;
    const replayed = api.call("POST", `/v1/events/${event.id}/replay`);
    await until(() => api.data.store.commits > commits);
    const changes = [api.change(second, { status: "deleted" }), api.change(last, { status: "disabled" })];
    disk.resolve();
    await Promise.all(changes);
    expect(((await replayed).json["data"] as unknown[]).length).toBe(width);
    await api.until(async () => api.data.replays.countRunning() === 0);
    const statusOf = ({ id }: Endpoint) =>
      api.data.deliveries.findOf(api.data.ids.decode("evt", event.id) ?? 0, id)?.status;
    await api.until(async () => statusOf(last) === "dead");
    expect([statusOf(second), statusOf(last)]).toEqual(["cancelled", "dead"]);
    const open = made.filter((one) => one !== second && one !== last).map(statusOf);
    expect(new Set(open)).toEqual(new Set(["pending"]));
  });
});

test("an event that was planned for an endpoint is not written for the consumer that it was given to since", async () => {
  const made = await api.endpoint({
    url: api.receiver.at("given", answers(200)),
    eventTypes: ["m.given"],
    consumerId: "one",
  });
  const prepared = await api.services.pipeline.prepare(made.projectId, [
    {
      type: "m.given",
      timestamp: 0,
      data: "{}",
      consumerId: "one",
      externalId: null,
      sourceId: null,
      isTest: false,
      hops: 0,
      trace: null,
    },
  ]);
  const changed = api.data.store.write(() =>
    api.data.endpoints.update(made.id, () => ({ consumerId: "two" })),
  );
  const accepted = prepared.commitAndDispatch((run) => api.data.store.write(run));
  const given = await changed;
  if (given) api.data.endpoints.announce(given);
  expect((await accepted)[0]?.event.deliveryCount).toBe(0);
});

test("a delivery that is cancelled while its last attempt runs is no death, and has no next attempt", async () => {
  const gate = Promise.withResolvers<void>();
  const url = api.receiver.at("cut", async () => {
    await gate.promise;
    return new Response(null, { status: 500 });
  });
  const made = await api.endpoint({ url, eventTypes: ["m.cut"], retry: { schedule: [60] } });
  const event = await api.publish("m.cut");
  await api.receiver.arrived("cut", 1);
  const [delivery] = (await api.get<Page<DeliveryAnswer>>(`/v1/deliveries?event_id=${event.id}`)).data;
  expect((await api.call("POST", `/v1/deliveries/${delivery?.id}/cancel`)).status).toBeLessThan(300);
  gate.resolve();
  const attempts = () =>
    api.get<Page<{ next_attempt_at: string | null }>>(`/v1/deliveries/${delivery?.id}/attempts`);
  await api.until(async () => (await attempts()).data.length === 1);
  expect((await attempts()).data[0]?.next_attempt_at).toBeNull();
  const stats = await api.get<{ data: { dead: number }[] }>(`/v1/endpoints/${idOf(made)}/stats?by=hour`);
  expect(stats.data.reduce((sum, { dead }) => sum + dead, 0)).toBe(0);
});

/**
 * What is decided before a write holds only where it still does inside the write: endpoints that move, and
 * replays that meet.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { DeliveryAnswer } from "../../../src/http/deliveries/shape.ts";
import { type Api, type Page, startApi } from "../log-kit.ts";

let api: Api;

beforeAll(async () => {
  api = await startApi();
});

afterAll(() => api[Symbol.asyncDispose]());

const answers =
  (status: number, headers: Record<string, string> = {}) =>
  () =>
    new Response(null, { status, headers });
const idOf = ({ id }: { id: number }) => api.data.ids.encode("ep", id);
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

test("an event that was planned for an endpoint is not written for the consumer that it was given to since", async () => {
  const made = await api.endpoint({
    url: api.receiver.at("given", answers(200)),
    eventTypes: ["m.given"],
    consumerId: "one",
  });
  const plan = await api.services.pipeline.plan(made.projectId, [
    {
      type: "m.given",
      timestamp: 0,
      data: "{}",
      consumerId: "one",
      externalId: null,
      sourceId: null,
      isTest: false,
      hops: 0,
    },
  ]);
  const changed = api.data.store.write(() =>
    api.data.endpoints.update(made.id, () => ({ consumerId: "two" })),
  );
  const accepted = api.data.store.write(() => plan.write());
  const given = await changed;
  if (given) api.data.endpoints.remember(given);
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

/** Replay of one event; of many: test/http/replays/replays.test.ts. */
import { describe, expect, test } from "bun:test";
import { LIMITS } from "../../../src/core/limits.ts";
import type { DeliveryAnswer } from "../../../src/http/deliveries/shape.ts";
import { apiForFile, expectRefusal, type Page, type Reply, nobody } from "../log-kit.ts";

const api = apiForFile();

const answers = (status: number) => () => new Response(null, { status });
const rows = (reply: Reply) => (reply.json as unknown as Page<DeliveryAnswer>).data;
const replayEvent = (id: string, body?: unknown, token?: string) =>
  api.call("POST", `/v1/events/${id}/replay`, body, token);

describe("a disabled endpoint", () => {
  test("takes no replay, and what it was delivered stays delivered", async () => {
    const endpoint = await api.endpoint({ url: api.receiver.at("off", answers(200)), eventTypes: ["e.off"] });
    const event = await api.publish("e.off");
    await api.settled(event.id, ["delivered"]);
    api.receiver.at("off", answers(410));
    const last = await api.publish("e.off");
    await api.settled(last.id, ["dead"]);
    expectRefusal(await replayEvent(event.id), 409, "conflict");
    expectRefusal(await replayEvent(event.id, { endpoint_ids: [endpoint.publicId] }), 409, "conflict");
    const filter = { status: ["delivered", "dead"], endpoint_id: endpoint.publicId };
    const dry = await api.call("POST", "/v1/replays", { ...filter, dry_run: true });
    expect(dry.json).toEqual({ matched: 0 });
    const [delivered] = await api.settled(event.id, ["delivered"]);
    expect(delivered).toMatchObject({ status: "delivered", attempt_count: 1 });
  });
});

describe("a replay of one event", () => {
  test("opens its deliveries afresh under the same webhook-id", async () => {
    const endpoint = await api.endpoint({
      url: api.receiver.at("same", answers(500)),
      eventTypes: ["e.same"],
    });
    const event = await api.publish("e.same");
    const [dead] = await api.settled(event.id);
    api.receiver.at("same", answers(200));
    const reply = await replayEvent(event.id);
    expect([reply.status, rows(reply).map((row) => row.id)]).toEqual([202, [String(dead?.id)]]);
    expect(rows(reply)[0]).toMatchObject({ status: "pending", dead_reason: null, completed_at: null });
    const [delivered] = await api.settled(event.id, ["delivered"]);
    expect([delivered?.attempt_count, delivered?.endpoint_id]).toEqual([2, endpoint.publicId]);
    const [first, second] = await api.receiver.arrived("same", 2);
    expect(second?.headers["webhook-id"]).toBe(String(first?.headers["webhook-id"]));
    expect((await api.get<{ delivery_count: number }>(`/v1/events/${event.id}`)).delivery_count).toBe(1);
  });

  test("as a new message has a webhook-id of its own", async () => {
    await api.endpoint({ url: api.receiver.url("fresh"), eventTypes: ["e.fresh"] });
    const event = await api.publish("e.fresh");
    const [first] = await api.settled(event.id);
    const [fresh] = rows(await replayEvent(event.id, { new_message_id: true }));
    expect(fresh?.id).not.toBe(String(first?.id));
    const requests = await api.receiver.arrived("fresh", 2);
    expect(requests.map((request) => request.headers["webhook-id"])).toEqual(
      [first?.id, fresh?.id].map(String),
    );
    expect((await api.get<{ delivery_count: number }>(`/v1/events/${event.id}`)).delivery_count).toBe(2);
  });

  test("adds no more deliveries than an event may get, and sends those again that it has", async () => {
    const { value } = LIMITS.replayedOfEventMax;
    await api.endpoint({ url: api.receiver.url("bounded"), eventTypes: ["e.bounded"] });
    const event = await api.publish("e.bounded");
    await api.settled(event.id);
    // What came with it has the keys of its first milliseconds.
    await Bun.sleep(30);
    try {
      (LIMITS.replayedOfEventMax as { value: number }).value = 2;
      const all = await Promise.all([1, 2, 3].map(() => replayEvent(event.id, { new_message_id: true })));
      expect(all.map(({ status }) => status).filter((status) => status === 202)).toHaveLength(2);
      expect(all.map(({ status }) => status)).toContain(409);
      const late = await api.endpoint({ url: api.receiver.url("bounded"), eventTypes: ["e.late"] });
      expectRefusal(await replayEvent(event.id, { endpoint_ids: [late.publicId] }), 409, "conflict");
      expect(rows(await replayEvent(event.id))).toHaveLength(1);
    } finally {
      (LIMITS.replayedOfEventMax as { value: number }).value = value;
    }
    expect((await api.get<{ delivery_count: number }>(`/v1/events/${event.id}`)).delivery_count).toBe(3);
  });

  test("goes to the endpoints that are named, also such as were added later", async () => {
    await api.endpoint({ url: api.receiver.url("early"), eventTypes: ["e.named"] });
    const event = await api.publish("e.named");
    await api.settled(event.id);
    const late = await api.endpoint({ url: api.receiver.url("late"), eventTypes: ["e.named"] });
    const reply = await replayEvent(event.id, { endpoint_ids: [late.publicId] });
    expect(rows(reply).map((row) => row.endpoint_id)).toEqual([late.publicId]);
    await api.receiver.arrived("late");
    expect(rows(await replayEvent(event.id))).toHaveLength(2);
  });

  test("goes once to an endpoint that is named in two spellings", async () => {
    const event = await api.publish("e.nobody");
    const { publicId } = await api.endpoint({ url: api.receiver.url("twice"), eventTypes: ["e.twice"] });
    const spelled = publicId.replace(/_.*/, (key) => key.toLowerCase());
    for (const more of [{}, { new_message_id: true }]) {
      const reply = await replayEvent(event.id, { endpoint_ids: [publicId, spelled], ...more });
      expect([reply.status, rows(reply).length]).toEqual([202, 1]);
    }
  });

  test("leaves deleted endpoints out, and refuses them by name", async () => {
    const kept = await api.endpoint({ url: api.receiver.url("kept"), eventTypes: ["e.deleted"] });
    const gone = await api.endpoint({ url: api.receiver.url("gone"), eventTypes: ["e.deleted"] });
    const foreign = await api.endpoint({ url: api.receiver.url("kept") }, "other");
    const event = await api.publish("e.deleted");
    await api.settled(event.id);
    await api.change(gone, { status: "deleted" });
    expect(rows(await replayEvent(event.id)).map((row) => row.endpoint_id)).toEqual([kept.publicId]);
    for (const id of [gone.publicId, foreign.publicId, nobody("ep"), "ep_1"]) {
      const reply = await replayEvent(event.id, { endpoint_ids: [kept.publicId, id] });
      expectRefusal(reply, 422, "invalid_request", ["/endpoint_ids/1"]);
    }
  });

  test("never takes an event to another consumer", async () => {
    const berts = await api.endpoint({
      url: api.receiver.url("bert"),
      consumerId: "bert",
      eventTypes: ["e.b"],
    });
    const event = await api.publish("e.annas", { consumer_id: "anna" });
    const reply = await replayEvent(event.id, { endpoint_ids: [berts.publicId] });
    expectRefusal(reply, 422, "invalid_request", ["/endpoint_ids/0"]);
    expect(rows(await replayEvent(event.id))).toEqual([]);
    const moved = await api.endpoint({ url: api.receiver.url("moved"), eventTypes: ["e.moved"] });
    const before = await api.publish("e.moved", { consumer_id: "anna" });
    await api.settled(before.id);
    await api.change(moved, { consumerId: "bert" });
    expect(rows(await replayEvent(before.id))).toEqual([]);
  });

  test("answers all deliveries of an event that went very wide", async () => {
    const endpoints = 1010;
    for (let n = 0; n < endpoints; n++) {
      await api.endpoint({ url: api.receiver.url("wide"), eventTypes: ["e.wide"], status: "paused" });
    }
    const event = await api.publish("e.wide");
    expect(event.delivery_count).toBe(endpoints);
    await api.until(async () => {
      const { text } = await api.call("GET", `/v1/deliveries?event_id=${event.id}&format=ndjson`);
      return text.split("\n").length > endpoints;
    });
    const replayed = rows(await replayEvent(event.id));
    expect(new Set(replayed.map((row) => row.id)).size).toBe(endpoints);
  });

  test.each([
    [{ endpoint_ids: [] }, "/endpoint_ids"],
    [{ endpoint_ids: [1] }, "/endpoint_ids/0"],
    [{ endpoint_ids: ["a", "a"] }, "/endpoint_ids"],
    [{ endpoint_ids: Array.from({ length: 101 }, (_, n) => `ep_${n}`) }, "/endpoint_ids"],
    [{ new_message_id: 1 }, "/new_message_id"],
    [{ endpoints: [] }, "/endpoints"],
  ])("is refused with %j", async (body, pointer) => {
    const { id } = await api.publish("e.refused");
    expectRefusal(await replayEvent(id, body), 422, "invalid_request", [pointer]);
  });

  test("is refused to readers, and to a portal token for what is not its own", async () => {
    const own = await api.endpoint({
      url: api.receiver.url("own"),
      eventTypes: ["e.portal"],
      consumerId: "anna",
    });
    const shared = await api.endpoint({ url: api.receiver.url("shared"), eventTypes: ["e.portal"] });
    const event = await api.publish("e.portal", { consumer_id: "anna" });
    await api.settled(event.id);
    for (const token of ["read", "publish", "anna"]) {
      expectRefusal(await replayEvent(event.id, {}, token), 403, "forbidden");
    }
    for (const token of ["other", "bertManages"]) {
      expectRefusal(await replayEvent(event.id, {}, token), 404, "not_found");
    }
    const reply = await replayEvent(event.id, {}, "annaManages");
    expect(rows(reply).map((row) => row.endpoint_id)).toEqual([own.publicId]);
    const named = await replayEvent(event.id, { endpoint_ids: [shared.publicId] }, "annaManages");
    expectRefusal(named, 422, "invalid_request", ["/endpoint_ids/0"]);
  });
});

/** Publishing, single and in batches. */
import { describe, expect, test } from "bun:test";
import type { PublishedAnswer } from "../../../src/http/events/shape.ts";
import { apiForFile, type EventRow, expectRefusal, type Page, startApi } from "../log-kit.ts";

const MIB = 1024 * 1024;

const api = apiForFile();

const post = (body: unknown, token?: string, headers?: Record<string, string>) =>
  api.call("POST", "/v1/events", body, token, headers);
const postBatch = (body: unknown, token?: string) => api.call("POST", "/v1/events/batch", body, token);
const countOf = async (type: string) =>
  (await api.get<Page<EventRow>>(`/v1/events?type=${type}`)).data.length;
const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

describe("one event", () => {
  test("is answered with what was accepted, and stands in the log at once", async () => {
    const before = Date.now();
    const reply = await post({ type: "order.paid", data: { n: 1 }, consumer_id: "anna", external_id: "o-1" });
    const event = reply.json as unknown as PublishedAnswer;
    expect(reply.status).toBe(202);
    expect(Object.keys(event).join()).toBe(
      "id,type,timestamp,consumer_id,external_id,duplicate,delivery_count,created_at",
    );
    expect(event).toMatchObject({
      type: "order.paid",
      consumer_id: "anna",
      external_id: "o-1",
      duplicate: false,
      delivery_count: 0,
    });
    expect(Date.parse(event.timestamp)).toBeGreaterThanOrEqual(before);
    expect((await api.get<EventRow>(`/v1/events/${event.id}`)).id).toBe(event.id);
  });

  test("keeps the spelling of its numbers and the order of its keys, and loses white space only", async () => {
    const text =
      '{ "type":"n.kept", "data" : { "z": 12345678901234567890, "a" : [ 1.0, "x  y\\"" ],\n"10":1e2 } }';
    const { id } = (await post(text)).json as unknown as PublishedAnswer;
    const { text: read } = await api.call("GET", `/v1/events/${id}`);
    expect(read).toContain('"data":{"z":12345678901234567890,"a":[1.0,"x  y\\""],"10":1e2},');
  });

  test("takes the last of members of one name, as JSON.parse does", async () => {
    const { id } = (await post('{"type":"n.twice","data":{"a":1},"data":{"b":2}}'))
      .json as unknown as PublishedAnswer;
    expect((await api.call("GET", `/v1/events/${id}`)).text).toContain('"data":{"b":2}');
  });

  test.each([
    ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z"],
    ["2026-01-02t03:04:05.6789z", "2026-01-02T03:04:05.678Z"],
    ["2026-01-01T00:30:00+02:00", "2025-12-31T22:30:00.000Z"],
    ["2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
  ])("takes the time %p and answers %p", async (timestamp, answered) => {
    expect((await api.publish("t.taken", { timestamp })).timestamp).toBe(answered);
  });

  test.each([
    "2026-02-30T00:00:00Z",
    "2026-01-01T24:00:00Z",
    "2026-01-01T10:00:60Z",
    "2026-01-01 00:00:00Z",
    "2026-01-01T00:00:00",
    "2026-01-01T00:00:00+24:00",
    "9999-12-31T23:59:59-01:00",
    "0000-01-01T00:00:00+01:00",
    "today",
    1767225600,
  ])("refuses the time %p", async (timestamp) => {
    expectRefusal(await post({ type: "t.refused", data: {}, timestamp }), 422, "invalid_request", [
      "/timestamp",
    ]);
  });

  test("that names an external_id again is the first one, with 200", async () => {
    const first = await api.publish("e.first", { external_id: "twice", data: { n: 1 } });
    const again = await post({ type: "e.second", data: { n: 2 }, external_id: "twice" });
    expect([again.status, again.json as unknown]).toEqual([200, { ...first, duplicate: true }]);
    expect(await countOf("e.second")).toBe(0);
    expect((await api.publish("e.second", { external_id: "twice" }, "other")).duplicate).toBe(false);
  });

  test("has one winner where a hundred copies come at once", async () => {
    const copies = Array.from({ length: 100 }, () => post({ type: "e.race", data: {}, external_id: "race" }));
    const replies = await Promise.all(copies);
    expect(new Set(replies.map((reply) => reply.json["id"])).size).toBe(1);
    expect(replies.filter((reply) => reply.status === 202)).toHaveLength(1);
  });

  test("is answered again under its Idempotency-Key, and accepted once", async () => {
    const send = () => post({ type: "i.once", data: {} }, "full", { "idempotency-key": "k-1" });
    const [first, second] = [await send(), await send()];
    expect(second.headers.get("idempotency-replayed")).toBe("true");
    expect([second.status, second.json]).toEqual([202, first.json]);
    expect(await countOf("i.once")).toBe(1);
  });
});

describe("what is refused", () => {
  test.each([
    ["no type", { data: {} }, ["/type"]],
    ["no data", { type: "x" }, ["/data"]],
    ["a type with a space", { type: "a b", data: {} }, ["/type"]],
    ["a type with an empty part", { type: "a..b", data: {} }, ["/type"]],
    ["a type of 129 characters", { type: "x".repeat(129), data: {} }, ["/type"]],
    ["data that is a list", { type: "x", data: [] }, ["/data"]],
    ["data that is null", { type: "x", data: null }, ["/data"]],
    ["an unknown field", { type: "x", data: {}, typ: 1, "a/b": 2 }, ["/typ", "/a~1b"]],
    ["an empty consumer", { type: "x", data: {}, consumer_id: "" }, ["/consumer_id"]],
    ["a consumer of 257 characters", { type: "x", data: {}, consumer_id: "x".repeat(257) }, ["/consumer_id"]],
    ["a control character", { type: "x", data: {}, external_id: "a\u0000" }, ["/external_id"]],
    ["half a surrogate pair", '{"type":"x","data":{},"external_id":"\\ud800"}', ["/external_id"]],
    ["a number as an id", { type: "x", data: {}, external_id: 5 }, ["/external_id"]],
    ["a list", [], [""]],
    ["null", "null", [""]],
    ["__proto__ as a field", '{"type":"x","data":{},"__proto__":{}}', ["/__proto__"]],
    ["several faults", { type: 1, data: 2, consumer_id: 3 }, ["/type", "/data", "/consumer_id"]],
  ])("%s", async (_, body, pointers) => {
    expectRefusal(await post(body), 422, "invalid_request", pointers);
  });

  test.each(["", "{", '{"type":"x","data":{}} x', "\ufeff{}"])("%p is not JSON", async (body) => {
    expectRefusal(await post(body), 400, "invalid_json");
  });

  test("bytes that are not UTF-8 are not JSON", async () => {
    const bytes = new Uint8Array([...Buffer.from('{"type":"x","data":{"a":"'), 0xff, ...Buffer.from('"}}')]);
    expectRefusal(await post(bytes), 400, "invalid_json");
  });

  test("65 levels, while 64 are taken; brackets in strings count for nothing", async () => {
    const withLevels = (levels: number) => `{"type":"d.deep","data":{"a":${nested(levels - 2)}}}`;
    expect((await post(withLevels(64))).status).toBe(202);
    expectRefusal(await post(withLevels(65)), 422, "invalid_request", [""]);
    expectRefusal(await post("[".repeat(MIB)), 422, "invalid_request", [""]);
    expect((await post({ type: "d.text", data: { a: nested(100) } })).status).toBe(202);
  });

  test("a body above 1 MiB, while one of 1 MiB is taken", async () => {
    const frame = '{"type":"s.large","data":{"a":""}}';
    const sized = (bytes: number) => frame.replace('""', `"${"x".repeat(bytes - frame.length)}"`);
    expect((await post(sized(MIB))).status).toBe(202);
    expectRefusal(await post(sized(MIB + 1)), 413, "payload_too_large");
  });

  test("every caller but a key with the scope full or publish", async () => {
    expect((await post({ type: "x", data: {} }, "publish")).status).toBe(202);
    for (const token of ["read", "anna", "annaManages"]) {
      expectRefusal(await post({ type: "x", data: {} }, token), 403, "forbidden");
    }
  });
});

describe("a batch", () => {
  test("is answered in its order, each with duplicate said for itself", async () => {
    await api.publish("b.old", { external_id: "b-1" });
    const events = [
      { type: "b.one", data: { n: 1 } },
      { type: "b.two", data: {}, external_id: "b-1" },
      { type: "b.three", data: {}, external_id: "b-2" },
      { type: "b.four", data: {}, external_id: "b-2" },
    ];
    const reply = await postBatch({ events });
    const { data } = reply.json as unknown as Page<PublishedAnswer>;
    expect(reply.status).toBe(202);
    expect(data.map((event) => event.type)).toEqual(["b.one", "b.old", "b.three", "b.three"]);
    expect(data.map((event) => event.duplicate)).toEqual([false, true, false, true]);
  });

  test("keeps the data of each as it is spelled", async () => {
    const reply = await postBatch(
      '{"events": [{"data":{"a": 1.0},"type":"b.s"} , {"type":"b.s","data":{ "b":[2e3] }}]}',
    );
    const { data } = reply.json as unknown as Page<PublishedAnswer>;
    const texts = await Promise.all(
      data.map(async ({ id }) => (await api.call("GET", `/v1/events/${id}`)).text),
    );
    expect(texts[0]).toContain('"data":{"a":1.0}');
    expect(texts[1]).toContain('"data":{"b":[2e3]}');
  });

  test("is accepted whole or not at all, with the place of every fault", async () => {
    const good = { type: "b.never", data: {} };
    const events = [good, { data: {} }, 7, { ...good, nope: 1 }, good];
    expectRefusal(await postBatch({ events }), 422, "invalid_request", [
      "/events/1/type",
      "/events/2",
      "/events/3/nope",
    ]);
    expect(await countOf("b.never")).toBe(0);
  });

  test.each([
    ["no events", {}, ["/events"]],
    ["an empty list", { events: [] }, ["/events"]],
    ["501 events", { events: Array.from({ length: 501 }, () => ({ type: "x", data: {} })) }, ["/events"]],
    ["an object", { events: {} }, ["/events"]],
    ["an unknown field", { events: [{ type: "x", data: {} }], all: true }, ["/all"]],
    ["a list as the body", [{ type: "x", data: {} }], [""]],
  ])("with %s is refused", async (_, body, pointers) => {
    expectRefusal(await postBatch(body), 422, "invalid_request", pointers);
  });

  test("names fifty faults at most", async () => {
    const reply = await postBatch({ events: Array.from({ length: 100 }, () => ({})) });
    expect(reply.json.errors).toHaveLength(50);
  });

  test("takes 500 events, and none that is larger than an event may be", async () => {
    const many = Array.from({ length: 500 }, (_, n) => ({ type: "b.many", data: { n } }));
    expect((await postBatch({ events: many })).status).toBe(202);
    const large = { type: "b.large", data: { a: "é".repeat(MIB / 2) } };
    const reply = await postBatch({ events: [{ type: "b.large", data: {} }, large] });
    expectRefusal(reply, 413, "payload_too_large", ["/events/1"]);
    expect(await countOf("b.large")).toBe(0);
  });

  test("costs as much of the rate limit as its events alone", async () => {
    await using limited = await startApi({ publish: 10 });
    const batchOf = (count: number) => ({
      events: Array.from({ length: count }, () => ({ type: "x", data: {} })),
    });
    const first = await limited.call("POST", "/v1/events/batch", batchOf(8));
    expect([first.status, first.headers.get("ratelimit")?.includes("r=2")]).toEqual([202, true]);
    const second = await limited.call("POST", "/v1/events/batch", batchOf(8));
    expectRefusal(second, 429, "rate_limited");
    expect(Number(second.headers.get("retry-after"))).toBeGreaterThan(0);
  });
});

/** Deliveries, their attempts, retry, cancel and export. */
import { describe, expect, test } from "bun:test";
import { LIMITS } from "../../../src/core/limits.ts";
import type { AttemptAnswer } from "../../../src/http/deliveries/attempt-shape.ts";
import type { DeliveryAnswer } from "../../../src/http/deliveries/shape.ts";
import { apiForFile, expectRefusal, type Page, nobody } from "../log-kit.ts";

const api = apiForFile();

const answers = (status: number) => () => new Response(null, { status });
const list = async (query: string, token?: string) =>
  (await api.get<Page<DeliveryAnswer>>(`/v1/deliveries?${query}`, token)).data;
const ids = (rows: { id: string }[]) => rows.map((row) => row.id);
const read = (id: string) => api.get<DeliveryAnswer>(`/v1/deliveries/${id}`);
const attemptsOf = async (id: string, token?: string) =>
  (await api.get<Page<AttemptAnswer>>(`/v1/deliveries/${id}/attempts`, token)).data;
const post = (id: string, action: string, token?: string) =>
  api.call("POST", `/v1/deliveries/${id}/${action}`, undefined, token);

/** A delivery of a new event to a new endpoint, once it has one of these states. */
async function deliver(name: string, status: number, states: string[], schedule: number[] = []) {
  const url = api.receiver.at(name, answers(status));
  const endpoint = await api.endpoint({ url, eventTypes: [name], retry: { schedule } });
  const event = await api.publish(name);
  const [delivery] = await api.settled(event.id, states);
  if (delivery === undefined) throw new Error("the event has no delivery");
  return { endpoint, event, delivery };
}

describe("a delivery", () => {
  test("that arrived says so", async () => {
    const { endpoint, event, delivery } = await deliver("fine", 200, ["delivered"]);
    expect(delivery).toEqual({
      id: delivery.id,
      event_id: event.id,
      event_type: "fine",
      endpoint_id: endpoint.publicId,
      status: "delivered",
      attempt_count: 1,
      next_attempt_at: null,
      waiting_for: null,
      dead_reason: null,
      created_at: event.created_at,
      completed_at: delivery.completed_at,
    });
    expect(Date.parse(delivery.completed_at ?? "")).toBeGreaterThanOrEqual(Date.parse(event.created_at));
    expect(await read(delivery.id)).toEqual(delivery);
  });

  test("that failed says when it is tried again, or why it is not", async () => {
    const { delivery } = await deliver("later", 500, ["retrying"], [3600]);
    const due = Date.parse(delivery.next_attempt_at ?? "") - Date.parse(delivery.created_at);
    expect(due).toBeGreaterThanOrEqual(3600 * 900);
    expect(delivery.completed_at).toBeNull();
    const { delivery: dead } = await deliver("never", 500, ["dead"]);
    expect([dead.dead_reason, dead.next_attempt_at]).toEqual(["exhausted", null]);
  });

  test("says what it waits for", async () => {
    const endpoint = await api.endpoint({ url: api.receiver.url("p"), eventTypes: ["p"], status: "paused" });
    const { id } = await api.publish("p");
    const [waiting] = await list(`event_id=${id}`);
    expect([waiting?.status, waiting?.waiting_for]).toEqual(["pending", "paused"]);
    await api.change(endpoint, { status: "active" });
    expect((await api.settled(id))[0]?.waiting_for).toBeNull();
  });

  test("that is unknown, malformed, another project's or another consumer's does not exist", async () => {
    const { delivery } = await deliver("mine", 200, ["delivered"]);
    for (const id of [nobody("msg"), "msg_1", "x", delivery.id.replace("msg", "evt")]) {
      for (const path of [`/v1/deliveries/${id}`, `/v1/deliveries/${id}/attempts`]) {
        expectRefusal(await api.call("GET", path), 404, "not_found");
      }
      for (const action of ["retry", "cancel"]) expectRefusal(await post(id, action), 404, "not_found");
    }
    for (const token of ["other", "annaManages"]) {
      for (const path of ["", "/attempts"]) {
        const reply = await api.call("GET", `/v1/deliveries/${delivery.id}${path}`, undefined, token);
        expectRefusal(reply, 404, "not_found");
      }
      for (const action of ["retry", "cancel"]) {
        expectRefusal(await post(delivery.id, action, token), 404, "not_found");
      }
    }
  });
});

describe("a list of deliveries", () => {
  test("is filtered by every parameter", async () => {
    const { endpoint, event, delivery } = await deliver("l.teapot", 418, ["dead"]);
    await api.tick();
    const other = await deliver("l.fine", 200, ["delivered"]);
    const at = event.created_at;
    for (const query of [
      `event_id=${event.id}`,
      `endpoint_id=${endpoint.publicId}`,
      "event_type=l.teapot",
      "event_type=l.*&status=dead",
      "status=dead&status_code=418",
      `status=dead&endpoint_id=${endpoint.publicId}`,
      "status_code=418",
      `event_type=l.*&since=${at}&until=${other.event.created_at}`,
      `event_type=l.teapot&endpoint_id=${endpoint.publicId}&event_id=${event.id}&status=dead&status_code=418&since=${at}`,
    ]) {
      expect([query, ids(await list(query))]).toEqual([query, [delivery.id]]);
    }
    expect(ids(await list("event_type=l.*"))).toEqual([other.delivery.id, delivery.id]);
    expect(await list("event_type=l.*&status_code=500")).toEqual([]);
  });

  test("is filtered by the consumer and the text of the event", async () => {
    await api.endpoint({ url: api.receiver.url("c"), eventTypes: ["c.text"] });
    const { id } = await api.publish("c.text", { consumer_id: "carl", data: { order: "A-1001" } });
    await api.publish("c.text", { consumer_id: "dora", data: { order: "B-2002" } });
    const [delivery] = await api.settled(id);
    expect(ids(await list("consumer_id=carl"))).toEqual([String(delivery?.id)]);
    expect(ids(await list("event_type=c.*&q=a-1001"))).toEqual([String(delivery?.id)]);
  });

  test("is walked without gaps or repeats, also within one event", async () => {
    for (let n = 0; n < 7; n++) await api.endpoint({ url: api.receiver.url("walk"), eventTypes: ["w.walk"] });
    const { id } = await api.publish("w.walk");
    const all = ids(await list(`event_id=${id}`));
    const walked: string[] = [];
    let page = await api.get<Page<DeliveryAnswer>>(`/v1/deliveries?event_id=${id}&limit=3`);
    for (;;) {
      walked.push(...ids(page.data));
      if (page.next_cursor === null) break;
      await api.publish("w.walk");
      page = await api.get(`/v1/deliveries?event_id=${id}&limit=3&cursor=${page.next_cursor}`);
    }
    expect([walked.length, walked]).toEqual([7, all]);
  });

  test("refuses what it does not know", async () => {
    for (const [query, pointer] of [
      ["status=failed", "status"],
      ["status_code=abc", "status_code"],
      ["status_code=99", "status_code"],
      ["event_type=a..b", "event_type"],
      ["endpoint_id=ep_1", "endpoint_id"],
      ["event_id=evt", "event_id"],
      ["since=1", "since"],
      ["until=1", "until"],
      ["format=csv", "format"],
      ["cursor=x", "cursor"],
      ["nope=1", "nope"],
    ]) {
      expectRefusal(await api.call("GET", `/v1/deliveries?${query}`), 422, "invalid_request", [
        String(pointer),
      ]);
    }
    expect(await list(`event_id=${nobody("evt")}`)).toEqual([]);
    expect(await list(`endpoint_id=${nobody("ep")}&status=dead`)).toEqual([]);
  });

  test("is exported as one line for each, however many", async () => {
    await api.endpoint({ url: api.receiver.url("x"), eventTypes: ["x.export"], status: "disabled" });
    const events = Array.from({ length: 300 }, () => ({ type: "x.export", data: {} }));
    await api.call("POST", "/v1/events/batch", { events });
    const path = "/v1/deliveries?status=dead&event_type=x.export&format=ndjson";
    const { status, headers, text } = await api.call("GET", path);
    expect([status, headers.get("content-type")]).toEqual([200, "application/x-ndjson"]);
    expect(headers.get("x-request-id")).toBeTruthy();
    const rows = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as DeliveryAnswer);
    expect([rows.length, new Set(ids(rows)).size]).toEqual([300, 300]);
    expect(rows.slice(0, 250)).toEqual(await list("status=dead&event_type=x.export&limit=250"));
    expect((await api.call("GET", `${path}&limit=3`)).text.split("\n")).toHaveLength(4);
    expect((await api.call("GET", `${path}&q=nothing`)).text).toBe("");
  });
});

describe("attempts", () => {
  test("show what was sent and answered, without credentials", async () => {
    const name = "attempted";
    const url = api.receiver.at(name, () => {
      const headers = [
        ["x-answer", "a"],
        ["x-answer", "b"],
        ["set-cookie", "session=1"],
      ] satisfies [string, string][];
      return new Response(Buffer.from([0x6f, 0xff, 0x6b]), { status: 503, headers });
    });
    const headers: [string, string][] = [
      ["authorization", "Bearer hidden"],
      ["x-plain", "seen"],
    ];
    const endpoint = await api.endpoint({ url, eventTypes: [name], headers });
    const { id } = await api.publish(name, { data: { big: 1 } });
    const [delivery] = await api.settled(id);
    const [attempt] = await attemptsOf(String(delivery?.id));
    const [request] = await api.receiver.arrived(name);
    expect(attempt).toMatchObject({
      delivery_id: delivery?.id,
      endpoint_id: endpoint.publicId,
      number: 1,
      trigger: "publish",
      outcome: "rejected",
      status_code: 503,
      error_code: null,
      url,
      request_body: String(request?.body),
      response_body: "o\ufffdk",
      response_truncated: false,
      next_attempt_at: null,
    });
    expect(attempt?.id).toStartWith("att_");
    expect(attempt?.request_headers).toMatchObject({ authorization: "***", "x-plain": "seen" });
    for (const header of ["webhook-id", "webhook-timestamp", "webhook-signature"]) {
      expect(attempt?.request_headers[header]).toBe(request?.headers[header]);
    }
    expect(attempt?.response_headers).toMatchObject({ "x-answer": "a, b", "set-cookie": "***" });
    expect(JSON.stringify(attempt)).not.toContain("hidden");
  });

  test("that reached nobody say why, and where they were to go", async () => {
    const url = "http://10.1.2.3/hook";
    await api.endpoint({ url, eventTypes: ["blocked"] });
    const { id } = await api.publish("blocked");
    const [delivery] = await api.settled(id);
    const [attempt] = await attemptsOf(String(delivery?.id));
    expect(attempt).toMatchObject({ outcome: "blocked", status_code: null, url, response_body: null });
    expect([delivery?.dead_reason, attempt?.response_headers]).toEqual(["blocked", {}]);
  });

  test("that could not be rendered have sent nothing", async () => {
    const url = api.receiver.url("malformed");
    const transformations = [{ op: "unwrap", path: "data.missing" }];
    await api.endpoint({ url, eventTypes: ["malformed"], transformations });
    const { id } = await api.publish("malformed");
    const [delivery] = await api.settled(id);
    const [attempt] = await attemptsOf(String(delivery?.id));
    expect(attempt).toMatchObject({
      outcome: "malformed",
      url,
      request_headers: {},
      request_body: null,
      response_body: null,
    });
    expect(delivery?.dead_reason).toBe("malformed");
  });

  test("are paged from the newest", async () => {
    const { delivery } = await deliver("paged", 500, ["dead"]);
    for (let count = 2; count <= 4; count++) {
      await post(delivery.id, "retry");
      await api.until(async () => (await read(delivery.id)).attempt_count === count);
    }
    const path = `/v1/deliveries/${delivery.id}/attempts?limit=3`;
    const first = await api.get<Page<AttemptAnswer>>(path);
    const second = await api.get<Page<AttemptAnswer>>(`${path}&cursor=${first.next_cursor}`);
    expect([...first.data, ...second.data].map((attempt) => attempt.number)).toEqual([4, 3, 2, 1]);
    expect(second.next_cursor).toBeNull();
  });
});

describe("a retry", () => {
  test("by hand is one more attempt, and a success ends it well", async () => {
    const { delivery } = await deliver("mended", 500, ["dead"]);
    api.receiver.at("mended", answers(204));
    expect((await post(delivery.id, "retry")).status).toBe(202);
    const [mended] = await api.settled(delivery.event_id, ["delivered"]);
    expect([mended?.attempt_count, mended?.dead_reason]).toEqual([2, null]);
    expect((await attemptsOf(delivery.id))[0]?.trigger).toBe("manual");
  });

  test("is refused while an attempt is under way, and answers without waiting for it", async () => {
    const answer = Promise.withResolvers<Response>();
    const { delivery } = await deliver("busy", 200, ["delivered"]);
    api.receiver.at("busy", () => answer.promise);
    expect((await post(delivery.id, "retry")).status).toBe(202);
    await api.receiver.arrived("busy", 2);
    expectRefusal(await post(delivery.id, "retry"), 409, "conflict");
    answer.resolve(new Response(null, { status: 500 }));
    await api.until(async () => (await read(delivery.id)).attempt_count === 2);
    expect((await read(delivery.id)).status).toBe("delivered");
  });

  test("goes to a paused endpoint, and not to a disabled or deleted one", async () => {
    const { endpoint, delivery } = await deliver("state", 200, ["delivered"]);
    await api.change(endpoint, { status: "paused" });
    expect((await post(delivery.id, "retry")).status).toBe(202);
    await api.until(async () => (await read(delivery.id)).attempt_count === 2);
    for (const status of ["disabled", "deleted"] as const) {
      await api.change(endpoint, { status });
      expectRefusal(await post(delivery.id, "retry"), 409, "conflict");
    }
  });
});

describe("cancelling", () => {
  test("ends an open delivery, once", async () => {
    const { delivery } = await deliver("cancelled", 500, ["retrying"], [3600]);
    const reply = await post(delivery.id, "cancel");
    expect([reply.status, reply.json as object]).toEqual([200, await read(delivery.id)]);
    expect(reply.json).toMatchObject({ status: "cancelled", next_attempt_at: null, dead_reason: null });
    expectRefusal(await post(delivery.id, "cancel"), 409, "conflict");
  });

  test("lets those go that waited behind it in order", async () => {
    const url = api.receiver.at("fifo", (_, nth) => new Response(null, { status: nth === 1 ? 500 : 200 }));
    await api.endpoint({ url, eventTypes: ["fifo"], ordering: "fifo", retry: { schedule: [3600] } });
    const head = await api.publish("fifo");
    const [failing] = await api.settled(head.id, ["retrying"]);
    const next = await api.publish("fifo");
    expect((await list(`event_id=${next.id}`))[0]?.waiting_for).toBe("order");
    await post(String(failing?.id), "cancel");
    expect((await api.settled(next.id, ["delivered"]))[0]?.attempt_count).toBe(1);
  });

  test("happens with the endpoint's end to what is under way too; only what arrives counts as delivered", async () => {
    for (const [status, end] of [
      [204, "delivered"],
      [500, "cancelled"],
    ] as const) {
      const name = `leaving-${status}`;
      const answer = Promise.withResolvers<Response>();
      const endpoint = await api.endpoint({
        url: api.receiver.at(name, () => answer.promise),
        eventTypes: [name],
      });
      const { id } = await api.publish(name);
      await api.receiver.arrived(name, 1);
      const waiting = async () => (await api.get<{ waiting: number }>("/v1/stats")).waiting;
      const before = await waiting();
      await api.change(endpoint, { status: "deleted" });
      await api.settled(id, ["cancelled"]);
      expect(await waiting()).toBe(before - 1);
      answer.resolve(new Response(null, { status }));
      const tried = async () => (await list(`event_id=${id}`)).find((one) => one.attempt_count === 1);
      expect((await api.until(tried)).status).toBe(end);
    }
  });

  test("refuses a delivery that is delivered or dead", async () => {
    for (const [name, status, state] of [
      ["done", 200, "delivered"],
      ["gone", 410, "dead"],
    ] as const) {
      const { delivery } = await deliver(name, status, [state]);
      expectRefusal(await post(delivery.id, "cancel"), 409, "conflict");
    }
  });

  test("has one winner where many ask at once", async () => {
    const { delivery } = await deliver("raced", 500, ["retrying"], [3600]);
    const replies = await Promise.all(Array.from({ length: 10 }, () => post(delivery.id, "cancel")));
    expect(replies.filter((reply) => reply.status === 200)).toHaveLength(1);
    expect(replies.filter((reply) => reply.status === 409)).toHaveLength(9);
  });
});

describe("a portal token", () => {
  test("sees and steers the deliveries of its own endpoints only", async () => {
    const own = await api.endpoint({
      url: api.receiver.at("o", answers(500)),
      eventTypes: ["v.own"],
      consumerId: "anna",
      retry: { schedule: [3600] },
    });
    await api.endpoint({ url: api.receiver.url("s"), eventTypes: ["v.own"] });
    const { id } = await api.publish("v.own", { consumer_id: "anna" });
    await api.settled(id, ["delivered", "retrying"]);
    const seen = await list("event_type=v.*", "anna");
    expect(seen.map((row) => row.endpoint_id)).toEqual([own.publicId]);
    const deliveryId = String(seen[0]?.id);
    expect(await list(`event_id=${id}`, "anna")).toEqual(seen);
    expect(await list("consumer_id=bert", "anna")).toEqual([]);
    expect(
      (await api.call("GET", "/v1/deliveries?format=ndjson", undefined, "anna")).text.split("\n"),
    ).toHaveLength(2);
    expect(await attemptsOf(deliveryId, "anna")).toHaveLength(1);
    for (const action of ["retry", "cancel"]) {
      expectRefusal(await post(deliveryId, action, "anna"), 403, "forbidden");
      expectRefusal(await post(deliveryId, action, "bertManages"), 404, "not_found");
    }
    expect((await post(deliveryId, "cancel", "annaManages")).status).toBe(200);
  });

  test("does not see what an endpoint had before it became its consumer's", async () => {
    const endpoint = await api.endpoint({ url: api.receiver.url("moved"), eventTypes: ["v.moved"] });
    const { id } = await api.publish("v.moved", { consumer_id: "bert" });
    const [delivery] = await api.settled(id);
    await api.change(endpoint, { consumerId: "anna" });
    expect(await list("event_type=v.moved", "anna")).toEqual([]);
    const reply = await api.call("GET", `/v1/deliveries/${delivery?.id}`, undefined, "anna");
    expectRefusal(reply, 404, "not_found");
  });

  test("is not told by the cursors of an event's pages how many others got it", async () => {
    await api.endpoint({ url: api.receiver.url("wide"), eventTypes: ["v.wide"], consumerId: "anna" });
    const shared = await api.endpoint({ url: api.receiver.url("wide"), eventTypes: ["v.wide"] });
    const { id } = await api.publish("v.wide", { consumer_id: "anna" });
    const settled = await api.settled(id);
    const last = Math.max(...settled.map((row) => api.data.ids.decode("msg", row.id) ?? 0));
    // More of the project's than are looked at for a page.
    api.data.store.sqlite.exec(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
       INSERT INTO delivery (id, event_id, endpoint_id, project_id, status)
       SELECT ${last} + i, event_id, ${shared.id}, project_id, 2 FROM delivery, n WHERE delivery.id = ${last}`,
    );
    const limits = LIMITS as { listScanMax: { value: number } };
    const usual = limits.listScanMax.value;
    limits.listScanMax.value = 251;
    try {
      const page = await api.get<Page<DeliveryAnswer>>(`/v1/deliveries?event_id=${id}`, "anna");
      expect([page.data.length, page.next_cursor]).toEqual([1, null]);
    } finally {
      limits.listScanMax.value = usual;
    }
  });
});

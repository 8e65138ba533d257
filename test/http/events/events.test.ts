/** The event log: lists with their filters and cursors, and single events. */
import { describe, expect, test } from "bun:test";
import { apiForFile, type EventRow, expectRefusal, type Page, nobody } from "../log-kit.ts";

const api = apiForFile();

const list = async (query: string, token?: string) =>
  (await api.get<Page<EventRow>>(`/v1/events?${query}`, token)).data;
const ids = (rows: { id: string }[]) => rows.map((row) => row.id);

/** Every page of a list, from the newest; `between` runs after each. */
async function walk(query: string, between: () => Promise<unknown> = async () => {}): Promise<string[]> {
  const seen: string[] = [];
  let cursor = "";
  for (;;) {
    const page = await api.get<Page<EventRow>>(`/v1/events?${query}${cursor}`);
    seen.push(...ids(page.data));
    if (page.next_cursor === null) return seen;
    cursor = `&cursor=${page.next_cursor}`;
    await between();
  }
}

describe("a list of events", () => {
  test("is newest first, and answers each event without its data", async () => {
    const [a, b] = [await api.publish("l.one", { consumer_id: "anna" }), await api.publish("l.two")];
    const [first, second] = await list("limit=2");
    expect(ids([first, second].flatMap((row) => row ?? []))).toEqual([b.id, a.id]);
    expect(second).toEqual({
      id: a.id,
      type: "l.one",
      timestamp: a.timestamp,
      consumer_id: "anna",
      external_id: null,
      source_id: null,
      test: false,
      delivery_count: 0,
      created_at: a.created_at,
    });
  });

  test("is walked without gaps or repeats while new events come in", async () => {
    const made: string[] = [];
    for (let n = 0; n < 25; n++) made.unshift((await api.publish("w.walked", { data: { n } })).id);
    expect(await walk("type=w.walked&limit=4", () => api.publish("w.walked"))).toEqual(made);
    expect(await walk("type=w.*&limit=250&q=%22n%22%3A24%7D")).toEqual(made.slice(0, 1));
  });

  test("goes on without a gap where an event is replayed meanwhile as a new message", async () => {
    const endpoint = await api.endpoint({ url: api.receiver.url("walked"), eventTypes: ["w.sent"] });
    const made: string[] = [];
    for (let n = 0; n < 9; n++) made.unshift((await api.publish("w.sent")).id);
    const replayOldest = () => api.call("POST", `/v1/events/${made.at(-1)}/replay`, { new_message_id: true });
    expect(await walk(`endpoint_id=${endpoint.publicId}&limit=2`, replayOldest)).toEqual(made);
  });

  test("has 50 entries unless asked for 1 to 250", async () => {
    const events = Array.from({ length: 60 }, () => ({ type: "p.page", data: {} }));
    await api.call("POST", "/v1/events/batch", { events });
    expect(await list("type=p.page")).toHaveLength(50);
    expect(await list("type=p.page&limit=250")).toHaveLength(60);
    for (const limit of ["0", "251", "-1", "1.5", "x", ""]) {
      expectRefusal(await api.call("GET", `/v1/events?limit=${limit}`), 422, "invalid_request", ["limit"]);
    }
  });

  test("of another project is another one", async () => {
    await api.publish("x.other", {}, "other");
    expect(await list("type=x.other")).toEqual([]);
    expect(await list("type=x.other", "other")).toHaveLength(1);
    expect(await list("", "other")).toHaveLength(1);
  });
});

describe("a filter of events", () => {
  test("by type takes names and wildcards", async () => {
    const paid = await api.publish("f.invoice.paid");
    const sent = await api.publish("f.invoice.sent.late");
    await api.publish("f.invoices");
    expect(ids(await list("type=f.invoice.paid"))).toEqual([paid.id]);
    expect(ids(await list("type=f.invoice.*"))).toEqual([sent.id, paid.id]);
    expect(await list("type=f.none.*")).toEqual([]);
    expect((await list("type=*&limit=3")).map((row) => row.type)).toEqual([
      "f.invoices",
      "f.invoice.sent.late",
      "f.invoice.paid",
    ]);
    for (const type of ["", "*.x", "a.**", "a*", ".a"]) {
      expectRefusal(await api.call("GET", `/v1/events?type=${type}`), 422, "invalid_request", ["type"]);
    }
  });

  test("by time takes those of acceptance, with since inclusive and until exclusive", async () => {
    const { id, created_at: at } = await api.publish("f.timed");
    const later = new Date(Date.parse(at) + 1).toISOString();
    expect(ids(await list(`type=f.timed&since=${at}`))).toEqual([id]);
    expect(ids(await list(`type=f.timed&until=${later}`))).toEqual([id]);
    expect(await list(`type=f.timed&until=${at}`)).toEqual([]);
    expect(await list(`type=f.timed&since=${later}`)).toEqual([]);
    const shifted = new Date(Date.parse(at) + 7_200_000).toISOString().replace("Z", "+02:00");
    expect(ids(await list(`type=f.timed&since=${shifted}`))).toEqual([id]);
    for (const name of ["since", "until"]) {
      expectRefusal(await api.call("GET", `/v1/events?${name}=yesterday`), 422, "invalid_request", [name]);
    }
  });

  test("by endpoint, status and match looks at its deliveries", async () => {
    api.receiver.at("refuses", () => new Response(null, { status: 500 }));
    const good = await api.endpoint({ url: api.receiver.url("good"), eventTypes: ["g.both"] });
    const bad = await api.endpoint({ url: api.receiver.url("refuses"), eventTypes: ["g.both"] });
    const both = await api.publish("g.both");
    const none = await api.publish("g.none");
    await api.settled(both.id);
    expect(ids(await list(`endpoint_id=${good.publicId}`))).toEqual([both.id]);
    expect(ids(await list("type=g.*&status=dead"))).toEqual([both.id]);
    expect(ids(await list(`endpoint_id=${bad.publicId}&status=dead`))).toEqual([both.id]);
    expect(await list(`endpoint_id=${good.publicId}&status=dead`)).toEqual([]);
    expect(await list("type=g.*&status=pending")).toEqual([]);
    expect(ids(await list("type=g.*&matched=true"))).toEqual([both.id]);
    expect(ids(await list("type=g.*&matched=false"))).toEqual([none.id]);
  });

  test("by consumer, external id and text can be joined with all others", async () => {
    const endpoint = await api.endpoint({ url: api.receiver.url("joined"), eventTypes: ["j.all"] });
    const event = await api.publish("j.all", {
      consumer_id: "carl",
      external_id: "j 1",
      data: { note: "Größe and Size" },
    });
    await api.publish("j.all", { consumer_id: "dora", data: { note: "size" } });
    await api.settled(event.id);
    expect(ids(await list("consumer_id=carl"))).toEqual([event.id]);
    expect(ids(await list("external_id=j+1"))).toEqual([event.id]);
    expect(ids(await list("q=GR%C3%96SSE")).length).toBe(0);
    expect(ids(await list("q=gr%C3%B6%C3%9Fe"))).toEqual([event.id]);
    const all =
      `type=j.*&consumer_id=carl&external_id=j%201&endpoint_id=${endpoint.publicId}` +
      `&status=delivered&matched=true&since=${event.created_at}&until=2999-01-01T00:00:00Z&q=SIZE`;
    expect(ids(await list(all))).toEqual([event.id]);
    for (const other of ["consumer_id=dora", "status=dead", "matched=false", "q=nothing", "type=k.*"]) {
      const [name = ""] = other.split("=");
      expect(await list(all.replace(new RegExp(`(^|&)${name}=[^&]*`), `$1${other}`))).toEqual([]);
    }
  });

  test("by an id that nothing has, or a foreign one, finds nothing; a malformed one is refused", async () => {
    const foreign = await api.endpoint({ url: api.receiver.url("foreign") }, "other");
    await api.publish("y.foreign", {}, "other");
    expect(await list(`endpoint_id=${foreign.publicId}`)).toEqual([]);
    expect(await list(`endpoint_id=${nobody("ep")}`)).toEqual([]);
    expect(await list(`source_id=${nobody("src")}`)).toEqual([]);
    for (const [name, id] of [
      ["endpoint_id", "ep_1"],
      ["endpoint_id", nobody("src")],
      ["source_id", ""],
      ["source_id", `${nobody("src")}Z`],
    ]) {
      expectRefusal(await api.call("GET", `/v1/events?${name}=${id}`), 422, "invalid_request", [
        String(name),
      ]);
    }
  });

  test("that does not exist, has no such value or stands twice is refused", async () => {
    for (const [query, pointer] of [
      ["typ=a", "typ"],
      ["status=failed", "status"],
      ["matched=yes", "matched"],
      ["q=", "q"],
      [`q=${"x".repeat(257)}`, "q"],
      ["consumer_id=", "consumer_id"],
      ["type=a&type=b", "type"],
    ]) {
      expectRefusal(await api.call("GET", `/v1/events?${query}`), 422, "invalid_request", [String(pointer)]);
    }
  });
});

test("a cursor that no page gave is refused", async () => {
  const id = (await api.publish("c.cursor")).id;
  const encode = (text: string) => Buffer.from(text).toString("base64url");
  for (const cursor of [
    "",
    "x",
    id,
    encode(nobody("evt")),
    encode(id.toLowerCase()),
    `${encode(id)}=`,
    encode("msg"),
  ]) {
    expectRefusal(await api.call("GET", `/v1/events?cursor=${cursor}`), 422, "invalid_request", ["cursor"]);
  }
});

describe("an event", () => {
  test("is read with its data and its deliveries", async () => {
    const endpoint = await api.endpoint({ url: api.receiver.url("read"), eventTypes: ["r.read"] });
    const { id } = await api.publish("r.read", { data: { a: [1] } });
    const [delivery] = await api.settled(id);
    expect(await api.get<object>(`/v1/events/${id}`)).toMatchObject({
      id,
      delivery_count: 1,
      data: { a: [1] },
      deliveries: [
        {
          id: delivery?.id,
          endpoint_id: endpoint.publicId,
          status: "delivered",
          attempt_count: 1,
          next_attempt_at: null,
        },
      ],
    });
  });

  test("that is unknown, malformed or another project's does not exist", async () => {
    const { id } = await api.publish("r.foreign", {}, "other");
    for (const path of [id, nobody("evt"), "evt_1", "x", "%ff", id.replace("evt", "msg")]) {
      for (const tail of ["", "/timeline"]) {
        expectRefusal(await api.call("GET", `/v1/events/${path}${tail}`), 404, "not_found");
      }
    }
    expect((await api.call("GET", `/v1/events/${id}`, undefined, "read")).status).toBe(404);
  });
});

describe("a portal token", () => {
  test("sees its consumer's events, and of them what its own endpoints had", async () => {
    const own = await api.endpoint({
      url: api.receiver.url("own"),
      eventTypes: ["v.seen"],
      consumerId: "anna",
    });
    const shared = await api.endpoint({ url: api.receiver.url("shared"), eventTypes: ["v.*"] });
    const seen = await api.publish("v.seen", { consumer_id: "anna" });
    const shadow = await api.publish("v.shadow", { consumer_id: "anna" });
    const foreign = await api.publish("v.seen", { consumer_id: "bert" });
    const general = await api.publish("v.seen");
    await Promise.all([seen, shadow, foreign, general].map(({ id }) => api.settled(id)));

    expect(seen.delivery_count).toBe(2);
    const rows = await list("type=v.*", "anna");
    expect(rows.map((row) => [row.id, row.delivery_count])).toEqual([
      [shadow.id, 0],
      [seen.id, 1],
    ]);
    expect(ids(await list("type=v.*&matched=true", "anna"))).toEqual([seen.id]);
    expect(ids(await list("type=v.*&status=delivered", "anna"))).toEqual([seen.id]);
    expect(ids(await list(`endpoint_id=${own.publicId}`, "anna"))).toEqual([seen.id]);
    expect(await list(`endpoint_id=${shared.publicId}`, "anna")).toEqual([]);
    expect(await list("consumer_id=bert", "anna")).toEqual([]);
    expect(ids(await list("type=v.*&consumer_id=anna", "anna"))).toEqual([shadow.id, seen.id]);
    const read = await api.get<{ delivery_count: number; deliveries: { endpoint_id: string }[] }>(
      `/v1/events/${seen.id}`,
      "anna",
    );
    expect([read.delivery_count, read.deliveries.map((row) => row.endpoint_id)]).toEqual([1, [own.publicId]]);
    for (const { id } of [foreign, general]) {
      expectRefusal(await api.call("GET", `/v1/events/${id}`, undefined, "anna"), 404, "not_found");
      expectRefusal(await api.call("GET", `/v1/events/${id}/timeline`, undefined, "anna"), 404, "not_found");
    }
  });
});

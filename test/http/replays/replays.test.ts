/** Bulk replays; of one event: test/http/events/replay.test.ts. */
import { describe, expect, spyOn, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { LIMITS } from "../../../src/core/limits.ts";
import type { DeliveryStatus } from "../../../src/core/model.ts";
import type { DeliveryAnswer } from "../../../src/http/deliveries/shape.ts";
import { Merge } from "../../../src/store/merge.ts";
import { apiForFile, expectRefusal, type Page, startApi, nobody } from "../log-kit.ts";

const NARROW = { fanoutAtOnceMax: 2, eventRowsMax: 2, fanoutSliceRows: 1 };

type ReplayAnswer = {
  id: string;
  status: string;
  matched: number;
  replayed: number;
  created_at: string;
  completed_at: string | null;
};

const api = apiForFile();

const answers = (status: number) => () => new Response(null, { status });
const replayMany = (body: unknown, token?: string) => api.call("POST", "/v1/replays", body, token);
const completed = (id: string) =>
  api.until(async () => {
    const replay = await api.get<ReplayAnswer>(`/v1/replays/${id}`);
    return replay.status === "completed" && replay;
  });

async function dryRun(body: object, token?: string): Promise<unknown> {
  const reply = await replayMany({ ...body, dry_run: true }, token);
  expect([reply.status, Object.keys(reply.json)]).toEqual([200, ["matched"]]);
  return reply.json["matched"];
}

describe("a bulk replay", () => {
  test("counts first, then takes the dead ones and tells how far it is", async () => {
    const url = api.receiver.at("bulk", answers(500));
    const endpoint = await api.endpoint({ url, eventTypes: ["b.bulk"] });
    const events = [await api.publish("b.bulk"), await api.publish("b.bulk"), await api.publish("b.bulk")];
    await Promise.all(events.map(({ id }) => api.settled(id)));
    const filter = { endpoint_id: endpoint.publicId };
    expect(await dryRun(filter)).toBe(3);
    api.receiver.at("bulk", answers(200));
    const reply = await replayMany(filter);
    const started = reply.json as unknown as ReplayAnswer;
    expect([reply.status, started.status, started.matched, started.replayed]).toEqual([202, "running", 3, 0]);
    expect(started.id).toStartWith("rpl_");
    const ended = await completed(started.id);
    expect([ended.matched, ended.replayed]).toEqual([3, 3]);
    expect(ended.completed_at).not.toBeNull();
    for (const { id } of events) await api.settled(id, ["delivered"]);
    expect(await dryRun(filter)).toBe(0);
    expectRefusal(await api.call("POST", `/v1/replays/${started.id}/cancel`), 409, "conflict");
  });

  test("stands in the list without its filter, which may be long", async () => {
    const body = { event_types: Array.from({ length: 100 }, (_, nth) => `long.${nth}`), status: ["dead"] };
    const { status: accepted, json } = await replayMany(body);
    expect(accepted).toBe(202);
    await completed(String(json["id"]));
    using read = spyOn(JSON, "parse");
    const { status, body: page } = await api.handle("GET", "/v1/replays?limit=250");
    expect([status, page !== null, read.mock.calls.length]).toEqual([200, true, 0]);
  });

  test("stops counting when whoever asked has left", async () => {
    await api.endpoint({ url: api.receiver.url("left"), eventTypes: ["b.left"] });
    const { id } = await api.publish("b.left");
    await api.settled(id);
    const before = (await api.get<Page<ReplayAnswer>>("/v1/replays")).data;
    const leaving = new AbortController();
    using next = spyOn(Merge.prototype, "next");
    next.mockImplementationOnce(() => {
      leaving.abort();
      return [1];
    });
    const body = { status: ["delivered"] };
    const { status } = await api.handle("POST", "/v1/replays", body, "full", {}, leaving.signal);
    expect([status, next.mock.calls.length]).toEqual([499, 1]);
    expect((await api.get<Page<ReplayAnswer>>("/v1/replays")).data).toEqual(before);
  });

  test("takes what its filter says", async () => {
    const endpoint = await api.endpoint({ url: api.receiver.url("some"), eventTypes: ["b.some.*"] });
    const one = await api.publish("b.some.one", { consumer_id: "carl" });
    await api.tick();
    const two = await api.publish("b.some.two");
    await Promise.all([one, two].map(({ id }) => api.settled(id)));
    const delivered = { status: ["delivered"], endpoint_id: endpoint.publicId };
    expect(await dryRun(delivered)).toBe(2);
    expect(await dryRun({ ...delivered, consumer_id: "carl" })).toBe(1);
    expect(await dryRun({ ...delivered, event_types: ["b.some.two", "b.none"] })).toBe(1);
    expect(await dryRun({ ...delivered, event_types: ["b.some.*"] })).toBe(2);
    expect(await dryRun({ ...delivered, since: two.created_at })).toBe(1);
    expect(await dryRun({ ...delivered, until: two.created_at })).toBe(1);
    expect(await dryRun({ endpoint_id: endpoint.publicId })).toBe(0);
    expect(await dryRun({ ...delivered, status: ["delivered", "dead"] })).toBe(2);
  });

  test("takes what was answered with a status, and whose event holds a text", async () => {
    const url = api.receiver.at("codes", answers(503));
    const endpoint = await api.endpoint({ url, eventTypes: ["b.codes"], retry: { schedule: [] } });
    await api.settled((await api.publish("b.codes", { data: { note: "Blue Whale" } })).id, ["dead"]);
    const filter = { endpoint_id: endpoint.publicId };
    expect(await dryRun({ ...filter, status_code: 503 })).toBe(1);
    expect(await dryRun({ ...filter, status_code: 500 })).toBe(0);
    expect(await dryRun({ ...filter, q: "blue whale" })).toBe(1);
    expect(await dryRun({ ...filter, q: "red whale" })).toBe(0);
  });

  test("takes the deliveries that are named, whatever their state", async () => {
    const url = api.receiver.at("picked", answers(200));
    await api.endpoint({ url, eventTypes: ["b.picked"], consumerId: "anna" });
    const publish = () => api.publish("b.picked", { consumer_id: "anna" });
    const events = [await publish(), await publish(), await publish()];
    const deliveries = await Promise.all(events.map(({ id }) => api.settled(id, ["delivered"])));
    const ids = deliveries.flatMap((list) => list.map(({ id }) => id));
    const picked = { delivery_ids: [ids[2], ids[0]] };
    expect(await dryRun(picked)).toBe(2);
    expect(await dryRun({ ...picked, status: ["dead"] })).toBe(0);
    expect(await dryRun(picked, "annaManages")).toBe(2);
    await completed(String((await replayMany(picked)).json["id"]));
    const requests = await api.receiver.arrived("picked", 5);
    expect(requests.slice(3).map(({ headers }) => headers["webhook-id"])).toEqual(
      [ids[0], ids[2]].map(String),
    );
    const spelled = String(ids[0]).replace(/_.*/, (tail) => tail.toLowerCase());
    const twice = { delivery_ids: [ids[0], spelled, ids[2]] };
    expect(await dryRun(twice)).toBe(2);
    const started = await replayMany(twice);
    expect(started.json).toMatchObject({ matched: 2 });
    await completed(String(started.json["id"]));
    const foreign = { delivery_ids: [ids[0], nobody("msg")] };
    expectRefusal(await replayMany(foreign), 422, "invalid_request", ["/delivery_ids/1"]);
    expectRefusal(await replayMany(picked, "bertManages"), 422, "invalid_request", ["/delivery_ids/0"]);
  });

  test("with missing takes the events that an endpoint never had", async () => {
    const [one] = [await api.publish("m.missing", { data: { n: 1 } }), await api.publish("m.other")];
    const endpoint = await api.endpoint({ url: api.receiver.url("missing"), eventTypes: ["m.missing"] });
    const body = { missing: true, endpoint_id: endpoint.publicId };
    expect(await dryRun(body)).toBe(1);
    await completed(String((await replayMany(body)).json["id"]));
    const [request] = await api.receiver.arrived("missing");
    expect(JSON.parse(String(request?.body))).toMatchObject({ type: "m.missing", data: { n: 1 } });
    expect(await dryRun(body)).toBe(0);
    expect((await api.settled(one?.id ?? "")).map((row) => row.endpoint_id)).toEqual([endpoint.publicId]);
  });

  test("can be stopped, and keeps what it did", async () => {
    const url = api.receiver.at("slow", answers(500));
    const endpoint = await api.endpoint({ url, eventTypes: ["b.slow"] });
    for (let n = 0; n < 5; n++) await api.settled((await api.publish("b.slow")).id);
    const body = { endpoint_id: endpoint.publicId, rate_per_second: 1 };
    const { id } = (await replayMany(body)).json as unknown as ReplayAnswer;
    await api.receiver.arrived("slow", 6);
    const stopped = await api.call("POST", `/v1/replays/${id}/cancel`);
    expect([stopped.status, stopped.json]).toEqual([200, await api.get(`/v1/replays/${id}`)]);
    expect(stopped.json).toMatchObject({ status: "cancelled", matched: 5 });
    expect(stopped.json["replayed"]).toBeLessThan(5);
    expectRefusal(await api.call("POST", `/v1/replays/${id}/cancel`), 409, "conflict");
  });

  test("looks no further once it is stopped, also where nothing matches any more", async () => {
    const { data, services } = api;
    await api.endpoint({ url: api.receiver.url("none"), eventTypes: ["b.none"] });
    for (let n = 0; n < 5; n++) await api.settled((await api.publish("b.none")).id);
    await data.index.settle();
    const filter = {
      ...{
        status: ["dead", "cancelled"] satisfies DeliveryStatus[],
        endpointId: null,
        consumerId: "nobody",
        eventTypes: null,
      },
      ...{ since: null, until: null, missing: false, ratePerSecond: 1 },
    };
    const place = { projectId: api.callers.get("full")?.projectId ?? 0, consumerId: null };
    const { last } = data.store.keys;
    const replay = await data.store.write(() =>
      data.replays.insert({ ...place, filter, matched: 5, position: 0, last }),
    );
    using next = spyOn(Merge.prototype, "next").mockImplementation(() => {
      data.replays.update(replay.id, { status: "cancelled" });
      return [1];
    });
    services.replayer.run(replay);
    for (let turns = 0; turns < 20; turns++) await nextTurn();
    expect(next.mock.calls.length).toBe(1);
  });

  test("takes nothing that comes to match after it was asked for", async () => {
    const url = api.receiver.at("later", answers(200));
    const endpoint = await api.endpoint({ url, eventTypes: ["b.later"], status: "paused" });
    const own = { endpoint_id: endpoint.publicId };
    const deliveries = async () => {
      for (let n = 0; n < 4; n++) await api.publish("b.later");
      return (await api.get<Page<DeliveryAnswer>>(`/v1/deliveries?endpoint_id=${endpoint.publicId}`)).data;
    };
    const [newest, ...others] = await deliveries();
    const cancel = (one?: DeliveryAnswer) => api.call("POST", `/v1/deliveries/${one?.id}/cancel`);
    for (const one of others) await cancel(one);
    const asked = await replayMany({ ...own, status: ["cancelled"], rate_per_second: 2 });
    await cancel(newest);
    const ended = await completed(String(asked.json["id"]));
    expect([ended.matched, ended.replayed]).toEqual([3, 3]);
    // What is delivered for the first time while it runs is not sent again.
    const open = await replayMany({ ...own, status: ["pending", "delivered"], rate_per_second: 2 });
    await api.change(endpoint, { status: "active" });
    const { matched, replayed } = await completed(String(open.json["id"]));
    expect([matched, replayed < 3]).toEqual([3, true]);
    expect(await api.receiver.arrived("later", 3)).toHaveLength(3);
  });

  test("takes nothing of a wide event that is written after it was asked for", async () => {
    const usual = Object.keys(NARROW).map(
      (name) => [name, LIMITS[name as keyof typeof NARROW].value] as const,
    );
    const setLimits = (to: readonly (readonly [string, number])[]) => {
      for (const [name, value] of to)
        (LIMITS[name as keyof typeof NARROW] as { value: number }).value = value;
    };
    await using wide = await startApi();
    const of = { url: wide.receiver.url("w"), status: "paused" } as const;
    for (let n = 0; n < 7; n++) await wide.endpoint(of);
    const { publicId: lastOfAll } = await wide.endpoint(of);
    setLimits(Object.entries(NARROW));
    try {
      await wide.publish("b.wide");
      const disk = Promise.withResolvers<void>();
      wide.diskWaitsFor = disk.promise;
      // What is still to be written is on its way, and not missing.
      const missed = { missing: true, endpoint_id: lastOfAll, dry_run: true };
      const missing = wide.call("POST", "/v1/replays", missed);
      const asking = wide.call("POST", "/v1/replays", { status: ["pending"] });
      for (let turns = 0; turns < 20; turns++) await nextTurn();
      disk.resolve();
      expect((await missing).json["matched"]).toBe(0);
      const { id, matched } = (await asking).json as unknown as ReplayAnswer;
      expect(matched).toBeLessThan(8);
      const done = await wide.until(async () => {
        const replay = await wide.get<ReplayAnswer>(`/v1/replays/${id}`);
        return wide.data.fanouts.count() === 0 && replay.status === "completed" && replay;
      });
      expect(done.replayed).toBe(matched);
    } finally {
      setLimits(usual);
    }
  });

  test("ends with as many as matched, whatever else comes to match", async () => {
    const url = api.receiver.at("enabled", answers(500));
    const off = { url, eventTypes: ["b.enabled"], consumerId: "dora" };
    const [one, two] = [await api.endpoint(off), await api.endpoint(off)];
    for (let n = 0; n < 2; n++)
      await api.settled((await api.publish("b.enabled", { consumer_id: "dora" })).id);
    await api.change(two, { status: "disabled" });
    const asked = await replayMany({ consumer_id: "dora", rate_per_second: 2 });
    await api.change(two, { status: "active" });
    const { matched, replayed } = await completed(String(asked.json["id"]));
    expect([matched, replayed, one.status]).toEqual([2, 2, "active"]);
  });

  test("stands in the list, newest first", async () => {
    const made: string[] = [];
    for (let n = 0; n < 3; n++)
      made.unshift(String((await replayMany({ event_types: ["none"] })).json["id"]));
    const first = await api.get<Page<ReplayAnswer>>("/v1/replays?limit=2");
    const second = await api.get<Page<ReplayAnswer>>(`/v1/replays?limit=1&cursor=${first.next_cursor}`);
    expect([...first.data, ...second.data].map((replay) => replay.id)).toEqual(made);
    expect((await api.get<Page<ReplayAnswer>>("/v1/replays", "other")).data).toEqual([]);
  });

  test.each([
    [{ missing: true }, ["/endpoint_id"]],
    [{ endpoint_id: nobody("ep") }, ["/endpoint_id"]],
    [{ endpoint_id: "x" }, ["/endpoint_id"]],
    [{ delivery_ids: [] }, ["/delivery_ids"]],
    [{ delivery_ids: ["msg_1"] }, ["/delivery_ids/0"]],
    [{ status_code: 99 }, ["/status_code"]],
    [{ q: "" }, ["/q"]],
    [{ status: [] }, ["/status"]],
    [{ status: ["failed"] }, ["/status/0"]],
    [{ status: "dead" }, ["/status"]],
    [{ event_types: ["a", "b..c"] }, ["/event_types/1"]],
    [{ since: "yesterday" }, ["/since"]],
    [{ until: 5 }, ["/until"]],
    [{ rate_per_second: 0 }, ["/rate_per_second"]],
    [{ rate_per_second: 1001 }, ["/rate_per_second"]],
    [{ dry_run: "yes" }, ["/dry_run"]],
    [{ consumer: "x" }, ["/consumer"]],
  ])("is refused with %j", async (body, pointers) => {
    expectRefusal(await replayMany(body), 422, "invalid_request", pointers);
  });

  test("of a portal token stays with its own deliveries", async () => {
    const url = api.receiver.at("portal", answers(500));
    const own = await api.endpoint({ url, eventTypes: ["b.portal"], consumerId: "anna" });
    const shared = await api.endpoint({ url, eventTypes: ["b.portal"] });
    await api.settled((await api.publish("b.portal", { consumer_id: "anna" })).id);
    await api.settled((await api.publish("b.portal")).id);
    const body = { event_types: ["b.portal"] };
    expect([await dryRun(body), await dryRun(body, "annaManages")]).toEqual([3, 1]);
    expect(await dryRun({ ...body, consumer_id: "bert" }, "annaManages")).toBe(0);
    expectRefusal(await replayMany(body, "anna"), 403, "forbidden");
    const named = { endpoint_id: shared.publicId };
    expectRefusal(await replayMany(named, "annaManages"), 422, "invalid_request", ["/endpoint_id"]);
    const reply = await replayMany({ endpoint_id: own.publicId }, "annaManages");
    const { id } = reply.json as unknown as ReplayAnswer;
    expect((await completed(id)).replayed).toBe(1);
    expect((await api.get<Page<ReplayAnswer>>("/v1/replays", "anna")).data.map((row) => row.id)).toEqual([
      id,
    ]);
    expect((await api.get<Page<ReplayAnswer>>("/v1/replays", "bertManages")).data).toEqual([]);
    for (const path of [`/v1/replays/${id}`, `/v1/replays/${nobody("rpl")}`, "/v1/replays/x"]) {
      expectRefusal(await api.call("GET", path, undefined, "bertManages"), 404, "not_found");
    }
    expectRefusal(await api.call("POST", `/v1/replays/${id}/cancel`, {}, "bertManages"), 404, "not_found");
  });
});

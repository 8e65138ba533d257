/** GET /v1/stats/deliveries: the list of deliveries, counted by when they were made. */
import { describe, expect, test } from "bun:test";
import { keyTime } from "../../../src/core/ids.ts";
import { limit } from "../../../src/core/limits.ts";
import { DELIVERY_STATUS, type DeliveryStatus } from "../../../src/core/model.ts";
import type { DeliveryAnswer } from "../../../src/http/deliveries/shape.ts";
import { SetClock } from "../../kit/clock.ts";
import { apiForFile, expectRefusal, type Page, startApi } from "../log-kit.ts";

type Point = { at: string } & Record<DeliveryStatus, number>;
type Counts = Page<Point> & { counted_since: string | null };

const api = apiForFile();

const HOUR_MS = 3_600_000;
const KEYS_A_MS = 4096;
const count = (query: string, token?: string) => api.get<Counts>(`/v1/stats/deliveries?${query}`, token);
const list = async (query: string, token?: string) =>
  (await api.get<Page<DeliveryAnswer>>(`/v1/deliveries?limit=250&${query}`, token)).data;

/** What the counts should be, made from the list. */
function counted(rows: readonly DeliveryAnswer[], widthMs = HOUR_MS): Point[] {
  const byTime = Map.groupBy(rows, (row) => Math.floor(Date.parse(row.created_at) / widthMs) * widthMs);
  return [...byTime].map(([at, of]) => {
    const counts = DELIVERY_STATUS.map((one) => [one, of.filter(({ status }) => status === one).length]);
    return {
      at: new Date(at).toISOString(),
      ...(Object.fromEntries(counts) as Record<DeliveryStatus, number>),
    };
  });
}

describe("counts of deliveries", () => {
  test("are those of the list, whatever narrows it", async () => {
    const teapot = api.receiver.at("teapot", () => new Response(null, { status: 418 }));
    const broken = api.receiver.at("broken", () => new Response(null, { status: 500 }));
    const dead = await api.endpoint({ url: teapot, eventTypes: ["n.teapot"], retry: { schedule: [] } });
    await api.endpoint({ url: broken, eventTypes: ["n.*"], retry: { schedule: [3600] } });
    await api.endpoint({ url: api.receiver.at("fine", () => new Response("ok")), eventTypes: ["n.*"] });
    await api.endpoint({ url: api.receiver.url("paused"), eventTypes: ["n.fine"], status: "paused" });
    const events = [
      await api.publish("n.teapot", { consumer_id: "carl" }),
      await api.publish("n.fine"),
      await api.publish("n.fine"),
    ];
    // What is left open waits for the paused endpoint.
    await api.until(async () => (await list("event_type=n.*&status=pending")).length === 2);
    for (const query of [
      "event_type=n.*",
      "event_type=n.fine",
      "event_type=n.*&status=retrying",
      "event_type=n.*&status=pending",
      "status=dead",
      `endpoint_id=${dead.publicId}`,
      "event_type=n.*&status_code=418",
      "event_type=n.*&status_code=500",
      "event_type=n.*&status_code=200&status=delivered",
      "consumer_id=carl",
      `event_id=${events[1]?.id}`,
    ]) {
      const expected = counted(await list(query));
      expect([query, expected.length > 0]).toEqual([query, true]);
      expect([query, await count(query)]).toEqual([
        query,
        { data: expected, next_cursor: null, counted_since: null },
      ]);
    }
    expect(await count("event_type=n.fine&status_code=418")).toEqual({
      data: [],
      next_cursor: null,
      counted_since: null,
    });
    expect((await count("event_type=n.*&by=day")).data).toEqual(
      counted(await list("event_type=n.*"), 24 * HOUR_MS),
    );
  });

  test("have what was made in this very millisecond, as the list has", async () => {
    await using still = await startApi({}, new SetClock(Date.UTC(2026, 10, 21)));
    await still.endpoint({ url: still.receiver.url("now"), eventTypes: ["now"], status: "paused" });
    const { id } = await still.publish("now");
    const { data } = await still.get<Counts>(`/v1/stats/deliveries?event_id=${id}`);
    expect(data.map(({ pending }) => pending)).toEqual([1]);
  });

  test("go on where the cursor says, and stay within their time", async () => {
    await api.endpoint({ url: api.receiver.url("far"), eventTypes: ["far"] });
    const events = [];
    for (let n = 0; n < 5; n++) {
      events.push(await api.publish("far"));
      await api.tick();
    }
    // What is on its way would change between the counts and the list.
    for (const { id } of events) await api.settled(id);
    const page = await api.get<Page<DeliveryAnswer>>("/v1/deliveries?event_type=far&limit=2");
    const rest = await count(`event_type=far&cursor=${page.next_cursor}`);
    expect(rest.data.reduce((sum, point) => sum + point.delivered + point.pending, 0)).toBe(3);
    const within = `since=${events[1]?.created_at}&until=${events[4]?.created_at}`;
    expect((await count(`event_type=far&${within}`)).data).toEqual(
      counted(await list(`event_type=far&${within}`)),
    );
    const before = new Date(Date.parse(events[0]?.created_at ?? "") - 40 * 24 * HOUR_MS).toISOString();
    expect(
      (await count(`event_type=far&by=day&since=${before}&until=${events[0]?.created_at}`)).data,
    ).toEqual([]);
  });

  test("of very many end before the last, and say how far back they came", async () => {
    const endpoint = await api.endpoint({ url: api.receiver.url("many"), eventTypes: ["many"] });
    const [first] = await api.settled((await api.publish("many")).id);
    const key = api.data.ids.decode("msg", first?.id ?? "") ?? 0;
    // Where no other test has any.
    const early = key - 1_800_000 * KEYS_A_MS;
    const looked = limit("listScanMax");
    const { sqlite } = api.data.store;
    const below = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${looked + 10})`;
    sqlite.exec(`${below} INSERT INTO delivery (id, event_id, endpoint_id, project_id, status)
      SELECT ${early} - i, event_id, endpoint_id, project_id, 2 FROM delivery, n WHERE id = ${key}`);
    sqlite.exec(`${below} INSERT INTO entry (list, id) SELECT ${endpoint.id}, ${early} - i FROM n`);
    const since = new Date(Date.parse(first?.created_at ?? "") - HOUR_MS).toISOString();
    const query = `endpoint_id=${endpoint.publicId}&since=${since}`;
    const total = ({ data }: Counts) => data.reduce((sum, point) => sum + point.delivered, 0);
    const newest = await count(query);
    expect(total(newest)).toBe(looked);
    expect(Date.parse(newest.counted_since ?? "")).toBe(keyTime(early - looked + 1));
    const rest = await count(`${query}&cursor=${newest.next_cursor}`);
    expect([total(rest), rest.counted_since, rest.next_cursor]).toEqual([11, null, null]);
  });

  test("are of the caller's own only", async () => {
    await api.endpoint({ url: api.receiver.url("o"), eventTypes: ["own"], consumerId: "anna" });
    const shared = await api.endpoint({ url: api.receiver.url("o"), eventTypes: ["own"] });
    const { id } = await api.publish("own", { consumer_id: "anna" });
    await api.settled(id);
    const total = (points: Point[]) => points.reduce((sum, point) => sum + point.delivered, 0);
    expect(total((await count("event_type=own")).data)).toBe(2);
    expect(total((await count("event_type=own", "anna")).data)).toBe(1);
    expect((await count("event_type=own", "other")).data).toEqual([]);
    for (const token of ["anna", "other"])
      expect((await count(`endpoint_id=${shared.publicId}`, token)).data).toEqual([]);
  });

  test("refuse what they do not know", async () => {
    for (const [query, pointer] of [
      ["status=failed", "status"],
      ["event_type=a..b", "event_type"],
      ["endpoint_id=ep_1", "endpoint_id"],
      ["by=week", "by"],
      ["since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z", "since"],
      ["since=2026-01-01T00:00:00Z&until=2026-02-02T00:00:01Z", "since"],
      ["cursor=x", "cursor"],
      ["limit=1", "limit"],
      ["q=text", "q"],
    ]) {
      const reply = await api.call("GET", `/v1/stats/deliveries?${query}`);
      expectRefusal(reply, 422, "invalid_request", [String(pointer)]);
    }
  });
});

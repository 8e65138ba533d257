/**
 * The numbers of a project are kept beside those of its endpoints: they come to the same at any moment,
 * whatever was deleted meanwhile.
 */
import { afterEach, beforeEach, expect, spyOn, test } from "bun:test";
import { Retention } from "../../../src/maintenance/retention.ts";
import type { StatPoint } from "../../../src/store/counts/stats.ts";
import { type Api, startApi } from "../../http/log-kit.ts";
import { SetClock } from "../../kit/clock.ts";
import { jobControlOf } from "../../kit/job-control.ts";
import { PROJECT_HOURS_ANEW } from "../../kit/project-hours.ts";
import { Rng } from "../../simulation/world.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const AT = Date.UTC(2026, 10, 21, 12);
const STEPS = 400;

let api: Api;
let clock: SetClock;
let rng: Rng;
/** Those that are there, by project. */
let open: { id: number; projectId: number; publicId: string; token: string }[];

beforeEach(async () => {
  clock = new SetClock(AT);
  api = await startApi({}, clock);
  rng = new Rng(8);
  open = [];
});

afterEach(() => api[Symbol.asyncDispose]());

const addEndpoint = async (token: string, consumerId: string | null = null) => {
  const { id, projectId, publicId } = await api.endpoint(
    { url: api.receiver.url("stats"), consumerId },
    token,
  );
  open.push({ id, projectId, publicId, token });
};

/** Attempts of one transaction. */
async function addTallies(many: number): Promise<void> {
  const { index, store } = api.data;
  await store.write(() => {
    for (let n = 0; n < many; n++) {
      const { id: endpointId, projectId } = rng.pick(open);
      const delivered = rng.chance(0.7);
      const dead = !delivered && rng.chance(0.3);
      const at = AT - rng.below(40) * HOUR_MS;
      index.countAttempt(store.takeKey(), {
        endpointId,
        projectId,
        at,
        delivered,
        failed: !delivered,
        dead,
        durationMs: rng.below(900),
      });
    }
  });
}

async function deleteOne(): Promise<void> {
  const [gone] = open.splice(rng.below(open.length), 1);
  await api.call("DELETE", `/v1/endpoints/${gone?.publicId}`, undefined, gone?.token);
}

/** As all its endpoints have it, one by one. */
async function summed(token: string, by: "hour" | "day", since: number, until: number) {
  const sum = api.data.stats.over({ by, since, until }, api.data.store.turns);
  for (const endpoint of open) if (endpoint.token === token) await sum.addEndpoint(endpoint.id);
  return { points: await sum.points(), total: sum.total() };
}

const shown = ({ at, p50Ms, p95Ms, ...counts }: StatPoint) => ({
  at: new Date(at).toISOString(),
  ...counts,
  p50_ms: p50Ms,
  p95_ms: p95Ms,
});

async function expectTheSame(): Promise<void> {
  for (const token of ["full", "other"]) {
    const by = rng.pick(["hour", "day"] as const);
    const since = AT - rng.below(50) * HOUR_MS;
    const until = since + rng.below(60) * HOUR_MS;
    const query = `by=${by}&since=${new Date(since).toISOString()}&until=${new Date(until).toISOString()}`;
    const answer = await api.get<{ data: object[]; total: object }>(`/v1/stats?${query}`, token);
    const { points, total } = await summed(token, by, since, until);
    const { at: _, ...all } = shown({ at: 0, ...total });
    expect({ data: answer.data, total: answer.total }).toEqual({ data: points.map(shown), total: all });
  }
}

test("a project's numbers are the sum of those of its endpoints, written down or not, deleted or not", async () => {
  for (let n = 0; n < 12; n++) await addEndpoint(rng.pick(["full", "other"]));
  for (let step = 0; step < STEPS; step++) {
    await rng.pick([
      () => addTallies(1 + rng.below(20)),
      () => addTallies(1 + rng.below(20)),
      () => api.data.index.writeDown(),
      () => (open.length > 4 ? deleteOne() : addEndpoint(rng.pick(["full", "other"]))),
      // Of one that is being taken away only a part has gone.
      () =>
        api.data.store.write(() => {
          const [id] = api.data.stats.leavingOf(open[0]?.projectId ?? 0);
          if (id !== undefined) api.data.stats.takeAway(id, open[0]?.projectId ?? 0);
        }),
    ])();
    await expectTheSame();
  }
  // What has come before the tables of a project did is added up when the database is opened.
  await api.data.index.writeDown();
  const { sqlite } = api.data.store;
  const rows = () =>
    sqlite
      .query<{ durations: string }, []>("SELECT * FROM project_stat ORDER BY project_id, hour")
      .all()
      .map((row) => ({ ...row, durations: new Map(JSON.parse(row.durations)) }));
  const kept = rows();
  sqlite.exec(PROJECT_HOURS_ANEW);
  expect(kept.length).toBeGreaterThan(50);
  expect(rows()).toEqual(kept);
});

/** One attempt in each of so many hours, to the first endpoint. */
async function addHours(count: number): Promise<void> {
  const { index, store } = api.data;
  const [{ id: endpointId, projectId } = { id: 0, projectId: 0 }] = open;
  const counts = { endpointId, projectId, delivered: true, failed: false, dead: false, durationMs: 80 };
  await store.write(() => {
    for (let n = 0; n < count; n++) index.countAttempt(store.takeKey(), { ...counts, at: AT - n * HOUR_MS });
  });
}

const SPAN = `since=${new Date(AT - 30 * DAY_MS).toISOString()}&until=${new Date(AT + DAY_MS).toISOString()}`;

test.each([
  ["an endpoint", (id: string) => `/v1/endpoints/${id}/stats?${SPAN}`, 200],
  ["a project", () => `/v1/stats?${SPAN}`, 200],
  ["endpoints one by one", (id: string) => `/v1/stats/endpoints?endpoint_ids=${id}&${SPAN}`, 0],
])(
  "of %s many hours are read a few at once, and points are made, with turns between",
  async (_, path, made) => {
    await addEndpoint("full");
    await addHours(200);
    const { index, store } = api.data;
    await index.settle();
    using giveWay = spyOn(store.turns, "giveWay");
    using ofEndpoint = spyOn(index.hours, "ofEndpoint");
    using ofProject = spyOn(index.hours, "ofProject");
    await api.get(path(open[0]?.publicId ?? ""));
    const read = [...ofEndpoint.mock.results, ...ofProject.mock.results].map(
      ({ value }) => (value as unknown[]).length,
    );
    expect([read.reduce((sum, rows) => sum + rows), Math.max(...read) <= 24]).toEqual([200, true]);
    expect(giveWay.mock.calls.length).toBeGreaterThanOrEqual(read.length + made);
  },
);

test("what waits is counted over many endpoints without a turn for each", async () => {
  for (let n = 0; n < 200; n++) {
    const url = api.receiver.url(`paused-${n}`);
    await api.endpoint({ url, status: "paused", eventTypes: ["waits.long"] });
  }
  await api.publish("waits.long");
  const { turns } = api.data.store;
  using giveWay = spyOn(turns, "giveWay");
  using next = spyOn(turns, "next");
  const { waiting } = await api.get<{ waiting: number }>(`/v1/stats?${SPAN}`);
  expect(waiting).toBe(200);
  expect(giveWay.mock.calls.length + next.mock.calls.length).toBeLessThan(100);
});

test.each(["/v1/stats", "its endpoints"])(
  "what goes from memory to the table between two pieces counts once: %s",
  async (what) => {
    await addEndpoint("full");
    await addHours(60);
    const { index, store } = api.data;
    await index.settle();
    await addHours(60);
    let pieces = 0;
    using _ = spyOn(store.turns, "giveWay").mockImplementation(() =>
      pieces++ === 1 ? index.settle() : Promise.resolve(),
    );
    const delivered =
      what === "/v1/stats"
        ? (await api.get<{ total: { delivered: number } }>(`${what}?${SPAN}`)).total.delivered
        : (await summed("full", "day", AT - 30 * DAY_MS, AT + DAY_MS)).total.delivered;
    expect([delivered, index.size]).toEqual([120, 0]);
    expect(pieces).toBeGreaterThan(2);
  },
);

test("what is dead with its endpoint counts, whether it waited or came later", async () => {
  clock.advance(1000);
  const waiting = await api.endpoint({ url: api.receiver.url("waits"), status: "paused" });
  await api.endpoint({ url: api.receiver.url("off"), status: "disabled", disabledReason: "failing" });
  for (let n = 0; n < 3; n++) await api.publish("a.b");
  const total = async () => (await api.get<{ total: { dead: number } }>("/v1/stats")).total;
  const dead = { delivered: 0, failed: 0, p50_ms: null, p95_ms: null };
  expect(await total()).toEqual({ ...dead, dead: 3 });
  await api.data.endpoints.change(waiting.id, () => ({ status: "disabled", disabledReason: "failing" }));
  await api.until(async () => (await total()).dead >= 6);
  expect(await total()).toEqual({ ...dead, dead: 6 });
  const { data } = await api.get<{ data: object[] }>(`/v1/endpoints/${waiting.publicId}/stats`);
  expect(data).toMatchObject([{ dead: 3 }]);
});

test("what a deleted or an erased endpoint had leaves the tables, and what is too old leaves them with the rest", async () => {
  const retention = new Retention({
    data: api.data,
    actors: api.services.actors,
    expires: () => false,
  });
  const sweep = async () => {
    clock.advance(HOUR_MS);
    await retention.run(jobControlOf());
    await retention.sweep(jobControlOf());
  };
  const delivered = (table: string) =>
    api.data.store.sqlite
      .query<{ n: number | null }, []>(`SELECT sum(delivered + failed) AS n FROM ${table}`)
      .get()?.n ?? 0;
  const both = () => [delivered("stat"), delivered("project_stat")];
  for (const consumer of [null, null, "ada"]) await addEndpoint("full", consumer);
  await addTallies(300);
  await api.data.index.writeDown();
  expect(both()).toEqual([300, 300]);
  open.pop();
  await api.call("DELETE", "/v1/consumers/ada");
  await api.services.eraser.run(jobControlOf());
  const [left = 0] = both();
  expect(left).toBeLessThan(300);
  expect(both()).toEqual([left, left]);
  await expectTheSame();
  // Attempts that were under way when it was deleted may still be counted.
  const [deleted] = open;
  await deleteOne();
  await sweep();
  expect(both()).toEqual([left, left]);
  await sweep();
  const { total } = await summed("full", "day", AT - 3 * DAY_MS, AT + DAY_MS);
  expect(both()).toEqual([total.delivered + total.failed, total.delivered + total.failed]);
  expect(api.data.stats.leavingOf(deleted?.projectId ?? 0)).toEqual([]);
  clock.advance(33 * DAY_MS);
  await sweep();
  expect(both()).toEqual([0, 0]);
});

test("numbers that a rolled back transaction took away still count as those of a deleted endpoint", async () => {
  await addEndpoint("full");
  await addTallies(3);
  await api.data.index.settle();
  const { endpoints, index, stats, store } = api.data;
  const [{ id, projectId }] = open as [(typeof open)[number]];
  await endpoints.change(id, () => ({ status: "deleted" }));
  const taking = store.write(() => {
    stats.takeAway(id, projectId);
    throw new Error("the disk is full");
  });
  await expect(taking).rejects.toThrow("the disk is full");
  expect([stats.leavingOf(projectId), index.hours.isKnown(id)]).toEqual([[id], true]);
  await store.write(() => stats.takeAway(id, projectId));
  expect([stats.leavingOf(projectId), index.hours.isKnown(id)]).toEqual([[], false]);
});

/** Work that time alone brings about: old secrets leave, endpoints that fail for days are disabled. */
import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { HEALTHY } from "../../src/core/model.ts";
import { TurnQueue } from "../../src/core/structures/turn-queue.ts";
import { providerOf } from "../../src/http/sources/change.ts";
import { settledStatus } from "../../src/http/sources/material.ts";
import { disableFailing, dropExpiredSecrets, type StatusOf } from "../../src/maintenance/endpoint-jobs.ts";
import { type Api, startApi } from "../http/log-kit.ts";
import { jobControlOf } from "../kit/job-control.ts";
import { SetClock } from "../kit/clock.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let api: Api;
let clock: SetClock;

beforeEach(async () => {
  clock = new SetClock(Date.UTC(2026, 10, 21));
  api = await startApi({}, clock);
});

afterEach(() => api[Symbol.asyncDispose]());

async function made(method: string, path: string, json?: unknown): Promise<Record<string, unknown>> {
  const reply = await api.call(method, path, json ?? {});
  expect([path, Math.floor(reply.status / 100), reply.json.errors]).toEqual([path, 2, undefined]);
  return reply.json;
}

const statusOf: StatusOf = (source, now) => settledStatus(providerOf(source), source, now);

describe("a previous secret", () => {
  test("of an endpoint leaves the database when its overlap is over, and nothing else changes", async () => {
    const { id } = await made("POST", "/v1/endpoints", { url: api.receiver.url("upkeep") });
    clock.advance(HOUR_MS);
    await made("POST", `/v1/endpoints/${String(id)}/rotate-secret`, { expiry_hours: 24 });
    const key = api.data.ids.decode("ep", String(id)) ?? 0;
    const sealed = () =>
      api.data.store.sqlite.query<{ n: number }, []>("SELECT length(sealed) AS n FROM endpoint").get()?.n ??
      0;
    const before = [sealed(), api.data.endpoints.get(key)] as const;
    clock.advance(24 * HOUR_MS - 1);
    expect(await dropExpiredSecrets(api.data, statusOf, jobControlOf())).toBe(0);
    expect(api.data.endpoints.get(key)).toEqual(before[1]);
    clock.advance(1);
    expect(await dropExpiredSecrets(api.data, statusOf, jobControlOf())).toBe(1);
    expect(sealed()).toBeLessThan(before[0] - 40);
    expect(api.data.endpoints.getAnyway(key)).toEqual({ ...before[1], previous: null } as never);
    expect(await dropExpiredSecrets(api.data, statusOf, jobControlOf())).toBe(0);
  });

  test("of a source leaves too, our own and the provider's", async () => {
    const own = await made("POST", "/v1/sources", { provider: "service", name: "own" });
    const theirs = await made("POST", "/v1/sources", {
      provider: "stripe",
      name: "theirs",
      signing_secret: "whsec_first",
    });
    await made("POST", `/v1/sources/${String(own["id"])}/rotate-secret`);
    await made("POST", `/v1/sources/${String(theirs["id"])}/rotate-secret`, {
      signing_secret: "whsec_second",
    });
    clock.advance(24 * HOUR_MS);
    expect(await dropExpiredSecrets(api.data, statusOf, jobControlOf())).toBe(2);
    const rows = [...api.data.sources.all()].map(
      ({ previousSecret, previousSigningSecret, previousExpiresAt }) => [
        previousSecret,
        previousSigningSecret,
        previousExpiresAt,
      ],
    );
    expect(rows).toEqual([
      [null, null, null],
      [null, null, null],
    ]);
  });

  test("is looked for among very many a hundred a turn, where others have work too", async () => {
    const { endpoints, store } = api.data;
    const endpoint = await api.endpoint({ url: api.receiver.url("many") });
    const past = { ...endpoint, previous: { secret: "old", privateKey: null, expiresAt: clock.now() } };
    let row = 0;
    using _ = spyOn(endpoints, "all").mockImplementation(function* () {
      for (let n = 1; n <= 1000; n++, row++) yield { ...endpoint, id: endpoint.id + n };
      yield past;
    });
    const ofTurns: number[] = [];
    const schedule = (next: () => void) => {
      ofTurns.push(row);
      setImmediate(next);
    };
    const turns = new TurnQueue({ schedule, beginShare: () => ({ isOver: true }) });
    Object.assign(store, { turns });
    using update = spyOn(endpoints, "update");
    expect(await dropExpiredSecrets(api.data, statusOf, jobControlOf())).toBe(1);
    expect(update.mock.calls.map(([id]) => id)).toEqual([endpoint.id]);
    const rows = [...ofTurns, row].map((until, at) => until - (ofTurns[at - 1] ?? 0));
    expect(Math.max(...rows)).toBe(100);
  });

  test("of a source that has no other one leaves it waiting for one", async () => {
    const { id } = await made("POST", "/v1/sources", {
      provider: "stripe",
      name: "s",
      signing_secret: "whsec_1",
    });
    const path = `/v1/sources/${String(id)}`;
    const change = { signing_secret: null, previous_signing_secret: "***" };
    expect((await made("PATCH", path, change))["status"]).toBe("active");
    clock.advance(25 * HOUR_MS);
    expect(await dropExpiredSecrets(api.data, statusOf, jobControlOf())).toBeGreaterThan(0);
    expect((await made("GET", path))["status"]).toBe("awaiting_secret");
  });
});

describe("an endpoint that has failed for five days", () => {
  /** Fails from now on, without anything that waits. */
  async function failing() {
    const url = api.receiver.at("fails", () => new Response(null, { status: 500 }));
    const endpoint = await api.endpoint({ url, retry: { schedule: [] } });
    await api.data.store.write(() =>
      api.data.health.set(endpoint.id, { ...HEALTHY, failuresInRow: 1, failingSince: clock.now() }),
    );
    return endpoint;
  }

  const stateOf = (id: number) => {
    const endpoint = api.data.endpoints.get(id);
    return [endpoint?.status, endpoint?.disabledReason];
  };

  test("stays paused where somebody pauses it in the same transaction", async () => {
    const endpoint = await failing();
    clock.advance(5 * DAY_MS);
    const [, disabled] = await Promise.all([
      api.change(endpoint, { status: "paused" }),
      disableFailing(api.data, api.services.actors, jobControlOf()),
    ]);
    expect([disabled, stateOf(endpoint.id)]).toEqual([[], ["paused", null]]);
  });

  test("is disabled where nothing is left to try, once", async () => {
    const endpoint = await failing();
    clock.advance(5 * DAY_MS - 1);
    expect(await disableFailing(api.data, api.services.actors, jobControlOf())).toEqual([]);
    clock.advance(1);
    const disabled = await disableFailing(api.data, api.services.actors, jobControlOf());
    expect(disabled.map(({ id }) => id)).toEqual([endpoint.id]);
    expect(stateOf(endpoint.id)).toEqual(["disabled", "failing"]);
    expect(await disableFailing(api.data, api.services.actors, jobControlOf())).toEqual([]);
  });

  test("stays where the wall clock is set ahead by six days, as that is no time that has passed", async () => {
    const endpoint = await failing();
    clock.step(6 * DAY_MS);
    clock.advance(HOUR_MS);
    expect(await disableFailing(api.data, api.services.actors, jobControlOf())).toEqual([]);
    expect(stateOf(endpoint.id)).toEqual(["active", null]);
  });

  test("is left to its next attempt where something waits", async () => {
    const endpoint = await failing();
    await api.change(endpoint, { retry: { schedule: [72 * 3600] }, eventTypes: ["waits"] });
    const { id } = await api.publish("waits");
    await api.settled(id, ["retrying"]);
    const health = { ...api.data.health.get(endpoint.id), failingSince: clock.now() - 5 * DAY_MS };
    await api.data.store.write(() => api.data.health.set(endpoint.id, health));
    expect(await disableFailing(api.data, api.services.actors, jobControlOf())).toEqual([]);
    expect(stateOf(endpoint.id)).toEqual(["active", null]);
  });

  test("is found among many: they are read in slices, with turns between, and those that are not due not", async () => {
    const endpoint = await failing();
    const { health, store } = api.data;
    const setMany = (first: number, count: number) =>
      store.write(() => {
        for (let id = first; id < first + count; id++)
          health.set(id, { ...HEALTHY, failuresInRow: 1, failingSince: clock.now() });
      });
    // Of endpoints that are not there any more.
    await setMany(endpoint.id + 1, 120);
    clock.advance(1);
    await setMany(endpoint.id + 1000, 500);
    clock.advance(5 * DAY_MS - 1);
    using read = spyOn(health, "failing");
    using turns = spyOn(store.turns, "giveWay");
    const disabled = await disableFailing(api.data, api.services.actors, jobControlOf());
    expect(disabled.map(({ id }) => id)).toEqual([endpoint.id]);
    const found = read.mock.results.map(({ value }) => (value as unknown[]).length);
    expect([found, turns.mock.calls.length]).toEqual([[50, 50, 21, 0], 4]);
  });

  test("is left alone where it is paused, or well again", async () => {
    const [paused, well] = [await failing(), await failing()];
    await api.change(paused, { status: "paused" });
    await api.data.store.write(() => api.data.health.set(well.id, HEALTHY));
    clock.advance(5 * DAY_MS);
    expect(await disableFailing(api.data, api.services.actors, jobControlOf())).toEqual([]);
    expect([stateOf(paused.id), stateOf(well.id)]).toEqual([
      ["paused", null],
      ["active", null],
    ]);
  });
});

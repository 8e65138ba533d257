/**
 * An endpoint changes its consumer only while nothing was ever meant for it, whatever shares a transaction
 * with the change.
 */
import { afterEach, describe, expect, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { limit, LIMITS } from "../../../src/core/limits.ts";
import { startApi } from "../log-kit.ts";

test("an endpoint stays with its consumer where a publish or a replay comes in the same transaction", async () => {
  await using api = await startApi();
  for (const how of ["publish", "replay"]) {
    const endpoint = await api.endpoint({
      url: api.receiver.url("x"),
      status: "paused",
      eventTypes: [how === "publish" ? "moved" : "none"],
    });
    const event = await api.publish("a.b", { consumer_id: "ada" });
    const [made, moved] = await Promise.all([
      how === "publish"
        ? api.call("POST", "/v1/events", { type: "moved", consumer_id: "ada", data: {} })
        : api.call("POST", `/v1/events/${event.id}/replay`, { endpoint_ids: [endpoint.publicId] }),
      api.call("PATCH", `/v1/endpoints/${endpoint.publicId}`, { consumer_id: "bert" }),
    ]);
    expect([how, made.status, moved.status]).toEqual([how, 202, 409]);
  }
}, 20_000);

test("an endpoint whose deliveries were erased stays too, as its numbers are its consumer's", async () => {
  await using api = await startApi();
  api.receiver.at("x", () => new Response());
  const endpoint = await api.endpoint({
    url: api.receiver.url("x"),
    eventTypes: ["counted"],
    consumerId: "ada",
  });
  const event = await api.publish("counted", { consumer_id: "ada" });
  await api.receiver.arrived("x", 1);
  await api.data.store.settled();
  expect((await api.call("DELETE", `/v1/events/${event.id}`)).status).toBeLessThan(300);
  await api.until(async () => (await api.call("GET", `/v1/events/${event.id}`)).status === 404);
  const path = `/v1/endpoints/${endpoint.publicId}`;
  expect((await api.call("PATCH", path, { consumer_id: "bert" })).status).toBe(409);
});

test("an endpoint that is taken from a consumer has a new secret; one of the project's own keeps its", async () => {
  await using api = await startApi();
  for (const [before, isNew] of [
    ["ada", true],
    [null, false],
  ] as const) {
    const endpoint = await api.endpoint({
      url: api.receiver.url("x"),
      eventTypes: ["none"],
      consumerId: before,
    });
    const path = `/v1/endpoints/${endpoint.publicId}`;
    const secret = async () => (await api.get<{ secret: string }>(`${path}/secret`)).secret;
    const first = await secret();
    expect((await api.call("PATCH", path, { consumer_id: "bert" })).status).toBe(200);
    expect((await secret()) !== first).toBe(isNew);
  }
});

test.each(["http", "poll"] as const)(
  "a test that comes beside a move shows nothing of whom the endpoint is given to: %s",
  async (kind) => {
    await using api = await startApi();
    api.receiver.at("bert", () => new Response("bert's answer"));
    for (const isMoveFirst of [true, false]) {
      const endpoint = await api.endpoint({ kind, url: api.receiver.url("anna"), consumerId: "anna" });
      const path = `/v1/endpoints/${endpoint.publicId}`;
      const destination = kind === "poll" ? {} : { url: api.receiver.url("bert") };
      const move = () => api.call("PATCH", path, { consumer_id: "bert", ...destination });
      const trial = () => api.call("POST", `${path}/test`, {}, "annaManages");
      const [moved, tried] = isMoveFirst
        ? await Promise.all([move(), trial()])
        : await Promise.all([trial(), move()]).then(([a, b]) => [b, a] as const);
      const isTried = tried.status === 200 || tried.status === 202;
      expect([moved.status, isTried]).toEqual(moved.status === 200 ? [200, false] : [409, true]);
      expect(tried.text).not.toContain("bert");
    }
  },
);

test("an endpoint that had deliveries stays with its consumer, also where it would be the project's own", async () => {
  await using api = await startApi();
  const endpoint = await api.endpoint({ url: api.receiver.url("x"), consumerId: "anna", status: "paused" });
  await api.publish("a.b", { consumer_id: "anna" });
  const path = `/v1/endpoints/${endpoint.publicId}`;
  expect((await api.call("PATCH", path, { consumer_id: null })).status).toBe(409);
  expect((await api.get<{ consumer_id: string }>(path)).consumer_id).toBe("anna");
});

describe("an event that goes to more endpoints than are written with it", () => {
  const usual = (["eventRowsMax", "fanoutAtOnceMax", "fanoutSliceRows"] as const).map(
    (name) => [name, limit(name)] as const,
  );
  const set = (name: (typeof usual)[number][0], value: number) => {
    (LIMITS[name] as { value: number }).value = value;
  };
  afterEach(() => usual.forEach(([name, value]) => set(name, value)));

  /** What is told of its deliveries, and what is there; the last endpoint is given away meanwhile. */
  async function publishBeside(give: "after" | "before" | "while it is looked up") {
    await using api = await startApi();
    for (const [name] of usual) set(name, 1);
    const all: string[] = [];
    for (let n = 0; n < 20; n++)
      all.push((await api.endpoint({ url: api.receiver.url("x"), status: "paused" })).publicId);
    const move = () => api.call("PATCH", `/v1/endpoints/${all.at(-1)}`, { consumer_id: "bert" });
    const one = {
      type: "a.b",
      timestamp: 0,
      data: "{}",
      externalId: null,
      sourceId: null,
      hops: 0,
      trace: null,
    };
    const incoming = [{ ...one, consumerId: null, isTest: false }];
    const { promise: isSynced, resolve: letSync } = Promise.withResolvers<void>();
    let moving: ReturnType<typeof move> | null = null;
    if (give === "while it is looked up") {
      const { commits } = api.data.store;
      api.diskWaitsFor = isSynced;
      moving = move();
      while (api.data.store.commits === commits) await nextTurn();
    }
    const prepared = await api.services.pipeline.prepare(api.callers.get("full")?.projectId ?? 0, incoming);
    letSync();
    const before = give === "before" ? await move() : await moving;
    const [accepted] = await prepared.commitAndDispatch((write) => api.data.store.write(write));
    const moved = before ?? (await move());
    await api.until(async () => api.data.fanouts.count() === 0);
    const id = accepted?.event.id ?? 0;
    const written = api.data.store.sqlite
      .query<{ n: number }, [number]>("SELECT count(*) AS n FROM delivery WHERE event_id = ?")
      .get(id)?.n;
    const again = moved.status === 200 ? [] : [(await move()).status];
    return [
      moved.status,
      accepted?.event.deliveryCount,
      written,
      api.data.events.get(id)?.deliveryCount,
      ...again,
    ];
  }

  test("has as many deliveries as it was answered with: an endpoint stays until its own is written", async () => {
    expect(await publishBeside("after")).toEqual([409, 20, 20, 20, 409]);
  });

  test.each(["before", "while it is looked up"] as const)(
    "is not answered with that of an endpoint that was given away while it was prepared: %s",
    async (give) => {
      expect(await publishBeside(give)).toEqual([200, 19, 19, 19]);
    },
  );
});

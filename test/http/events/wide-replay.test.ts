import { afterEach, expect, spyOn, test } from "bun:test";
import { LIMITS } from "../../../src/core/limits.ts";
import type { DeliveryAnswer } from "../../../src/http/deliveries/shape.ts";
import { everyOne } from "../../../src/store/log/replays.ts";
import { type Api, type Page, startApi } from "../log-kit.ts";

interface ReplayAnswer {
  id: string;
  status: string;
  matched: number;
  replayed?: number;
}

const SMALL_WRITES = ["eventRowsMax", "sliceRows"] as const;
const CHANGED = [
  ...SMALL_WRITES,
  "listLimitMax",
  "fanoutSliceRows",
  "fanoutAtOnceMax",
  "replayNamedMax",
  "longWorksAtOnceMax",
  "longWorksWaitingMax",
] as const;
const usual = CHANGED.map((name) => LIMITS[name].value);
const setLimit = (name: (typeof CHANGED)[number], value: number) => {
  (LIMITS[name] as { value: number }).value = value;
};

afterEach(() => CHANGED.forEach((name, at) => setLimit(name, usual[at] ?? 0)));

test.each([true, false])(
  "a replay to very many is one thing with the answer that its key keeps, new_message_id %p",
  async (isNew) => {
    await using wide = await startApi();
    const made = [];
    for (let n = 0; n < 5; n++) made.push(await wide.endpoint({ url: wide.receiver.url(`wide-${n}`) }));
    const { id } = await wide.publish("e.key");
    const first = await wide.settled(id, ["delivered"]);
    const { sqlite } = wide.data.store;
    const count = (sql: string) =>
      sqlite.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${sql}`).get()?.n;
    const broken: string[] = [];
    for (const name of SMALL_WRITES) setLimit(name, 1);
    // A crash may come after any commit.
    wide.data.store.onTimed((what) => {
      const isBegun = count("note WHERE kind = 0") !== 0;
      if (what === "commit" && isBegun && count("idempotency") === 0) broken.push("begun without its answer");
    });
    const ask = () =>
      wide.call("POST", `/v1/events/${id}/replay`, { new_message_id: isNew }, "full", {
        "idempotency-key": "wide",
      });
    const [one, two] = [await ask(), await ask()];
    expect([one.status, two.text, broken]).toEqual([202, one.text, []]);
    expect(two.headers.get("idempotency-replayed")).toBe("true");
    const [replay] = (await wide.get<Page<ReplayAnswer>>("/v1/replays")).data;
    await wide.until(
      async () => (await wide.get<ReplayAnswer>(`/v1/replays/${replay?.id}`)).status === "completed",
    );
    const ids = (one.json as unknown as Page<DeliveryAnswer>).data.map((row) => row.id);
    const old = first.map((row) => row.id);
    expect(ids.toSorted()).toEqual(
      isNew ? ids.filter((msg) => !old.includes(msg)).toSorted() : old.toSorted(),
    );
    for (const n of made.keys()) {
      const requests = await wide.receiver.arrived(`wide-${n}`, 2);
      expect(ids).toContain(String(requests[1]?.headers["webhook-id"]));
    }
    const all = await wide.settled(id, ["delivered"]);
    expect([all.length, replay?.matched]).toEqual([isNew ? 10 : 5, 5]);
    expect((await wide.get<{ delivery_count: number }>(`/v1/events/${id}`)).delivery_count).toBe(all.length);
  },
);

/** An event that so many endpoints have got. */
async function sentTo(wide: Api, count: number, name: string): Promise<string> {
  for (let n = 0; n < count; n++) await wide.endpoint({ url: wide.receiver.url(name) });
  const { id } = await wide.publish(`e.${name}`);
  await wide.settled(id, ["delivered"]);
  return id;
}

test("the answer names the first of very many, and the bulk replay that sends to all", async () => {
  await using wide = await startApi();
  const id = await sentTo(wide, 5, "named");
  for (const name of SMALL_WRITES) setLimit(name, 2);
  setLimit("replayNamedMax", 3);
  const { status, json } = await wide.call("POST", `/v1/events/${id}/replay`, {});
  const { data, replay } = json as unknown as Page<DeliveryAnswer> & { replay: ReplayAnswer };
  expect([status, data.length, replay.status, replay.matched]).toEqual([202, 3, "running", 5]);
  await wide.until(
    async () => (await wide.get<ReplayAnswer>(`/v1/replays/${replay.id}`)).status === "completed",
  );
  await wide.receiver.arrived("named", 10);
});

test("a replay to all is refused while the event is on its way to some of them that its caller sees", async () => {
  await using wide = await startApi();
  const of = { url: wide.receiver.url("spread"), status: "paused" } as const;
  const { publicId: first } = await wide.endpoint({ ...of, consumerId: "anna" });
  for (let n = 0; n < 7; n++) await wide.endpoint(of);
  const { publicId: last } = await wide.endpoint({ ...of, consumerId: "bert" });
  for (const name of ["eventRowsMax", "fanoutSliceRows", "fanoutAtOnceMax"] as const) setLimit(name, 1);
  const [ofAnna, ofBert] = [
    await wide.publish("e.spread", { consumer_id: "anna" }),
    await wide.publish("e.spread", { consumer_id: "bert" }),
  ];
  const disk = Promise.withResolvers<void>();
  wide.diskWaitsFor = disk.promise;
  const replay = ({ id }: { id: string }, token: string, body = {}) =>
    wide.call("POST", `/v1/events/${id}/replay`, body, token);
  const named = replay(ofBert, "full", { endpoint_ids: [last] });
  for (const isNew of [false, true])
    for (const token of ["full", "bertManages"]) {
      const { status, json } = await replay(ofBert, token, { new_message_id: isNew });
      expect([status, json.detail]).toEqual([409, expect.stringContaining("for the first time")]);
    }
  expect((await replay(ofAnna, "full")).status).toBe(409);
  // Hers has it, and of the others she knows nothing.
  const hers = replay(ofAnna, "annaManages");
  disk.resolve();
  expect((await named).status).toBe(409);
  expect((await hers).json["data"]).toMatchObject([{ endpoint_id: first }]);
  await wide.until(async () => wide.data.fanouts.rest() === 0);
  const { data } = (await replay(ofBert, "full")).json as unknown as Page<DeliveryAnswer>;
  expect(data.map((delivery) => delivery.endpoint_id)).toContain(last);
});

test("of replays to very many a caller has a few in preparation, and the others wait in its line", async () => {
  await using wide = await startApi();
  const id = await sentTo(wide, 3, "line");
  for (const name of SMALL_WRITES) setLimit(name, 1);
  setLimit("longWorksAtOnceMax", 1);
  setLimit("longWorksWaitingMax", 2);
  const asked = Array.from({ length: 5 }, () => wide.call("POST", `/v1/events/${id}/replay`, {}));
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 202)).toHaveLength(3);
  expect(statuses.filter((status) => status === 429)).toHaveLength(2);
});

/** An event that so many paused endpoints wait for: nothing reads it to send it. */
async function keptFor(wide: Api, count: number): Promise<string> {
  for (let n = 0; n < count; n++) await wide.endpoint({ url: wide.receiver.url("paused"), status: "paused" });
  return (await wide.publish("e.paused", { data: { text: "x".repeat(5000) } })).id;
}

test("a replay to very many never has its event's data, in the line neither", async () => {
  await using wide = await startApi();
  const id = await keptFor(wide, 3);
  for (const name of SMALL_WRITES) setLimit(name, 1);
  setLimit("longWorksAtOnceMax", 1);
  using read = spyOn(wide.data.events, "getWithData");
  const asked = Array.from({ length: 3 }, () => wide.call("POST", `/v1/events/${id}/replay`, {}));
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  expect([statuses, read.mock.calls.length]).toEqual([[202, 202, 202], 0]);
});

test("the endpoints of a replay to very many are looked up slice by slice, with turns between", async () => {
  await using wide = await startApi();
  const id = await keptFor(wide, 12);
  for (const name of SMALL_WRITES) setLimit(name, 1);
  setLimit("listLimitMax", 2);
  const { endpoints, store } = wide.data;
  const get = endpoints.get.bind(endpoints);
  using turns = spyOn(store.turns, "giveWay");
  const looked: number[] = [];
  using _ = spyOn(endpoints, "get").mockImplementation((key) => {
    const turn = turns.mock.calls.length;
    looked[turn] = (looked[turn] ?? 0) + 1;
    return get(key);
  });
  expect((await wide.call("POST", `/v1/events/${id}/replay`, {})).status).toBe(202);
  expect(Math.max(...looked.filter(Boolean))).toBeLessThanOrEqual(4);
});

test("each slice reads and writes a narrow row: the list stands apart while it runs, and is gone then", async () => {
  await using wide = await startApi();
  const { replays, store } = wide.data;
  const WIDTH = 60;
  const id = await sentTo(wide, WIDTH, "narrow");
  for (const name of SMALL_WRITES) setLimit(name, 10);
  const rowBytes = () =>
    store.sqlite.query<{ n: number }, []>("SELECT max(octet_length(filter)) AS n FROM replay").get()?.n ?? 0;
  const kept = () => store.sqlite.query("SELECT id FROM replay_list").all();
  const seen: number[] = [];
  store.onTimed((what) => {
    if (what === "commit" && replays.countRunning() === 1) seen.push(rowBytes());
  });
  const answer = await wide.call("POST", `/v1/events/${id}/replay`, {});
  expect((answer.json as unknown as Page<DeliveryAnswer>).data).toHaveLength(WIDTH);
  await wide.until(() => Promise.resolve(replays.countRunning() === 0));
  expect(seen.length).toBeGreaterThan(3);
  expect(Math.max(...seen)).toBeLessThan(300);
  expect(kept()).toEqual([]);
  expect((await wide.get<Page<ReplayAnswer>>("/v1/replays")).data).toMatchObject([
    { status: "completed", matched: WIDTH, replayed: WIDTH },
  ]);
  await wide.receiver.arrived("narrow", 2 * WIDTH);
});

test("a job that a restart finds has its list again", async () => {
  await using wide = await startApi();
  const { replays, store } = wide.data;
  const list = { endpoints: [1, 2], deliveries: [3, 4] };
  const filter = { ...everyOne(["dead"]), event: { id: 9, isTest: false } };
  const job = { projectId: 1, consumerId: null, filter, list, matched: 2, position: 0, last: 0 };
  const made = await store.write(() => replays.insert(job));
  expect(replays.running()).toEqual([{ id: made.id, projectId: 1 }]);
  expect([replays.get(made.id), replays.listOf(made.id)]).toEqual([made, list]);
  await store.write(() => replays.update(made.id, { status: "cancelled" }));
  expect(store.sqlite.query("SELECT * FROM replay_list").all()).toEqual([]);
});

test.each([10, 2])(
  "the list of what is on its way is read once for all endpoints, where one write takes %p",
  async (rows) => {
    await using wide = await startApi();
    const id = await sentTo(wide, 5, "once");
    for (const name of SMALL_WRITES) setLimit(name, rows);
    const read = spyOn(wide.data.fanouts, "endpointsOf");
    const { status } = await wide.call("POST", `/v1/events/${id}/replay`, {});
    expect([status, read.mock.calls.length]).toEqual([202, 1]);
    await wide.receiver.arrived("once", 10);
  },
);

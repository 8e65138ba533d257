/** Filters: whose turns their work takes, and one that another version stored and this one refuses. */
import { Database } from "bun:sqlite";
import { expect, spyOn, test } from "bun:test";
import { join } from "node:path";
import { Audiences } from "../../src/pipeline/audience.ts";
import { startApp } from "../kit/app.ts";
import { openTestData, type TestData } from "../kit/data.ts";
import { parsedAtOnce } from "../kit/parsed.ts";
import { startReceiver } from "../kit/receiver.ts";

const listeners = { onExhausted() {}, onRefusedFilter() {} };

/** An event of so many bytes. */
function eventOf(bytes: number) {
  return { type: "a.b", timestamp: 0, consumerId: null, data: JSON.stringify({ x: "y".repeat(bytes) }) };
}

/** A live project of another account. */
async function otherProject({ data }: TestData): Promise<number> {
  const { id } = await data.tenants.createAccount({ name: "b", plan: "free" });
  return (await data.tenants.createProject(id, "live", "live")).id;
}

test.each([
  ["small", 10],
  ["large", 100_000],
])(
  "the filters of an account's many %s events hold up those of another no longer than one does",
  async (_, bytes) => {
    let turns = 0;
    const schedule = (next: () => void) => void setImmediate(() => (turns++, next()));
    // Every piece of work is for the next turn of the loop. None takes time: it is turns that are counted.
    const beginShare = () => ({ isOver: true });
    await using it = await openTestData({ schedule, beginShare, monotonic: () => 0 });
    const other = await otherProject(it);
    for (const n of Array(5).keys()) await it.endpoint({ filter: { data: { x: String(n) } } });
    await it.endpoint({ projectId: other, filter: { data: { x: "z" } } });
    const audiences = new Audiences(it.data, listeners);
    const ask = (projectId: number) => Promise.resolve(audiences.of(projectId, [eventOf(bytes)]));
    const turnsBeside = async (crowd: number) => {
      const crowded = Array.from({ length: crowd }, () => ask(it.project.id));
      const before = turns;
      await ask(other);
      const taken = turns - before;
      await Promise.all(crowded);
      return taken;
    };
    const [one, many] = [await turnsBeside(1), await turnsBeside(40)];
    expect(many).toBeLessThanOrEqual(2 * one);
  },
);

test.each([
  ["small", 10_000],
  ["large", 100_000],
])("of an account's many %s events one at a time is kept parsed for its filters", async (_, bytes) => {
  await using it = await openTestData({ beginShare: () => ({ isOver: true }) });
  for (const n of Array(3).keys()) await it.endpoint({ filter: { data: { x: String(n) } } });
  const audiences = new Audiences(it.data, listeners);
  const ask = () => Promise.resolve(audiences.of(it.project.id, [eventOf(bytes)]));
  expect(await parsedAtOnce(Array<typeof ask>(20).fill(ask), bytes)).toBe(1);
});

test("a single event has its audience at once where it is narrow, no filter is asked, and its list is known or short", async () => {
  await using it = await openTestData();
  for (let n = 0; n < 60; n++) await it.endpoint({ eventTypes: ["a.b"] });
  const audiences = new Audiences(it.data, listeners);
  const isAtOnce = (type: string) => {
    const audience = audiences.of(it.project.id, [{ ...eventOf(10), type }]);
    return [Array.isArray(audience), audience] as const;
  };
  expect(isAtOnce("a.b")[0]).toBe(true);
  for (let n = 0; n < 60; n++) await it.endpoint({ eventTypes: ["a.*", "*"] });
  // Twice sixty places, and sixty endpoints.
  const [wasAtOnce, audience] = isAtOnce("a.c");
  expect([wasAtOnce, (await audience)[0]?.endpoints.length]).toEqual([false, 60]);
  expect([isAtOnce("a.c")[0], isAtOnce("a.d")[0]]).toEqual([true, true]);
});

test("the many endpoints whose filter says no are found and told apart in pieces", async () => {
  let turns = 0;
  const schedule = (next: () => void) => void setImmediate(() => (turns++, next()));
  await using it = await openTestData({ schedule, beginShare: () => ({ isOver: true }) });
  for (let n = 0; n < 1000; n++) await it.endpoint({ filter: { data: { x: "no" } } });
  const audiences = new Audiences(it.data, listeners);
  const turnsFor = async (type: string) => {
    const before = turns;
    const [audience] = await audiences.of(it.project.id, [{ ...eventOf(10), type }]);
    expect(audience?.endpoints).toHaveLength(0);
    return turns - before;
  };
  const first = await turnsFor("a.b");
  const again = await turnsFor("a.b");
  expect(again).toBeGreaterThanOrEqual(10);
  expect(first).toBeGreaterThanOrEqual(again + 30);
  expect(await turnsFor("a.c")).toBe(again);
});

test("filters that an event was too much for are told of once, where it is held against them anew", async () => {
  let asked: boolean[] = [];
  const share = {
    get isOver() {
      return asked.shift() ?? true;
    },
  };
  await using it = await openTestData({ beginShare: () => share });
  const filter = { data: { x: { $or: Array.from({ length: 60 }, (_, n) => ({ $contains: `z${n}` })) } } };
  for (let n = 0; n < 2; n++) await it.endpoint({ filter });
  const told: number[] = [];
  const onExhausted = ({ count }: { count: number }) => void told.push(count);
  const audiences = new Audiences(it.data, { ...listeners, onExhausted });
  const data = JSON.stringify({ x: Array(15_000).fill("y") });
  const event = { type: "a.b", timestamp: 0, consumerId: null, data };
  using parse = spyOn(JSON, "parse");
  // The first event waits after one filter; the second has been held against both when it has to.
  asked = [false, false, true, true, false, false, false];
  await Promise.all([1, 2].map(() => audiences.of(it.project.id, [event])));
  expect([told, parse.mock.calls.length]).toEqual([[2, 2], 3]);
});

test("a filter that is refused keeps nobody but its own endpoint from its events, whose deliveries fail as malformed until it is set right", async () => {
  await using receiver = startReceiver();
  await using app = await startApp();
  const broken = await app.live.create("/v1/endpoints", {
    url: receiver.url("broken"),
    filter: { data: { n: 1 } },
  });
  await app.live.create("/v1/endpoints", { url: receiver.url("fine") });
  await app.stop();
  const sqlite = new Database(join(app.dataDir, "sealpost.db"));
  sqlite.run("UPDATE endpoint SET filter = ? WHERE filter IS NOT NULL", ['{"data":{"n":{"$later":1}}}']);
  sqlite.close();
  await app.start();
  await app.live.post("/v1/events", { type: "a.b", data: { n: 1 } });
  await receiver.arrived("fine");
  const path = `/v1/deliveries?endpoint_id=${broken["id"]}&status=dead`;
  const [dead] = await app.until(async () => {
    const { data } = (await app.live.get(path)).json as unknown as { data: Record<string, string>[] };
    return data.length > 0 && data;
  });
  expect(dead).toMatchObject({ status: "dead", dead_reason: "malformed" });
  await app.live.patch(`/v1/endpoints/${broken["id"]}`, { filter: { data: { n: { $gte: 1 } } } });
  await app.live.post("/v1/replays", { status: ["dead"] });
  const [request] = await receiver.arrived("broken");
  expect(request?.headers["webhook-id"]).toBe(String(dead?.["id"]));
  await app.stop();
  const lines = app.log().split("\n");
  const told = lines.filter(
    (line) => line.includes("refused by this version") && line.includes(`${broken["id"]}`),
  );
  expect(told).toHaveLength(1);
});

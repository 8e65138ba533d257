/** How many bulk replays run at once, of a project and of one consumer. */
import { afterEach, expect, spyOn, test } from "bun:test";
import { LIMITS } from "../../../src/core/limits.ts";
import { everyOne } from "../../../src/store/log/replays.ts";
import { apiForFile, expectRefusal } from "../log-kit.ts";

const names = ["replaysRunningMax", "replaysOfConsumerMax", "eventRowsMax"] as const;
const usual = names.map((name) => LIMITS[name].value);
const setLimit = (name: (typeof names)[number], value: number) =>
  ((LIMITS[name] as { value: number }).value = value);

const api = apiForFile();
afterEach(() => names.forEach((name, at) => setLimit(name, usual[at] ?? 0)));

const ask = (token?: string, body: object = {}) => api.call("POST", "/v1/replays", body, token);

/** Jobs that nobody runs. */
async function running(count: number, consumerId: string | null): Promise<number[]> {
  const { replays, store } = api.data;
  const projectId = api.callers.get("full")?.projectId ?? 0;
  const job = { projectId, consumerId, filter: everyOne(["dead"]), matched: 1, position: 0, last: 0 };
  return store.write(() => Array.from({ length: count }, () => replays.insert(job).id));
}

const end = (ids: readonly number[]) =>
  api.data.store.write(() => ids.map((id) => api.data.replays.update(id, { status: "cancelled" })));

test("a project has a bounded number of them, whoever asked, and nothing is counted for one too many", async () => {
  setLimit("replaysRunningMax", 3);
  const ids = [...(await running(2, null)), ...(await running(1, "bert"))];
  using count = spyOn(api.services.replayer, "count");
  const refused = await ask();
  expectRefusal(refused, 429, "rate_limited");
  expect([refused.headers.get("retry-after"), refused.json["detail"]]).toEqual([
    "30",
    "3 replays of this project run already. Ask again once one of them has ended, or cancel one.",
  ]);
  expectRefusal(await ask("annaManages"), 429, "rate_limited");
  expect(count.mock.calls.length).toBe(0);
  expect((await ask("full", { dry_run: true })).status).toBe(200);
  expect((await ask("other")).status).toBe(202);
  await end(ids);
  expect((await ask()).status).toBe(202);
});

test("a consumer has a share of them", async () => {
  setLimit("replaysOfConsumerMax", 2);
  const ids = await running(2, "anna");
  const refused = await ask("annaManages");
  expectRefusal(refused, 429, "rate_limited");
  expect(refused.json["detail"]).toStartWith("2 replays of this consumer run already.");
  expect([(await ask("bertManages")).status, (await ask()).status]).toEqual([202, 202]);
  await end(ids);
  expect((await ask("annaManages")).status).toBe(202);
});

test("many that are asked for at once are not more together", async () => {
  await api.until(() => Promise.resolve(api.data.replays.countRunning() === 0));
  setLimit("replaysRunningMax", 2);
  using run = spyOn(api.services.replayer, "run").mockImplementation(() => {});
  const statuses = (await Promise.all(Array.from({ length: 6 }, () => ask()))).map(({ status }) => status);
  expect([statuses.toSorted((a, b) => a - b), run.mock.calls.length]).toEqual([
    [202, 202, 429, 429, 429, 429],
    2,
  ]);
  await end(api.data.replays.running().map(({ id }) => id));
});

test("one event that goes to very many endpoints again is one of them", async () => {
  for (let n = 0; n < 2; n++)
    await api.endpoint({ url: api.receiver.url("room"), eventTypes: ["room.wide"] });
  const { id } = await api.publish("room.wide");
  await api.settled(id);
  const ids = await running(1, null);
  setLimit("replaysRunningMax", 1);
  expect((await api.call("POST", `/v1/events/${id}/replay`, {})).status).toBe(202);
  setLimit("eventRowsMax", 1);
  expectRefusal(await api.call("POST", `/v1/events/${id}/replay`, {}), 429, "rate_limited");
  await end(ids);
  expect((await api.call("POST", `/v1/events/${id}/replay`, {})).status).toBe(202);
});

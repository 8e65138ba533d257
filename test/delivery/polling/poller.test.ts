/** Pages and acknowledgements of a polled endpoint, without the door in front of them. */
import { expect, spyOn, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { atOnce } from "../../../src/core/structures/turn-queue.ts";
import { limit } from "../../../src/core/limits.ts";
import {
  type PollRequest,
  type PollPage,
  Poller,
  type PollRefusal,
} from "../../../src/delivery/polling/poller.ts";
import type { Message } from "../../../src/destinations/destination.ts";
import { Recorder } from "../../../src/delivery/recorder.ts";
import { type Api, startApi } from "../../http/log-kit.ts";

/** A polled endpoint's key. */
async function makeOutlet(api: Api, fields: object = {}, token?: string): Promise<number> {
  const made = await api.call("POST", "/v1/endpoints", { kind: "poll", config: {}, ...fields }, token);
  return api.data.ids.decode("ep", String(made.json["id"])) ?? 0;
}

function ask(fields: Partial<PollRequest> = {}): PollRequest {
  const { signal } = new AbortController();
  const write = ({ body }: Message) => body;
  return { position: 0, limit: 10, waitMs: 0, signal, write, isAllowed: () => true, ...fields };
}

function numbersOf(page: PollPage | PollRefusal): number[] {
  if (typeof page === "string") throw new Error(page);
  return page.messages.map((body) => JSON.parse(Buffer.from(body).toString()).data.n as number);
}

async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await nextTurn();
}

const positionOf = (page: PollPage | PollRefusal) => (typeof page === "string" ? -1 : page.position);

/** A poller that lets so many wait. */
function pollerOf(api: Api, heldMax: number): Poller {
  const handOut = () => {
    throw new Error("nothing waits");
  };
  const recorder = new Recorder(api.data, { clock: api.services.actors.clock, onAttempt: () => {} });
  return new Poller(api.data, api.services.actors, { recorder, heldMax, handOut, onAcknowledged: () => {} });
}

test("polls of all endpoints together are bounded, so that others have connections", async () => {
  await using api = await startApi();
  const key = await makeOutlet(api);
  const poller = pollerOf(api, 1);
  const leaving = new AbortController();
  const poll = () => poller.poll(key, ask({ waitMs: 60_000, signal: leaving.signal }));
  const first = poll();
  expect(await poll()).toBe("full");
  leaving.abort();
  expect(await first).toMatchObject({ messages: [], done: true });
});

test("an account that holds the most gives one up for one that holds fewer, until they hold as many", async () => {
  await using api = await startApi();
  const full = api.callers.get("full");
  if (!full) throw new Error("every bench has one");
  const account = await api.data.tenants.createAccount({ name: "another", plan: "unlimited" });
  const { id: projectId } = await api.data.tenants.createProject(account.id, "live", "live");
  api.callers.set("another", { ...full, id: 9, accountId: account.id, projectId });
  const [mine, theirs] = [await makeOutlet(api), await makeOutlet(api, {}, "another")];
  const poller = pollerOf(api, 4);
  const leaving = new AbortController();
  const ended: string[] = [];
  const polls: Promise<PollPage | PollRefusal>[] = [];
  const poll = async (name: string, key: number) => {
    const one = poller.poll(key, ask({ waitMs: 60_000, signal: leaving.signal }));
    polls.push(one);
    void one.then((page) => ended.push(typeof page === "string" ? `${name} ${page}` : name));
    await nextTurn();
    await nextTurn();
  };
  for (const name of ["mine 1", "mine 2", "mine 3", "mine 4", "mine 5"]) await poll(name, mine);
  expect(ended).toEqual(["mine 5 full"]);
  await poll("theirs 1", theirs);
  expect(ended).toEqual(["mine 5 full", "mine 1"]);
  await poll("theirs 2", theirs);
  await poll("theirs 3", theirs);
  await poll("mine 6", mine);
  expect(ended).toEqual(["mine 5 full", "mine 1", "mine 2", "theirs 3 full", "mine 6 full"]);
  leaving.abort();
  await Promise.all(polls);
  expect(ended.slice(5).toSorted()).toEqual(["mine 3", "mine 4", "theirs 1", "theirs 2"]);
  // All places are free again.
  const again = new AbortController();
  const four = Array.from({ length: 4 }, () =>
    poller.poll(mine, ask({ waitMs: 60_000, signal: again.signal })),
  );
  expect(await poller.poll(mine, ask({ waitMs: 60_000 }))).toBe("full");
  again.abort();
  expect((await Promise.all(four)).filter((page) => typeof page === "string")).toEqual([]);
});

test("a cursor takes all up to its position, slice by slice, and nothing that nobody was handed", async () => {
  await using api = await startApi();
  const key = await makeOutlet(api);
  const { poller } = api.services;
  const count = limit("sliceRows") + 20;
  const events = Array.from({ length: count }, (_, n) => ({ type: "a.b", data: { n } }));
  expect((await api.call("POST", "/v1/events/batch", { events })).status).toBe(202);
  const page = await poller.poll(key, ask({ limit: count - 5 }));
  expect(numbersOf(page)).toEqual(Array.from({ length: count - 5 }, (_, n) => n));
  expect(page).toMatchObject({ done: false });
  const before = api.data.store.commits;
  const next = await poller.poll(key, ask({ position: Number.MAX_SAFE_INTEGER, limit: 3 }));
  expect(numbersOf(next)).toEqual([count - 5, count - 4, count - 3]);
  // Two slices, and the hand-out.
  expect(api.data.store.commits - before).toBeGreaterThanOrEqual(3);
  // A cursor of before acknowledges nothing anew.
  expect(numbersOf(await poller.poll(key, ask({ position: positionOf(page) })))).toHaveLength(5);
});

test("a position far behind all that was handed out costs no look at what waits", async () => {
  await using api = await startApi();
  const key = await makeOutlet(api);
  const events = Array.from({ length: 60 }, (_, n) => ({ type: "a.b", data: { n } }));
  expect((await api.call("POST", "/v1/events/batch", { events })).status).toBe(202);
  const { deliveries } = api.data;
  await api.services.poller.poll(key, ask({ limit: 10 }));
  expect(deliveries.handedOutUpTo(key, Number.MAX_SAFE_INTEGER, 100)).toHaveLength(10);
  const handedOut = "UPDATE delivery SET step = 1 WHERE id = (SELECT max(id) FROM delivery)";
  await api.data.store.write(() => api.data.store.sqlite.run(handedOut));
  expect(deliveries.handedOutUpTo(key, Number.MAX_SAFE_INTEGER, 100)).toHaveLength(10);
});

test("a page holds so many bytes, and at least one message", async () => {
  await using api = await startApi();
  const key = await makeOutlet(api);
  const text = "x".repeat(700_000);
  for (let n = 0; n < 7; n++) await api.publish("a.b", { data: { n, text } });
  const page = await api.services.poller.poll(key, ask());
  expect(numbersOf(page)).toEqual([0, 1, 2, 3, 4]);
  expect(page).toMatchObject({ done: false });
  const rest = await api.services.poller.poll(key, ask({ position: positionOf(page) }));
  expect([numbersOf(rest), rest]).toMatchObject([[5, 6], { done: true }]);
});

test("who may not ask any more, and what is not polled, gets a refusal, and acknowledges nothing", async () => {
  await using api = await startApi();
  const key = await makeOutlet(api);
  const { poller } = api.services;
  await api.publish("a.b", { data: { n: 1 } });
  const position = positionOf(await poller.poll(key, ask()));
  expect(await poller.poll(key, ask({ position, isAllowed: () => false }))).toBe("gone");
  expect(await poller.poll(key + 1, ask({ position }))).toBe("gone");
  expect(numbersOf(await poller.poll(key, ask()))).toEqual([1]);
  await api.data.endpoints.change(key, () => ({ status: "disabled" }));
  expect(await poller.poll(key, ask({ position }))).toBe("disabled");
  await api.services.actors.stop();
  expect(await poller.poll(key, ask())).toBe("stopping");
});

test("a held poll has one timer for all its waits, and looks again only where something may be there", async () => {
  await using api = await startApi();
  const key = await makeOutlet(api);
  const { poller, actors } = api.services;
  const timers = spyOn(actors, "timer");
  let looks = 0;
  const isAllowed = () => ++looks > 0;
  const held = poller.poll(key, ask({ waitMs: 60_000, isAllowed }));
  await turns(5);
  for (let times = 1; times <= 3; times++) {
    await api.data.endpoints.change(key, () => ({ status: times % 2 === 1 ? "paused" : "active" }));
    await turns(5);
    expect([looks, timers.mock.calls.length]).toEqual([times + 1, 1]);
  }
  // It is paused now: nothing that comes is looked at.
  await api.publish("a.b", { data: { n: 1 } });
  await api.publish("a.b", { data: { n: 2 } });
  await turns(5);
  expect([looks, atOnce(actors.counts()).pollers]).toEqual([4, 1]);
  await api.data.endpoints.change(key, () => ({ status: "active" }));
  expect(numbersOf(await held)).toEqual([1, 2]);
  expect(atOnce(actors.counts()).pollers).toBe(0);
});

test("one event for many held polls of endpoints that are paused makes none look; resumed, all get it", async () => {
  await using api = await startApi();
  const key = await makeOutlet(api);
  await api.data.endpoints.change(key, () => ({ status: "paused" }));
  let looks = 0;
  const isAllowed = () => ++looks > 0;
  const many = Array.from({ length: 50 }, () =>
    api.services.poller.poll(key, ask({ waitMs: 60_000, isAllowed })),
  );
  await turns(10);
  await api.publish("a.b", { data: { n: 1 } });
  await turns(10);
  expect(looks).toBe(50);
  await api.data.endpoints.change(key, () => ({ status: "active" }));
  expect((await Promise.all(many)).map(numbersOf)).toEqual(many.map(() => [1]));
});

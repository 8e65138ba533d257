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
import { SetClock } from "../../kit/clock.ts";
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

/** Uses up the share of this turn: whatever is divided goes on in a later one. */
function endTurn(api: Api): void {
  while (!api.data.store.turns.isOver);
}

/** The first of so many messages cannot be rendered; the others have their numbers. */
async function publishBehind(api: Api, malformed: number, count: number): Promise<void> {
  const data = (n: number) => (n < malformed ? { n } : { body: { data: { n } } });
  const events = Array.from({ length: count }, (_, n) => ({ type: "a.b", data: data(n) }));
  expect((await api.call("POST", "/v1/events/batch", { events })).status).toBe(202);
}

const UNWRAPPED = { transformations: [{ op: "unwrap", path: "data.body" }] };

test.each([0, 60_000])(
  "a page that another poller acknowledges while it is made goes on behind it (waits %i ms)",
  async (waitMs) => {
    await using api = await startApi();
    const key = await makeOutlet(api);
    const { poller } = api.services;
    for (let n = 1; n <= 5; n++) await api.publish("a.b", { data: { n } });
    const position = positionOf(await poller.poll(key, ask({ limit: 2 })));
    await nextTurn();
    endTurn(api);
    // Its acknowledgement is written before the second, which has read what it acknowledges, goes on.
    const first = poller.poll(key, ask({ position, limit: 2 }));
    const second = poller.poll(key, ask({ limit: 2, waitMs }));
    expect([numbersOf(await first), numbersOf(await second)]).toEqual([
      [3, 4],
      [3, 4],
    ]);
  },
);

test.each([0, 60_000])(
  "pollers that meet malformed messages at once all get what stands behind them (wait %i ms)",
  async (waitMs) => {
    await using api = await startApi();
    const key = await makeOutlet(api, UNWRAPPED);
    await publishBehind(api, 40, 42);
    // Each looks in a turn that is over, so that others go on before it does.
    const isAllowed = () => {
      endTurn(api);
      return true;
    };
    const polls: Promise<PollPage | PollRefusal>[] = [];
    for (let n = 0; n < 8; n++) {
      polls.push(api.services.poller.poll(key, ask({ limit: 5, waitMs, isAllowed })));
      await nextTurn();
    }
    expect((await Promise.all(polls)).map(numbersOf)).toEqual(polls.map(() => [40, 41]));
  },
);

test("a message is written behind those that its own page holds, not behind those of one given up", async () => {
  await using api = await startApi();
  const key = await makeOutlet(api);
  const { poller } = api.services;
  const { deliveries } = api.data;
  for (let n = 1; n <= 4; n++) await api.publish("a.b", { data: { n } });
  const position = positionOf(await poller.poll(key, ask({ limit: 2 })));
  const befores: number[] = [];
  const write = (_: Message, before: number) => {
    // As another poller's cursor does, while this page is made.
    for (const { id } of befores.push(before) === 2 ? deliveries.handedOutUpTo(key, position, 2) : [])
      deliveries.acknowledge(key, id);
    return Buffer.alloc(10);
  };
  expect(await poller.poll(key, ask({ limit: 2, write }))).toMatchObject({ done: true });
  expect(befores).toEqual([0, 10, 0, 10]);
});

test("a poll whose client has left, and one of a process that stops, pass over no more that is malformed", async () => {
  await using api = await startApi();
  const key = await makeOutlet(api, UNWRAPPED);
  await publishBehind(api, 40, 41);
  const open = () => api.data.deliveries.parkedOf(key, "none", 100).length;
  const leaving = new AbortController();
  const left = api.services.poller.poll(key, ask({ limit: 1, signal: leaving.signal }));
  await api.data.store.untilCommitted();
  leaving.abort();
  expect(await left).toMatchObject({ messages: [], done: false });
  const rest = open();
  expect(rest).toBeGreaterThan(35);
  const stopped = api.services.poller.poll(key, ask({ limit: 1 }));
  await api.data.store.untilCommitted();
  await api.services.actors.stop();
  expect(await stopped).toBe("stopping");
  expect(open()).toBeGreaterThan(rest - 5);
});

test("a poll passes over malformed messages for as long as one may wait, and says that more follow", async () => {
  const clock = new SetClock(Date.UTC(2026, 10, 21));
  await using api = await startApi({}, clock);
  const key = await makeOutlet(api, UNWRAPPED);
  await publishBehind(api, 20, 21);
  const poll = () => api.services.poller.poll(key, ask({ limit: 1 }));
  const slow = poll();
  await api.data.store.untilCommitted();
  clock.advance(limit("pollWaitSecondsMax") * 1000);
  expect(await slow).toMatchObject({ messages: [], done: false });
  expect(numbersOf(await poll())).toEqual([20]);
});

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
  // A machine that hands over still makes endpoints.
  expect(await poller.poll(await makeOutlet(api), ask())).toBe("stopping");
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

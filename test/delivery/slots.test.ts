/** Attempts of all endpoints share a number of slots (src/delivery/actors.ts). */
import { expect, spyOn, test } from "bun:test";
import { limit, LIMITS } from "../../src/core/limits.ts";
import { atOnce } from "../../src/core/structures/turn-queue.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { makeActors } from "../kit/actors.ts";
import { makePipeline } from "../kit/pipeline.ts";
import { send, type Sent, sentMalformed, UNREADABLE } from "../../src/delivery/send.ts";
import { Slots, type SlotsParts } from "../../src/delivery/slots.ts";
import { steadyOver } from "../kit/clock.ts";
import { startApi } from "../http/log-kit.ts";
import { openBlackHole } from "../kit/black-hole.ts";
import { createGuard } from "../../src/transport/guard.ts";
import { createTransport, type Transport } from "../../src/transport/transport.ts";
import { turnsOf } from "../../src/store/project-turns.ts";

test("an endpoint that finds none waits, is counted, and goes on when another one has ended", async () => {
  await using api = await startApi();
  const { data } = api;
  const ends: ((sent: Sent) => void)[] = [];
  const { actors } = makeActors(data, {
    clock: steadyOver(systemClock),
    send: () => new Promise((resolve) => ends.push(resolve)),
    attemptsMax: 2,
  });
  const pipeline = makePipeline(data, actors);
  const { projectId } = await api.endpoint({ url: api.receiver.url("slots") });
  const event = { type: "a.b", timestamp: 0, data: "{}", consumerId: null, externalId: null, sourceId: null };
  const prepared = await pipeline.prepare(projectId, [
    { ...event, isTest: false, hops: 0, trace: null },
    { ...event, isTest: false, hops: 0, trace: null },
  ]);
  await prepared.commitAndDispatch((run) => data.store.write(run));
  expect(atOnce(actors.counts())).toMatchObject({ inFlight: 1, withoutSlot: 1 });
  ends.shift()?.(sentMalformed(0, UNREADABLE));
  await api.until(async () => ends.length === 1 && atOnce(actors.counts()).withoutSlot === 0);
  ends.shift()?.(sentMalformed(0, UNREADABLE));
  await actors.stop();
});

const room = LIMITS.attemptsInFlightBytesMax as { value: number };

test.each([
  ["http:", 8],
  ["https:", 3],
])(
  "attempts in flight over %s take their room: %p of eight in that of four handshakes",
  async (scheme, at) => {
    const usual = room.value;
    room.value = 4 * limit("tlsAttemptBytes");
    await using api = await startApi();
    const { data } = api;
    const end = Promise.withResolvers<Sent>();
    const { actors } = makeActors(data, { clock: steadyOver(systemClock), send: () => end.promise });
    room.value = usual;
    const url = api.receiver.url("room").replace("http:", scheme);
    let projectId = 0;
    for (let made = 0; made < 8; made++) ({ projectId } = await api.endpoint({ url }));
    const event = {
      type: "a.b",
      timestamp: 0,
      data: "{}",
      consumerId: null,
      externalId: null,
      sourceId: null,
    };
    const prepared = await makePipeline(data, actors).prepare(projectId, [
      { ...event, isTest: false, hops: 0, trace: null },
    ]);
    await prepared.commitAndDispatch((run) => data.store.write(run));
    await api.until(async () => {
      const { inFlight, withoutSlot } = atOnce(actors.counts());
      return inFlight + withoutSlot === 8;
    });
    expect(atOnce(actors.counts())).toMatchObject({ inFlight: at, withoutSlot: 8 - at });
    end.resolve(sentMalformed(0, UNREADABLE));
    await actors.stop();
  },
);

/** Twelve endpoints for this URL that give up after a second, over eight slots, and an event for each. */
async function sendToTwelve(api: Awaited<ReturnType<typeof startApi>>, transport: Transport, url: string) {
  const { data, services } = api;
  const sending = {
    transport,
    monotonic: () => services.monotonic(),
    now: () => services.wallNow(),
    dated: () => services.wallNow(),
    ids: data.ids,
    turnsOf: (projectId: number) => turnsOf(data, projectId),
    isTurnOver: () => data.store.turns.isOver,
    signal: new AbortController().signal,
    untilMayGo: () => null,
    onBroken() {},
  };
  const { actors } = makeActors(data, {
    clock: steadyOver(systemClock),
    send: (endpoint, load) => send(sending, endpoint, load),
    attemptsMax: 8,
  });
  let projectId = 0;
  for (let made = 0; made < 12; made++) ({ projectId } = await api.endpoint({ url, timeoutSeconds: 1 }));
  const event = { type: "a.b", timestamp: 0, data: "{}", consumerId: null, externalId: null, sourceId: null };
  const prepared = await makePipeline(data, actors).prepare(projectId, [
    { ...event, isTest: false, hops: 0, trace: null },
  ]);
  await prepared.commitAndDispatch((run) => data.store.write(run));
  const count = async (status: string) =>
    (await api.get<{ data: unknown[] }>(`/v1/deliveries?status=${status}`)).data.length;
  return { actors, count };
}

test("sockets of attempts that were given up while they connected count until the kernel lets go", async () => {
  await using hole = await openBlackHole();
  await using api = await startApi();
  const { transport } = api.services;
  const { actors, count } = await sendToTwelve(api, transport, `http://127.0.0.1:${hole.port}/`);
  await api.until(async () => (await count("dead")) === 6);
  // Three quarters of eight: the next six wait, although nothing is in flight.
  expect(atOnce(actors.counts())).toMatchObject({ inFlight: 0, withoutSlot: 6 });
  expect(transport.stats()).toMatchObject({ open: 6, connects: 6 });
  await hole.close();
  await api.until(async () => (await count("dead")) === 12);
  // The kernel repeats the SYN of each at an instant of its own.
  await api.until(async () => transport.stats().open === 0);
  expect(transport.stats()).toMatchObject({ connects: 12 });
  await actors.stop();
}, 30_000);

test("names of attempts that were given up while they were looked up count until the resolver answers", async () => {
  await using api = await startApi();
  const questions: ((addresses: string[]) => void)[] = [];
  let canAnswer = false;
  const guard = createGuard({
    allow: ["127.0.0.0/8"],
    resolver: {
      resolve: () => new Promise((resolve) => (canAnswer ? resolve(["127.0.0.1"]) : questions.push(resolve))),
    },
  });
  const pin = (url: URL) => guard.pin({ protocol: url.protocol, port: url.port, hostname: "hang.test" });
  const transport = createTransport({ guard: { ...guard, pin }, monotonic: () => performance.now() });
  const { actors, count } = await sendToTwelve(api, transport, api.receiver.url("named"));
  await api.until(async () => (await count("dead")) === 6);
  expect(atOnce(actors.counts())).toMatchObject({ inFlight: 0, withoutSlot: 6 });
  expect([questions.length, transport.stats().connects]).toEqual([6, 0]);
  canAnswer = true;
  for (const answer of questions) answer(["127.0.0.1"]);
  await api.until(async () => (await count("delivered")) === 6);
  expect(transport.stats().connects).toBe(6);
  await actors.stop();
  transport.close();
}, 30_000);

test("what is sent beside the queues has a slot of its account, or is not begun", async () => {
  await using api = await startApi();
  const { actors } = makeActors(api.data, {
    clock: steadyOver(systemClock),
    send: () => Promise.resolve(null),
    attemptsMax: 8,
  });
  const { projectId } = await api.endpoint({ url: api.receiver.url("slots") });
  const gone = Promise.withResolvers<void>();
  const hanging = { kind: "timeout", code: "timeout_connect", socketGone: gone.promise } as const;
  const results: unknown[] = [];
  for (let at = 0; at < 7; at++) results.push(await actors.inSlot(projectId, () => Promise.resolve(hanging)));
  expect(results).toEqual([...Array.from({ length: 6 }, () => hanging), null]);
  gone.resolve();
  await gone.promise;
  const answered = { kind: "aborted" } as const;
  for (let at = 0; at < 7; at++)
    expect(await actors.inSlot(projectId, () => Promise.resolve(answered))).toBe(answered);
});

function makeSlots(max: number, parts: Partial<SlotsParts> = {}): Slots {
  return new Slots({
    max,
    bytesMax: max * 100,
    schedule() {},
    beginShare: () => ({ isOver: false }),
    wake() {},
    ...parts,
  });
}

test("a socket that outlives its attempt keeps the slot until it is gone, and none of the body's bytes", async () => {
  const slots = makeSlots(4);
  const gone = Promise.withResolvers<void>();
  for (let at = 0; slots.isFree(1, at); at++) slots.take(1, 100);
  slots.giveBack(1, 100, gone.promise);
  expect([slots.isFree(1, 1), slots.isFree(1, 0)]).toEqual([false, true]);
  slots.giveBack(1, 100, gone.promise);
  expect([slots.isFree(1, 1), slots.isFree(1, 0)]).toEqual([false, true]);
  slots.take(2, 200);
  expect(slots.isFree(3, 0)).toBe(true);
  gone.resolve();
  await gone.promise;
  slots.giveBack(2, 200);
  expect(slots.isFree(1, 1)).toBe(true);
  expect(() => slots.giveBack(1, 0)).toThrow();
});

test("an account whose endpoints hang leaves the others their part of the slots", () => {
  const slots = makeSlots(100);
  for (let at = 0; slots.isFree(1, at === 0 ? 0 : at); at++) slots.take(1, 0);
  // Of one endpoint half, of many endpoints three quarters.
  let endpoints = 0;
  for (; slots.isFree(1, 0); endpoints++) slots.take(1, 0);
  expect([endpoints, slots.isFree(1, 1), slots.isFree(1, 0)]).toEqual([25, false, false]);
  let others = 0;
  for (; slots.isFree(2, others); others++) slots.take(2, 0);
  expect([others, slots.isFree(3, 0), slots.isFree(3, 5)]).toEqual([13, true, true]);
  slots.giveBack(1, 0);
  expect([slots.isFree(1, 1), slots.isFree(1, 0)]).toEqual([false, false]);
});

test("however many accounts hang, one that has nothing in flight finds a slot", () => {
  const slots = makeSlots(614);
  const inFlight: number[] = [];
  const take = (account: number) => {
    if (!slots.isFree(account, 0)) return false;
    slots.take(account, 0);
    return inFlight.push(account) > 0;
  };
  for (let account = 1; account <= 15; account++) while (take(account));
  expect(slots.isFree(1000, 0)).toBe(true);
  // More than have a slot each. As attempts end, all of them ask for what is free.
  for (let account = 16; account <= 150; account++) while (take(account));
  for (let ended = 0; ended < 2000; ended++) {
    const account = inFlight.shift();
    if (account !== undefined) slots.giveBack(account, 0);
    for (let next = 1; next <= 150; next++) take(((ended + next) % 150) + 1);
  }
  expect(slots.isFree(1000, 0)).toBe(true);
});

test("however many accounts send large bodies, one that sends nothing large finds a slot", () => {
  const slots = makeSlots(100);
  for (let account = 1; account <= 3; account++) while (slots.isFree(account, 0)) slots.take(account, 150);
  expect(slots.isFree(1000, 0)).toBe(true);
});

test("an account whose bodies are large leaves the others their part of the bytes", () => {
  const slots = makeSlots(100);
  let large = 0;
  for (; slots.isFree(1, large); large++) slots.take(1, 1000);
  expect([large, slots.isFree(1, 0), slots.isFree(2, 5)]).toEqual([5, true, true]);
  for (; slots.isFree(1, 0); large++) slots.take(1, 1000);
  expect([large, slots.isFree(2, 0)]).toEqual([8, true]);
  slots.take(2, 2000);
  expect([slots.isFree(2, 0), slots.isFree(3, 0)]).toEqual([false, false]);
  slots.giveBack(1, 1000);
  expect([slots.isFree(2, 1), slots.isFree(3, 0)]).toEqual([false, true]);
});

/** Slots whose endpoints send one each when they are woken, in turns of the test; 2001 is of account 2. */
class Hungry {
  readonly woken: string[] = [];
  readonly #inFlight = new Map<number, number>();
  #next: (() => void)[] = [];
  readonly slots: Slots;

  constructor(
    max: number,
    private readonly share = Infinity,
  ) {
    this.slots = makeSlots(max, {
      schedule: (next) => void this.#next.push(next),
      beginShare: () => this.#beginShare(),
      wake: (endpointId) => this.#wake(endpointId),
    });
  }

  #beginShare() {
    let left = this.share;
    return {
      get isOver() {
        return --left <= 0;
      },
    };
  }

  #wake(endpointId: number): void {
    this.woken.push(`${endpointId}${this.start(endpointId) ? "" : " in vain"}`);
  }

  start(endpointId: number): boolean {
    const [accountId, own] = [Math.floor(endpointId / 1000), this.#inFlight.get(endpointId) ?? 0];
    if (!this.slots.ask(endpointId, accountId, own)) return false;
    this.#inFlight.set(endpointId, own + 1);
    this.slots.take(accountId, 0);
    return true;
  }

  end(endpointId: number): void {
    this.#inFlight.set(endpointId, (this.#inFlight.get(endpointId) ?? 0) - 1);
    this.slots.giveBack(Math.floor(endpointId / 1000), 0);
  }

  /** How many works of this turn there were. */
  turn(): number {
    const works = this.#next;
    this.#next = [];
    for (const work of works) work();
    return works.length;
  }
}

test("the endpoints that found no slot are woken by account, and those of one in their order", () => {
  const hungry = new Hungry(8);
  for (let endpoint = 1001; endpoint <= 1500; endpoint++) hungry.start(endpoint);
  for (let endpoint = 2001; endpoint <= 2004; endpoint++) hungry.start(endpoint);
  expect([...hungry.slots.starved].slice(0, 2)).toEqual([1007, 1008]);
  for (let ended = 1001; ended <= 1006; ended++) hungry.end(ended);
  hungry.turn();
  expect(hungry.woken).toEqual(["1007", "2003", "1008", "2004", "1009"]);
});

test("an account that has its part is passed by at once, whatever it has", () => {
  const hungry = new Hungry(100);
  for (let endpoint = 1001; endpoint <= 1900; endpoint++) hungry.start(endpoint);
  for (let endpoint = 2001; endpoint <= 2100; endpoint++) hungry.start(endpoint);
  const [first, second] = [75, 19];
  expect([...hungry.slots.starved].length).toBe(1000 - first - second);
  hungry.end(2001);
  expect([hungry.turn(), hungry.turn()]).toEqual([1, 0]);
  expect(hungry.woken).toEqual(["2020"]);
});

test("endpoints with attempts in flight are passed by where only others of the account may send", () => {
  const hungry = new Hungry(8);
  for (const endpoint of [1001, 1001, 1001, 1001, 1002, 1003]) expect(hungry.start(endpoint)).toBe(true);
  for (const endpoint of [1001, 1002, 1004, 1005]) expect(hungry.start(endpoint)).toBe(false);
  hungry.end(1003);
  hungry.turn();
  expect(hungry.woken).toEqual(["1004"]);
  for (const endpoint of [1001, 1001, 1001, 1001, 1002]) hungry.end(endpoint);
  hungry.turn();
  expect(hungry.woken).toEqual(["1004", "1005", "1001", "1002"]);
});

test("where those with attempts in flight get no more, they are not asked about one by one at each attempt's end", () => {
  let feed = () => {};
  const woken: number[] = [];
  const slots = makeSlots(2000, {
    schedule: (next) => void (feed = next),
    wake: (endpointId) => void woken.push(endpointId),
  });
  const endpoints = Array.from({ length: 1200 }, (_, at) => at);
  for (let attempt = 0; attempt < 1500; attempt++) slots.take(1, 0);
  for (const endpointId of endpoints) slots.ask(endpointId, 1, 1);
  // Its attempt has ended since.
  slots.ask(7, 1, 0);
  expect([...slots.starved].length).toBe(1200);
  using asked = spyOn(slots, "isFree");
  slots.giveBack(1, 0);
  feed();
  expect(woken).toEqual([7]);
  slots.giveBack(1, 0);
  feed();
  expect([woken, asked.mock.calls.length < 10]).toEqual([[7], true]);
  for (let ended = 0; ended < 500; ended++) slots.giveBack(1, 0);
  feed();
  expect(woken).toEqual([7, ...endpoints.filter((endpointId) => endpointId !== 7)]);
});

test("where a turn is over, the rest is woken in the next ones, and then no turn is taken any more", () => {
  const hungry = new Hungry(8, 2);
  for (let endpoint = 1001; endpoint <= 1010; endpoint++) hungry.start(endpoint);
  for (let ended = 1001; ended <= 1006; ended++) hungry.end(ended);
  const turns = Array.from({ length: 5 }, () => [hungry.turn(), hungry.woken.length]);
  expect(turns).toEqual([
    [1, 2],
    [1, 4],
    [0, 4],
    [0, 4],
    [0, 4],
  ]);
});

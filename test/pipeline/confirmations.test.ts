/**
 * Events that wait for the replica among events that do not, in any order: nothing of theirs is answered or
 * sent before the replica has them, and all of it is afterwards, once, and in their order where that is kept.
 */
import { afterEach, beforeEach, expect, test } from "bun:test";
import fc from "fast-check";
import { LIMITS } from "../../src/core/limits.ts";
import type { Accepted } from "../../src/pipeline/pipeline.ts";
import { nextTurn } from "../../src/platform/turns.ts";
import { confirmationsBy, GateByHand } from "../kit/replica-gate.ts";
import { type Api, startApi } from "../http/log-kit.ts";

const usual = LIMITS.actorQueueMax.value;
const setQueueMax = (value: number) => ((LIMITS.actorQueueMax as { value: number }).value = value);

// Some are parked.
beforeEach(() => setQueueMax(2));
afterEach(() => setQueueMax(usual));

/** `narrow`: after the replica, for the endpoint that keeps the order alone. */
type Step = "disk" | "replica" | "narrow" | "confirm" | "poll";
const PUSHED = ["ordered", "unordered"];

/** What the receivers and a poller get of events that carry numbers. */
class Course {
  readonly violations: string[] = [];
  readonly #confirmed = new Set<number>();
  /** Events that wait for the replica. */
  #pending: number[] = [];
  readonly #answers: Promise<unknown>[] = [];
  readonly #polled: number[] = [];
  /** Numbers of the events that all endpoints take. */
  readonly #wide: number[] = [];
  /** Those that waited for the replica, as they come to the endpoint that keeps the order. */
  readonly #inOrder: number[] = [];
  #count = 0;
  #asked = 0;
  #poll = { id: "", secret: "", cursor: "" };

  constructor(private readonly api: Api) {}

  async open(): Promise<void> {
    const { api } = this;
    for (const name of PUSHED)
      api.receiver.at(name, ({ body }) => {
        const { n, waits } = JSON.parse(body.toString()).data as { n: number; waits: boolean };
        this.#requireConfirmed(n, name);
        if (name === "ordered" && waits) this.#inOrder.push(n);
        return new Response();
      });
    const eventTypes = ["wide"];
    await api.endpoint({ url: api.receiver.url("ordered"), ordering: "fifo" });
    await api.endpoint({ url: api.receiver.url("unordered"), maxConcurrency: 1, eventTypes });
    const polled = { kind: "poll", config: {}, event_types: eventTypes };
    const made = await api.call("POST", "/v1/endpoints", polled);
    Object.assign(this.#poll, { id: made.json["id"], secret: made.json["secret"] });
  }

  async step(step: Step): Promise<void> {
    if (step === "confirm") this.#confirm();
    else if (step === "poll") await this.#fetch();
    else await this.#publish(step);
  }

  async end(): Promise<void> {
    this.#confirm();
    await Promise.all(this.#answers);
    const { receiver } = this.api;
    await receiver.arrived("ordered", this.#count);
    await receiver.arrived("unordered", this.#wide.length);
    let fetched = -1;
    while (fetched < this.#polled.length) {
      fetched = this.#polled.length;
      await this.#fetch();
    }
    expect(this.#polled.toSorted(byNumber)).toEqual(this.#wide);
    expect(receiver.requests("ordered")).toHaveLength(this.#count);
    expect(receiver.requests("unordered")).toHaveLength(this.#wide.length);
    expect(this.#inOrder).toEqual(this.#inOrder.toSorted(byNumber));
  }

  async #publish(step: "disk" | "replica" | "narrow"): Promise<void> {
    const n = this.#count++;
    const durability = step === "disk" ? "disk" : "replica";
    const event = { type: step === "narrow" ? "narrow" : "wide", data: { n, waits: step !== "disk" } };
    if (step !== "narrow") this.#wide.push(n);
    const headers = { "sealpost-durability": durability };
    if (durability === "disk") this.#confirmed.add(n);
    const answer = this.api.call("POST", "/v1/events", event, "full", headers);
    this.#answers.push(answer.then(() => this.#requireConfirmed(n, "the publisher")));
    if (durability === "disk") return void (await answer);
    await this.api.replica.asked(++this.#asked);
    this.#pending.push(n);
  }

  #confirm(): void {
    for (const n of this.#pending.splice(0)) this.#confirmed.add(n);
    this.api.replica.confirm();
  }

  /** A page, which acknowledges the one before. */
  async #fetch(): Promise<void> {
    const { id, secret, cursor } = this.#poll;
    const { json } = await this.api.call("GET", `/poll/${id}?limit=3${cursor}`, undefined, secret);
    const page = json as unknown as { data: { body: string }[]; next_cursor: string };
    const numbers = page.data.map(({ body }) => JSON.parse(body).data.n as number);
    for (const n of numbers) this.#requireConfirmed(n, "the poller");
    this.#polled.push(...numbers);
    this.#poll.cursor = `&cursor=${page.next_cursor}`;
  }

  #requireConfirmed(n: number, who: string): void {
    if (!this.#confirmed.has(n)) this.violations.push(`${who} has ${n} before the replica`);
  }
}

const byNumber = (a: number, b: number) => a - b;

const steps = fc.array(fc.constantFrom<Step>("disk", "replica", "narrow", "confirm", "poll"), {
  minLength: 1,
  maxLength: 20,
});

test("nothing of an event is seen before the replica has it, and all of it afterwards, once", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      await using api = await startApi();
      const course = new Course(api);
      await course.open();
      for (const step of all) await course.step(step);
      await course.end();
      expect(course.violations).toEqual([]);
    }),
    { numRuns: 15 },
  );
}, 60_000);

test("what one upload confirms goes on in its order, a share of it in each turn of the loop", async () => {
  const turns: (() => void)[] = [];
  const order: number[] = [];
  // A share is three pieces.
  const beginShare = () => {
    const end = order.length + 3;
    return {
      get isOver() {
        return order.length >= end;
      },
    };
  };
  const gate = new GateByHand();
  const confirmations = confirmationsBy(gate, { beginShare, schedule: (next) => turns.push(next) });
  const ask = (n: number) => confirmations.confirm(1, () => void order.push(n));
  const answers = Array.from({ length: 7 }, (_, n) => ask(n));
  gate.confirm();
  await nextTurn();
  const seen = [order.length];
  // It comes while others wait, and stands behind them.
  answers.push(ask(7));
  gate.confirm();
  await nextTurn();
  for (let turn = turns.shift(); turn; turn = turns.shift()) {
    turn();
    await nextTurn();
    seen.push(order.length);
  }
  await Promise.all(answers);
  expect([seen, order]).toEqual([
    [3, 6, 8, 8],
    [0, 1, 2, 3, 4, 5, 6, 7],
  ]);
});

test("the end of the service waits for what is being written, and lets nothing new begin", async () => {
  const gate = new GateByHand();
  const confirmations = confirmationsBy(gate);
  const order: string[] = [];
  const { promise: fsync, resolve: write } = Promise.withResolvers<void>();
  const answer = confirmations.answering(async () => {
    await fsync;
    await confirmations.confirm(1, () => void order.push("answer"));
  });
  const ended = confirmations.untilAnswered().then(() => order.push("end"));
  expect(() => confirmations.requireReached()).toThrow(/stopping/);
  await nextTurn();
  write();
  await gate.asked();
  await nextTurn();
  expect(order).toEqual([]);
  gate.confirm();
  await Promise.all([answer, ended]);
  expect(order).toEqual(["answer", "end"]);
});

test("of an event that waits on after its 503 nothing is kept but what is dispatched", async () => {
  await using api = await startApi();
  await api.endpoint({ url: api.receiver.url("late") });
  const projectId = api.callers.get("full")?.projectId ?? 0;
  const given = { type: "a.b", timestamp: 0, consumerId: null, externalId: null, sourceId: null };
  const kept: WeakRef<object>[] = [];
  const publish = async () => {
    const incoming = { ...given, data: '{"large":true}', isTest: false, hops: 0, trace: null };
    kept.push(new WeakRef(incoming));
    const prepared = await api.services.pipeline.prepare(projectId, [incoming]);
    const commit = (write: () => readonly Accepted[]) =>
      api.data.store.write(() => {
        const accepted = write();
        for (const { event } of accepted) expect(event).not.toHaveProperty("data");
        return accepted;
      });
    await expect(prepared.commitAndDispatch(commit, "replica")).rejects.toThrow(/not confirmed it in time/);
  };
  api.replica.waitMs = 1;
  for (let n = 0; n < 20; n++) await publish();
  await nextTurn();
  Bun.gc(true);
  // The stack may still name the last ones.
  expect(kept.filter((one) => one.deref() !== undefined).length).toBeLessThan(5);
  api.replica.confirm();
  await api.receiver.arrived("late", kept.length);
});

test("what fails after the 503 is told, and what is polled is let go all the same", async () => {
  await using api = await startApi();
  const { replica } = api;
  const made = await api.call("POST", "/v1/endpoints", { kind: "poll", config: {} });
  const { deliveries } = api.data;
  const moveToEnd = deliveries.moveToEnd.bind(deliveries);
  deliveries.moveToEnd = () => {
    throw new Error("no place");
  };
  replica.waitMs = 1;
  const event = { type: "a.b", data: {} };
  const late = await api.call("POST", "/v1/events", event, "full", { "sealpost-durability": "replica" });
  expect(late.status).toBe(503);
  replica.confirm();
  const { id, secret } = made.json as Record<string, string>;
  const { json } = await api.call("GET", `/poll/${id}?wait=10`, undefined, secret);
  expect(json["data"]).toHaveLength(1);
  expect(replica.failures.map(String)).toEqual(["Error: no place"]);
  deliveries.moveToEnd = moveToEnd;
});

test("a poll between the commit of an event's new place and its fsync gets it before what stands behind it", async () => {
  await using api = await startApi();
  const made = await api.call("POST", "/v1/endpoints", { kind: "poll", config: {} });
  const { id, secret } = made.json as Record<string, string>;
  const publish = (name: string, durability: string) =>
    api.call("POST", "/v1/events", { type: "a.b", data: { name } }, "full", {
      "sealpost-durability": durability,
    });
  const poll = async (cursor = "") => {
    const { json } = await api.call("GET", `/poll/${id}?limit=10${cursor}`, undefined, secret);
    const page = json as unknown as { data: { body: string }[]; next_cursor: string };
    const names = page.data.map(({ body }) => JSON.parse(body).data.name as string);
    return { names, next: `&cursor=${page.next_cursor}` };
  };
  const confirmed = publish("replica", "replica");
  await api.replica.asked();
  const disk = Promise.withResolvers<void>();
  api.diskWaitsFor = disk.promise;
  const { store } = api.data;
  const commits = store.commits;
  let stored: Promise<unknown> = confirmed;
  // Both are written in one transaction, the place first.
  await store.holdCommits(async () => {
    api.replica.confirm();
    stored = publish("disk", "disk");
    for (let turn = 0; turn < 20; turn++) await nextTurn();
  });
  while (store.commits === commits) await nextTurn();
  const first = poll();
  await nextTurn();
  disk.resolve();
  await Promise.all([confirmed, stored]);
  const { names, next } = await first;
  const rest = await poll(next);
  expect([...names, ...rest.names]).toEqual(["replica", "disk"]);
});

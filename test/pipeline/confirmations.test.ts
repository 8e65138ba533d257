/**
 * Events that wait for the replica among events that do not, in any order: nothing of theirs is answered or
 * sent before the replica has them, and all of it is afterwards, once.
 */
import { afterEach, beforeEach, expect, test } from "bun:test";
import fc from "fast-check";
import { LIMITS } from "../../src/core/limits.ts";
import { type Api, startApi } from "../http/log-kit.ts";

const usual = LIMITS.actorQueueMax.value;
const setQueueMax = (value: number) => ((LIMITS.actorQueueMax as { value: number }).value = value);

// Some are parked.
beforeEach(() => setQueueMax(2));
afterEach(() => setQueueMax(usual));

type Step = "disk" | "replica" | "confirm" | "poll";
const PUSHED = ["ordered", "unordered"];

/** What the receivers and a poller get of events that carry numbers. */
class Course {
  readonly violations: string[] = [];
  readonly #confirmed = new Set<number>();
  /** Events that wait for the replica. */
  #pending: number[] = [];
  readonly #answers: Promise<unknown>[] = [];
  readonly #polled: number[] = [];
  #count = 0;
  #asked = 0;
  #poll = { id: "", secret: "", cursor: "" };

  constructor(private readonly api: Api) {}

  async open(): Promise<void> {
    const { api } = this;
    for (const name of PUSHED)
      api.receiver.at(name, ({ body }) => {
        this.#requireConfirmed(JSON.parse(body.toString()).data.n as number, name);
        return new Response();
      });
    await api.endpoint({ url: api.receiver.url("ordered"), ordering: "fifo" });
    await api.endpoint({ url: api.receiver.url("unordered"), maxConcurrency: 1 });
    const made = await api.call("POST", "/v1/endpoints", { kind: "poll", config: {} });
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
    for (const name of PUSHED) await this.api.receiver.arrived(name, this.#count);
    let fetched = -1;
    while (fetched < this.#polled.length) {
      fetched = this.#polled.length;
      await this.#fetch();
    }
    const numbers = Array.from({ length: this.#count }, (_, n) => n);
    expect(this.#polled.toSorted((a, b) => a - b)).toEqual(numbers);
    for (const name of PUSHED) expect(this.api.receiver.requests(name)).toHaveLength(this.#count);
  }

  async #publish(durability: "disk" | "replica"): Promise<void> {
    const n = this.#count++;
    const headers = { "sealpost-durability": durability };
    if (durability === "disk") this.#confirmed.add(n);
    const answer = this.api.call("POST", "/v1/events", { type: "a.b", data: { n } }, "full", headers);
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

const steps = fc.array(fc.constantFrom<Step>("disk", "replica", "replica", "confirm", "poll"), {
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

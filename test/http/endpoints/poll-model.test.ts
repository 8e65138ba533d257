/** Polling against a model of it: a list, from which only a cursor takes. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { SetClock } from "../../kit/clock.ts";
import { apiForFile } from "../log-kit.ts";

type Step =
  | { do: "publish" }
  | { do: "poll"; limit: number; cursor: number | null }
  | { do: "cancel" | "replay"; which: number }
  | { do: "turn clock"; minutes: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ do: "publish" } as const) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("poll" as const),
      limit: fc.integer({ min: 1, max: 4 }),
      // Any cursor so far, of whichever poller; mostly one of the last.
      cursor: fc.option(fc.integer({ min: 0, max: 5 })),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("cancel", "replay"), which: fc.nat(20) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("turn clock" as const),
      minutes: fc.integer({ min: -90, max: 90 }),
    }),
  },
);

interface Entry {
  id: string;
  position: number;
  isHandedOut: boolean;
}

/** What waits, in order, and how each delivery stands. */
class Model {
  queue: Entry[] = [];
  readonly states = new Map<string, string>();
  /** By cursor: the last position of its page. */
  readonly cursors: { text: string; position: number }[] = [];
  #positions = 0;

  append(id: string): void {
    this.queue = this.queue.filter((entry) => entry.id !== id);
    this.queue.push({ id, position: ++this.#positions, isHandedOut: false });
    this.states.set(id, "pending");
  }

  cancel(id: string): void {
    this.queue = this.queue.filter((entry) => entry.id !== id);
    this.states.set(id, "cancelled");
  }

  acknowledge(position: number): void {
    const isTaken = (entry: Entry) => entry.isHandedOut && entry.position <= position;
    for (const { id } of this.queue.filter(isTaken)) this.states.set(id, "delivered");
    this.queue = this.queue.filter((entry) => !isTaken(entry));
  }

  handOut(limit: number): Entry[] {
    const page = this.queue.slice(0, limit);
    for (const entry of page) entry.isHandedOut = true;
    return page;
  }
}

const clock = new SetClock(Date.UTC(2026, 10, 21));
const api = apiForFile({}, clock);

interface Listed {
  id: string;
  event_id: string;
  status: string;
}

interface Page {
  data: { headers: Record<string, string> }[];
  next_cursor: string;
  done: boolean;
}

let runs = 0;

/** One endpoint, and the model of it. */
class Bench {
  readonly type = `model.t${++runs}`;
  readonly model = new Model();
  readonly events = new Map<string, string>();

  private constructor(
    readonly id: string,
    private readonly secret: string,
  ) {}

  static async open(): Promise<Bench> {
    const fields = { kind: "poll", config: {}, event_types: [`model.t${runs + 1}`] };
    const { json } = await api.call("POST", "/v1/endpoints", fields);
    return new Bench(String(json["id"]), String(json["secret"]));
  }

  async deliveries(): Promise<Listed[]> {
    const { json } = await api.call("GET", `/v1/deliveries?endpoint_id=${this.id}&limit=250`);
    return json["data"] as Listed[];
  }

  async publish(): Promise<void> {
    await api.publish(this.type);
    const [made] = await this.deliveries();
    if (made === undefined) throw new Error("nothing was delivered");
    this.events.set(made.id, made.event_id);
    this.model.append(made.id);
  }

  async poll(limit: number, back: number | null): Promise<void> {
    const { model } = this;
    const sent = back === null ? undefined : model.cursors.at(-1 - back);
    const query = `limit=${limit}${sent ? `&cursor=${sent.text}` : ""}`;
    const headers = { authorization: `Bearer ${this.secret}` };
    const reply = await api.call("GET", `/poll/${this.id}?${query}`, undefined, "", headers);
    expect(reply.status).toBe(200);
    const page = reply.json as unknown as Page;
    if (sent) model.acknowledge(sent.position);
    const expected = model.handOut(limit);
    expect(page.data.map((message) => message.headers["webhook-id"])).toEqual(expected.map(({ id }) => id));
    expect(page.done).toBe(expected.length === model.queue.length);
    const position = expected.at(-1)?.position ?? sent?.position ?? 0;
    model.cursors.push({ text: page.next_cursor, position });
  }

  async change(what: "cancel" | "replay", which: number): Promise<void> {
    const ids = [...this.events.keys()];
    const id = ids[which % Math.max(1, ids.length)];
    if (id === undefined) return;
    if (what === "replay") {
      const body = { endpoint_ids: [this.id] };
      const path = `/v1/events/${this.events.get(id)}/replay`;
      expect((await api.call("POST", path, body)).status).toBe(202);
      this.model.append(id);
    } else {
      const isOpen = this.model.states.get(id) === "pending";
      const { status } = await api.call("POST", `/v1/deliveries/${id}/cancel`, {});
      expect(status).toBe(isOpen ? 200 : 409);
      if (isOpen) this.model.cancel(id);
    }
  }

  async take(one: Step): Promise<void> {
    if (one.do === "publish") await this.publish();
    else if (one.do === "poll") await this.poll(one.limit, one.cursor);
    else if (one.do === "turn clock") clock.advance(one.minutes * 60_000);
    else await this.change(one.do, one.which);
  }
}

test("whatever pollers, publishers and people do, and the clock, each page and each state is the model's", async () => {
  const property = fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
    const bench = await Bench.open();
    for (const one of steps) await bench.take(one);
    const shown = (await bench.deliveries()).map(({ id, status }): [string, string] => [id, status]);
    expect(new Map(shown)).toEqual(bench.model.states);
  });
  await fc.assert(property, { numRuns: 60 });
}, 60_000);

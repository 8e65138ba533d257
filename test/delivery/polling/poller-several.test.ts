/** Several pollers of one endpoint at once, over a backlog that is partly malformed: none stops beside it. */
import { expect, spyOn, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import type { Message } from "../../../src/destinations/destination.ts";
import { type Api, apiForFile } from "../../http/log-kit.ts";

const api: Api = apiForFile();
const WAIT_MS = 600_000;

/** One poller: how many messages it asks for, after how many turns again, and whether in one that is over. */
interface Habit {
  limit: number;
  turns: number;
  acknowledges: boolean;
  waits: boolean;
  endsTurn: boolean;
}

const habit: fc.Arbitrary<Habit> = fc.record({
  limit: fc.integer({ min: 1, max: 4 }),
  turns: fc.nat(4),
  acknowledges: fc.boolean(),
  waits: fc.boolean(),
  endsTurn: fc.boolean(),
});

let runs = 0;

/** An endpoint of its own with this backlog: true for what can be rendered. */
async function backlogOf(rendered: readonly boolean[]): Promise<number> {
  const type = `many.t${++runs}`;
  const transformations = [{ op: "unwrap", path: "data.body" }];
  const fields = { kind: "poll", config: {}, event_types: [type], transformations };
  const made = await api.call("POST", "/v1/endpoints", fields);
  const data = (n: number) => (rendered[n] ? { body: { n } } : { n });
  const events = rendered.map((_, n) => ({ type, data: data(n) }));
  expect((await api.call("POST", "/v1/events/batch", { events })).status).toBe(202);
  return api.data.ids.decode("ep", String(made.json["id"])) ?? 0;
}

/** Fetches until nothing is left, and adds to `wrong` what it found so. */
async function fetchAll(key: number, { limit, ...how }: Habit, signal: AbortSignal, wrong: string[]) {
  const isLeft = () => api.data.deliveries.firstParkedOf(key, "none") !== null;
  const isAllowed = () => {
    while (how.endsTurn && !api.data.store.turns.isOver);
    return true;
  };
  const write = ({ body }: Message) => body;
  const ask = { limit, waitMs: how.waits ? WAIT_MS : 0, signal, write, isAllowed };
  for (let position = 0; ; ) {
    const page = await api.services.poller.poll(key, { ...ask, position });
    if (typeof page === "string") throw new Error(page);
    if (page.messages.length === 0) {
      if (isLeft()) wrong.push("a page is empty although something waits");
      return;
    }
    // One that acknowledges nothing gets what the others have left.
    if (how.acknowledges) position = page.position;
    for (let n = 0; n < how.turns; n++) await nextTurn();
    if (!isLeft()) return;
  }
}

test("whatever is malformed, and whoever acknowledges, no page is empty and no poll sleeps beside what waits", async () => {
  const backlog = fc.array(fc.boolean(), { minLength: 1, maxLength: 40 });
  const pollers = fc.array(habit, { minLength: 1, maxLength: 5 });
  const first: Habit = { limit: 4, turns: 0, acknowledges: true, waits: true, endsTurn: false };
  const property = fc.asyncProperty(backlog, pollers, async (rendered, habits) => {
    const key = await backlogOf(rendered);
    const wrong: string[] = [];
    const leaving = new AbortController();
    const actor = api.services.actors.polled(key);
    if (actor === null) throw new Error("it is polled");
    const changed = actor.changed.bind(actor);
    using _ = spyOn(actor, "changed").mockImplementation((seen, signal) => {
      const isToSleep = actor.changes === seen;
      if (isToSleep && api.data.deliveries.firstParkedOf(key, "none") !== null) wrong.push("a poll sleeps");
      // All that there was is fetched: those who wait may go.
      leaving.abort();
      return changed(seen, signal);
    });
    const all = [first, ...habits].map((how) => fetchAll(key, how, leaving.signal, wrong));
    await Promise.all(all);
    expect(wrong).toEqual([]);
  });
  await fc.assert(property, { numRuns: 40 });
}, 60_000);

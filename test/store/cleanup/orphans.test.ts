/** Heads leave by age, also where an attempt stays for ever: that one has its own in its row. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { firstKeyAt } from "../../../src/core/ids.ts";
import { limit } from "../../../src/core/limits.ts";
import type { AttemptFacts } from "../../../src/core/model.ts";
import { Retention } from "../../../src/maintenance/retention.ts";
import { type Api, type Page, startApi } from "../../http/log-kit.ts";
import { SetClock } from "../../kit/clock.ts";
import { ANSWERED, openTestData, type TestData } from "../../kit/data.ts";
import { jobControlOf } from "../../kit/job-control.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const ALL = Number.MAX_SAFE_INTEGER;

const numberOf = ({ data }: Api | TestData, sql: string) =>
  data.store.sqlite.query<{ n: number }, []>(`SELECT (${sql}) AS n`).get()?.n ?? -1;
const heads = (it: Api | TestData) => numberOf(it, "SELECT count(*) FROM head");
const naming = (it: Api | TestData) =>
  numberOf(it, "SELECT count(*) FROM attempt WHERE typeof(response_head) = 'integer'");

interface Shown {
  url: string;
  response_headers: Record<string, string>;
}

describe("an attempt whose delivery is open for months", () => {
  async function opened() {
    const clock = new SetClock(Date.UTC(2026, 10, 21));
    const api = await startApi({}, clock);
    const expires = () => false;
    const retention = new Retention({ data: api.data, actors: api.services.actors, expires });
    let answers = 0;
    const answer = (status: number) => () =>
      new Response(null, { status, headers: { "x-request-id": `answer ${++answers}` } });
    api.receiver.at("fails", answer(500));
    api.receiver.at("takes", answer(200));
    const stuck = await api.endpoint({
      url: api.receiver.url("fails"),
      eventTypes: ["stays"],
      retry: { schedule: [60] },
    });
    await api.endpoint({ url: api.receiver.url("takes"), eventTypes: ["goes"] });
    const body = "s3cret".repeat(4000);
    const { id } = await api.publish("stays", { consumer_id: "ada", data: { body } });
    const [delivery] = await api.settled(id, ["retrying"]);
    await api.change(stuck, { status: "paused" });
    const attempts = async () => (await api.get<Page<Shown>>(`/v1/deliveries/${delivery?.id}/attempts`)).data;
    const pass = async () => {
      clock.advance(10 * DAY_MS + HOUR_MS);
      await api.data.index.writeDown();
      await retention.run(jobControlOf());
      await retention.sweep(jobControlOf());
    };
    return { api, clock, retention, stuck, id, attempts, pass };
  }

  test("shows its heads, and those of all others leave, so that the file does not grow", async () => {
    const { api, stuck, id, attempts, pass } = await opened();
    await using _ = api;
    const before = await attempts();
    expect(before[0]?.response_headers["x-request-id"]).toBe("answer 1");
    const counts: number[] = [];
    for (let round = 0; round < 12; round++) {
      for (let n = 0; n < 5; n++) await api.settled((await api.publish("goes")).id);
      await pass();
      counts.push(heads(api));
      expect(await attempts()).toEqual(before);
    }
    // Three rounds are younger than retention, and a fourth left two days ago at most.
    expect(counts.slice(5)).toEqual(Array.from({ length: 7 }, () => counts[4] ?? 0));
    expect(counts.at(-1)).toBeLessThanOrEqual(4 * 6);
    api.receiver.at("fails", () => new Response());
    await api.change(stuck, { status: "active" });
    await api.settled(id, ["delivered"]);
    expect((await attempts()).slice(1)).toEqual(before);
    await pass();
    expect(numberOf(api, `SELECT count(*) FROM attempt WHERE typeof(response_head) = 'text'`)).toBe(0);
  });

  test("keeps its heads where they are until retention has gone through all that is older", async () => {
    const { api, clock, retention } = await opened();
    await using _ = api;
    clock.advance(100 * DAY_MS);
    for (const isStopping of [true, false]) {
      await retention.sweep(jobControlOf());
      expect(naming(api)).toBe(1);
      await retention.run(jobControlOf({ isStopping: () => isStopping }));
    }
    await retention.sweep(jobControlOf());
    expect([naming(api), heads(api)]).toEqual([0, 0]);
  });

  test("leaves nothing in the file once its consumer is erased", async () => {
    const { api, pass } = await opened();
    await using _ = api;
    for (let round = 0; round < 4; round++) await pass();
    expect([heads(api), naming(api)]).toEqual([0, 0]);
    const inFile = () => {
      api.data.store.sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)");
      return readFileSync(api.data.store.sqlite.filename).includes("s3crets3cret");
    };
    expect(inFile()).toBe(true);
    await api.call("DELETE", "/v1/consumers/ada");
    await api.services.eraser.run(jobControlOf());
    expect([numberOf(api, "SELECT count(*) FROM attempt"), inFile()]).toEqual([0, false]);
  });
});

describe("old attempts take their heads into their rows", () => {
  async function filled(count: number, facts: (at: number) => Partial<AttemptFacts> = () => ({})) {
    const clock = new SetClock(Date.UTC(2026, 10, 21));
    const it = await openTestData({ now: () => clock.now() });
    const { id: endpointId } = await it.endpoint();
    const delivery = await it.data.store.write(() => it.insertDelivery(it.insertEvent(), endpointId));
    const insert = (at: number) => {
      const { store, deliveries, attempts } = it.data;
      const row = deliveries.get(delivery);
      if (row === null) throw new Error("there is no such delivery");
      const place = { id: store.takeKey(), number: row.attemptCount + 1 };
      const change = { status: "retrying", step: place.number, due: 1, deadReason: null } as const;
      deliveries.settle(row, place, true, change, null);
      const why = { trigger: "publish", outcome: "rejected", nextAttemptAt: null, deadReason: null } as const;
      const own = { requestHead: "POST https://a.test/\nx: y", ...facts(at) };
      const responseHeaders: [string, string][] = [["x-request-id", String(at)]];
      attempts.insert({ ...place, deliveryId: delivery, ...why }, { ...ANSWERED, responseHeaders, ...own });
    };
    await it.data.store.write(() => Array.from({ length: count }, (_, at) => insert(at)));
    const shown = () =>
      [...it.data.attempts.ofDelivery(delivery, ALL, 1000)].map((attempt) => [
        attempt.requestHead,
        attempt.responseHeaders,
      ]);
    const slice = (after: number, orThrow = () => {}) =>
      it.data.store.write(() => {
        const walked = it.data.orphans.heads(after, firstKeyAt(clock.now() - 30 * DAY_MS));
        orThrow();
        return walked;
      });
    return { it, clock, insert, shown, slice };
  }

  test("in slices, and a crash between two, or in one, loses none", async () => {
    const room = limit("sliceRows");
    const { it, clock, shown, slice } = await filled(2 * room + 50);
    await using _ = it;
    clock.advance(40 * DAY_MS);
    const before = shown();
    const crash = () => {
      throw new Error("crash");
    };
    const steps: number[][] = [];
    let after: number | null = 0;
    for (let turn = 0; after !== null && turn < 20; turn++) {
      await expect(slice(after, crash)).rejects.toThrow("crash");
      // What the process knew of the walk is gone with it.
      if (turn === 1) {
        await it.reopen();
        after = 0;
      }
      const walked = await slice(after);
      expect(shown()).toEqual(before);
      steps.push([naming(it), heads(it)]);
      after = walked.next;
    }
    const all = 2 * room + 51;
    expect(steps).toEqual([
      [room + 50, all],
      [room + 50, all],
      [50, all],
      [0, all],
      [0, all - room],
      [0, all - 2 * room],
      [0, 0],
      [0, 0],
    ]);
  });

  test("few in a write where they have large bodies, of which no second copy stays in the file", async () => {
    const half = Buffer.alloc(100_000, ".");
    const mark = (at: number) => `the middle of body ${at}`;
    const body = (at: number) => ({ requestBody: Buffer.concat([half, Buffer.from(mark(at)), half]) });
    const { it, clock, shown, slice } = await filled(9, body);
    await using _ = it;
    const copies = () => {
      it.data.store.sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)");
      const bytes = readFileSync(it.data.store.sqlite.filename).toString("latin1");
      return [...Array(9).keys()].map((at) => bytes.split(mark(at)).length - 1);
    };
    clock.advance(40 * DAY_MS);
    const before = [shown(), copies()];
    const left: number[] = [];
    for (let after: number | null = 0; after !== null; after = (await slice(after)).next)
      left.push(naming(it));
    expect(left).toEqual([9, 6, 3, 0, 0]);
    expect([shown(), copies()]).toEqual(before);
  });

  test("and a later attempt with the same heads has rows that stay", async () => {
    const { it, clock, insert, shown, slice } = await filled(1);
    await using _ = it;
    clock.advance(40 * DAY_MS);
    const { store } = it.data;
    await store.write(() => insert(0));
    const before = shown();
    const [same = []] = before;
    expect(before).toEqual([same, same]);
    for (let after: number | null = 0; after !== null; after = (await slice(after)).next);
    expect([heads(it), naming(it), shown()]).toEqual([2, 1, before]);
    await store.write(() => insert(0));
    expect([heads(it), shown()]).toEqual([2, [...before, same]]);
  });
});

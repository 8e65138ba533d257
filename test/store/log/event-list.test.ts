/** What a page of the event log reads; what it answers: test/http/events/events.test.ts. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Cipher } from "../../../src/core/cipher.ts";
import { untriedDelivery } from "../../../src/core/delivery.ts";
import { limit, LIMITS } from "../../../src/core/limits.ts";
import type { Origin } from "../../../src/core/model.ts";
import { type Data, openData } from "../../../src/store/data.ts";
import { LABELS } from "../../../src/store/index/index.ts";
import { EventList } from "../../../src/store/log/event-list.ts";
import { migrate } from "../../../src/store/migrations.ts";
import { LISTS_MERGED_MAX, LOOKS_PER_ENTRY } from "../../../src/store/page.ts";
import { CountingDatabase } from "../../kit/counting-database.ts";
import { CountingTurns } from "../../kit/counting-turns.ts";
import { storeParts } from "../../kit/store-parts.ts";

const PROJECT = 1;
const ANY = {
  projectId: PROJECT,
  consumerId: null,
  sourceId: null,
  endpointId: null,
  externalId: null,
  status: null,
  matched: null,
  since: null,
  until: null,
  q: null,
  visible: null,
};

function open() {
  const sqlite = new CountingDatabase(":memory:", { strict: true });
  migrate(sqlite);
  const data = openData(sqlite, storeParts({}), { cipher: new Cipher([new Uint8Array(32)]), cell: "00" });
  return { sqlite, data, list: new EventList(data) };
}

test("a wildcard reads no more type names than lists are merged, however many the project has", async () => {
  const { sqlite, data, list } = open();
  const { store, index } = data;
  const named = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}${n}`);
  const names = [...named("many.", 300), ...named("few.", 3), "few", "few-er", "fewer.1", "few.3.deep"];
  await store.write(() => names.map((name) => index.labels.intern(PROJECT, LABELS.type, name)));
  const read = async (type: string) => {
    sqlite.rows = 0;
    await list.page({ ...ANY, type }, { before: Number.MAX_SAFE_INTEGER, count: 10, turns: store.turns });
    return sqlite.rows;
  };
  expect([await read("few.*"), await read("none.*"), await read("many.*")]).toEqual([
    4,
    0,
    LISTS_MERGED_MAX + 1,
  ]);
});

describe("for who sees some endpoints only", () => {
  const usual = limit("listScanMax");
  const [EVENTS, SEEN, SCANNED] = [40, 80, 100];
  const visible = new Set(Array.from({ length: SEEN }, (_, n) => 100 + n));

  beforeEach(() => void ((LIMITS.listScanMax as { value: number }).value = SCANNED));
  afterEach(() => void ((LIMITS.listScanMax as { value: number }).value = usual));

  /** The last `matched` of them have a delivery to an endpoint that is seen, and all one to another. */
  async function fill({ store, tenants, events, deliveries }: Data, matched: number) {
    const account = await tenants.createAccount({ name: "a", plan: "free" });
    const { id: projectId } = await tenants.createProject(account.id, "live", "live");
    const ids = await store.write(() =>
      Array.from({ length: EVENTS }, (_, n) => {
        const id = store.takeKey(3);
        const plain = { type: "a.b", timestamp: 0, isTest: false, hops: 0, trace: null, data: "{}" };
        const none = { consumerId: null, externalId: null, sourceId: null };
        events.insert({ id, projectId, ...plain, ...none, deliveryCount: 2 });
        const endpoints = n < EVENTS - matched ? [7] : [7, 100 + n];
        for (const [at, endpointId] of endpoints.entries()) {
          const keys = { id: id + 1 + at, eventId: id, endpointId, projectId };
          deliveries.insert(untriedDelivery({ ...keys, origin: "publish", due: 0 }), null);
        }
        return id;
      }),
    );
    return { projectId, ids: ids.toReversed() };
  }

  test.each([
    ["that finds none", 0, { status: "pending" }],
    ["that finds none by two filters", 0, { status: "pending", matched: false }],
    ["that finds all", EVENTS, { status: "pending" }],
    ["without a filter", EVENTS, {}],
  ] as const)("a page %s takes a bounded number of looks at endpoints", async (_, matched, asked) => {
    const { data, list } = open();
    const { projectId, ids } = await fill(data, matched);
    const { index, store, eventDeliveries } = data;
    const next = index.next.bind(index);
    let looks = 0;
    index.next = (endpoint, after) => {
      looks++;
      return next(endpoint, after);
    };
    const found: number[] = [];
    let pages = 0;
    const filter = { ...ANY, type: null, projectId, visible, ...asked };
    for (let before: number | null = Number.MAX_SAFE_INTEGER; before !== null; pages++) {
      looks = 0;
      const page: Awaited<ReturnType<EventList["page"]>> = await list.page(filter, {
        before,
        count: 250,
        turns: store.turns,
      });
      for (const { id } of page.rows) {
        found.push(id);
        await eventDeliveries.count(id, store.turns, { visible });
      }
      // The last event is looked for and counted beyond the bound.
      expect(looks).toBeLessThanOrEqual((SCANNED + 1) * LOOKS_PER_ENTRY + 2 * SEEN);
      before = page.next;
    }
    expect(pages).toBeGreaterThanOrEqual((EVENTS * SEEN) / LOOKS_PER_ENTRY / SCANNED);
    expect(found).toEqual(matched > 0 ? ids : []);
  });

  test("where a page ends tells nothing of deliveries to other endpoints", async () => {
    const ends = [];
    for (const width of [0, 50]) {
      const { data, list } = open();
      const { projectId, ids } = await fill(data, 0);
      await data.store.write(() => {
        for (const eventId of ids)
          for (let n = 0; n < width; n++) {
            const keys = { id: data.store.takeKey(), eventId, endpointId: 9, projectId };
            data.deliveries.insert(untriedDelivery({ ...keys, origin: "replay", due: 0 }), null);
          }
      });
      const filter = { ...ANY, type: null, projectId, visible, status: "dead" as const };
      const { next } = await list.page(filter, {
        before: Number.MAX_SAFE_INTEGER,
        count: 250,
        turns: data.store.turns,
      });
      ends.push(ids.indexOf(next ?? 0));
    }
    expect(ends).toEqual([9, 9]);
  });
});

describe("of events with many deliveries", () => {
  const usual = limit("listLimitMax");
  const ROWS = 10;
  const EVENTS = 4;
  const WIDTH = 60;
  const FIRST_ENDPOINT = 100;
  const LAST_ENDPOINT = FIRST_ENDPOINT + WIDTH - 1;

  beforeEach(() => void ((LIMITS.listLimitMax as { value: number }).value = ROWS));
  afterEach(() => void ((LIMITS.listLimitMax as { value: number }).value = usual));

  /** Each has a delivery to each endpoint and, of a replay, another one to the last. */
  async function fill({ store, tenants, events, deliveries }: Data) {
    const account = await tenants.createAccount({ name: "a", plan: "free" });
    const { id: projectId } = await tenants.createProject(account.id, "live", "live");
    const written = await store.write(() =>
      Array.from({ length: EVENTS }, () => {
        const id = store.takeKey(1 + WIDTH);
        const plain = { type: "a.b", timestamp: 0, isTest: false, hops: 0, trace: null, data: "{}" };
        const none = { consumerId: null, externalId: null, sourceId: null };
        events.insert({ id, projectId, ...plain, ...none, deliveryCount: WIDTH });
        const add = (key: number, endpointId: number, origin: Origin) => {
          const keys = { id: key, eventId: id, endpointId, projectId };
          deliveries.insert(untriedDelivery({ ...keys, origin, due: 0 }), null);
        };
        for (let n = 0; n < WIDTH; n++) add(id + 1 + n, FIRST_ENDPOINT + n, "publish");
        return { id, add };
      }),
    );
    await store.write(() => written.forEach(({ add }) => add(store.takeKey(), LAST_ENDPOINT, "replay")));
    return { projectId, ids: written.map(({ id }) => id).toReversed() };
  }

  test("a page reads a few of them in a turn, whatever it asks of them", async () => {
    const { sqlite, data, list } = open();
    const { projectId, ids } = await fill(data);
    const oldest = ids.slice(-1);
    sqlite.run("UPDATE delivery SET status = 3 WHERE id = ?", [(oldest[0] ?? 0) + WIDTH]);
    // An endpoint is the project's where no consumer is asked for.
    data.endpoints.isSeen = () => true;
    const [some, none] = [new Set([LAST_ENDPOINT]), new Set([1])];
    for (const [asked, expected] of [
      [{ status: "dead" }, oldest],
      [{ status: "dead", visible: some }, oldest],
      [{ status: "dead", visible: none }, []],
      [{ status: "pending" }, ids],
      [{ matched: true, visible: some }, ids],
      [{ matched: false, visible: none }, ids],
      [{ matched: false }, []],
      [{ matched: false, visible: some }, []],
      [{ endpointId: LAST_ENDPOINT }, ids],
      [{ endpointId: LAST_ENDPOINT, status: "dead" }, oldest],
      [{ endpointId: LAST_ENDPOINT, matched: false }, []],
    ] as const) {
      const turns = new CountingTurns(sqlite);
      const filter = { ...ANY, type: null, projectId, ...asked };
      const { rows, next } = await list.page(filter, { before: Number.MAX_SAFE_INTEGER, count: 50, turns });
      expect([asked, rows.map(({ id }) => id), next]).toEqual([asked, [...expected], null]);
      expect(turns.most).toBeLessThanOrEqual(2 * ROWS);
    }
  });
});

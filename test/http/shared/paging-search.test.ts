/**
 * A text search reads one body at a time, each in its turn, no more of them than a page may, and none for who
 * has left.
 */
import { afterEach, beforeEach, expect, spyOn, test } from "bun:test";
import { limit, LIMITS } from "../../../src/core/limits.ts";
import { type Api, type EventRow, type Page, startApi } from "../log-kit.ts";

const EVENTS = 12;
const TEXT = "x".repeat(100_000);

let api: Api;

beforeEach(async () => {
  api = await startApi();
  await api.endpoint({ url: api.receiver.url("searched"), eventTypes: ["searched"], status: "paused" });
  for (let n = 0; n < EVENTS; n++) await api.publish("searched", { data: { n, text: TEXT } });
  await api.data.index.settle();
});

afterEach(() => api[Symbol.asyncDispose]());

const PATHS = ["/v1/events?q=nowhere", "/v1/deliveries?q=nowhere", "/v1/deliveries?q=nowhere&format=ndjson"];

test.each(PATHS)("%s asks for a turn of its own before each body", async (path) => {
  using ownTurn = spyOn(api.data.store.turns, "ownTurn");
  using read = spyOn(api.data.events, "getWithData");
  expect((await api.call("GET", path)).status).toBe(200);
  expect([read.mock.calls.length, ownTurn.mock.calls.length]).toEqual([EVENTS, EVENTS]);
});

test.each(PATHS.slice(0, 2))("%s of a client that leaves reads no further", async (path) => {
  const leaving = new AbortController();
  const read = spyOn(api.data.events, "getWithData");
  read.mockImplementationOnce((id) => {
    leaving.abort();
    return api.data.events.getWithData(id);
  });
  const { status } = await api.handle("GET", path, undefined, "full", {}, leaving.signal);
  expect(status).toBe(499);
  expect(read.mock.calls.length).toBeLessThanOrEqual(2);
  read.mockRestore();
});

test("a page that had to read very much is shorter, and leads on", async () => {
  const usual = limit("searchScanBytesMax");
  (LIMITS.searchScanBytesMax as { value: number }).value = 350_000;
  try {
    const pages: number[] = [];
    const searched: (string | null | undefined)[] = [];
    let cursor: string | null = "";
    for (let n = 0; cursor !== null && n < EVENTS; n++) {
      using read = spyOn(api.data.events, "getWithData");
      const page: Page<EventRow> & { searched_since?: string | null } = await api.get(
        `/v1/events?q=nowhere${cursor === "" ? "" : `&cursor=${cursor}`}`,
      );
      cursor = page.next_cursor;
      pages.push(read.mock.calls.length);
      searched.push(page.searched_since);
    }
    // Each page says when the last event was accepted at which it looked.
    const { data } = await api.get<Page<EventRow & { created_at: string }>>("/v1/events");
    expect(searched).toEqual([...[3, 7, 11].map((at) => data[at]?.created_at), null]);
    expect([pages, cursor]).toEqual([[4, 4, 4, 0], null]);
  } finally {
    (LIMITS.searchScanBytesMax as { value: number }).value = usual;
  }
});

test("a dry run that looks for text, or for what is missing, reads each body in its turn", async () => {
  const { publicId } = await api.endpoint({ url: api.receiver.url("new"), eventTypes: ["searched"] });
  for (const body of [
    { status: ["pending"], q: "nowhere" },
    { missing: true, endpoint_id: publicId },
  ]) {
    using ownTurn = spyOn(api.data.store.turns, "ownTurn");
    const { status, json } = await api.call("POST", "/v1/replays", { ...body, dry_run: true });
    expect([status, json["matched"]]).toEqual([200, "missing" in body ? EVENTS : 0]);
    expect(ownTurn.mock.calls.length).toBe(EVENTS);
  }
});

test("a page of attempts of a large event is shorter, and leads on", async () => {
  const url = api.receiver.at("large", () => new Response());
  await api.endpoint({ url, eventTypes: ["large"] });
  const { id } = await api.publish("large", { data: { text: "x".repeat(600_000) } });
  const [delivery] = await api.settled(id);
  for (let n = 0; n < 2; n++)
    await api.until(
      async () => (await api.call("POST", `/v1/deliveries/${delivery?.id}/retry`, {})).status < 300,
    );
  const path = `/v1/deliveries/${delivery?.id}/attempts?limit=250`;
  const first = await api.until(async () => {
    const page = await api.get<Page<{ number: number }>>(path);
    return page.data[0]?.number === 3 && page;
  });
  const second = await api.get<Page<{ number: number }>>(`${path}&cursor=${first.next_cursor}`);
  expect([first, second].map(({ data }) => data.map(({ number }) => number))).toEqual([[3, 2], [1]]);
  expect(second.next_cursor).toBeNull();
});

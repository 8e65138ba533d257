/**
 * Of the requests that look through much, a caller has a few under way; the others wait with nothing read.
 */
import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { limit, LIMITS } from "../../../src/core/limits.ts";
import { LongWorks } from "../../../src/http/framework/long-works.ts";
import { type Api, startApi } from "../log-kit.ts";

const AT_ONCE = limit("longWorksAtOnceMax");
const OF_ACCOUNT = limit("longWorksOfAccountMax");
const WAITING = limit("longWorksWaitingMax");
const STAYS = new AbortController().signal;

describe("places", () => {
  let works: LongWorks;
  let begun: string[];
  let ends: Map<string, () => void>;

  beforeEach(() => {
    [works, begun, ends] = [new LongWorks(), [], new Map()];
  });

  /** Asks for a place for `name`, which stands in `begun` once it has it; `end` gives it back. */
  async function ask(name: string, [account, member]: [string, string], signal = STAYS): Promise<void> {
    const place = works.begin(account, member, signal);
    ends.set(name, typeof place === "function" ? place : await place);
    begun.push(name);
  }

  async function end(name: string): Promise<void> {
    ends.get(name)?.();
    await nextTurn();
  }

  async function fill(who: [string, string], count = AT_ONCE): Promise<void> {
    for (let n = 0; n < count; n++) await ask(`${who.join()}${n}`, who);
    begun = [];
  }

  test("a caller has a few, and the next ones in the order in which they came", async () => {
    await fill(["a", "key"]);
    for (const name of ["first", "second"]) void ask(name, ["a", "key"]);
    await ask("other", ["a", "link"]);
    expect(begun).toEqual(["other"]);
    await end("a,key2");
    await end("a,key0");
    expect(begun).toEqual(["other", "first", "second"]);
  });

  test("of an account are some, at which its callers take turns", async () => {
    const full = Array.from({ length: OF_ACCOUNT / AT_ONCE }, (_, n) => `link${n}`);
    for (const link of full) await fill(["a", link]);
    for (const name of ["x1", "x2", "x3"]) void ask(name, ["a", "x"]);
    for (const name of ["y1", "y2"]) void ask(name, ["a", "y"]);
    await ask("b1", ["b", "key"]);
    expect(begun).toEqual(["b1"]);
    for (const n of [0, 1, 2, 3]) await end(`a,link0${n}`);
    expect(begun).toEqual(["b1", "x1", "y1", "x2", "y2"]);
  });

  test("are refused above the line's bound", async () => {
    await fill(["a", "key"]);
    for (let n = 0; n < WAITING; n++) void ask(`w${n}`, ["a", "key"]);
    expect(() => works.begin("a", "key", STAYS)).toThrow(
      expect.objectContaining({ code: "rate_limited", headers: { "retry-after": "5" } }),
    );
    await ask("other", ["a", "link"]);
    await end("a,key0");
    expect(begun).toEqual(["other", "w0"]);
    void ask("again", ["a", "key"]);
  });

  test("are not waited for by whoever has left, or comes as such", async () => {
    await fill(["a", "key"]);
    const leaving = new AbortController();
    const left = ask("left", ["a", "key"], leaving.signal).catch(String);
    void ask("stays", ["a", "key"]);
    leaving.abort();
    expect(await left).toContain("AbortError");
    expect(await ask("gone", ["a", "key"], leaving.signal).catch(String)).toContain("AbortError");
    await end("a,key0");
    expect(begun).toEqual(["stays"]);
    for (const name of ["a,key1", "a,key2", "a,key3", "stays"]) await end(name);
    await fill(["a", "key"]);
  });
});

describe("requests", () => {
  let api: Api;
  let endpointId: string;

  beforeEach(async () => {
    api = await startApi();
    const made = await api.endpoint({ url: api.receiver.url("x"), eventTypes: ["x.long"], status: "paused" });
    endpointId = made.publicId;
    await api.publish("x.long", { consumer_id: "anna" });
    await api.data.index.settle();
  });

  afterEach(async () => {
    for (const name of NAMES) (LIMITS[name] as { value: number }).value = USUAL[name];
    await api[Symbol.asyncDispose]();
  });

  const NAMES = ["longWorksAtOnceMax", "longWorksWaitingMax"] as const;
  const USUAL = { longWorksAtOnceMax: AT_ONCE, longWorksWaitingMax: WAITING };
  const set = (name: (typeof NAMES)[number], value: number) =>
    void ((LIMITS[name] as { value: number }).value = value);

  type Asked = [method: string, path: string, body: unknown];
  const LONG: Asked[] = [
    ["POST", "/v1/endpoints/preview", { last: 64, filter: { data: { n: 1 } } }],
    ["POST", "/v1/event-types/x.long/infer-schema", {}],
    ["GET", "/v1/events?q=a", undefined],
    ["GET", "/v1/deliveries?q=a", undefined],
    ["GET", "/v1/deliveries?q=a&format=ndjson", undefined],
    ["GET", "/v1/deliveries/:delivery/attempts", undefined],
    ["POST", "/v1/replays", { status: ["delivered"], dry_run: true }],
    ["GET", "/v1/stats?by=hour", undefined],
    ["GET", "/v1/stats/endpoints?endpoint_ids=:endpoint", undefined],
    ["GET", "/v1/endpoints/:endpoint/stats?by=hour", undefined],
  ];
  const SHORT: Asked[] = [
    ["POST", "/v1/events", { type: "x.short", data: {} }],
    ["POST", "/v1/events/batch", { events: [{ type: "x.short", data: {} }] }],
    ["GET", "/v1/events?type=x.long", undefined],
    ["GET", "/v1/deliveries", undefined],
    ["GET", "/v1/usage", undefined],
  ];

  test.each(LONG)("%s %s needs a place, before it has read anything", async (method, asked, body) => {
    const path = asked.replace(":delivery", await someDelivery()).replace(":endpoint", endpointId);
    for (const name of NAMES) set(name, 0);
    using read = spyOn(api.data.events, "getWithData");
    using looked = spyOn(api.data.index, "below");
    const reply = await api.call(method, path, body);
    expect([reply.status, reply.headers.get("retry-after")]).toEqual([429, "5"]);
    expect([read.mock.calls, looked.mock.calls]).toEqual([[], []]);
    for (const name of NAMES) set(name, USUAL[name]);
    const answered = await api.call(method, path, body);
    expect([200, 202]).toContain(answered.status);
  });

  async function someDelivery(): Promise<string> {
    const { data } = (await api.call("GET", "/v1/deliveries?limit=1")).json as unknown as {
      data: { id: string }[];
    };
    return data[0]?.id ?? "none";
  }

  test.each(SHORT)("%s %s needs none", async (method, path, body) => {
    for (const name of NAMES) set(name, 0);
    expect([200, 202]).toContain((await api.call(method, path, body)).status);
  });

  test("of many previews a few have read an event, and each is answered in its turn", async () => {
    const body = { last: 1, filter: { data: { n: 1 } } };
    const portal = () => api.call("POST", "/v1/endpoints/preview", body, "anna");
    const held = Promise.withResolvers<void>();
    const { turns } = api.data.store;
    const giveWay = turns.giveWay.bind(turns);
    using waits = spyOn(turns, "giveWay").mockImplementation(async (...asked) => {
      await held.promise;
      return giveWay(...asked);
    });
    const asked = Array.from({ length: AT_ONCE + WAITING }, portal);
    const refused = await portal();
    expect([refused.status, refused.json.code]).toEqual([429, "rate_limited"]);
    while (waits.mock.calls.length < AT_ONCE) await nextTurn();
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    expect(waits.mock.calls.length).toBe(AT_ONCE);
    held.resolve();
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect((await portal()).status).toBe(200);
  });

  test("whose key is revoked while it waits is refused in its turn", async () => {
    set("longWorksAtOnceMax", 1);
    const held = Promise.withResolvers<void>();
    using waits = spyOn(api.data.store.turns, "giveWay").mockImplementation(() => held.promise);
    const ask = () => api.call("POST", "/v1/endpoints/preview", { last: 1, filter: { data: { n: 1 } } });
    const [first, second] = [ask(), ask()];
    while (waits.mock.calls.length === 0) await nextTurn();
    api.callers.delete("full");
    held.resolve();
    expect([(await first).status, (await second).status]).toEqual([200, 401]);
  });

  test.each([
    ["/v1/audit?limit=1&action=source.deleted", 250, false],
    ["/v1/audit?limit=1&action=source.deleted", 251, true],
    ["/v1/audit?limit=1", 251, false],
  ])("%s over %i entries waits for a permit: %p", async (path, entries, waits) => {
    set("longWorksAtOnceMax", 0);
    set("longWorksWaitingMax", 0);
    const scope = api.callers.get("full")?.projectId ?? 0;
    const { audit, store } = api.data;
    const object = { kind: "consumer", id: "anna" } as const;
    const entry = { scope, actor: { kind: "api_key", id: null }, object, consumerId: null } as const;
    await store.write(() => {
      for (let n = 0; n < entries; n++) audit.add({ ...entry, action: "consumer.erased", changes: {} });
    });
    expect((await api.call("GET", path)).status).toBe(waits ? 429 : 200);
  });
});

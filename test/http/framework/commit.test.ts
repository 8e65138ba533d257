/** Changes that share a transaction take effect in the order in which they were written, keyed or not. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { openData } from "../../../src/store/data.ts";
import { storeParts } from "../../kit/store-parts.ts";
import { type Api, CIPHER, type Reply, startApi } from "../log-kit.ts";
import { togetherAt } from "../together.ts";

let api: Api;
beforeEach(async () => {
  api = await startApi();
});
afterEach(() => api[Symbol.asyncDispose]());

/** The first of two calls of which one has a key, in either way. */
const WAYS = [
  ["a keyed call and an unkeyed one behind it", { "idempotency-key": "k-1" }, {}],
  ["an unkeyed call and a keyed one behind it", {}, { "idempotency-key": "k-1" }],
] as const;

describe.each(WAYS)("%s", (_name, first, second) => {
  test("leave the secret that was written last", async () => {
    const source = (await api.call("POST", "/v1/sources", { provider: "service", name: "s" })).json;
    const rotate = (headers: object) => () =>
      api.call("POST", `/v1/sources/${String(source["id"])}/rotate-secret`, {}, "full", headers);
    const [, last] = await togetherAt(api)<[Reply, Reply]>(rotate(first), rotate(second));
    const key = api.data.ids.decode("src", String(source["id"])) ?? 0;
    expect(api.data.sources.get(key)?.secret).toBe(String(last.json["secret"]));
  });

  test("reach an endpoint that keeps order in their order", async () => {
    const got: unknown[] = [];
    const url = api.receiver.at("fifo", (request) => {
      got.push((JSON.parse(request.body.toString()) as { data: { n: number } }).data.n);
      return new Response("ok");
    });
    await api.endpoint({ url, ordering: "fifo" });
    const publish = (n: number, headers: object) => () =>
      api.call("POST", "/v1/events", { type: "a.b", data: { n } }, "full", headers);
    await togetherAt(api)<Reply[]>(publish(1, first), publish(2, second));
    await api.receiver.arrived("fifo", 2);
    expect(got).toEqual([1, 2]);
  });
});

type Change = readonly [method: string, path: string, body?: object];

/** Each of them writes, whatever the other has done. */
const CHANGES: readonly Change[] = [
  ["POST", "/rotate-secret", {}],
  ["POST", "/pause"],
  ["PATCH", "", { consumer_id: "another" }],
  ["DELETE", ""],
];
const KINDS: readonly [path: string, body: object, own: object][] = [
  ["/v1/sources", { provider: "service", name: "s", consumer_id: "one" }, { name: "changed" }],
  ["/v1/endpoints", { url: "http://127.0.0.1:9/", consumer_id: "one" }, { description: "changed" }],
];
/** Whether each of the two has a key, where it is a POST. */
const KEYED = [
  [true, false],
  [false, true],
  [true, true],
  [false, false],
];

/** What the rows say, read as a service does that starts on them. */
function readAnew() {
  const parts = storeParts({ now: api.clock.now, sync: async () => {} });
  return openData(api.data.store.sqlite, parts, { cipher: CIPHER, cell: "00" });
}

const byId = (rows: Iterable<{ id: number }>) => [...rows].toSorted((a, b) => a.id - b.id);

test.each(KINDS)(
  "any two changes of one of %s in a transaction leave in memory what its row says",
  async (path, body, own) => {
    const changes: readonly Change[] = [...CHANGES, ["PATCH", "", own]];
    for (const pair of changes.flatMap((one) => changes.map((other) => [one, other]))) {
      for (const keyed of KEYED) {
        const { id } = (await api.call("POST", path, body)).json;
        const calls = pair.map(([method, below, json], at) => () => {
          const headers = method === "POST" && keyed[at] ? { "idempotency-key": `${String(id)} ${at}` } : {};
          return api.handle(method, `${path}/${String(id)}${below}`, json, "full", headers);
        });
        await togetherAt(api)<Response[]>(...calls);
      }
      const rows = readAnew();
      const { sources, endpoints } = api.data;
      expect([pair, byId(sources.all())]).toEqual([pair, byId(rows.sources.all())]);
      expect([pair, byId(endpoints.all())]).toEqual([pair, byId(rows.endpoints.all())]);
    }
  },
  60_000,
);

/** Changes that share a transaction take effect in the order in which they were written, keyed or not. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type Api, type Reply, startApi } from "../log-kit.ts";
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

describe("a keyed change and the end of what it changed", () => {
  test("leave nothing of a source, nor of an endpoint", async () => {
    const made = async (path: string, body: object) =>
      String((await api.call("POST", path, body)).json["id"]);
    const source = `/v1/sources/${await made("/v1/sources", { provider: "service", name: "s" })}`;
    const endpoint = `/v1/endpoints/${await made("/v1/endpoints", { url: api.receiver.url("gone") })}`;
    for (const [nth, path] of [source, endpoint].entries()) {
      const headers = { "idempotency-key": `k-${nth}` };
      const replies = await togetherAt(api)<Reply[]>(
        () => api.call("POST", `${path}/rotate-secret`, {}, "full", headers),
        () => api.call("DELETE", path),
      );
      expect([path, replies.map(({ status }) => status)]).toEqual([path, [200, 204]]);
      expect([path, (await api.call("GET", path)).status]).toEqual([path, 404]);
    }
  });

  test("leave a source paused that was paused last", async () => {
    const { id } = (await api.call("POST", "/v1/sources", { provider: "service", name: "s" })).json;
    const path = `/v1/sources/${String(id)}`;
    await togetherAt(api)<Reply[]>(
      () => api.call("POST", `${path}/rotate-secret`, {}, "full", { "idempotency-key": "k" }),
      () => api.call("POST", `${path}/pause`),
    );
    expect((await api.call("GET", path)).json["status"]).toBe("paused");
  });
});

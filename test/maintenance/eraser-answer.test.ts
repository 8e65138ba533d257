/**
 * By the 202 of an erasure nothing that the consumer had acts any more, however long the erasure itself waits
 * for others: here it does not run until it is told to.
 */
import { describe, expect, spyOn, test } from "bun:test";
import { Cipher } from "../../src/core/cipher.ts";
import { limit } from "../../src/core/limits.ts";
import { type Api, expectRefusal, type Page, startApi } from "../http/log-kit.ts";
import { startApp } from "../kit/app.ts";
import { jobControlOf } from "../kit/job-control.ts";
import { startReceiver } from "../kit/receiver.ts";

async function erase(api: Api, consumer: string): Promise<void> {
  expect((await api.call("DELETE", `/v1/consumers/${consumer}`)).status).toBe(202);
}

async function made(api: Api, path: string, json: object): Promise<Record<string, string>> {
  const reply = await api.call("POST", path, json);
  expect([path, reply.status, reply.json.errors]).toEqual([path, 201, undefined]);
  return reply.json as unknown as Record<string, string>;
}

const tokenOf = (link: Record<string, string>) => new URL(link["url"] ?? "").hash.slice(1);

function left(api: Api, table: string): number {
  const sql = `SELECT count(*) AS n FROM ${table} WHERE consumer_id = 'ada' AND status <> 'deleted'`;
  return api.data.store.sqlite.query<{ n: number }, []>(sql).get()?.n ?? -1;
}

describe("the answer to an erasure", () => {
  test("comes once the consumer's endpoints and sources are closed and its links are refused", async () => {
    await using api = await startApi();
    const link = await made(api, "/v1/portal-links", { consumer_id: "ada", manage: true, create: true });
    const other = await made(api, "/v1/portal-links", { consumer_id: "bert" });
    const source = await made(api, "/v1/sources", { provider: "service", name: "s", consumer_id: "ada" });
    const url = api.receiver.url("ada");
    const own = await made(api, "/v1/endpoints", { url, consumer_id: "ada" });
    for (let n = 0; n < limit("erasedAtOnce"); n++) await api.endpoint({ url, consumerId: "ada" });
    await erase(api, "ada");
    expect([left(api, "endpoint"), left(api, "source")]).toEqual([0, 0]);
    expect(api.data.portalLinks.find(tokenOf(link))).toBeNull();
    expect(api.data.portalLinks.find(tokenOf(other))).not.toBeNull();
    expectRefusal(await api.call("GET", `/v1/endpoints/${own["id"]}/secret`), 404, "not_found");
    const sent = { "x-service-token": source["secret"] ?? "" };
    const path = source["ingest_path"] ?? "";
    expect((await api.call("POST", path, { type: "a.b" }, "", sent)).status).toBe(401);
    expect((await api.publish("a.b", { consumer_id: "ada" })).delivery_count).toBe(0);
    expect(api.receiver.requests("ada")).toEqual([]);
  });

  test("leaves what is made for the same id afterwards, through the erasure", async () => {
    await using api = await startApi();
    await api.publish("a.b", { consumer_id: "ada" });
    await erase(api, "ada");
    const link = await made(api, "/v1/portal-links", { consumer_id: "ada" });
    const source = await made(api, "/v1/sources", { provider: "service", name: "s", consumer_id: "ada" });
    const endpoint = await made(api, "/v1/endpoints", { url: api.receiver.url("new"), consumer_id: "ada" });
    const old = await api.endpoint({ url: api.receiver.url("given"), consumerId: "bert" });
    await api.services.eraser.run(jobControlOf());
    expect(api.data.portalLinks.find(tokenOf(link))).not.toBeNull();
    expect((await api.call("GET", `/v1/sources/${source["id"]}`)).status).toBe(200);
    expect((await api.call("GET", `/v1/endpoints/${endpoint["id"]}`)).status).toBe(200);
    expect((await api.call("GET", `/v1/endpoints/${old.publicId}`)).status).toBe(200);
  });

  test("leaves an older endpoint that is given to the new consumer while the erasure runs", async () => {
    await using api = await startApi();
    const given = await api.endpoint({ url: api.receiver.url("given"), consumerId: "bert" });
    await api.publish("a.b", { consumer_id: "ada" });
    await erase(api, "ada");
    const path = `/v1/endpoints/${given.publicId}`;
    expect((await api.call("PATCH", path, { consumer_id: "ada" })).status).toBe(200);
    await api.services.eraser.run(jobControlOf());
    expect((await api.call("GET", path)).status).toBe(200);
  });

  test("closes few in a transaction, whatever is erased at once, and in the line of the project", async () => {
    await using api = await startApi();
    const { endpoints, store } = api.data;
    const url = api.receiver.url("ada");
    const consumers = ["ada", "bert", "cleo", "dora"];
    const each = limit("erasedAtOnce") + 1;
    for (const consumerId of consumers)
      for (let n = 0; n < each; n++) await api.endpoint({ url, consumerId });
    let owner: number | null = null;
    const closings: string[] = [];
    const writeFor = store.writeFor.bind(store);
    store.writeFor = (of, run, kept) =>
      writeFor(
        of,
        () => {
          owner = of;
          return run();
        },
        kept,
      );
    using seal = spyOn(Cipher.prototype, "seal");
    const close = endpoints.delete.bind(endpoints);
    endpoints.delete = (id) => {
      closings.push(`transaction ${store.commits} for ${owner}`);
      return close(id);
    };
    await Promise.all(consumers.map((consumer) => erase(api, consumer)));
    const most = Math.max(
      ...Map.groupBy(closings, (one) => one)
        .values()
        .map((all) => all.length),
    );
    expect([closings.length, most]).toEqual([consumers.length * each, limit("erasedAtOnce")]);
    expect(seal).not.toHaveBeenCalled();
    expect(closings.filter((one) => !one.endsWith(` for ${api.callers.get("full")?.projectId}`))).toEqual([]);
  });

  test("closes an endpoint that the same transaction makes or changes", async () => {
    await using api = await startApi();
    const url = api.receiver.url("ada");
    const known = await api.endpoint({ url, consumerId: "ada" });
    const path = `/v1/endpoints/${known.publicId}`;
    const changes = [
      ...Array.from({ length: 8 }, (_, n) => api.call("PATCH", path, { description: `${n}` })),
      ...Array.from({ length: 8 }, () => api.call("POST", "/v1/endpoints", { url, consumer_id: "ada" })),
    ];
    await Promise.all([...changes, erase(api, "ada")]);
    await api.services.eraser.run(jobControlOf());
    const rows = left(api, "endpoint");
    expect((await api.get<Page<object>>("/v1/endpoints?consumer_id=ada")).data).toHaveLength(rows);
    expect((await api.publish("a.b", { consumer_id: "ada" })).delivery_count).toBe(rows);
  });
});

test("what a link makes while its consumer is erased is refused or erased too", async () => {
  await using receiver = startReceiver();
  await using app = await startApp();
  const { live } = app;
  const url = receiver.url("made");
  const fields = { consumer_id: "ada", manage: true, create: true };
  const portal = app.with(
    new URL((await live.create<{ url: string }>("/v1/portal-links", fields)).url).hash.slice(1),
  );
  for (let n = 0; n < 60; n++) await portal.create("/v1/endpoints", { url });
  const make = () => portal.post("/v1/endpoints", { url });
  let isAnswered = false;
  const erasing = live.delete("/v1/consumers/ada").finally(() => (isAnswered = true));
  while (!isAnswered) await make();
  const erasure = await erasing;
  expect(erasure.status).toBe(202);
  const after = await Promise.all(Array.from({ length: 8 }, make));
  expect(after.map(({ status }) => status)).toEqual(after.map(() => 401));
  const asked = `/v1/erasures/${String(erasure.json["id"])}`;
  while ((await live.get(asked)).json["status"] !== "completed") await Bun.sleep(5);
  expect((await live.get("/v1/endpoints?consumer_id=ada")).json["data"]).toEqual([]);
  const event = { type: "a.b", data: {}, consumer_id: "ada" };
  expect((await live.post("/v1/events", event)).json["delivery_count"]).toBe(0);
});

/** What the audit log shows of an erased consumer: nothing, whatever has become of what was changed. */
import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import type { Caller } from "../../src/core/caller.ts";
import { limit } from "../../src/core/limits.ts";
import { isPolled } from "../../src/destinations/destinations.ts";
import { Retention } from "../../src/maintenance/retention.ts";
import { type Api, expectRefusal, type Page, startApi } from "../http/log-kit.ts";
import { SetClock } from "../kit/clock.ts";
import { jobControlOf } from "../kit/job-control.ts";

const DAY_MS = 86_400_000;

interface Shown {
  action: string;
  object: { kind: string; id: string };
  changes: Record<string, unknown>;
}

let api: Api;
let clock: SetClock;

beforeEach(async () => {
  clock = new SetClock(Date.UTC(2026, 10, 21));
  api = await startApi({}, clock);
  const anna = api.callers.get("anna") as Caller;
  api.callers.set("annaOwns", { ...anna, id: 77, manage: true, create: true });
});

afterEach(() => api[Symbol.asyncDispose]());

async function made(method: string, path: string, json?: object, token = "full"): Promise<string> {
  const reply = await api.call(method, path, json, token);
  expect([path, Math.floor(reply.status / 100), reply.json?.errors]).toEqual([path, 2, undefined]);
  return String(reply.json?.["id"]);
}

async function erase(consumer: string): Promise<void> {
  await made("DELETE", `/v1/consumers/${consumer}`);
  await api.services.eraser.run(jobControlOf());
  expect(api.data.erasures.countRunning()).toBe(0);
}

/** All that retention takes within a year leaves, but for the audit log. */
async function sweep(): Promise<void> {
  clock.advance(40 * DAY_MS);
  await api.data.index.writeDown();
  const retention = new Retention({
    data: api.data,
    actors: api.services.actors,
    expires: ({ kind }) => isPolled(kind),
  });
  await retention.run(jobControlOf());
  await retention.sweep(jobControlOf());
  expect(["endpoint", "source", "replay"].map((table) => rows(`SELECT * FROM ${table}`).length)).toEqual([
    0, 0, 0,
  ]);
}

const rows = (sql: string) => api.data.store.sqlite.query<Record<string, unknown>, []>(sql).all();

/** What was changed, oldest first, without erasures themselves. */
async function shown(): Promise<Shown[]> {
  const { data } = await api.get<Page<Shown>>("/v1/audit?limit=250");
  return data.filter(({ object }) => object.kind !== "consumer").reverse();
}

/** The actions whose entries hold this text. */
const tellOf = async (text: string) =>
  (await shown()).filter((entry) => JSON.stringify(entry).includes(text)).map(({ action }) => action);

const endpoint = (fields: object, token?: string) =>
  made("POST", "/v1/endpoints", { url: api.receiver.url("erased"), ...fields }, token);

describe("what has left the database", () => {
  test("is known to be a consumer's, and erased, with nothing else of it left", async () => {
    const own = await endpoint({ description: "Anna Bell", metadata: { name: "Anna Bell" } }, "annaOwns");
    await made("PATCH", `/v1/endpoints/${own}`, { description: "Anna Bell 2" }, "annaOwns");
    await made("DELETE", `/v1/endpoints/${own}`, undefined, "annaOwns");
    const given = await endpoint({ consumer_id: "anna" });
    await made("PATCH", `/v1/endpoints/${given}`, { description: "Anna Bell 3" });
    await made("DELETE", `/v1/endpoints/${given}`);
    const source = await made("POST", "/v1/sources", {
      provider: "service",
      name: "s",
      consumer_id: "anna",
    });
    await made("PATCH", `/v1/sources/${source}`, { name: "Anna Bell 4" });
    await made("DELETE", `/v1/sources/${source}`);
    await made("POST", "/v1/replays", { q: "Anna Bell 5" }, "annaOwns");
    await api.until(async () => api.data.replays.countRunning() === 0);
    await sweep();
    expect(await tellOf("Anna Bell")).toEqual([
      "endpoint.created",
      "endpoint.updated",
      "endpoint.deleted",
      "endpoint.updated",
      "endpoint.deleted",
      "source.updated",
      "source.deleted",
      "replay.started",
    ]);
    await erase("anna");
    expect((await shown()).map(({ changes }) => changes)).toEqual(Array.from({ length: 10 }, () => ({})));
    expectRefusal(await api.call("DELETE", "/v1/consumers/anna"), 404, "not_found");
  });

  test("stays where it was another consumer's, another project's, or nobody's", async () => {
    const makers: [object, string?][] = [[{}], [{ consumer_id: "bert" }], [{ consumer_id: "anna" }, "other"]];
    for (const [fields, token] of makers) {
      const id = await endpoint({ description: "stays", ...fields }, token);
      await made("DELETE", `/v1/endpoints/${id}`, undefined, token);
    }
    const id = await endpoint({ description: "goes", consumer_id: "anna" });
    await made("DELETE", `/v1/endpoints/${id}`);
    await sweep();
    await erase("anna");
    const kept = ["endpoint.created", "endpoint.deleted"];
    expect([await tellOf("stays"), await tellOf("goes")]).toEqual([[...kept, ...kept], []]);
    expect((await api.get<Page<Shown>>("/v1/audit", "other")).data.map(({ changes }) => changes)).toEqual([
      expect.objectContaining({ description: { from: "stays", to: null } }),
      expect.objectContaining({ description: { from: null, to: "stays" } }),
    ]);
  });

  test("and was written before entries named their consumer is found by a change that names it", async () => {
    const id = await endpoint({ description: "Anna Bell", consumer_id: "anna" });
    await made("DELETE", `/v1/endpoints/${id}`);
    api.data.store.sqlite.run("UPDATE audit SET consumer_id = NULL");
    await sweep();
    await erase("anna");
    expect(await tellOf("Anna Bell")).toEqual([]);
  });
});

describe("what became another consumer's", () => {
  test("shows nothing of the time when it was the erased one's, and the rest of its story stays", async () => {
    const id = await endpoint({ consumer_id: "anna" });
    const source = await made("POST", "/v1/sources", {
      provider: "service",
      name: "s",
      consumer_id: "anna",
    });
    await made("PATCH", `/v1/endpoints/${id}`, { description: "Anna Bell" });
    await made("PATCH", `/v1/endpoints/${id}`, { description: null, consumer_id: "carol" });
    await made("PATCH", `/v1/endpoints/${id}`, { description: "Carol" });
    await made("PATCH", `/v1/sources/${source}`, { name: "Anna Bell" });
    await made("PATCH", `/v1/sources/${source}`, { name: "s", consumer_id: "carol" });
    await erase("anna");
    expect(await tellOf("Anna Bell")).toEqual([]);
    expect(await tellOf("Carol")).toEqual(["endpoint.updated"]);
  });

  test("is erased with each of them, whoever comes first", async () => {
    const id = await endpoint({ consumer_id: "anna" });
    await made("PATCH", `/v1/endpoints/${id}`, { description: "Anna Bell", consumer_id: "carol" });
    await made("DELETE", `/v1/endpoints/${id}`);
    await sweep();
    await erase("carol");
    expect(await tellOf("Anna Bell")).toEqual([]);
    expect(await tellOf('"anna"')).toEqual(["endpoint.created"]);
    await erase("anna");
    expect(await tellOf('"anna"')).toEqual([]);
  });
});

describe("a bulk replay that a key asked for on a consumer's endpoint", () => {
  test("goes with the text that was searched for, also once the endpoint is another's", async () => {
    for (const isMoved of [false, true]) {
      const id = await endpoint({ consumer_id: "anna" });
      await made("POST", "/v1/replays", { endpoint_id: id, q: "Anna Bell" });
      await api.until(async () => api.data.replays.countRunning() === 0);
      if (isMoved) await made("PATCH", `/v1/endpoints/${id}`, { consumer_id: "carol" });
      expect(rows("SELECT * FROM replay WHERE filter LIKE '%Anna Bell%'")).toHaveLength(1);
      await erase("anna");
      expect([await tellOf("Anna Bell"), rows("SELECT * FROM replay")]).toEqual([[], []]);
    }
  });

  test("is refused where the endpoint is gone once its matches are counted", async () => {
    const id = await endpoint({ consumer_id: "anna" });
    const count = api.services.replayer.count.bind(api.services.replayer);
    const counting = spyOn(api.services.replayer, "count").mockImplementation(async (...asked) => {
      const found = await count(...asked);
      await api.publish("a.b", { consumer_id: "anna" });
      await erase("anna");
      return found;
    });
    const reply = await api.call("POST", "/v1/replays", { endpoint_id: id, q: "Anna Bell" });
    const byName = await api.call("POST", "/v1/replays", { consumer_id: "anna", q: "Anna Bell" });
    counting.mockRestore();
    expectRefusal(reply, 422, "invalid_request");
    expectRefusal(byName, 422, "invalid_request", ["/consumer_id"]);
    expect([await tellOf("Anna Bell"), rows("SELECT * FROM replay")]).toEqual([[], []]);
  });
});

test("what is made for the same consumer after the erasure was asked for keeps its entries", async () => {
  await endpoint({ consumer_id: "anna", description: "old" });
  await made("DELETE", "/v1/consumers/anna");
  await endpoint({ consumer_id: "anna", description: "new" });
  await api.services.eraser.run(jobControlOf());
  expect([await tellOf("old"), await tellOf("new")]).toEqual([[], ["endpoint.created"]]);
});

test("an endpoint that was changed more often than a slice has rows leaves no change", async () => {
  const id = await endpoint({ consumer_id: "anna", description: "told often" });
  const { sqlite } = api.data.store;
  const copy = sqlite.prepare(
    `INSERT INTO audit SELECT ?, scope, actor_kind, actor_id, action, object_kind, object_id, changes, NULL
     FROM audit WHERE object_id = ? LIMIT 1`,
  );
  for (let nth = 0; nth < 2 * limit("sliceRows"); nth++) copy.run(api.data.store.takeKey(), id);
  expect(await tellOf("told often")).not.toEqual([]);
  await erase("anna");
  expect(rows(`SELECT 1 FROM audit WHERE object_id = '${id}' AND changes <> '{}'`)).toEqual([]);
});

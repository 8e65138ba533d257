/**
 * From the 202 of an erasure on nothing of the consumer is found by what others call it: its events by their
 * `external_id`, the answers of its links by their Idempotency-Key. Here it runs only when it is told to.
 */
import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { limit } from "../../src/core/limits.ts";
import { type Api, type EventRow, expectRefusal, type Page, startApi } from "../http/log-kit.ts";
import { jobControlOf } from "../kit/job-control.ts";

let api: Api;

beforeEach(async () => {
  api = await startApi();
});

afterEach(() => api[Symbol.asyncDispose]());

async function erase(consumer: string): Promise<void> {
  expect((await api.call("DELETE", `/v1/consumers/${consumer}`)).status).toBe(202);
}

async function called(name: string): Promise<string[]> {
  return (await api.get<Page<EventRow>>(`/v1/events?external_id=${name}`)).data.map(({ id }) => id);
}

describe("an external_id of an event that is being erased", () => {
  const NAMES = ["same", "other", "nobody", "batch-1", "batch-2"];

  /** Of each name an event of ada's, then her erasure, then one of each name again. */
  async function publishAgain(): Promise<{ id: string; name: string; consumer: string | null }[]> {
    for (const name of NAMES) await api.publish("a.b", { consumer_id: "ada", external_id: name });
    await erase("ada");
    const again = [
      await api.publish("a.b", { consumer_id: "ada", external_id: "same" }),
      await api.publish("a.b", { consumer_id: "bert", external_id: "other" }),
      await api.publish("a.b", { external_id: "nobody" }),
    ];
    const events = ["batch-1", "batch-2", "batch-1"].map((name) => ({
      type: "a.b",
      data: {},
      consumer_id: "ada",
      external_id: name,
    }));
    const batch = await api.call("POST", "/v1/events/batch", { events });
    const data = batch.json["data"] as typeof again;
    expect(data.map(({ duplicate }) => duplicate)).toEqual([false, false, true]);
    again.push(...data.slice(0, 2));
    expect(again.map(({ duplicate }) => duplicate)).toEqual(NAMES.map(() => false));
    return again.map(({ id, external_id, consumer_id }) => ({
      id,
      name: String(external_id),
      consumer: consumer_id,
    }));
  }

  test("is free: what is published under it is new, for whomever, and outlives the erasure", async () => {
    const again = await publishAgain();
    expect(again.map(({ name, consumer }) => [name, consumer])).toEqual([
      ["same", "ada"],
      ["other", "bert"],
      ["nobody", null],
      ["batch-1", "ada"],
      ["batch-2", "ada"],
    ]);
    const inWindow = await Promise.all(NAMES.map(called));
    await api.services.eraser.run(jobControlOf());
    expect([inWindow, await Promise.all(NAMES.map(called))]).toEqual([
      again.map(({ id }) => [id]),
      again.map(({ id }) => [id]),
    ]);
    const { data } = await api.get<Page<EventRow>>("/v1/events");
    expect(data.map(({ id }) => id).toSorted()).toEqual(again.map(({ id }) => id).toSorted());
  });

  test("of large events are given up in slices, before the write of what takes them", async () => {
    const data = { text: "x".repeat(200_000) };
    const events = Array.from({ length: 6 }, (_, n) => ({ type: "a.b", data, external_id: `large-${n}` }));
    for (const event of events) await api.publish("a.b", { ...event, consumer_id: "ada" });
    await erase("ada");
    const { events: stored, store } = api.data;
    const free = stored.freeExternal.bind(stored);
    const commits: number[] = [];
    using freed = spyOn(stored, "freeExternal").mockImplementation((id) => {
      commits.push(store.commits);
      free(id);
    });
    const small = events.map((event) => ({ ...event, data: {} }));
    const { status, json } = await api.call("POST", "/v1/events/batch", { events: small });
    expect([status, (json["data"] as { duplicate: boolean }[]).map(({ duplicate }) => duplicate)]).toEqual([
      202,
      events.map(() => false),
    ]);
    expect([freed.mock.calls.length, new Set(commits).size]).toEqual([6, 3]);
  });

  test("names the event that has it since, also to a second erasure", async () => {
    const [first] = await publishAgain();
    const repeat = await api.call("POST", "/v1/events", { type: "a.b", data: {}, external_id: "same" });
    expect([repeat.status, repeat.json["duplicate"], repeat.json["id"]]).toEqual([
      200,
      true,
      String(first?.id),
    ]);
    await erase("ada");
    const { id, duplicate } = await api.publish("a.b", { consumer_id: "ada", external_id: "same" });
    expect([duplicate, id === first?.id]).toEqual([false, false]);
    await api.services.eraser.run(jobControlOf());
    expect(await called("same")).toEqual([id]);
  });

  test("leads nobody to the event, nor a publish past the check of its type", async () => {
    await api.publish("a.b", { consumer_id: "ada", external_id: "same" });
    expect((await api.call("PATCH", "/v1/project", { unknown_event_types: "reject" })).status).toBe(200);
    const again = () => api.call("POST", "/v1/events", { type: "a.b", data: {}, external_id: "same" });
    expect((await again()).json["duplicate"]).toBe(true);
    await erase("ada");
    expect(await called("same")).toEqual([]);
    expectRefusal(await again(), 422, "invalid_request");
  });

  test("of another consumer, or of one that came since, is taken", async () => {
    await api.publish("a.b", { consumer_id: "ada" });
    const other = await api.publish("a.b", { consumer_id: "bert", external_id: "other" });
    await erase("ada");
    const since = await api.publish("a.b", { consumer_id: "ada", external_id: "since" });
    for (const { id, external_id: name } of [other, since]) {
      const { json } = await api.call("POST", "/v1/events", { type: "a.b", data: {}, external_id: name });
      expect([name, json["id"], json["duplicate"]]).toEqual([name, id, true]);
    }
  });

  test("stands in the file where the new event has it, and nowhere once that is erased", async () => {
    const word = "ada@example.com ";
    const name = word.repeat(10);
    const inFile = () =>
      Buffer.from(api.data.store.sqlite.serialize()).toString("latin1").split(word).length - 1;
    await api.publish("a.b", { consumer_id: "ada", external_id: name });
    for (let n = 0; n < 3; n++) await api.publish("a.b");
    await erase("ada");
    // Too large for the place where the name stood.
    const { id } = await api.publish("a.b", { external_id: name, data: { much: "x".repeat(1000) } });
    // In its row, and in the index.
    expect(inFile()).toBe(2 * 10);
    await api.services.eraser.run(jobControlOf());
    expect((await api.call("DELETE", `/v1/events/${id}`)).status).toBe(204);
    expect(inFile()).toBe(0);
  });
});

describe("an Idempotency-Key of a consumer's links", () => {
  async function linkOf(consumer: string): Promise<string> {
    const fields = { consumer_id: consumer, manage: true, create: true };
    const { json } = await api.call("POST", "/v1/portal-links", fields);
    return new URL(String(json["url"])).hash.slice(1);
  }

  const make = (token: string, key: string) =>
    api.call("POST", "/v1/endpoints", { url: api.receiver.url("made") }, token, { "idempotency-key": key });

  test("is free once the erasure is answered, and what it stands for since outlives that", async () => {
    const [ada, bert] = [await linkOf("ada"), await linkOf("bert")];
    const old = await make(ada, "k0");
    for (let n = 1; n <= limit("sliceRows"); n++) await make(ada, `k${n}`);
    const kept = await make(bert, "k0");
    await erase("ada");
    const since = await linkOf("ada");
    const made = await make(since, "k0");
    expect([made.status, made.headers.get("idempotency-replayed")]).toEqual([201, null]);
    expect(made.json["id"] === old.json["id"]).toBe(false);
    await api.services.eraser.run(jobControlOf());
    const again = [await make(since, "k0"), await make(bert, "k0")];
    expect(again.map(({ json, headers }) => [json["id"], headers.get("idempotency-replayed")])).toEqual(
      [made, kept].map(({ json }) => [json["id"], "true"]),
    );
    expect((await api.call("GET", `/v1/endpoints/${String(made.json["id"])}`)).status).toBe(200);
  });
});

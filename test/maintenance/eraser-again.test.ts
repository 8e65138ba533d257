/** A consumer is erased again while an erasure of it still runs: what came in between goes too. */
import { expect, test } from "bun:test";
import { expectRefusal, type EventRow, type Page, startApi } from "../http/log-kit.ts";
import { jobControlOf } from "../kit/job-control.ts";

interface Erased {
  id: string;
  status: string;
  events: number;
}

test.each(["at once", "cut short in between"])(
  "an erasure behind another one takes what came in between, %s",
  async (when) => {
    await using api = await startApi();
    const made = async (method: string, path: string, json: unknown = {}) => {
      const reply = await api.call(method, path, json);
      expect([path, Math.floor(reply.status / 100), reply.json.errors]).toEqual([path, 2, undefined]);
      return reply.json as Record<string, unknown>;
    };
    const { sqlite } = api.data.store;
    const holds = (table: string, text = "") =>
      sqlite
        .query<object, []>(`SELECT * FROM ${table}`)
        .all()
        .filter((row) => JSON.stringify(row).includes(text));
    const slices = (most: number) => {
      let taken = 0;
      return api.services.eraser.run(jobControlOf({ isStopping: () => ++taken > most }));
    };
    for (let n = 0; n < 30; n++) await api.publish("a.b", { consumer_id: "ada" });
    const first = await made("DELETE", "/v1/consumers/ada");
    await slices(1);
    const url = api.receiver.url("between");
    const between = await api.endpoint({ url, consumerId: "ada", status: "paused" });
    const event = await api.publish("a.b", { consumer_id: "ada", data: { email: "ada@example.com" } });
    const source = await made("POST", "/v1/sources", { provider: "service", name: "s", consumer_id: "ada" });
    const link = await made("POST", "/v1/portal-links", { consumer_id: "ada" });
    const token = new URL(String(link["url"])).hash.slice(1);
    expect(api.data.portalLinks.find(token)?.consumerId).toBe("ada");
    const second = await made("DELETE", "/v1/consumers/ada");
    expect([second["status"], second["id"] === first["id"]]).toEqual(["running", false]);
    // By the answer, before anything of it is erased.
    expect(api.data.portalLinks.find(token)).toBeNull();
    for (const path of [`/v1/endpoints/${between.publicId}`, `/v1/sources/${String(source["id"])}`])
      expectRefusal(await api.call("GET", path), 404, "not_found");
    const later = await api.publish("a.b", { consumer_id: "ada" });
    if (when !== "at once") await slices(2);
    await api.services.eraser.run(jobControlOf());
    await api.data.index.writeDown();
    const { data: erasures } = await api.get<Page<Erased>>("/v1/erasures");
    expect(erasures.map(({ status, events }) => [status, events])).toEqual([
      ["completed", 1],
      ["completed", 30],
    ]);
    expectRefusal(await api.call("GET", `/v1/events/${event.id}`), 404, "not_found");
    expect((await api.get<Page<EventRow>>("/v1/events")).data.map(({ id }) => id)).toEqual([later.id]);
    expect(["endpoint", "source", "portal_link"].map((table) => holds(table).length)).toEqual([0, 0, 0]);
    expect(["event", "audit"].flatMap((table) => holds(table, "ada@example.com"))).toEqual([]);
  },
);

test("a consumer has two erasures that run at most, however often it is asked for, and all until then goes", async () => {
  await using api = await startApi();
  const { erasures, store } = api.data;
  const { projectId = 0 } = api.callers.get("full") ?? {};
  const erase = async (consumer: string) => {
    const reply = await api.call("DELETE", `/v1/consumers/${consumer}`);
    expect([consumer, reply.status]).toEqual([consumer, 202]);
    return String(reply.json["id"]);
  };
  await api.publish("a.b", { consumer_id: "bert" });
  await api.publish("a.b", { consumer_id: "ada" });
  const ids = new Set<string>();
  for (const consumer of ["ada", "bert", "ada", "bert"]) ids.add(await erase(consumer));
  for (let n = 0; n < 5; n++) {
    const asOf = store.keys.last;
    await api.publish("a.b", { consumer_id: "ada" });
    expect(erasures.wasAskedSince({ projectId, consumerId: "ada" }, asOf)).toBe(false);
    ids.add(await erase("ada"));
    expect(erasures.wasAskedSince({ projectId, consumerId: "ada" }, asOf)).toBe(true);
    expect(erasures.wasAskedSince({ projectId, consumerId: "ada" }, store.keys.last)).toBe(false);
    ids.add(await erase("bert"));
  }
  expect([ids.size, erasures.countRunning()]).toEqual([3, 3]);
  const later = await api.publish("a.b", { consumer_id: "ada" });
  await api.services.eraser.run(jobControlOf());
  await api.data.index.writeDown();
  expect((await api.get<Page<EventRow>>("/v1/events")).data.map(({ id }) => id)).toEqual([later.id]);
  const { data } = await api.get<Page<Erased>>("/v1/erasures");
  expect(data.map(({ status, events }) => [status, events])).toEqual([
    ["completed", 5],
    ["completed", 1],
    ["completed", 1],
  ]);
});

/**
 * An endpoint changes its consumer only while nothing was ever meant for it, whatever shares a transaction
 * with the change.
 */
import { expect, test } from "bun:test";
import { startApi } from "../log-kit.ts";

test("an endpoint stays with its consumer where a publish or a replay comes in the same transaction", async () => {
  await using api = await startApi();
  for (const how of ["publish", "replay"]) {
    const endpoint = await api.endpoint({
      url: api.receiver.url("x"),
      status: "paused",
      eventTypes: [how === "publish" ? "moved" : "none"],
    });
    const event = await api.publish("a.b", { consumer_id: "ada" });
    const [made, moved] = await Promise.all([
      how === "publish"
        ? api.call("POST", "/v1/events", { type: "moved", consumer_id: "ada", data: {} })
        : api.call("POST", `/v1/events/${event.id}/replay`, { endpoint_ids: [endpoint.publicId] }),
      api.call("PATCH", `/v1/endpoints/${endpoint.publicId}`, { consumer_id: "bert" }),
    ]);
    expect([how, made.status, moved.status]).toEqual([how, 202, 409]);
  }
}, 20_000);

test("an endpoint whose deliveries were erased stays too, as its numbers are its consumer's", async () => {
  await using api = await startApi();
  api.receiver.at("x", () => new Response());
  const endpoint = await api.endpoint({
    url: api.receiver.url("x"),
    eventTypes: ["counted"],
    consumerId: "ada",
  });
  const event = await api.publish("counted", { consumer_id: "ada" });
  await api.receiver.arrived("x", 1);
  await api.data.store.settled();
  expect((await api.call("DELETE", `/v1/events/${event.id}`)).status).toBeLessThan(300);
  await api.until(async () => (await api.call("GET", `/v1/events/${event.id}`)).status === 404);
  const path = `/v1/endpoints/${endpoint.publicId}`;
  expect((await api.call("PATCH", path, { consumer_id: "bert" })).status).toBe(409);
});

test("an endpoint that is taken from a consumer has a new secret; one of the project's own keeps its", async () => {
  await using api = await startApi();
  for (const [before, isNew] of [
    ["ada", true],
    [null, false],
  ] as const) {
    const endpoint = await api.endpoint({
      url: api.receiver.url("x"),
      eventTypes: ["none"],
      consumerId: before,
    });
    const path = `/v1/endpoints/${endpoint.publicId}`;
    const secret = async () => (await api.get<{ secret: string }>(`${path}/secret`)).secret;
    const first = await secret();
    expect((await api.call("PATCH", path, { consumer_id: "bert" })).status).toBe(200);
    expect((await secret()) !== first).toBe(isNew);
  }
});

test.each(["http", "poll"] as const)(
  "a test that comes beside a move shows nothing of whom the endpoint is given to: %s",
  async (kind) => {
    await using api = await startApi();
    api.receiver.at("bert", () => new Response("bert's answer"));
    for (const isMoveFirst of [true, false]) {
      const endpoint = await api.endpoint({ kind, url: api.receiver.url("anna"), consumerId: "anna" });
      const path = `/v1/endpoints/${endpoint.publicId}`;
      const destination = kind === "poll" ? {} : { url: api.receiver.url("bert") };
      const move = () => api.call("PATCH", path, { consumer_id: "bert", ...destination });
      const trial = () => api.call("POST", `${path}/test`, {}, "annaManages");
      const [moved, tried] = isMoveFirst
        ? await Promise.all([move(), trial()])
        : await Promise.all([trial(), move()]).then(([a, b]) => [b, a] as const);
      const isTried = tried.status === 200 || tried.status === 202;
      expect([moved.status, isTried]).toEqual(moved.status === 200 ? [200, false] : [409, true]);
      expect(tried.text).not.toContain("bert");
    }
  },
);

test("an endpoint that had deliveries stays with its consumer, also where it would be the project's own", async () => {
  await using api = await startApi();
  const endpoint = await api.endpoint({ url: api.receiver.url("x"), consumerId: "anna", status: "paused" });
  await api.publish("a.b", { consumer_id: "anna" });
  const path = `/v1/endpoints/${endpoint.publicId}`;
  expect((await api.call("PATCH", path, { consumer_id: null })).status).toBe(409);
  expect((await api.get<{ consumer_id: string }>(path)).consumer_id).toBe("anna");
});

/** The span of an endpoint's numbers; how they are counted: test/store/counts. */
import { expect, spyOn, test } from "bun:test";
import { Hours } from "../../../src/store/counts/hours.ts";
import { startApp } from "../../kit/app.ts";
import { SetClock } from "../../kit/clock.ts";
import { startReceiver } from "../../kit/receiver.ts";

test("by default numbers go up to now as rows are dated, also while a wall clock that was set ahead is not believed", async () => {
  const clock = new SetClock(Date.UTC(2026, 10, 21, 9, 30));
  await using receiver = startReceiver();
  await using app = await startApp({ clock });
  const config = { url: receiver.url("numbers") };
  const { id } = await app.live.create("/v1/endpoints", { kind: "http", config, event_types: ["a.b"] });
  expect((await app.live.post("/v1/events", { type: "a.b", data: {} })).status).toBe(202);
  await receiver.arrived("numbers");
  const numbers = async () => {
    const paths = ["/v1/stats", `/v1/endpoints/${id}/stats`, `/v1/stats/endpoints?endpoint_ids=${id}`];
    return (await Promise.all(paths.map((path) => app.live.get(path)))).map(({ json }) => json);
  };
  const before = await app.until(async () => {
    const seen = await numbers();
    return !JSON.stringify(seen).includes(`"delivered":0`) && seen;
  });
  clock.step(25 * 3_600_000);
  expect(await numbers()).toEqual(before);
});

test("of an endpoint that is named many times, and in two spellings, are read and answered once", async () => {
  await using app = await startApp();
  const config = { url: "https://example.com/" };
  const { id = "" } = await app.live.create("/v1/endpoints", { kind: "http", config });
  const again = id.replace(/_.*/, (key) => key.toLowerCase());
  const asked = [id, again, ...Array.from({ length: 98 }, () => id)].join(",");
  using read = spyOn(Hours.prototype, "ofEndpoint");
  const { json } = await app.live.get(`/v1/stats/endpoints?endpoint_ids=${asked}`);
  const data = json["data"] as { endpoint_id: string }[];
  expect([data.map((row) => row.endpoint_id), read.mock.calls.length]).toEqual([[id], 1]);
});

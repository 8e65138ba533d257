/** Erasing an event with very many open deliveries: they are ended slice by slice, each read once. */
import { expect, spyOn, test } from "bun:test";
import { untriedDelivery } from "../../src/core/delivery.ts";
import { limit } from "../../src/core/limits.ts";
import { type Api, startApi } from "../http/log-kit.ts";
import { jobControlOf } from "../kit/job-control.ts";

const SLICES = 20;
const WIDTH = SLICES * limit("sliceRows");

/** An event of a consumer, as a wide fan-out leaves it. */
async function publishWide(api: Api): Promise<string> {
  const endpoint = await api.endpoint({ url: api.receiver.url("wide"), status: "paused" });
  const { id } = await api.publish("a.b", { consumer_id: "ada" });
  const eventId = api.data.ids.decode("evt", id) ?? 0;
  const { deliveries, store } = api.data;
  await store.write(() => {
    const due = store.takeKey(WIDTH);
    for (let n = 0; n < WIDTH - 1; n++) {
      const keys = { id: due + n, eventId, endpointId: endpoint.id, projectId: endpoint.projectId };
      deliveries.insert(untriedDelivery({ ...keys, origin: "publish", due }), null);
    }
  });
  return id;
}

/** Looks at deliveries while `run` goes on, and how many of them began at the first. */
async function looks(api: Api, run: () => Promise<unknown>): Promise<number[]> {
  using asked = spyOn(api.data.removal, "openOf");
  await run();
  const { calls } = asked.mock;
  return [calls.length, calls.filter(([eventId, after]) => (after ?? eventId) === eventId).length];
}

const left = (api: Api) =>
  ["event", "delivery"].map((table) => api.data.store.sqlite.query(`SELECT 1 FROM ${table}`).all().length);

test("where it is deleted, those that were ended are read again at the end and with its removal alone", async () => {
  await using api = await startApi();
  const id = await publishWide(api);
  expect(await looks(api, () => api.call("DELETE", `/v1/events/${id}`))).toEqual([SLICES + 3, 3]);
  await api.services.eraser.run(jobControlOf());
  expect(left(api)).toEqual([0, 0]);
});

test("where its consumer is erased, those that were ended are read again at the end alone", async () => {
  await using api = await startApi();
  await publishWide(api);
  await api.call("DELETE", "/v1/consumers/ada");
  expect(await looks(api, () => api.services.eraser.run(jobControlOf()))).toEqual([SLICES + 2, 2]);
  expect(left(api)).toEqual([0, 0]);
});

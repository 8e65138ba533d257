/**
 * A delivery that no list in the database holds yet (src/store/index/) is as any other to whoever reads or
 * changes it.
 */
import { expect, test } from "bun:test";
import type { Endpoint } from "../../src/core/model.ts";
import type { DeliveryAnswer } from "../../src/http/deliveries/shape.ts";
import { writeDelivery } from "../../src/pipeline/new-delivery.ts";
import type { EventWithData } from "../../src/store/log/events.ts";
import { SetClock, steadyOver } from "../kit/clock.ts";
import { openTestData } from "../kit/data.ts";
import { type Api, type Page, startApi } from "../http/log-kit.ts";

/** Three endpoints whose receiver lets them wait, one of them paused, and an event to all of them. */
async function publishHeld(api: Api) {
  const url = api.receiver.at("held", () => new Promise<Response>(() => {}));
  const fields = { url, eventTypes: ["held"] };
  const first = await api.endpoint(fields);
  const annas = await api.endpoint({ ...fields, consumerId: "anna" });
  const paused = await api.endpoint({ ...fields, status: "paused" });
  const { id } = await api.publish("held", { consumer_id: "anna", data: { word: "needle" } });
  await api.receiver.arrived("held", 2);
  return { id, first, annas, paused };
}

function countEntries({ data }: Api): number {
  const sql = "SELECT count(*) AS count FROM entry";
  return data.store.sqlite.query<{ count: number }, []>(sql).get()?.count ?? 0;
}

async function deliveriesOf(api: Api, eventId: string): Promise<DeliveryAnswer[]> {
  return (await api.get<Page<DeliveryAnswer>>(`/v1/deliveries?event_id=${eventId}`)).data;
}

test("every list, filter and count shows it as it does once it stands there", async () => {
  await using api = await startApi();
  const { id, first, annas } = await publishHeld(api);
  const [newest, , oldest] = await deliveriesOf(api, id);
  const paths = [
    `/v1/deliveries?event_id=${id}`,
    `/v1/deliveries?event_id=${id}&limit=2`,
    "/v1/deliveries",
    "/v1/deliveries?limit=1",
    "/v1/deliveries?status=pending&q=needle",
    "/v1/deliveries?status=delivered",
    "/v1/deliveries?status_code=200",
    "/v1/deliveries?event_type=held&consumer_id=anna",
    `/v1/deliveries?endpoint_id=${first.publicId}`,
    "/v1/deliveries?counts=hour",
    `/v1/deliveries/${newest?.id}`,
    `/v1/deliveries/${oldest?.id}/attempts`,
    `/v1/events/${id}`,
    `/v1/events/${id}/timeline`,
    "/v1/events",
    "/v1/events?status=pending",
    "/v1/events?status=delivered",
    "/v1/events?matched=true",
    `/v1/events?endpoint_id=${annas.publicId}&q=needle`,
    `/v1/endpoints/${first.publicId}/stats`,
    `/v1/endpoints/${first.publicId}`,
  ];
  const read = async (token: string) => {
    const replies = [];
    for (const path of paths) replies.push(await api.call("GET", path, undefined, token));
    return replies.map(({ status, json }, at) => [paths[at], status, { ...json, request_id: null }]);
  };
  const before = [await read("full"), await read("anna")];
  expect(countEntries(api)).toBe(0);
  await api.data.index.writeDown();
  expect(countEntries(api)).toBeGreaterThan(0);
  expect([await read("full"), await read("anna")]).toEqual(before);
});

test("it is cancelled, replayed and ended with its endpoint", async () => {
  await using api = await startApi();
  const { id, first, annas, paused } = await publishHeld(api);
  const deliveries = await deliveriesOf(api, id);
  const of = ({ publicId }: { publicId: string }) =>
    deliveries.find((delivery) => delivery.endpoint_id === publicId)?.id;
  expect(countEntries(api)).toBe(0);
  expect((await api.call("POST", `/v1/deliveries/${of(first)}/cancel`)).json.status).toBe("cancelled");
  const body = { endpoint_ids: [annas.publicId] };
  expect((await api.call("POST", `/v1/events/${id}/replay`, body)).status).toBe(202);
  await api.change(paused, { status: "deleted" });
  const statuses = async () => (await deliveriesOf(api, id)).map(({ status }) => status).sort();
  expect(await api.until(async () => (await statuses()).at(1) === "cancelled" && statuses())).toEqual([
    "cancelled",
    "cancelled",
    "pending",
  ]);
});

test("a delivery of a wide event whose endpoint is deleted before it is written is cancelled at birth", async () => {
  await using it = await openTestData();
  const endpoint = await it.endpoint();
  const { store, deliveries } = it.data;
  const clock = steadyOver(new SetClock(1000));
  const write = (status: Endpoint["status"]) => {
    const event = it.data.events.getWithData(it.insertEvent(1)) as EventWithData;
    const row = { id: event.id + 1, isKeyOlder: true, waitsForPlan: true, toPark: new Set<number>() };
    const body = new Uint8Array();
    writeDelivery(it.data, clock, event, { ...endpoint, status }, { ...row, body });
    return deliveries.get(event.id + 1)?.status;
  };
  const born = await store.write(() => (["active", "disabled", "deleted"] as const).map(write));
  expect(born).toEqual(["pending", "dead", "cancelled"]);
});

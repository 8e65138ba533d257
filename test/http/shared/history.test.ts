/** The newest events of a list, as previews and proposals read them. */
import { expect, spyOn, test } from "bun:test";
import { newestEvents } from "../../../src/http/shared/history.ts";
import { startApi } from "../log-kit.ts";

test("others have their turn before each event that is read, also before those that are left out", async () => {
  await using api = await startApi();
  const { publicId } = await api.endpoint({ url: api.receiver.url("h"), eventTypes: ["h.i"] });
  for (let n = 0; n < 5; n++) await api.call("POST", `/v1/endpoints/${publicId}/test`, {});
  const { id } = await api.publish("h.i");
  using giveWay = spyOn(api.data.store.turns, "giveWay");
  const found: string[] = [];
  const projectId = api.callers.get("full")?.projectId ?? 0;
  for await (const event of newestEvents(api.data, projectId, 10, api.data.store.turns))
    found.push(api.data.ids.encode("evt", event.id));
  expect([found, giveWay.mock.calls.length]).toEqual([[id], 6]);
});

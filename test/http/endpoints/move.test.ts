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

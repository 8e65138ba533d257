/** What pollers fetch is metered when it is handed out first, and stops at the plan's limit. */
import { expect, test } from "bun:test";
import { createTenant, operatorOf, startOperated } from "../../kit/operator.ts";

test("a polled delivery takes its place when it is accepted, and is metered by its first hand-out", async () => {
  const plans = { free: { deliveries: 3, blocks: true, retention_days: 7 } };
  await using app = await startOperated({ SEALPOST_PLANS: JSON.stringify(plans) });
  const { id, live } = await createTenant(app, { plan: "free" });
  const made = await live.create("/v1/endpoints", { kind: "poll", config: {} });
  const poll = async (query = "") => {
    const { json } = await app.with(String(made["secret"])).get(`/poll/${made["id"]}${query}`);
    return json as unknown as { data: unknown[]; next_cursor: string };
  };
  const standing = async () => {
    const { json } = await live.get("/v1/usage");
    return [json["deliveries"], json["remaining"]];
  };
  const publish = async () => (await live.post("/v1/events", { type: "a", data: {} })).status;
  expect([await publish(), await publish(), await publish(), await publish()]).toEqual([202, 202, 202, 402]);
  expect(await standing()).toEqual([0, 0]);
  const page = await poll();
  expect([page.data.length, (await poll()).data.length]).toEqual([3, 3]);
  expect(await standing()).toEqual([3, 0]);
  await poll(`?cursor=${page.next_cursor}`);
  expect(await standing()).toEqual([3, 0]);

  // A provider would not send it again: it waits for the plan, and whoever polls gets it then.
  const source = await live.create("/v1/sources", { provider: "service", name: "service" });
  const headers = { "x-service-token": String(source["secret"]) };
  const { status } = await app.with(null).post(String(source["ingest_path"]), { id: "1" }, headers);
  expect([status, (await poll()).data]).toEqual([200, []]);
  const { json } = await live.get("/v1/deliveries?status=pending");
  expect(json["data"]).toMatchObject([{ waiting_for: "plan_limit", attempt_count: 0 }]);
  const held = poll("?wait=30");
  await operatorOf(app).patch(`/v1/operator/accounts/${id}`, { plan: "unlimited" });
  expect((await held).data).toHaveLength(1);
  expect((await standing())[0]).toBe(4);
});

/** A filter that another version stored, and this one refuses. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { startApp } from "../kit/app.ts";
import { startReceiver } from "../kit/receiver.ts";

test("keeps nobody but its own endpoint from its events, whose deliveries fail as malformed until it is set right", async () => {
  await using receiver = startReceiver();
  await using app = await startApp();
  const broken = await app.live.create("/v1/endpoints", {
    url: receiver.url("broken"),
    filter: { data: { n: 1 } },
  });
  await app.live.create("/v1/endpoints", { url: receiver.url("fine") });
  await app.stop();
  const sqlite = new Database(join(app.dataDir, "sealpost.db"));
  sqlite.run("UPDATE endpoint SET filter = ? WHERE filter IS NOT NULL", ['{"data":{"n":{"$later":1}}}']);
  sqlite.close();
  await app.start();
  await app.live.post("/v1/events", { type: "a.b", data: { n: 1 } });
  await receiver.arrived("fine");
  const path = `/v1/deliveries?endpoint_id=${broken["id"]}&status=dead`;
  const [dead] = await app.until(async () => {
    const { data } = (await app.live.get(path)).json as unknown as { data: Record<string, string>[] };
    return data.length > 0 && data;
  });
  expect(dead).toMatchObject({ status: "dead", dead_reason: "malformed" });
  await app.live.patch(`/v1/endpoints/${broken["id"]}`, { filter: { data: { n: { $gte: 1 } } } });
  await app.live.post("/v1/replays", { status: ["dead"] });
  const [request] = await receiver.arrived("broken");
  expect(request?.headers["webhook-id"]).toBe(String(dead?.["id"]));
  await app.stop();
  const lines = app.log().split("\n");
  const told = lines.filter(
    (line) => line.includes("refused by this version") && line.includes(`${broken["id"]}`),
  );
  expect(told).toHaveLength(1);
});

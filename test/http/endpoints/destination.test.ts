/** An endpoint that leads back to this service would make events without end. */
import { expect, test } from "bun:test";
import { startApp } from "../../kit/app.ts";

test("an endpoint at the service's own address is refused, by its name and by where it listens", async () => {
  await using app = await startApp();
  const source = await app.live.create("/v1/sources", { provider: "service", name: "loop" });
  for (const base of [app.url, "https://hooks.example.com"]) {
    const reply = await app.live.post("/v1/endpoints", { url: base + source["ingest_path"] });
    expect([reply.status, reply.json.code]).toEqual([422, "unsafe_destination"]);
  }
});

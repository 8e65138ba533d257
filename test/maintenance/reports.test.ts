/** What the whole service writes on standard output: one JSON object a line, each field once. */
import { expect, test } from "bun:test";
import { startApp } from "../kit/app.ts";
import { startReceiver } from "../kit/receiver.ts";

test("every line is JSON, names no field twice, and holds no key, secret or body", async () => {
  await using app = await startApp();
  await using receiver = startReceiver();
  receiver.at("down", () => new Response(null, { status: 503 }));
  const url = receiver.url("down");
  const { json: endpoint } = await app.test.post("/v1/endpoints", {
    url,
    headers: { authorization: "Bearer hidden-1" },
  });
  await app.test.post("/v1/events", { type: "a.b", data: { note: "hidden-2" } });
  await receiver.arrived("down", 1);
  await app.test.get("/v1/events?q=hidden-3");
  await app.test.post("/v1/events", { type: "a.b", data: 5 });
  await app.stop();
  const lines = app.log().trimEnd().split("\n");
  expect(lines.length).toBeGreaterThan(5);
  for (const line of lines) expect(JSON.stringify(JSON.parse(line))).toBe(line);
  expect(app.log()).not.toMatch(/hidden-\d|sp_(live|test)_[0-9A-Za-z]{20}/);
  expect(app.log()).not.toContain(String(endpoint["secret"]));
});

/** An export ends complete, or by an error that its reader sees; test/slow/export.slow.ts has it over a socket, with pauses. */
import { expect, test } from "bun:test";
import { limit, LIMITS } from "../../src/core/limits.ts";
import { startApi } from "./log-kit.ts";

test("a reader that takes nothing for long is cut off by an error, and never sees an end", async () => {
  await using api = await startApi();
  await api.endpoint({ url: api.receiver.url("x"), eventTypes: ["x.export"], status: "disabled" });
  const events = Array.from({ length: 300 }, () => ({ type: "x.export", data: {} }));
  await api.call("POST", "/v1/events/batch", { events });
  const usual = limit("exportStallMs");
  (LIMITS.exportStallMs as { value: number }).value = 20;
  try {
    const { body } = await api.handle("GET", "/v1/deliveries?format=ndjson");
    const reader = body?.getReader();
    expect(await reader?.closed.catch(String)).toContain("takes nothing");
    expect(await reader?.read().catch(String)).toContain("takes nothing");
  } finally {
    (LIMITS.exportStallMs as { value: number }).value = usual;
  }
});

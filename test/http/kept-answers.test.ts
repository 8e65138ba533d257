/**
 * Calls that change nothing leave little on the disk, whatever keys they carry: a link that only reads cannot
 * fill it.
 */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { LIMITS, limit } from "../../src/core/limits.ts";
import { startApp, type TestApp } from "../kit/app.ts";

/** The answers that are kept, by their keys, with their bytes. */
function keptIn(app: TestApp): Map<string, number> {
  const sqlite = new Database(join(app.dataDir, "sealpost.db"), { readonly: true });
  const kept = sqlite.query<{ key: string; bytes: number }, []>(
    "SELECT key, length(body) AS bytes FROM idempotency",
  );
  const rows = new Map(kept.all().map(({ key, bytes }) => [key, bytes]));
  sqlite.close();
  return rows;
}

/** An endpoint whose answer has some 200 KB. */
async function createLarge({ live }: TestApp): Promise<string> {
  const transformations = [{ op: "set", path: "data.padding", value: "x".repeat(200_000) }];
  const endpoint = { url: "https://example.com/hook", transformations };
  return (await live.create<{ id: string }>("/v1/endpoints", endpoint)).id;
}

test("of what changes nothing a bounded number of bytes is kept for each caller, of changes every answer", async () => {
  await using app = await startApp();
  const { live } = app;
  const link = await live.create<{ url: string }>("/v1/portal-links", { consumer_id: "acme" });
  const portal = app.with(new URL(link.url).hash.slice(1));
  const event = { type: "a.b", data: { padding: "x".repeat(200_000) } };
  for (let nth = 0; nth < 20; nth++) {
    const reply = await portal.post("/v1/endpoints/preview", { event }, { "idempotency-key": `p${nth}` });
    expect(reply.status).toBe(200);
  }
  const big = { name: "kept" };
  expect((await live.post("/v1/api-keys", big, { "idempotency-key": "change" })).status).toBe(201);
  expect((await live.post("/v1/replays", { dry_run: true }, { "idempotency-key": "dry" })).status).toBe(200);
  const keys = [...keptIn(app).keys()];
  const previews = keys.filter((key) => key.startsWith("p"));
  expect(previews.length).toBe(Math.floor(limit("keptUnchangedBytesMax") / 200_100));
  expect(keys).toEqual(expect.arrayContaining(["change", "dry"]));
});

test("so it is where a change finds that there is nothing to change", async () => {
  await using app = await startApp();
  const id = await createLarge(app);
  for (const action of ["enable", "resume"]) {
    for (let nth = 0; nth < 10; nth++)
      expect(
        (await app.live.post(`/v1/endpoints/${id}/${action}`, {}, { "idempotency-key": `${action}${nth}` }))
          .status,
      ).toBe(200);
  }
  const bytes = [...keptIn(app).values()].reduce((sum, length) => sum + length, 0);
  expect(bytes).toBeLessThanOrEqual(limit("keptUnchangedBytesMax"));
  expect(bytes).toBeGreaterThan(0);
});

test("changes whose answers have no room are refused, and do not happen; without a key they do", async () => {
  const { value } = LIMITS.keptChangedBytesMax;
  (LIMITS.keptChangedBytesMax as { value: number }).value = 500_000;
  try {
    await using app = await startApp();
    const id = await createLarge(app);
    const change = (action: string, nth: number) =>
      app.live.post(`/v1/endpoints/${id}/${action}`, {}, { "idempotency-key": `c${nth}` });
    expect((await change("pause", 1)).status).toBe(200);
    expect((await change("resume", 2)).status).toBe(200);
    const refused = await change("pause", 3);
    expect(refused.status).toBe(429);
    expect(refused.headers.get("retry-after")).not.toBeNull();
    expect((await app.live.get(`/v1/endpoints/${id}`)).json["status"]).toBe("active");
    // What was kept is still answered.
    expect((await change("resume", 2)).headers.get("idempotency-replayed")).toBe("true");
    expect((await app.live.post(`/v1/endpoints/${id}/pause`)).status).toBe(200);
  } finally {
    (LIMITS.keptChangedBytesMax as { value: number }).value = value;
  }
});

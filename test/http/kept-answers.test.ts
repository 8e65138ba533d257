/**
 * Calls that change nothing leave little on the disk, whatever keys they carry: a link that only reads cannot
 * fill it.
 */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { limit } from "../../src/core/limits.ts";
import { startApp } from "../kit/app.ts";

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
  const sqlite = new Database(join(app.dataDir, "sealpost.db"), { readonly: true });
  const kept = sqlite.query<{ key: string; bytes: number }, []>(
    "SELECT key, length(body) AS bytes FROM idempotency",
  );
  const rows = kept.all();
  sqlite.close();
  const previews = rows.filter(({ key }) => key.startsWith("p"));
  expect(previews.length).toBe(Math.floor(limit("keptUnchangedMaxBytes") / 200_100));
  expect(rows.map(({ key }) => key)).toEqual(expect.arrayContaining(["change", "dry"]));
});

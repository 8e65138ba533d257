/** When keys were last used is written down apart from their use, in slices (`Tenants`). */
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Cipher } from "../../../src/core/cipher.ts";
import { limit } from "../../../src/core/limits.ts";
import { openData } from "../../../src/store/data.ts";
import { openDatabase } from "../../../src/store/database.ts";
import { storeParts } from "../../kit/store-parts.ts";

const KEYS = 600;

test("the last use of very many keys goes down a slice a transaction, and what was refused goes down later", async () => {
  const dir = mkdtempSync(join(tmpdir(), "sealpost-last-use-"));
  const disk = openDatabase(dir);
  // One transaction for each slice, however slow the machine is.
  const beginShare = () => ({ isOver: false });
  const { store, tenants } = openData(disk.sqlite, storeParts({ beginShare, sync: disk.sync }), {
    cipher: new Cipher([new Uint8Array(32)]),
    cell: "00",
  });
  const account = await tenants.createAccount({ name: "test", plan: "unlimited" });
  const project = await tenants.createProject(account.id, "live", "live");
  const fields = { name: "key", scopes: ["full" as const], expiresAt: null };
  const made = await store.write(() =>
    Array.from({ length: KEYS }, () => tenants.insertKey(project, fields)),
  );
  for (const { key, token } of made) tenants.rememberKey(key, token);
  const at = Date.now() + 1000;
  for (const { token } of made) tenants.findKey(token, at);
  const saved = () =>
    disk.sqlite
      .query<{ count: number }, [number]>("SELECT count(*) AS count FROM api_key WHERE last_used_at = ?")
      .get(at)?.count;
  disk.sqlite.exec("CREATE TRIGGER refusal BEFORE UPDATE ON api_key BEGIN SELECT RAISE(ABORT, 'no'); END");
  expect(await tenants.saveLastUse().catch(String)).toContain("no");
  disk.sqlite.exec("DROP TRIGGER refusal");
  const before = store.commits;
  await tenants.saveLastUse();
  expect([saved(), store.commits - before]).toEqual([KEYS, Math.ceil(KEYS / limit("sliceRows"))]);
  await tenants.saveLastUse();
  expect(store.commits - before).toBe(Math.ceil(KEYS / limit("sliceRows")));
  await store.close();
  disk.close();
  rmSync(dir, { recursive: true });
});

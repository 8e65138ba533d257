/** Keys of a project, and when they were last used, which is written down apart and in slices (`Tenants`). */
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Cipher } from "../../../src/core/cipher.ts";
import { limit } from "../../../src/core/limits.ts";
import type { Project } from "../../../src/core/model.ts";
import { openData } from "../../../src/store/data.ts";
import { openDatabase } from "../../../src/store/database.ts";
import { openTestData } from "../../kit/data.ts";
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
  for (const { key } of made) tenants.rememberKey(key);
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

test("the keys of a project are found without a look at those of another", async () => {
  await using it = await openTestData();
  const { tenants, store } = it.data;
  const fields = { name: "key", scopes: ["full" as const], expiresAt: null };
  const other = await tenants.createProject(it.project.accountId, "other", "live");
  const make = (of: Project) => store.write(() => tenants.insertKey(of, fields));
  const [mine, foreign] = [await make(it.project), await make(other)];
  let looks = 0;
  const watched = new Proxy(foreign.key, {
    get(key, name) {
      looks++;
      return Reflect.get(key, name);
    },
  });
  tenants.rememberKey(mine.key);
  tenants.rememberKey(watched);
  looks = 0;
  expect([...tenants.keysOf(it.project.id).below()]).toEqual([mine.key]);
  tenants.forgetKey(mine.key);
  expect([...tenants.keysOf(it.project.id).below(), looks]).toEqual([0]);
  expect([tenants.findKey(mine.token, 0), tenants.findKey(foreign.token, 0)]).toEqual([null, watched]);
});

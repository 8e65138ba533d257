/**
 * Portal links at the moments that matter: before and after they expire, and while their account
 * is suspended.
 */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { authenticator } from "../../../src/http/framework/authenticate.ts";
import { Cipher } from "../../../src/core/cipher.ts";
import type { Project } from "../../../src/core/model.ts";
import { type Data, openData } from "../../../src/store/data.ts";
import { type Disk, openDatabase } from "../../../src/store/database.ts";
import { storeParts } from "../../kit/store-parts.ts";

const HOUR_MS = 3_600_000;
let now: number;
let dir: string;
let disk: Disk;
let data: Data;
let project: Project;

function open(): Data {
  const parts = storeParts({ now: () => now, sync: disk.sync });
  return openData(disk.sqlite, parts, { cipher: new Cipher([new Uint8Array(32)]), cell: "00" });
}

beforeEach(async () => {
  now = Date.UTC(2026, 10, 21);
  dir = mkdtempSync(join(tmpdir(), "sealpost-links-"));
  disk = openDatabase(dir);
  data = open();
  const account = await data.tenants.createAccount({ name: "test", plan: "unlimited" });
  project = await data.tenants.createProject(account.id, "live", "live");
});

afterEach(async () => {
  await data.store.close();
  disk.close();
  rmSync(dir, { recursive: true });
});

async function makeToken(hours: number): Promise<string> {
  const fields = { projectId: project.id, consumerId: "anna", manage: true, create: false };
  const made = await data.store.write(() =>
    data.portalLinks.insert({ ...fields, expiresAt: now + hours * HOUR_MS }),
  );
  return made.token;
}

const listed = () => data.portalLinks.list(project.id, null, Number.MAX_SAFE_INTEGER, 10).length;
const caller = (token: string) => authenticator(data, () => now)(token);

test("a token stands for its consumer and grants until the moment that it expires", async () => {
  const token = await makeToken(1);
  now += HOUR_MS - 1;
  expect(caller(token)).toMatchObject({
    kind: "portal",
    projectId: project.id,
    accountId: project.accountId,
    mode: "live",
    scopes: [],
    consumerId: "anna",
    manage: true,
    create: false,
  });
  now += 1;
  expect(caller(token)).toBeNull();
});

test("what has expired is listed no more, and removed slice by slice", async () => {
  await makeToken(1);
  await makeToken(2);
  now += HOUR_MS;
  expect(listed()).toBe(1);
  expect(await data.portalLinks.expire()).toBeGreaterThan(0);
  expect(await data.portalLinks.expire()).toBe(0);
  const rows = disk.sqlite.query<{ n: number }, []>("SELECT count(*) AS n FROM portal_link").get();
  expect(rows?.n).toBe(1);
});

test("the token of a suspended account is refused as its keys are, with the reason", async () => {
  const token = await makeToken(1);
  disk.sqlite.exec("UPDATE account SET suspended = 1");
  data = open();
  expect(caller(token)).toEqual({ refused: expect.stringContaining("suspended") });
});

test("neither a typo nor a token that was never made finds anything", async () => {
  const token = await makeToken(1);
  expect(caller(`${token.slice(0, -1)}${token.endsWith("0") ? "1" : "0"}`)).toBeNull();
  expect(caller(token.replace("spl_", "sp_live_"))).toBeNull();
});

/** A copy of a database becomes that of another cell. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Cipher, keyIdOf } from "../../src/core/cipher.ts";
import { openData } from "../../src/store/data.ts";
import { openDatabase } from "../../src/store/database.ts";
import { readIdentity } from "../../src/store/identity.ts";
import { SCHEMA_VERSION } from "../../src/store/migrations.ts";
import { nameCell, readOffer, splitOff } from "../../src/store/moving.ts";
import { finishDepartures } from "../../src/maintenance/elsewhere.ts";
import { storeParts } from "../kit/store-parts.ts";
import { systemClock } from "../../src/platform/clock.ts";
import type { SourceSecrets } from "../../src/core/model.ts";
import { sealedPlace } from "../../src/store/resources/sealing.ts";
import { plainEndpoint } from "../kit/endpoint.ts";
import { plainSource } from "../kit/source.ts";

const KEY = new Uint8Array(32).fill(1);
const CIPHER = new Cipher([KEY]);

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "sealpost-moving-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

const path = () => join(dir, "sealpost.db");

function open(cell: string) {
  const disk = openDatabase(dir);
  const parts = storeParts({ now: systemClock.now, sync: disk.sync });
  return { disk, data: openData(disk.sqlite, parts, { cipher: CIPHER, cell }) };
}

/** Three accounts of cell 1A, of which one has moved to 2B, and one to 9Z long ago; answers their ids. */
async function prepare(): Promise<string[]> {
  const { disk, data } = open("1A");
  const { store, tenants, meta, ids } = data;
  const names = ["stays", "moves", "gone"];
  const made = [];
  for (const name of names) made.push(await tenants.createAccount({ name, plan: "pro" }));
  const [stays, moves, gone] = made.map(({ id }) => id);
  const project = await tenants.createProject(moves ?? 0, "live", "live");
  const other = await tenants.createProject(stays ?? 0, "live", "live");
  await store.write(() => {
    nameCell(meta, "1A");
    for (const { id } of [project, other])
      data.endpoints.insert({ ...plainEndpoint, projectId: id, headers: [["x-key", "credential"]] });
    for (const one of [project, other]) {
      tenants.insertKey(one, { name: "k", scopes: ["full"], expiresAt: null });
      data.sources.insert({ ...plainSource, projectId: one.id, name: "s", signingSecret: "secret" });
    }
    const to = (cell: string) => () => ({
      movedTo: { cell, machines: ["a:1"], isOnDisk: true, taker: "t", hasArrived: false },
    });
    tenants.updateAccount(moves ?? 0, to("2B"));
    tenants.updateAccount(gone ?? 0, to("9Z"));
  });
  await store.close();
  disk.close();
  return made.map(({ id }) => ids.encode("acct", id));
}

describe("a copy", () => {
  test("says whether accounts have moved to a cell, and by which keys its secrets open", async () => {
    await prepare();
    expect(readOffer(path(), { cell: "2B", taker: "t" }, CIPHER)).toEqual({
      installation: null,
      accounts: 1,
      arrived: 0,
      plans: ["pro"],
      schema: SCHEMA_VERSION,
      missingKeys: [],
    });
    expect(readOffer(path(), { cell: "2B", taker: "another" }, CIPHER).accounts).toBe(0);
    const stranger = new Cipher([new Uint8Array(32).fill(2)]);
    expect(readOffer(path(), { cell: "3C", taker: "t" }, stranger)).toMatchObject({
      accounts: 0,
      missingKeys: [keyIdOf(KEY)],
    });
  });

  test("offers nothing by a row that may not be on the other cell's disk", async () => {
    await prepare();
    const { disk, data } = open("1A");
    const moves = [...data.tenants.accounts()].find(({ name }) => name === "moves");
    const isOnDisk = (value: boolean) =>
      data.store.write(() =>
        data.tenants.updateAccount(moves?.id ?? 0, ({ movedTo }) =>
          movedTo ? { movedTo: { ...movedTo, isOnDisk: value } } : {},
        ),
      );
    const offered = () => readOffer(path(), { cell: "2B", taker: "t" }, CIPHER).accounts;
    data.tenants.rememberAccount((await isOnDisk(false)).made);
    expect(offered()).toBe(0);
    await finishDepartures(data);
    expect(offered()).toBe(1);
    await data.store.close();
    disk.close();
  });

  test("becomes the database of the cell: its accounts live there, all others elsewhere", async () => {
    const ids = await prepare();
    const { installation } = readIdentity(dir);
    expect(splitOff(path(), "2B", CIPHER)).toEqual({ accounts: 1, from: "1A" });
    const { disk, data } = open("2B");
    const where = [...data.tenants.accounts()].map(({ name, movedTo }) => [name, movedTo]);
    expect(where).toEqual([
      ["stays", { cell: "1A", machines: [], isOnDisk: true, taker: null, hasArrived: true }],
      ["moves", null],
      // The cell that the copy is of let it go, and knows where it is: this one was never told.
      ["gone", { cell: "1A", machines: [], isOnDisk: true, taker: null, hasArrived: true }],
    ]);
    // Of those who live elsewhere nothing is kept that is theirs alone.
    const ofProjects = (sql: string) => disk.sqlite.query<{ n: number }, []>(sql).get()?.n;
    expect(ofProjects("SELECT count(DISTINCT project_id) AS n FROM api_key")).toBe(1);
    const sources = disk.sqlite
      .query<{ id: number; status: string; name: string; sealed: Uint8Array }, []>("SELECT * FROM source")
      .all();
    const kept = sources.map(({ id, status, name, sealed }) => {
      const secrets = JSON.parse(CIPHER.open(sealed, sealedPlace("source", id))) as SourceSecrets;
      return [status, name, secrets.signingSecret];
    });
    expect(kept).toEqual([
      ["active", "s", "secret"],
      ["deleted", "", null],
    ]);
    // Ids stay what they are, and new ones are the new cell's.
    const accounts = [...data.tenants.accounts()].map(({ id }) => id);
    expect(accounts.map((id) => data.ids.encode("acct", id))).toEqual(ids);
    expect(ids.map((id) => data.ids.decode("acct", id))).toEqual(accounts);
    const next = await data.store.write(() => data.store.takeKey());
    expect(data.ids.encode("evt", next).slice(14, 16)).toBe("2B");
    expect(data.ids.decode("evt", data.ids.encode("evt", next))).toBe(next);
    expect(installation).toBe(readIdentity(dir).installation);
    await data.store.close();
    disk.close();
  });

  test("of which nothing has moved becomes nobody's", async () => {
    await prepare();
    expect(() => splitOff(path(), "3C", CIPHER)).toThrow("no account has moved to cell 3C");
    expect(readOffer(path(), { cell: "2B", taker: "t" }, CIPHER).accounts).toBe(1);
  });
});

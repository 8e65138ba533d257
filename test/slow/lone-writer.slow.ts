// time budget: 600 s
/**
 * A service alone under Litestream, and copies of its data directory, or a standby, that could become a
 * second writer of its replica. On a machine that has no Litestream yet, building it takes most of the time.
 */
import { expect, test } from "bun:test";
import { cpSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { MARK_SILENCE_MS } from "../../src/replica/mark.ts";
import { Grounds } from "../durability/grounds.ts";
import { Machine, pairedEnv, publish } from "../durability/pair.ts";
import { runService } from "../kit/service.ts";

const REPLICA = { "sealpost-durability": "replica" };

const grounds = new Grounds("lone-writer");

/** The socket stays: it belongs to the Litestream that lives. */
function copy(from: string): string {
  const to = join(mkdtempSync(join(grounds.home, "copy-")), "data");
  cpSync(from, to, { recursive: true, filter: (path) => !path.endsWith(".sock") });
  return to;
}

test("a copy of its directory is refused while it lives, however idle it is", async () => {
  const places = grounds.inFolder();
  await using replicated = await grounds.startReplicated(places);
  const { service } = replicated;
  expect((await publish({ service }, "in_1", REPLICA)).status).toBe(202);
  // Long enough for its last beat to be in the mark.
  await Bun.sleep(MARK_SILENCE_MS / 2);
  const options = grounds.replicatedBy(places, { SEALPOST_DATA_DIR: copy(service.dataDir) });
  const { exitCode, output } = await runService(options);
  expect([exitCode, output]).toEqual([1, expect.stringContaining("another service writes to it")]);
  expect((await publish({ service }, "in_2", REPLICA)).status).toBe(202);
  expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
}, 90_000);

test("an older copy in its place is refused, although nothing but the last upload tells of what it lacks", async () => {
  const places = grounds.inFolder();
  await using replicated = await grounds.startReplicated(places);
  const { service } = replicated;
  expect((await publish({ service }, "in_1", REPLICA)).status).toBe(202);
  await Bun.sleep(MARK_SILENCE_MS / 2);
  const older = copy(service.dataDir);
  expect((await publish({ service }, "in_2", REPLICA)).status).toBe(202);
  await replicated.loseMachine();
  rmSync(service.dataDir, { recursive: true });
  renameSync(older, service.dataDir);
  const { exitCode, output } = await runService(
    grounds.replicatedBy(places, { SEALPOST_DATA_DIR: service.dataDir }),
  );
  expect([exitCode, output]).toEqual([
    1,
    expect.stringContaining("after the database of this directory was"),
  ]);
}, 90_000);

test("it confirms nothing once a standby has followed it and gone on in its place", async () => {
  const places = grounds.inFolder();
  const env = pairedEnv(grounds.litestream, places);
  await using replicated = await grounds.startReplicated(places, env);
  const { service } = replicated;
  expect((await publish({ service }, "in_1", REPLICA)).status).toBe(202);
  await using standby = new Machine(env);
  await standby.follows();
  replicated.freezeLitestream();
  const thaw = replicated.freeze();
  await standby.ready();
  thaw();
  process.kill(service.pid, "SIGCONT");
  expect((await publish({ service }, "in_2", REPLICA)).status).toBe(503);
  while ((await fetch(`${service.url}/readyz`)).status !== 503) await Bun.sleep(50);
  standby.service.keys = service.keys;
  expect((await publish(standby, "in_1", REPLICA)).json).toMatchObject({ duplicate: true });
}, 120_000);

// time budget: 300 s
/**
 * The disks of a pair: a machine on which no copy can be made, and copies of a data directory that are older
 * than the replica, or as new. On a machine that has no Litestream yet, building it takes most of the time.
 */
import { describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { findLease, SILENCE_MS } from "../../src/replica/lease.ts";
import { openObjects } from "../../src/replica/objects.ts";
import { Directory } from "../../src/standby/directory.ts";
import { DATABASE_PARTS, UPLOADS_FOLDER } from "../../src/store/database.ts";
import { Grounds } from "../durability/grounds.ts";
import { gauge, type Places } from "../durability/machine.ts";
import { Machine, pairedEnv, publish, startPair } from "../durability/pair.ts";
import { clientOf } from "../durability/setup.ts";

const REPLICA = { SEALPOST_DURABILITY: "replica" };

const grounds = new Grounds("pair-disks");

async function until(is: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await is())) await Bun.sleep(20);
}

describe("a machine that cannot take over", () => {
  /** Longer than the silence after which somebody else takes the lease. */
  const AWAY_MS = SILENCE_MS + 3500;

  test("as it has no copy leaves the lease, says why, and the first one goes on when it is back", async () => {
    const places = grounds.inFolder();
    await using primary = new Machine({ ...pairedEnv(grounds.litestream, places), ...REPLICA });
    await primary.ready();
    for (const id of ["in_1", "in_2"]) expect((await publish(primary, id)).status).toBe(202);
    // Somebody has removed what a restore begins with; Litestream makes a snapshot shortly after its start.
    const files = join(places.replica, "generations/00000001/ltx");
    await until(() => existsSync(join(files, "9")) && readdirSync(join(files, "9")).length > 0);
    rmSync(files, { recursive: true });
    await using standby = new Machine(pairedEnv(grounds.litestream, places));
    await until(() => standby.service.output().includes("the replica cannot be copied"));
    await primary.lose();
    await Bun.sleep(AWAY_MS);
    primary.service.relaunch();
    await primary.ready();
    expect(await gauge(primary.service, "sealpost_replica_generation")).toBe(1);
    expect(standby.service.output()).toContain("this machine has no copy to go on with yet");
    expect((await publish(primary, "in_2")).json).toMatchObject({ duplicate: true });
  }, 90_000);

  test("gives the lease up: the first one goes on with its own disk, and nothing is lost with the disk alone", async () => {
    await using pair = await startPair(grounds.litestream, {}, grounds.inFolder());
    const { primary, standby } = pair;
    // As a disk on which nothing can be written any more.
    mkdirSync(join(standby.service.dataDir, "generation.new"));
    expect((await publish(primary, "in_1")).status).toBe(202);
    await primary.lose();
    await until(() => standby.service.output().includes("cannot become the primary yet"));
    primary.service.relaunch();
    await primary.ready();
    expect((await publish(primary, "in_1")).json).toMatchObject({ duplicate: true });
    // One that failed is none.
    expect(await gauge(primary.service, "sealpost_replica_generation")).toBe(2);
  }, 90_000);
});

describe("a copy of a data directory", () => {
  /** What a machine has on its disk. */
  function copyDisk({ service }: Machine): string {
    const copy = mkdtempSync(join(grounds.home, "copy-"));
    Bun.spawnSync(["cp", "-a", `${service.dataDir}/.`, copy]);
    return copy;
  }

  /** A machine with that, or with an earlier copy of it. */
  function copyOf(machine: Machine, places: Places, disk = copyDisk(machine)): Machine {
    const copy = new Machine({ ...pairedEnv(grounds.litestream, places), SEALPOST_DATA_DIR: disk });
    copy.service.keys = machine.service.keys;
    return copy;
  }

  test("that is made of a living primary follows it, and takes over as any other", async () => {
    const places = grounds.inFolder();
    await using primary = new Machine({ ...pairedEnv(grounds.litestream, places), ...REPLICA });
    await primary.ready();
    await using copy = copyOf(primary, places);
    await copy.follows();
    expect((await publish(primary, "in_1")).status).toBe(202);
    expect(await gauge(primary.service, "sealpost_replica_generation")).toBe(1);
    await primary.lose();
    await copy.ready();
    expect(await gauge(copy.service, "sealpost_replica_generation")).toBe(2);
    expect((await publish(copy, "in_1")).json).toMatchObject({ duplicate: true });
  }, 90_000);

  test("that is made of one at rest, and the first: one of them is the primary, and stays it", async () => {
    const places = grounds.inFolder();
    await using first = new Machine(pairedEnv(grounds.litestream, places));
    await first.ready();
    expect(await first.service.stop()).toBe(0);
    await using copy = copyOf(first, places);
    first.service.relaunch();
    const machines = [first, copy];
    const isFirst = await Promise.race([first.ready().then(() => true), copy.ready().then(() => false)]);
    const [primary, other] = isFirst ? machines : machines.toReversed();
    if (!primary || !other) throw new Error("there are two");
    await other.follows();
    const generation = await gauge(primary.service, "sealpost_replica_generation");
    await Bun.sleep(SILENCE_MS + 1000);
    await other.follows();
    expect(await gauge(primary.service, "sealpost_replica_generation")).toBe(generation);
  }, 90_000);

  test("that is all there is goes on with its own disk once nobody else can have the lease", async () => {
    const places = grounds.inFolder();
    await using lost = new Machine(pairedEnv(grounds.litestream, places));
    await lost.ready();
    const event = { type: "order.paid", data: {} };
    const confirmed = { "sealpost-durability": "replica" };
    expect((await clientOf(lost.service).post("/v1/events", event, confirmed)).status).toBe(202);
    expect((await publish(lost, "in_1")).status).toBe(202);
    await lost.lose();
    await using copy = copyOf(lost, places);
    rmSync(lost.service.dataDir, { recursive: true });
    // Litestream removes what it has uploaded long ago, and would need it at another path.
    rmSync(join(copy.service.dataDir, ".sealpost.db-litestream/ltx/0/0000000000000001-0000000000000001.ltx"));
    await copy.ready();
    expect(await gauge(copy.service, "sealpost_replica_generation")).toBe(2);
    expect((await publish(copy, "in_1")).json).toMatchObject({ duplicate: true });
    expect((await clientOf(copy.service).post("/v1/events", event, confirmed)).status).toBe(202);
  }, 90_000);

  const leaseOf = async ({ env }: Places) => {
    const objects = openObjects(env["LITESTREAM_REPLICA_URL"] ?? "", env);
    const { lease } = (objects && (await findLease(objects))) ?? {};
    if (!lease) throw new Error("there is a lease while a machine runs");
    return lease;
  };

  /** A copy that is older by `in_2`, which the replica has, and by no beat: then the machine is lost. */
  async function copyAndLose(machine: Machine, places: Places): Promise<string> {
    expect((await publish(machine, "in_1")).status).toBe(202);
    const { beat } = await leaseOf(places);
    await until(async () => (await leaseOf(places)).beat > beat);
    const disk = copyDisk(machine);
    const copy = new Directory(disk);
    expect((await publish(machine, "in_2")).status).toBe(202);
    await until(async () => (await leaseOf(places)).txid > copy.copiedTo);
    await machine.lose();
    expect((await leaseOf(places)).beat).toBe(copy.identity.beat);
    return disk;
  }

  test("that is older by an instant is put aside: what was confirmed since is restored", async () => {
    const places = grounds.inFolder();
    await using lost = new Machine({ ...pairedEnv(grounds.litestream, places), ...REPLICA });
    await lost.ready();
    const disk = await copyAndLose(lost, places);
    rmSync(lost.service.dataDir, { recursive: true });
    await using copy = copyOf(lost, places, disk);
    await copy.ready();
    expect((await publish(copy, "in_2")).json).toMatchObject({ duplicate: true });
    expect(readdirSync(join(disk, "superseded"))).toEqual(["generation-1"]);
  }, 90_000);

  test("that is older and put back in the very same place is put aside too", async () => {
    const places = grounds.inFolder();
    await using machine = new Machine({ ...pairedEnv(grounds.litestream, places), ...REPLICA });
    await machine.ready();
    const { dataDir } = machine.service;
    const disk = await copyAndLose(machine, places);
    for (const part of [...DATABASE_PARTS, "generation"]) {
      rmSync(join(dataDir, part), { recursive: true, force: true });
      if (existsSync(join(disk, part))) cpSync(join(disk, part), join(dataDir, part), { recursive: true });
    }
    machine.service.relaunch();
    await machine.ready();
    expect((await publish(machine, "in_2")).json).toMatchObject({ duplicate: true });
    expect(readdirSync(join(dataDir, "superseded"))).toEqual(["generation-1"]);
  }, 90_000);

  test("is none where Litestream's folder alone is lost: the machine goes on with its disk", async () => {
    const places = grounds.inFolder();
    await using machine = new Machine(pairedEnv(grounds.litestream, places));
    await machine.ready();
    // The lease tells of an upload.
    await Bun.sleep(3000);
    expect((await publish(machine, "in_1")).status).toBe(202);
    await machine.lose();
    rmSync(join(machine.service.dataDir, UPLOADS_FOLDER), { recursive: true });
    machine.service.relaunch();
    await machine.ready();
    expect((await publish(machine, "in_1")).json).toMatchObject({ duplicate: true });
    expect(await gauge(machine.service, "sealpost_replica_generation")).toBe(1);
    const confirmed = await publish(machine, "in_2", { "sealpost-durability": "replica" });
    expect(confirmed.status).toBe(202);
  }, 90_000);
});

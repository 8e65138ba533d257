// time budget: 600 s
/**
 * The replica that Litestream writes, with the `litestream.yml` of this repository: what a lost machine
 * costs, and what a restored database is worth. On a machine that has no Litestream yet, building it takes
 * most of the time.
 */
import { describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import operating from "../../src/docs/operating.md" with { type: "text" };
import { audit } from "../durability/audit.ts";
import { type LoggedEvent, readList, settleBooks } from "../durability/books.ts";
import { type FolderPlaces, Grounds } from "../durability/grounds.ts";
import { checkIntegrity, gauge, SERVICE_ENV, startRestored } from "../durability/machine.ts";
import { Publishers } from "../durability/publishers.ts";
import { addEndpoint, clientOf, prepareLoad } from "../durability/setup.ts";
import { readBlocks } from "../readme/blocks.ts";
import { replicateCommand, Replicated } from "../kit/litestream.ts";
import { type Recorder, startRecorder } from "../kit/recorder.ts";
import { runService, type Service, startService } from "../kit/service.ts";

/** What losing the machine may cost: Litestream looks every second and uploads every second. */
const LOSS_MS_MAX = 2000;
const MARK_FILE = "sealpost-writer.json";

const grounds = new Grounds("replica");

async function until(is: () => boolean): Promise<void> {
  while (!is()) await Bun.sleep(50);
}

async function statusOf({ url }: Service, path: string): Promise<number> {
  return (await fetch(url + path)).status;
}

/** Resolves when all that is committed by now is in the replica. */
async function replicateNow(service: Service): Promise<void> {
  const at = Date.now();
  while (Date.now() - 1000 * (await gauge(service, "sealpost_replica_age_seconds")) <= at)
    await Bun.sleep(50);
}

/** A service under Litestream that is published to without a pause. */
async function startLoaded() {
  const places = grounds.inFolder();
  const recorder = await startRecorder();
  const replicated = await grounds.startReplicated(places);
  const { service } = replicated;
  const publishers = new Publishers(await prepareLoad(service, recorder));
  const end = async () => {
    await publishers.abandon();
    await replicated[Symbol.asyncDispose]();
    await recorder[Symbol.asyncDispose]();
  };
  return { places, recorder, replicated, service, publishers, [Symbol.asyncDispose]: end };
}

async function expectToDeliver(service: Service, recorder: Recorder): Promise<void> {
  await addEndpoint(service, recorder.url("/after"), { event_types: ["after.restore"] });
  const published = await clientOf(service).post("/v1/events", {
    type: "after.restore",
    data: { token: "after" },
  });
  expect(published.status).toBe(202);
  await recorder.received("/after", 1);
}

const walBytes = ({ dataDir }: Service) => statSync(join(dataDir, "sealpost.db-wal")).size;

/** Another one once the WAL is written anew from its start. */
const walBegin = ({ dataDir }: Service) =>
  readFileSync(join(dataDir, "sealpost.db-wal")).toString("hex", 0, 32);

const MIB = 1024 * 1024;
/** Of a WAL that was begun with the database: less than Litestream checkpoints. */
const COPIED_BYTES = 8 * MIB;
/** More than SQLite's own checkpoint leaves in a WAL. */
const UNCOPIED_BYTES = 5 * MIB;

/** Litestream stands still with a place far in the WAL, and more is written behind that. */
async function leaveUncopied(replicated: Replicated): Promise<void> {
  const { service } = replicated;
  await until(() => walBytes(service) > COPIED_BYTES);
  replicated.freezeLitestream();
  const before = walBytes(service);
  await until(() => walBytes(service) > before + UNCOPIED_BYTES);
}

/** What is restored of the replica now has no fault, and all that was acknowledged by now. */
async function expectWholeReplica(
  places: FolderPlaces,
  service: Service,
  { acknowledged }: Publishers,
): Promise<void> {
  const ids = acknowledged.flatMap((one) => one.ids);
  await replicateNow(service);
  const copy = { ...places, restored: mkdtempSync(join(places.restored, "copy-")) };
  await grounds.restoreFrom(copy, service);
  expect(checkIntegrity(copy)).toEqual({ integrity_check: "ok" });
  const sqlite = new Database(join(copy.restored, "sealpost.db"));
  const events = sqlite.query<{ count: number }, []>("SELECT count(*) AS count FROM event").get()?.count ?? 0;
  sqlite.close();
  expect([ids.length > 0, events >= ids.length]).toEqual([true, true]);
}

describe("a replica", () => {
  test("has everything that was acknowledged, once SIGTERM has ended Litestream and the service", async () => {
    await using loaded = await startLoaded();
    const { places, recorder, service, publishers } = loaded;
    await publishers.whenAcknowledged(1000);
    const stopped = service.stop();
    await publishers.abandon();
    expect(await stopped).toBe(0);

    await grounds.restoreFrom(places, service);
    expect(checkIntegrity(places)).toEqual({ integrity_check: "ok" });
    const restoredAt = Date.now();
    await using restored = await startRestored(places, service);
    const books = await settleBooks(restored, recorder, publishers);
    expect(audit(books, [restoredAt])).toEqual([]);
    await expectToDeliver(restored, recorder);
  }, 60_000);

  test("lacks at most the last two seconds where the machine was lost", async () => {
    for (let nth = 0; nth < 3; nth++) {
      await using loaded = await startLoaded();
      const { places, recorder, replicated, service, publishers } = loaded;
      await publishers.whenAcknowledged(1000);
      await Bun.sleep(2000 + Math.random() * 1000);
      const lostAt = await replicated.loseMachine();
      await publishers.abandon();

      await grounds.restoreFrom(places, service);
      expect(checkIntegrity(places)).toEqual({ integrity_check: "ok" });
      await using restored = await startRestored(places, service);
      const events = await readList<LoggedEvent>(clientOf(restored), "/v1/events");
      const known = new Set(events.map(({ id }) => id));
      const lost = publishers.acknowledged.filter(({ ids }) => ids.some((id) => !known.has(id)));
      const lostMs = lostAt - Math.min(lostAt, ...lost.map(({ at }) => at));
      console.log(
        `${lost.length} of ${publishers.acknowledged.length} acknowledged are lost: those of ${lostMs} ms`,
      );
      expect(known.size).toBeGreaterThan(0);
      expect(lostMs).toBeLessThanOrEqual(LOSS_MS_MAX);

      const books = await settleBooks(restored, recorder, publishers);
      expect(books.deliveries.filter(({ status }) => status !== "delivered")).toEqual([]);
      expect(books.receipts.filter(({ isSigned }) => !isSigned)).toEqual([]);
      await expectToDeliver(restored, recorder);
    }
  }, 120_000);

  test("is whole after a start on the disk of which Litestream had not copied the end, again and again", async () => {
    await using loaded = await startLoaded();
    const { places, replicated, service, publishers } = loaded;
    await leaveUncopied(replicated);
    for (let nth = 0; nth < 3; nth++) {
      await replicated.loseMachine();
      service.relaunch();
      await service.ready();
      await publishers.whenAcknowledged(100);
      await expectWholeReplica(places, service, publishers);
    }
    await publishers.abandon();
  }, 120_000);

  test("is whole after Litestream alone was killed and is back, whatever was written meanwhile", async () => {
    await using loaded = await startLoaded();
    const { places, replicated, service, publishers } = loaded;
    await leaveUncopied(replicated);
    const children = replicated.killLitestream();
    while ((await statusOf(service, "/readyz")) !== 503) await Bun.sleep(50);
    await publishers.abandon();
    // Without Litestream above it the service checkpoints, and what is written next begins a WAL anew.
    const begin = walBegin(service);
    await until(() => walBegin(service) !== begin);
    for (const pid of children) process.kill(pid, "SIGKILL");
    await service.restart();
    await expectWholeReplica(places, service, publishers);
  }, 60_000);

  test("restores an empty disk before the service starts, and does not open secrets without their key", async () => {
    const places = grounds.inFolder();
    await using replicated = await grounds.startReplicated(places);
    const { service } = replicated;
    const { keys } = service;
    const endpointId = await addEndpoint(service, "http://127.0.0.1:9/");
    expect(await service.stop()).toBe(0);
    rmSync(service.dataDir, { recursive: true });
    await service.restart();
    service.keys = keys;
    expect((await clientOf(service).get(`/v1/endpoints/${endpointId}`)).status).toBe(200);
    expect(await service.stop()).toBe(0);

    await grounds.restoreFrom(places, service);
    const otherKey = Buffer.alloc(32, "other").toString("base64");
    const env = { SEALPOST_DATA_DIR: places.restored, SEALPOST_SECRET_KEY: otherKey };
    const { exitCode, output } = await runService({ env });
    expect(exitCode).toBe(1);
    expect(output).toMatch(/SEALPOST_SECRET_KEY/);
  }, 60_000);
});

describe("a second writer", () => {
  test("on an empty disk beside production is refused, and the replica stays whole", async () => {
    await using loaded = await startLoaded();
    const { places, recorder, service, publishers } = loaded;
    await publishers.whenAcknowledged(500);
    // Litestream has time to look at the database, and to begin with what destroys the replica.
    for (const seconds of [0, 3]) {
      const command = replicateCommand(grounds.litestream, seconds);
      const { exitCode, output } = await runService({ ...grounds.replicatedBy(places), command });
      // By the beats it is older, where the first one has written its mark since the restore.
      const reason = expect.stringMatching(/another service writes to it|after the database of this/);
      expect([exitCode, output]).toEqual([1, reason]);
    }
    await publishers.whenAcknowledged(1000);
    expect(await statusOf(service, "/readyz")).toBe(200);
    const stopped = service.stop();
    await publishers.abandon();
    expect(await stopped).toBe(0);
    await grounds.restoreFrom(places, service);
    expect(checkIntegrity(places)).toEqual({ integrity_check: "ok" });
    await using restored = await startRestored(places, service);
    expect(audit(await settleBooks(restored, recorder, publishers), [Date.now()])).toEqual([]);
  }, 120_000);

  test("takes over where the first is lost for good; the old machine that comes back is refused", async () => {
    const places = grounds.inFolder();
    await using old = await grounds.startReplicated(places);
    const { keys } = old.service;
    const endpointId = await addEndpoint(old.service, "http://127.0.0.1:9/");
    await replicateNow(old.service);
    await old.loseMachine();

    await using next = new Replicated(await startService(grounds.replicatedBy(places)));
    next.service.keys = keys;
    expect((await clientOf(next.service).get(`/v1/endpoints/${endpointId}`)).status).toBe(200);
    expect(next.service.output()).toContain("is silent: this one goes on in its place");

    await expect(old.service.restart()).rejects.toThrow(/after the database of this directory was/);
    expect(await next.service.stop()).toBe(0);
    await expect(old.service.restart()).rejects.toThrow(/after the database of this directory was/);
    await grounds.restoreFrom(places, next.service);
    expect(checkIntegrity(places)).toEqual({ integrity_check: "ok" });
  }, 120_000);

  test("that starts while the replica cannot be asked is found out later, and uploads nothing from then on", async () => {
    const places = grounds.inFolder();
    await using replicated = await grounds.startReplicated(places);
    const { service } = replicated;
    // As if another had begun to write: its mark, and more starts than this one has seen.
    const mark = JSON.parse(readFileSync(join(places.replica, MARK_FILE), "utf8")) as { start: number };
    const other = { ...mark, writer: "other", host: "elsewhere", start: mark.start + 1, at: "later" };
    const file = join(places.replica, MARK_FILE);
    const isThere = () => readFileSync(file, "utf8") === JSON.stringify(other);
    const giveUpAt = Date.now() + 40_000;
    while ((await statusOf(service, "/readyz")) !== 503) {
      if (Date.now() > giveUpAt) throw new Error(`it is ready:\n${service.output()}`);
      // A writer that lives writes its mark again, where this one has just written its own over it.
      if (!isThere()) {
        writeFileSync(`${file}.other`, JSON.stringify(other));
        renameSync(`${file}.other`, file);
      }
      await Bun.sleep(50);
    }
    await until(() => service.output().includes("another service writes to the replica"));
    expect(JSON.parse(readFileSync(join(places.replica, MARK_FILE), "utf8"))).toEqual(other);
    expect(await gauge(service, "sealpost_replica_contested")).toBe(1);
  }, 60_000);
});

test("a service that stood still while another one took over uploads nothing, nor does its Litestream", async () => {
  const places = grounds.inFolder();
  await using replicated = await grounds.startReplicated(places);
  const { service } = replicated;
  await replicateNow(service);
  const goOn = replicated.freeze();
  // As what was committed and not uploaded yet.
  const sqlite = new Database(join(service.dataDir, "sealpost.db"));
  sqlite.run("UPDATE account SET name = name || '!'");
  sqlite.close();
  const uploaded = () => readdirSync(join(places.replica, "ltx/0")).toSorted();
  const before = uploaded();
  // As long as a successor waits before it goes on in its place.
  await Bun.sleep(15_000);
  const path = join(places.replica, MARK_FILE);
  const mark = JSON.parse(readFileSync(path, "utf8")) as { start: number };
  writeFileSync(path, JSON.stringify({ ...mark, writer: "other", start: mark.start + 1, at: "later" }));
  goOn();
  const unix = join(service.dataDir, "litestream.sock");
  const list = async () => (await fetch("http://litestream/list", { unix })).text();
  while (!(await list()).includes('"stopped"')) await Bun.sleep(50);
  expect(uploaded()).toEqual(before);
  expect(await service.stop()).toBe(0);
  expect(uploaded()).toEqual(before);
}, 60_000);

describe("a replica in a bucket", () => {
  test("is marked there, refuses a second writer, and is taken over where the first has ended", async () => {
    const places = grounds.inBucket();
    const inBucket = grounds.replicatedBy(places);
    await using first = new Replicated(await startService(inBucket));
    const { keys } = first.service;
    expect(await gauge(first.service, "sealpost_replica_marked")).toBe(1);
    const endpointId = await addEndpoint(first.service, "http://127.0.0.1:9/");
    while (!(await places.hasBegun())) await Bun.sleep(50);
    const { exitCode, output } = await runService(inBucket);
    expect([exitCode, output]).toEqual([1, expect.stringContaining("another service writes to it")]);
    expect(await first.service.stop()).toBe(0);

    await using next = new Replicated(await startService(inBucket));
    next.service.keys = keys;
    expect((await clientOf(next.service).get(`/v1/endpoints/${endpointId}`)).status).toBe(200);
    expect(next.service.output()).not.toContain("waiting to see");
  }, 120_000);
});

describe("the page on operating", () => {
  test("gives commands that try what there is, and restore what there was", async () => {
    const page = readBlocks(operating).filter(({ info }) => info === "in a terminal");
    expect(page.length).toBe(2);
    const bin = mkdtempSync(join(grounds.home, "bin-"));
    const main = join(import.meta.dir, "../../src/main.ts");
    writeFileSync(join(bin, "sealpost"), `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`, {
      mode: 0o755,
    });
    const places = grounds.inFolder();
    await using replicated = await grounds.startReplicated(places);
    const { service } = replicated;
    await addEndpoint(service, "http://127.0.0.1:9/");
    await replicateNow(service);
    // Of what was uploaded in a second, none is from before it.
    await Bun.sleep(2100 - (Date.now() % 1000));
    const then = `${new Date().toISOString().slice(0, 19)}Z`;
    await addEndpoint(service, "http://127.0.0.1:10/");
    expect(await service.stop()).toBe(0);
    const env = {
      PATH: `${bin}:${dirname(grounds.litestream)}:${process.env["PATH"]}`,
      SEALPOST_SECRET_KEY: SERVICE_ENV.SEALPOST_SECRET_KEY,
      LITESTREAM_REPLICA_URL: `file://${places.replica}`,
      SEALPOST_DATA_DIR: service.dataDir,
    };
    for (const { text } of page) {
      const script = text.replace("2026-11-23T12:00:00Z", then);
      const { exitCode, stderr } = Bun.spawnSync(["bash", "-ec", script], { cwd: places.restored, env });
      expect([exitCode, stderr.toString()]).toEqual([0, ""]);
    }
    const sqlite = new Database(join(places.restored, "back/sealpost.db"), { readonly: true });
    expect(sqlite.query("SELECT count(*) AS endpoints FROM endpoint").get()).toEqual({ endpoints: 1 });
    sqlite.close();
  }, 60_000);
});

describe("a replica that is meant and not made", () => {
  const unset = ["env", "-u", "SEALPOST_DATA_DIR"];

  test("stops the start: Litestream above, and another path below", async () => {
    const places = grounds.inFolder();
    const options = grounds.replicatedBy(places);
    const command = [...unset, ...replicateCommand(grounds.litestream)];
    const { exitCode, output } = await runService({ ...options, command });
    expect(exitCode).toBe(1);
    expect(output).toContain("Litestream runs above this process");
    expect(output).toContain("SEALPOST_DATA_DIR");
    expect(existsSync(places.replica)).toBe(false);
  });

  test("stops the start: a replica in the environment, and no Litestream", async () => {
    const { env = {} } = grounds.replicatedBy(grounds.inFolder());
    const { exitCode, output } = await runService({ env });
    expect(exitCode).toBe(2);
    expect(output).toContain("LITESTREAM_REPLICA_URL is set");
  });
});

describe("Litestream", () => {
  test("that is killed alone is seen in /readyz and the metrics", async () => {
    await using replicated = await grounds.startReplicated(grounds.inFolder());
    const { service } = replicated;
    expect(await gauge(service, "sealpost_replica_up")).toBe(1);
    const children = replicated.killLitestream();
    try {
      while ((await statusOf(service, "/readyz")) !== 503) await Bun.sleep(50);
      const problem = await (await fetch(`${service.url}/readyz`)).json();
      expect(problem).toMatchObject({
        code: "unavailable",
        detail: expect.stringContaining("Litestream is gone"),
      });
      expect(await gauge(service, "sealpost_replica_up")).toBe(0);
    } finally {
      for (const pid of children) process.kill(pid, "SIGKILL");
    }
  }, 60_000);
});

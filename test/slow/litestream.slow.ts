// time budget: 600 s
/**
 * The replica that Litestream writes, with the `litestream.yml` of this repository: what a lost machine
 * costs, and what a restored database is worth. On a machine that has no Litestream yet, building it takes
 * most of the time.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import operating from "../../src/docs/operating.md" with { type: "text" };
import { CreateBucketCommand, ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import { audit } from "../durability/audit.ts";
import { type LoggedEvent, readList, settleBooks } from "../durability/books.ts";
import { Publishers } from "../durability/publishers.ts";
import { addEndpoint, clientOf, LOAD_ENV, prepareLoad } from "../durability/setup.ts";
import { startVersitygw, VERSITYGW_KEYS } from "../kit/aws-servers.ts";
import { readBlocks } from "../readme/blocks.ts";
import { buildLitestream, CONFIG, replicateCommand, Replicated, restore } from "../kit/litestream.ts";
import { type Recorder, startRecorder } from "../kit/recorder.ts";
import { runService, type Service, type ServiceOptions, startService } from "../kit/service.ts";

/** What losing the machine may cost: Litestream looks every second and uploads every second. */
const LOSS_MS_MAX = 2000;
const SECRET_KEY = Buffer.alloc(32, "key").toString("base64");

const METRICS_TOKEN = "metrics-token-of-this-test";
const MARK_FILE = "sealpost-writer.json";

let litestream = "";
const home = mkdtempSync(join(tmpdir(), "sealpost-replica-"));

beforeAll(async () => {
  litestream = await buildLitestream();
}, 500_000);

afterAll(() => rmSync(home, { recursive: true, force: true }));

/** A replica of its own for each test, and where databases are restored to. */
function makePlaces() {
  const folder = mkdtempSync(join(home, "test-"));
  const places = { replica: join(folder, "replica"), restored: join(folder, "restored") };
  mkdirSync(places.restored);
  return places;
}

type Places = ReturnType<typeof makePlaces>;

/**
 * Starts both, and waits for the first upload: Litestream looks at the database for the first time after a
 * second, and ended before that it uploads nothing, although it says nothing and ends with exit code 0.
 */
async function startReplicated(places: Places): Promise<Replicated> {
  const { replica } = places;
  const replicated = new Replicated(await startService(replicatedBy(places)));
  while (!existsSync(join(replica, "ltx"))) await Bun.sleep(20);
  return replicated;
}

/** The service under Litestream, as a machine of its own: all machines of a test have one replica. */
function replicatedBy({ replica }: Places): ServiceOptions {
  const env = {
    ...LOAD_ENV,
    SEALPOST_SECRET_KEY: SECRET_KEY,
    SEALPOST_METRICS_TOKEN: METRICS_TOKEN,
    LITESTREAM_REPLICA_URL: `file://${replica}`,
  };
  return { command: replicateCommand(litestream), env };
}

async function until(is: () => boolean): Promise<void> {
  while (!is()) await Bun.sleep(50);
}

async function statusOf({ url }: Service, path: string): Promise<number> {
  return (await fetch(url + path)).status;
}

/** A number without labels among the service's metrics. */
async function gauge({ url }: Service, name: string): Promise<number> {
  const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
  const text = await (await fetch(`${url}/metrics`, { headers })).text();
  return Number(new RegExp(`^${name} (.*)$`, "m").exec(text)?.[1]);
}

/** Resolves when all that is committed by now is in the replica. */
async function replicateNow(service: Service): Promise<void> {
  const at = Date.now();
  while (Date.now() - 1000 * (await gauge(service, "sealpost_replica_age_seconds")) <= at)
    await Bun.sleep(50);
}

async function restoreFrom({ replica, restored }: Places, { dataDir }: Service): Promise<void> {
  const env = { LITESTREAM_REPLICA_URL: `file://${replica}`, SEALPOST_DATA_DIR: dataDir };
  await restore(litestream, join(dataDir, "sealpost.db"), join(restored, "sealpost.db"), env);
}

/** The service on what was restored, as on a new machine, with the keys of the old one. */
async function startRestored({ restored }: Places, old: Service): Promise<Service> {
  const env = { ...LOAD_ENV, SEALPOST_SECRET_KEY: SECRET_KEY, SEALPOST_DATA_DIR: restored };
  const service = await startService({ env });
  service.keys = old.keys;
  return service;
}

function checkIntegrity({ restored }: Places): unknown {
  const sqlite = new Database(join(restored, "sealpost.db"));
  const verdict = sqlite.query("PRAGMA integrity_check").get();
  sqlite.close();
  return verdict;
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

describe("a replica", () => {
  test("has everything that was acknowledged, once SIGTERM has ended Litestream and the service", async () => {
    const places = makePlaces();
    await using recorder = await startRecorder();
    await using replicated = await startReplicated(places);
    const { service } = replicated;
    const publishers = new Publishers(await prepareLoad(service, recorder));
    await publishers.whenAcknowledged(1000);
    const stopped = service.stop();
    await publishers.abandon();
    expect(await stopped).toBe(0);

    await restoreFrom(places, service);
    expect(checkIntegrity(places)).toEqual({ integrity_check: "ok" });
    const restoredAt = Date.now();
    await using restored = await startRestored(places, service);
    const books = await settleBooks(restored, recorder, publishers);
    expect(audit(books, [restoredAt])).toEqual([]);
    await expectToDeliver(restored, recorder);
  }, 60_000);

  test("lacks at most the last two seconds where the machine was lost", async () => {
    for (let nth = 0; nth < 3; nth++) {
      const places = makePlaces();
      await using recorder = await startRecorder();
      await using replicated = await startReplicated(places);
      const { service } = replicated;
      const publishers = new Publishers(await prepareLoad(service, recorder));
      await publishers.whenAcknowledged(1000);
      await Bun.sleep(2000 + Math.random() * 1000);
      const lostAt = await replicated.loseMachine();
      await publishers.abandon();

      await restoreFrom(places, service);
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

  test("restores an empty disk before the service starts, and does not open secrets without their key", async () => {
    const places = makePlaces();
    await using replicated = await startReplicated(places);
    const { service } = replicated;
    const { keys } = service;
    const endpointId = await addEndpoint(service, "http://127.0.0.1:9/");
    expect(await service.stop()).toBe(0);
    rmSync(service.dataDir, { recursive: true });
    await service.restart();
    service.keys = keys;
    expect((await clientOf(service).get(`/v1/endpoints/${endpointId}`)).status).toBe(200);
    expect(await service.stop()).toBe(0);

    await restoreFrom(places, service);
    const otherKey = Buffer.alloc(32, "other").toString("base64");
    const env = { SEALPOST_DATA_DIR: places.restored, SEALPOST_SECRET_KEY: otherKey };
    const { exitCode, output } = await runService({ env });
    expect(exitCode).toBe(1);
    expect(output).toMatch(/SEALPOST_SECRET_KEY/);
  }, 60_000);
});

describe("a second writer", () => {
  test("on an empty disk beside production is refused, and the replica stays whole", async () => {
    const places = makePlaces();
    await using recorder = await startRecorder();
    await using replicated = await startReplicated(places);
    const { service } = replicated;
    const publishers = new Publishers(await prepareLoad(service, recorder));
    await publishers.whenAcknowledged(500);
    // Litestream has time to look at the database, and to begin with what destroys the replica.
    for (const seconds of [0, 3]) {
      const command = replicateCommand(litestream, seconds);
      const { exitCode, output } = await runService({ ...replicatedBy(places), command });
      expect([exitCode, output]).toEqual([1, expect.stringContaining("another service writes to it")]);
    }
    await publishers.whenAcknowledged(1000);
    expect(await statusOf(service, "/readyz")).toBe(200);
    const stopped = service.stop();
    await publishers.abandon();
    expect(await stopped).toBe(0);
    await restoreFrom(places, service);
    expect(checkIntegrity(places)).toEqual({ integrity_check: "ok" });
    await using restored = await startRestored(places, service);
    expect(audit(await settleBooks(restored, recorder, publishers), [Date.now()])).toEqual([]);
  }, 120_000);

  test("takes over where the first is lost for good; the old machine that comes back is refused", async () => {
    const places = makePlaces();
    await using old = await startReplicated(places);
    const { keys } = old.service;
    const endpointId = await addEndpoint(old.service, "http://127.0.0.1:9/");
    await replicateNow(old.service);
    await old.loseMachine();

    await using next = new Replicated(await startService(replicatedBy(places)));
    next.service.keys = keys;
    expect((await clientOf(next.service).get(`/v1/endpoints/${endpointId}`)).status).toBe(200);
    expect(next.service.output()).toContain("is silent: this one goes on in its place");

    await expect(old.service.restart()).rejects.toThrow(/after the database of this directory was/);
    expect(await next.service.stop()).toBe(0);
    await expect(old.service.restart()).rejects.toThrow(/after the database of this directory was/);
    await restoreFrom(places, next.service);
    expect(checkIntegrity(places)).toEqual({ integrity_check: "ok" });
  }, 120_000);

  test("that starts while the replica cannot be asked is found out later, and uploads nothing from then on", async () => {
    const places = makePlaces();
    await using replicated = await startReplicated(places);
    const { service } = replicated;
    // As if another had begun to write: its mark, and more starts than this one has seen.
    const mark = JSON.parse(readFileSync(join(places.replica, MARK_FILE), "utf8")) as { start: number };
    const other = { ...mark, writer: "other", host: "elsewhere", start: mark.start + 1, at: "later" };
    writeFileSync(join(places.replica, MARK_FILE), JSON.stringify(other));
    while ((await statusOf(service, "/readyz")) !== 503) await Bun.sleep(50);
    await until(() => service.output().includes("another service writes to the replica"));
    expect(JSON.parse(readFileSync(join(places.replica, MARK_FILE), "utf8"))).toEqual(other);
    expect(await gauge(service, "sealpost_replica_contested")).toBe(1);
  }, 60_000);
});

describe("a replica in a bucket", () => {
  test("is marked there, refuses a second writer, and is taken over where the first has ended", async () => {
    await using bucket = await startVersitygw();
    const s3 = new S3Client({
      endpoint: bucket.url,
      region: "us-east-1",
      forcePathStyle: true,
      credentials: VERSITYGW_KEYS,
    });
    await s3.send(new CreateBucketCommand({ Bucket: "replica" }));
    const { env = {}, command = [] } = replicatedBy(makePlaces());
    const inBucket = {
      command,
      env: {
        ...env,
        LITESTREAM_REPLICA_URL: `s3://replica/path?endpoint=${bucket.url}&region=us-east-1&force-path-style=true`,
        LITESTREAM_ACCESS_KEY_ID: VERSITYGW_KEYS.accessKeyId,
        LITESTREAM_SECRET_ACCESS_KEY: VERSITYGW_KEYS.secretAccessKey,
      },
    };
    await using first = new Replicated(await startService(inBucket));
    const { keys } = first.service;
    expect(await gauge(first.service, "sealpost_replica_marked")).toBe(1);
    const endpointId = await addEndpoint(first.service, "http://127.0.0.1:9/");
    while (
      (await s3.send(new ListObjectsV2Command({ Bucket: "replica", Prefix: "path/0000/" }))).KeyCount === 0
    )
      await Bun.sleep(50);
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
  test("gives commands that restore what there is, and what there was", async () => {
    const page = readBlocks(operating).filter(({ info }) => info === "in a terminal");
    expect(page.length).toBe(2);
    const places = makePlaces();
    await using replicated = await startReplicated(places);
    const { service } = replicated;
    await addEndpoint(service, "http://127.0.0.1:9/");
    await replicateNow(service);
    const then = new Date().toISOString();
    await addEndpoint(service, "http://127.0.0.1:10/");
    expect(await service.stop()).toBe(0);
    const env = {
      PATH: `${dirname(litestream)}:${process.env["PATH"]}`,
      LITESTREAM_CONFIG: CONFIG,
      LITESTREAM_REPLICA_URL: `file://${places.replica}`,
      SEALPOST_DATA_DIR: service.dataDir,
    };
    for (const { text } of page) {
      const script = text.replace("2026-11-23T12:00:00Z", then);
      const { exitCode, stderr } = Bun.spawnSync(["bash", "-ec", script], { cwd: places.restored, env });
      expect([exitCode, stderr.toString()]).toEqual([0, ""]);
    }
    const endpointsIn = (folder: string) => {
      const sqlite = new Database(join(places.restored, folder, "sealpost.db"), { readonly: true });
      const row = sqlite.query<{ count: number }, []>("SELECT count(*) AS count FROM endpoint").get();
      sqlite.close();
      return row?.count;
    };
    expect([endpointsIn("drill"), endpointsIn("back")]).toEqual([2, 1]);
  }, 60_000);
});

describe("a replica that is meant and not made", () => {
  const unset = ["env", "-u", "SEALPOST_DATA_DIR"];

  test("stops the start: Litestream above, and another path below", async () => {
    const places = makePlaces();
    const options = replicatedBy(places);
    const command = [...unset, ...replicateCommand(litestream)];
    const { exitCode, output } = await runService({ ...options, command });
    expect(exitCode).toBe(1);
    expect(output).toContain("Litestream runs above this process");
    expect(output).toContain("SEALPOST_DATA_DIR");
    expect(existsSync(places.replica)).toBe(false);
  });

  test("stops the start: a replica in the environment, and no Litestream", async () => {
    const { env = {} } = replicatedBy(makePlaces());
    const { exitCode, output } = await runService({ env });
    expect(exitCode).toBe(2);
    expect(output).toContain("LITESTREAM_REPLICA_URL is set");
  });
});

describe("Litestream", () => {
  test("that is killed alone is seen in /readyz and the metrics", async () => {
    await using replicated = await startReplicated(makePlaces());
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

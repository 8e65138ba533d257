// time budget: 600 s
/**
 * The replica that Litestream writes, with the `litestream.yml` of this repository: what a lost machine costs, and what a
 * restored database is worth. On a machine that has no Litestream yet, building it takes most of the time.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { audit } from "../durability/audit.ts";
import { type LoggedEvent, readList, settleBooks } from "../durability/books.ts";
import { Publishers } from "../durability/publishers.ts";
import { addEndpoint, clientOf, LOAD_ENV, prepareLoad } from "../durability/setup.ts";
import { buildLitestream, childrenOf, replicateCommand, restore } from "../kit/litestream.ts";
import { type Recorder, startRecorder } from "../kit/recorder.ts";
import { runService, type Service, startService } from "../kit/service.ts";

/** What losing the machine may cost: Litestream looks every second and uploads every second. */
const LOSS_MS_MAX = 2000;
const SECRET_KEY = Buffer.alloc(32, "key").toString("base64");

let litestream = "";
const home = mkdtempSync(join(tmpdir(), "sealpost-replica-"));

beforeAll(async () => {
  litestream = await buildLitestream();
}, 500_000);

afterAll(() => rmSync(home, { recursive: true, force: true }));

/** A replica of its own for each test, and where databases are restored to. */
function makePlaces() {
  const folder = mkdtempSync(join(home, "test-"));
  const restored = join(folder, "restored");
  mkdirSync(restored);
  return { replicaUrl: `file://${join(folder, "replica")}`, restored };
}

type Places = ReturnType<typeof makePlaces>;

function startReplicated({ replicaUrl }: Places): Promise<Service> {
  const env = { ...LOAD_ENV, SEALPOST_SECRET_KEY: SECRET_KEY, LITESTREAM_REPLICA_URL: replicaUrl };
  return startService({ command: replicateCommand(litestream), env });
}

async function restoreFrom({ replicaUrl, restored }: Places, { dataDir }: Service): Promise<void> {
  const env = { LITESTREAM_REPLICA_URL: replicaUrl, SEALPOST_DATA_DIR: dataDir };
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
  const published = await clientOf(service).post("/v1/events", { type: "after.restore", data: { token: "after" } });
  expect(published.status).toBe(202);
  while ((await recorder.counts("/after")).received === 0) await Bun.sleep(20);
}

describe("a replica", () => {
  test("has everything that was acknowledged, once SIGTERM has ended Litestream and the service", async () => {
    const places = makePlaces();
    await using recorder = await startRecorder();
    await using service = await startReplicated(places);
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
      await using service = await startReplicated(places);
      const publishers = new Publishers(await prepareLoad(service, recorder));
      await publishers.whenAcknowledged(1000);
      await Bun.sleep(2000 + Math.random() * 1000);
      const children = childrenOf(service.pid);
      const killed = service.kill9();
      for (const pid of children) process.kill(pid, "SIGKILL");
      const lostAt = Date.now();
      await killed;
      await publishers.abandon();

      await restoreFrom(places, service);
      expect(checkIntegrity(places)).toEqual({ integrity_check: "ok" });
      await using restored = await startRestored(places, service);
      const events = await readList<LoggedEvent>(clientOf(restored), "/v1/events");
      const known = new Set(events.map(({ id }) => id));
      const lost = publishers.acknowledged.filter(({ ids }) => ids.some((id) => !known.has(id)));
      const lostMs = lostAt - Math.min(lostAt, ...lost.map(({ at }) => at));
      console.log(`${lost.length} of ${publishers.acknowledged.length} acknowledged are lost: those of ${lostMs} ms`);
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
    await using service = await startReplicated(places);
    const made = await clientOf(service).post("/v1/events", { type: "order.paid", data: {} });
    expect(await service.stop()).toBe(0);
    rmSync(service.dataDir, { recursive: true });
    await service.restart();
    expect((await clientOf(service).get(`/v1/events/${String(made.json["id"])}`)).status).toBe(200);
    await addEndpoint(service, "http://127.0.0.1:9/");
    expect(await service.stop()).toBe(0);

    await restoreFrom(places, service);
    const otherKey = Buffer.alloc(32, "other").toString("base64");
    const env = { SEALPOST_DATA_DIR: places.restored, SEALPOST_SECRET_KEY: otherKey };
    const { exitCode, output } = await runService({ env });
    expect(exitCode).toBe(1);
    expect(output).toMatch(/SEALPOST_SECRET_KEY/);
  }, 60_000);
});

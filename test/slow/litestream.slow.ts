// time budget: 600 s
/**
 * The replica that Litestream writes, with the `litestream.yml` of this repository: what a lost machine costs, and what a
 * restored database is worth. On a machine that has no Litestream yet, building it takes most of the time.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { audit } from "../durability/audit.ts";
import { type LoggedEvent, readList, settleBooks } from "../durability/books.ts";
import { Publishers } from "../durability/publishers.ts";
import { addEndpoint, clientOf, LOAD_ENV, prepareLoad } from "../durability/setup.ts";
import { buildLitestream, replicateCommand, Replicated, restore } from "../kit/litestream.ts";
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
  const places = { replica: join(folder, "replica"), restored: join(folder, "restored") };
  mkdirSync(places.restored);
  return places;
}

type Places = ReturnType<typeof makePlaces>;

/**
 * Starts both, and waits for the first upload: Litestream looks at the database for the first time after a second, and ended
 * before that it uploads nothing, although it says nothing and ends with exit code 0.
 */
async function startReplicated({ replica }: Places): Promise<Replicated> {
  const env = { ...LOAD_ENV, SEALPOST_SECRET_KEY: SECRET_KEY, LITESTREAM_REPLICA_URL: `file://${replica}` };
  const replicated = new Replicated(await startService({ command: replicateCommand(litestream), env }));
  while (!existsSync(replica)) await Bun.sleep(20);
  return replicated;
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

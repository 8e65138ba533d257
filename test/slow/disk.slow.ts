// time budget: 150 s
/** A disk that is full, fails, holds damaged files, or belongs to another process. */
import { describe, expect, test } from "bun:test";
import {
  closeSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { audit } from "../durability/audit.ts";
import { inspectCopy, settleBooks } from "../durability/books.ts";
import { Publishers } from "../durability/publishers.ts";
import { clientOf, LOAD_ENV, prepareLoad, stopInTime } from "../durability/setup.ts";
import { canMakeDisks, type LoopDisk, makeDisk } from "../kit/disk.ts";
import { startRecorder } from "../kit/recorder.ts";
import { runService, Service, startService } from "../kit/service.ts";
import { canTrace, failSyncs, refuseRoom, slowSyncs } from "../kit/strace.ts";

const RECOVERY_MS_MAX = 10_000;
const isTraceable = await canTrace();

async function statusOf(service: Service, path: string): Promise<number> {
  return (await clientOf(service).get(path)).status;
}

/** Resolves when every kind of request has met the full disk, and many have. */
async function whenFull(service: Service, publishers: Publishers): Promise<void> {
  const before = publishers.refused.length;
  const isMet = () => {
    const kinds = new Set(publishers.refused.slice(before).map(({ kind }) => kind));
    return kinds.size === 3 && publishers.refused.length > before + 100;
  };
  while (!isMet()) expect(await statusOf(service, "/healthz")).toBe(200);
}

describe.skipIf(!(await canMakeDisks()))("a full disk", () => {
  const startOn = (disk: LoopDisk) =>
    startService({ env: { ...LOAD_ENV, SEALPOST_DATA_DIR: join(disk.path, "data") } });

  test("refuses writes, goes on reading, loses no outcome, and is back within 10 s of free space", async () => {
    await using recorder = await startRecorder();
    await using disk = await makeDisk(64);
    await using service = await startOn(disk);
    const publishers = new Publishers(await prepareLoad(service, recorder));
    await publishers.whenAcknowledged(300);

    disk.fill();
    await whenFull(service, publishers);
    while ((await statusOf(service, "/readyz")) !== 503) await Bun.sleep(20);
    expect(await statusOf(service, "/healthz")).toBe(200);
    expect(await statusOf(service, "/v1/events")).toBe(200);
    expect(await statusOf(service, "/v1/deliveries")).toBe(200);

    disk.free();
    const freedAt = performance.now();
    await publishers.whenAcknowledged(64);
    expect(performance.now() - freedAt).toBeLessThan(RECOVERY_MS_MAX);
    expect(await statusOf(service, "/readyz")).toBe(200);
    await publishers.finish();

    const asTheContractSays = { status: 503, contentType: "application/problem+json", hasRetryAfter: true };
    const refusals = publishers.refused.map(({ status, contentType, retryAfter }) => ({
      status,
      contentType,
      hasRetryAfter: Number(retryAfter) > 0,
    }));
    expect(refusals.filter((one) => !Bun.deepEquals(one, asTheContractSays))).toEqual([]);
    const books = await settleBooks(service, recorder, publishers);
    console.log(
      `${refusals.length} refused, ${books.acknowledged.length} acknowledged, ${books.receipts.length} received`,
    );
    // No process followed another: nothing excuses a message that was sent twice.
    expect(audit(books, [])).toEqual([]);
    expect(await service.stop()).toBe(0);
    const { integrity, misnumbered, attempts } = inspectCopy(service.dataDir);
    expect({ integrity, misnumbered, attempts }).toEqual({
      integrity: "ok",
      misnumbered: 0,
      attempts: books.receipts.length,
    });
  }, 60_000);

  test("does not keep the process from ending at SIGTERM", async () => {
    await using recorder = await startRecorder();
    await using disk = await makeDisk(64);
    await using service = await startOn(disk);
    const publishers = new Publishers(await prepareLoad(service, recorder));
    await publishers.whenAcknowledged(300);
    disk.fill();
    await whenFull(service, publishers);
    await publishers.abandon();
    await stopInTime(service);

    disk.free();
    const restartedAt = Date.now();
    await service.restart();
    const books = await settleBooks(service, recorder, publishers);
    expect(audit(books, [restartedAt])).toEqual([]);
  }, 60_000);
});

describe.skipIf(!(await canMakeDisks()))("a start on a disk that is nearly full", () => {
  test("says that the disk is full wherever its room ends, and nothing else", async () => {
    await using disk = await makeDisk(16);
    let refused = 0;
    for (let kilobytes = 0, hasRoom = false; !hasRoom; kilobytes += kilobytes < 64 ? 8 : 128) {
      const dataDir = join(disk.path, "data");
      mkdirSync(dataDir);
      disk.fill();
      disk.leave(kilobytes);
      const service = new Service({ env: { SEALPOST_DATA_DIR: dataDir } });
      hasRoom = await service.ready().then(
        () => true,
        () => false,
      );
      await service.close();
      const output = service.output();
      const said = hasRoom
        ? ""
        : output
            .split("\n")
            .filter((line) => line.includes('"error"'))
            .join("\n");
      if (!hasRoom)
        expect([kilobytes, said]).toEqual([kilobytes, expect.stringContaining("the disk is full")]);
      expect(said).not.toMatch(/stack|Another process|damaged/);
      refused += hasRoom ? 0 : 1;
      disk.free();
      rmSync(dataDir, { recursive: true });
    }
    expect(refused).toBeGreaterThan(5);
  }, 60_000);
});

describe.skipIf(!isTraceable)("a sync that fails with EIO", () => {
  const EXIT_MS_MAX = 2000;

  test.each([1, 2, 4, 8])(
    "ends the process at the next answer that it cannot give (sync %d of each thread)",
    async (nth) => {
      await using service = await startService({ env: LOAD_ENV });
      const client = clientOf(service);
      await using tracer = await failSyncs(service.pid, { nth });
      const ids: string[] = [];
      for (;;) {
        const published = await client.post("/v1/events", { type: "order.paid", data: {} }).catch(() => null);
        if (published === null) break;
        expect(published.status).toBe(202);
        ids.push(published.json["id"] as string);
      }
      expect((await service.exit()).exitCode).toBe(1);
      const calls = await tracer.calls();
      const failed = calls.find(({ line }) => line.includes("EIO"));
      const ended = calls.find(({ line }) => line.includes("+++ exited with 1 +++"));
      expect(calls.filter(({ line }) => /sealpost\.db-wal.*= 0$/.test(line)).length).toBeGreaterThanOrEqual(
        ids.length,
      );
      expect((ended?.at ?? Infinity) - (failed?.at ?? 0)).toBeLessThan(EXIT_MS_MAX);

      await service.restart();
      for (const id of ids) expect(await statusOf(service, `/v1/events/${id}`)).toBe(200);
    },
    30_000,
  );

  test("of the database file, at a checkpoint, ends the process too", async () => {
    await using service = await startService({ env: LOAD_ENV });
    const client = clientOf(service);
    await using tracer = await failSyncs(service.pid, { path: join(service.dataDir, "sealpost.db") });
    const data = { padding: "x".repeat(500_000) };
    for (;;) {
      const published = await client.post("/v1/events", { type: "order.paid", data }).catch(() => null);
      if (published === null) break;
    }
    expect((await service.exit()).exitCode).toBe(1);
    expect((await tracer.calls()).some(({ line }) => line.includes("EIO"))).toBe(true);
    await service.restart();
  }, 30_000);
});

describe.skipIf(!isTraceable)("a disk that hangs", () => {
  test("makes the service unready, not dead, and is told; it is ready again once the disk answers", async () => {
    await using service = await startService({ env: { ...LOAD_ENV, SEALPOST_LOG_LEVEL: "info" } });
    const client = clientOf(service);
    {
      await using _ = await slowSyncs(service.pid, 8);
      const published = client.post("/v1/events", { type: "order.paid", data: {} });
      while ((await statusOf(service, "/readyz")) !== 503) await Bun.sleep(20);
      expect(await statusOf(service, "/healthz")).toBe(200);
      expect((await client.get("/readyz")).json.detail).toBe("the disk does not answer");
      expect((await published).status).toBe(202);
    }
    while ((await statusOf(service, "/readyz")) !== 200) await Bun.sleep(20);
    while (!service.output().includes("the disk answers again")) await Bun.sleep(20);
    expect(service.output()).toContain("the disk does not answer");
  }, 60_000);
});

describe.skipIf(!isTraceable)("a disk without room for the WAL's index", () => {
  test("is a full disk: 503, and back as soon as there is room", async () => {
    await using service = await startService({ env: LOAD_ENV });
    const event = { type: "order.paid", data: { padding: "x".repeat(900_000) } };
    const publish = async () => (await clientOf(service).post("/v1/events", event)).status;
    await using tracer = await refuseRoom(service.pid, join(service.dataDir, "sealpost.db-shm"));
    // The index grows when the WAL has 4,062 pages, some 16 MB.
    while ((await publish()) === 202);
    expect(await publish()).toBe(503);
    expect(await statusOf(service, "/readyz")).toBe(503);
    expect(await statusOf(service, "/v1/events")).toBe(200);

    await tracer[Symbol.asyncDispose]();
    const freedAt = performance.now();
    while ((await publish()) !== 202) await Bun.sleep(20);
    expect(performance.now() - freedAt).toBeLessThan(RECOVERY_MS_MAX);
  }, 30_000);
});

describe("a damaged database", () => {
  const damages: [name: string, damage: (path: string) => void][] = [
    ["its header is overwritten", (path) => overwrite(path, 0, 100)],
    ["its middle is overwritten", (path) => overwrite(path, Math.floor(statSync(path).size / 2), 65_536)],
    ["its second half is missing", (path) => truncateSync(path, Math.floor(statSync(path).size / 2))],
    ["it is another kind of file", (path) => writeFileSync(path, "not a database\n".repeat(1000))],
  ];

  test.each(damages)(
    "is refused, named and left as it is where %s",
    async (_name, damage) => {
      const folder = mkdtempSync(join(tmpdir(), "sealpost-damaged-"));
      const dataDir = join(folder, "data");
      await copyUsedDirectory(dataDir);
      const path = join(dataDir, "sealpost.db");
      damage(path);
      const before = hashOf(path);

      const ended = await runService({ env: { SEALPOST_DATA_DIR: dataDir } });
      expect(ended).toEqual({ exitCode: 1, output: expect.stringContaining(path) });
      expect(hashOf(path)).toBe(before);
      rmSync(folder, { recursive: true, force: true });
    },
    20_000,
  );

  /** A data directory with a good many pages, all of them in the database. */
  async function copyUsedDirectory(dataDir: string): Promise<void> {
    await using service = await startService({ env: LOAD_ENV });
    const data = { padding: "x".repeat(500) };
    const events = Array.from({ length: 500 }, () => ({ type: "order.paid", data }));
    expect((await clientOf(service).post("/v1/events/batch", { events })).status).toBe(202);
    expect(await service.stop()).toBe(0);
    cpSync(service.dataDir, dataDir, { recursive: true });
    // What a WAL has would mend the damage; a service that has stopped leaves none.
    expect(readdirSync(dataDir).sort()).toEqual(["sealpost.db", "sealpost.lock", "secret.key"]);
  }

  function overwrite(path: string, position: number, length: number): void {
    const file = openSync(path, "r+");
    writeSync(file, Buffer.alloc(length, 0xa5), 0, length, position);
    closeSync(file);
  }

  function hashOf(path: string): string {
    return new Bun.CryptoHasher("sha256").update(readFileSync(path)).digest("hex");
  }
});

describe("a data directory", () => {
  test("belongs to one process: a second one is refused before it listens, and the lock ends with kill -9", async () => {
    await using service = await startService({ env: LOAD_ENV });
    // The port of the first: had it come as far as listening, it would say that the port is taken.
    const env = { SEALPOST_DATA_DIR: service.dataDir, SEALPOST_PORT: new URL(service.url).port };
    const { exitCode, output } = await runService({ env });
    expect(exitCode).toBe(1);
    expect(output).toContain(service.dataDir);
    expect(output.toLowerCase()).not.toContain("port");
    expect(await statusOf(service, "/readyz")).toBe(200);
    await service.kill9();
    await service.restart();
    expect(await statusOf(service, "/readyz")).toBe(200);
  }, 20_000);
});

// time budget: 180 s
/**
 * The power goes at random moments under 64 publishers: the file system drops what nobody synced, the process
 * dies, the disk is mounted anew. A 2xx means "on disk", so nothing that a client was told may be missing.
 */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { audit } from "../durability/audit.ts";
import { type Books, inspectCopy, settleBooks, whenNothingIsOpen } from "../durability/books.ts";
import { mutantCommand } from "../durability/mutants.ts";
import { Publishers, type Target } from "../durability/publishers.ts";
import { addEndpoint, clientOf, LOAD_ENV, prepareLoad } from "../durability/setup.ts";
import { canMakeDisks, type LoopDisk, makeDisk } from "../kit/disk.ts";
import { type Recorder, startRecorder } from "../kit/recorder.ts";
import { type Service, type ServiceOptions, startService } from "../kit/service.ts";

const LOAD_MS_MAX = 500;
const DISK_MEGABYTES = 512;

function startOn(disk: LoopDisk, options: ServiceOptions = {}): Promise<Service> {
  return startService({ ...options, env: { ...LOAD_ENV, SEALPOST_DATA_DIR: join(disk.path, "data") } });
}

interface Run {
  books: Books;
  /** When the processes after the first one were started. */
  startsAt: number[];
}

/**
 * Processor and disk lose their power at one moment. Were the process to run on, a sync that the kernel
 * answers with success while its file system goes down would be acknowledged: a script that only appends and
 * syncs lost its last line in 4 of 226 such cuts.
 */
async function cutPower(service: Service, disk: LoopDisk): Promise<void> {
  await service.freeze();
  await disk.cutPower();
  await service.kill9();
  await disk.remount();
}

/**
 * Cuts the power under load so many times, then lets everything come to its end. `env`: of the processes
 * that follow.
 */
async function run(
  { disk, service, recorder, target }: Stage,
  cuts: number,
  env: Record<string, string> = {},
): Promise<Run> {
  // 500: a read of the disk that has just failed.
  const publishers = new Publishers(target, { tolerated: [500, 503] });
  const startsAt: number[] = [];
  for (let nth = 0; nth < cuts; nth++) {
    await publishers.whenAcknowledged(64);
    await Bun.sleep(Math.random() * LOAD_MS_MAX);
    await cutPower(service, disk);
    startsAt.push(Date.now());
    await service.restart(env);
  }
  await publishers.finish();
  return { books: await settleBooks(service, recorder, publishers), startsAt };
}

interface Stage {
  disk: LoopDisk;
  service: Service;
  recorder: Recorder;
  target: Target;
}

describe.skipIf(!(await canMakeDisks()))("a power cut", () => {
  test("loses nothing that was acknowledged, in 16 cuts under load", async () => {
    await using recorder = await startRecorder();
    await using disk = await makeDisk(DISK_MEGABYTES);
    await using service = await startOn(disk);
    const target = await prepareLoad(service, recorder);
    const { books, startsAt } = await run({ disk, service, recorder, target }, 16);
    console.log(
      `${startsAt.length} cuts: ${books.acknowledged.length} acknowledged, ${books.receipts.length} received`,
    );
    expect(audit(books, startsAt)).toEqual([]);
    expect(await service.stop()).toBe(0);
    const { integrity, misnumbered, tried, metered } = inspectCopy(service.dataDir);
    expect({ integrity, misnumbered }).toEqual({ integrity: "ok", misnumbered: 0 });
    expect({ tried, metered }).toEqual({ tried: books.deliveries.length, metered: books.deliveries.length });
  }, 120_000);

  test("right after the first start leaves keys, secrets and the first event behind", async () => {
    for (let nth = 0; nth < 3; nth++) {
      await using recorder = await startRecorder();
      await using disk = await makeDisk(DISK_MEGABYTES);
      await using service = await startOn(disk);
      await addEndpoint(service, recorder.url("/slow?delay_ms=400"));
      const published = await clientOf(service).post("/v1/events", {
        type: "order.paid",
        data: { token: "first" },
      });
      expect(published.status).toBe(202);
      await cutPower(service, disk);
      await service.restart();
      expect((await clientOf(service).get(`/v1/events/${String(published.json["id"])}`)).status).toBe(200);
      await whenNothingIsOpen(clientOf(service), 10_000);
      expect((await recorder.receipts()).map(({ isSigned }) => isSigned)).not.toContain(false);
    }
  }, 60_000);

  test("is noticed by the process itself, which ends: nothing is known of a disk that failed", async () => {
    await using recorder = await startRecorder();
    await using disk = await makeDisk(DISK_MEGABYTES);
    await using service = await startOn(disk);
    const publishers = new Publishers(await prepareLoad(service, recorder), { tolerated: [500, 503] });
    await publishers.whenAcknowledged(64);
    await disk.cutPower();
    const { exitCode } = await service.exit();
    await publishers.abandon();
    expect(exitCode).toBe(1);
  }, 30_000);

  test("loses acknowledged events of a build that does not sync", async () => {
    await using recorder = await startRecorder();
    await using disk = await makeDisk(DISK_MEGABYTES);
    const { command, env } = mutantCommand("acknowledges without a sync");
    await using service = await startOn(disk, { command });
    const target = await prepareLoad(service, recorder);
    expect(await service.stop()).toBe(0);
    await service.restart(env);
    const { books, startsAt } = await run({ disk, service, recorder, target }, 4, env);
    const broken = audit(books, startsAt).join("\n");
    console.log(broken);
    expect(broken).toContain("acknowledged and not in the log");
  }, 60_000);
});

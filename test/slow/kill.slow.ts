// time budget: 240 s
/**
 * kill -9 at random moments under 64 publishers. What counts afterwards are the records of others: every
 * 2xx that a client got, and every request that the receiver saw.
 */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { audit } from "../durability/audit.ts";
import { type Books, countAttemptsInCopy, inspectCopy, settleBooks } from "../durability/books.ts";
import { mutantCommand } from "../durability/mutants.ts";
import { type Acknowledged, Publishers } from "../durability/publishers.ts";
import { LOAD_ENV, prepareLoad } from "../durability/setup.ts";
import { Client } from "../kit/app.ts";
import { type Recorder, startRecorder } from "../kit/recorder.ts";
import { Service, type ServiceOptions, startService } from "../kit/service.ts";
import { canTrace, killAtSync } from "../kit/strace.ts";

const FROM_SOURCES = [process.execPath, join(import.meta.dir, "../../src/main.ts")];
const LOAD_MS_MAX = 500;
const START_MS_MAX = 1000;

interface Kill {
  moment: "under load" | "at the start";
  /** Requests of clients without an answer. */
  unanswered: number;
  /** Attempts on disk. */
  recorded: number;
  /** When the next process was started: nothing that it did is older. */
  nextAt: number;
}

async function kill(service: Service, publishers: Publishers, moment: Kill["moment"]): Promise<Kill> {
  const { unanswered } = publishers;
  await service.kill9();
  return { moment, unanswered, recorded: countAttemptsInCopy(service.dataDir), nextAt: Date.now() };
}

/** Kills under load; every third process that follows dies once more before, or soon after, it is ready. */
async function killAgainAndAgain(service: Service, publishers: Publishers, count: number): Promise<Kill[]> {
  const kills: Kill[] = [];
  for (let nth = 1; nth <= count; nth++) {
    await publishers.whenAcknowledged(64);
    await Bun.sleep(Math.random() * LOAD_MS_MAX);
    kills.push(await kill(service, publishers, "under load"));
    if (nth % 3 === 0) kills.push(await killAtStart(service, publishers));
    await service.restart();
  }
  return kills;
}

async function killAtStart(service: Service, publishers: Publishers): Promise<Kill> {
  const restarted = service.restart().catch(() => "killed before it was ready");
  await Bun.sleep(Math.random() * START_MS_MAX);
  const killed = await kill(service, publishers, "at the start");
  await restarted;
  return killed;
}

interface Run {
  kills: Kill[];
  books: Books;
  /** The last request of every client, sent once more. */
  repeated: Acknowledged[];
}

/** Loads and kills; then lets everything come to its end. */
async function run(service: Service, recorder: Recorder, killCount: number): Promise<Run> {
  const publishers = new Publishers(await prepareLoad(service, recorder));
  const kills = await killAgainAndAgain(service, publishers, killCount);
  await publishers.finish();
  const repeated = await publishers.repeatLast();
  return { kills, books: await settleBooks(service, recorder, publishers), repeated };
}

/** Attempts that each kill cut: the receiver had their requests, the database had no outcome. */
function cutAttempts(kills: readonly Kill[], { receipts }: Books): number[] {
  const open = kills.map(
    ({ recorded, nextAt }) => receipts.filter(({ at }) => at < nextAt).length - recorded,
  );
  return open.map((count, at) => count - (open[at - 1] ?? 0));
}

function forgotten({ books, repeated }: Run): string[] {
  const first = new Map(books.acknowledged.map(({ key, ids }) => [key, ids.join()]));
  return repeated.filter(({ key, ids }) => first.get(key) !== ids.join()).map(({ key }) => key);
}

function start(options: ServiceOptions = {}): Promise<Service> {
  return startService({ ...options, env: { ...LOAD_ENV, ...options.env } });
}

test("24 kills under load lose nothing, leave nothing stuck and repeat only what they cut", async () => {
  await using recorder = await startRecorder();
  await using service = await start();
  const done = await run(service, recorder, 24);
  const { kills, books } = done;
  const cut = cutAttempts(kills, books);
  const table = kills.map((one, at) => `${one.moment}: ${one.unanswered} requests, ${cut[at]} attempts`);
  console.log(
    `${books.acknowledged.length} acknowledged, ${books.receipts.length} received; cut by kills\n${table.join("\n")}`,
  );
  const meaningful = kills.filter(({ unanswered }, at) => unanswered > 0 && (cut[at] ?? 0) > 0);
  expect(meaningful.length).toBeGreaterThanOrEqual(20);
  expect(
    audit(
      books,
      kills.map(({ nextAt }) => nextAt),
    ),
  ).toEqual([]);
  expect({ repeated: done.repeated.length, forgotten: forgotten(done) }).toEqual({
    repeated: 64,
    forgotten: [],
  });

  expect(await service.stop()).toBe(0);
  const { integrity, attempts, misnumbered, tried, metered } = inspectCopy(service.dataDir);
  expect({ integrity, misnumbered }).toEqual({ integrity: "ok", misnumbered: 0 });
  // Whatever was received more than once was in flight at a kill.
  expect(books.receipts.length - attempts).toBe(cut.reduce((sum, count) => sum + count, 0));
  expect({ tried, metered }).toEqual({ tried: books.deliveries.length, metered: books.deliveries.length });
}, 200_000);

test("a build that acknowledges before the commit fails this", async () => {
  const { command, env } = mutantCommand("acknowledges before the commit");
  await using recorder = await startRecorder();
  await using service = await start({ command, env });
  const { kills, books } = await run(service, recorder, 12);
  const broken = audit(
    books,
    kills.map(({ nextAt }) => nextAt),
  );
  console.log(broken.join("\n"));
  expect(broken.join("\n")).toContain("acknowledged and not in the log");
}, 100_000);

describe.skipIf(!(await canTrace()))("a first start", () => {
  test("that is killed at a sync leaves behind what the next start can use, keys included", async () => {
    let killed = 0;
    for (let nth = 1; nth <= 8; nth++) {
      await using first = new Service({ command: killAtSync(nth, FROM_SOURCES) });
      const isReady = await first.ready().then(
        () => true,
        () => false,
      );
      if (isReady) await first.stop();
      else killed++;
      await using second = await startService({ env: { SEALPOST_DATA_DIR: first.dataDir } });
      expect(await findWorkingKey(second, first.output() + second.output())).toStartWith("sp_live_");
    }
    expect(killed).toBeGreaterThanOrEqual(4);
  }, 60_000);

  /** Which of the keys that were printed opens the service. */
  async function findWorkingKey(service: Service, output: string): Promise<string | undefined> {
    for (const [key] of output.matchAll(/\bsp_live_[0-9A-Za-z]+/g)) {
      if ((await new Client(service, key).get("/v1/events")).status === 200) return key;
    }
    return undefined;
  }
});

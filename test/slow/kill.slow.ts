// time budget: 240 s
/**
 * kill -9 at random moments under 64 publishers (contract section 12). What counts afterwards are the records of others: every
 * 2xx that a client got, and every request that the receiver saw.
 */
import { expect, test } from "bun:test";
import { audit } from "../durability/audit.ts";
import {
  type Books,
  countAttemptsInCopy,
  inspectCopy,
  type LoggedDelivery,
  type LoggedEvent,
  readList,
  whenNothingIsOpen,
} from "../durability/books.ts";
import { mutantCommand } from "../durability/mutants.ts";
import { Publishers } from "../durability/publishers.ts";
import { clientOf, LOAD_ENV, prepareLoad } from "../durability/setup.ts";
import { type Recorder, startRecorder } from "../kit/recorder.ts";
import { type Service, type ServiceOptions, startService } from "../kit/service.ts";

const LOAD_MS_MAX = 500;
const SETTLE_MS_MAX = 60_000;

interface Kill {
  at: number;
  /** Requests of clients without an answer. */
  unanswered: number;
  /** Attempts on disk. */
  recorded: number;
  /** Nothing of the next process happens before this. */
  restartedAt: number;
}

async function kill(service: Service, publishers: Publishers): Promise<Kill> {
  await publishers.whenAcknowledged(64);
  await Bun.sleep(Math.random() * LOAD_MS_MAX);
  const { unanswered } = publishers;
  const at = Date.now();
  await service.kill9();
  const recorded = countAttemptsInCopy(service.dataDir);
  const restartedAt = Date.now();
  await service.restart();
  return { at, unanswered, recorded, restartedAt };
}

/** Loads, kills so many times, lets everything come to its end. */
async function run(service: Service, recorder: Recorder, kills: number): Promise<{ kills: Kill[]; books: Books }> {
  const publishers = new Publishers(await prepareLoad(service, recorder));
  const done: Kill[] = [];
  while (done.length < kills) done.push(await kill(service, publishers));
  await publishers.finish();
  const client = clientOf(service);
  await whenNothingIsOpen(client, SETTLE_MS_MAX);
  const events = await readList<LoggedEvent>(client, "/v1/events");
  const deliveries = await readList<LoggedDelivery>(client, "/v1/deliveries");
  const { acknowledged } = publishers;
  return { kills: done, books: { acknowledged, events, deliveries, receipts: await recorder.receipts() } };
}

/** Attempts that each kill cut: the receiver had their requests, the database had no outcome. */
function cutAttempts(kills: readonly Kill[], { receipts }: Books): number[] {
  const open = kills.map(({ recorded, restartedAt }) => receipts.filter(({ at }) => at < restartedAt).length - recorded);
  return open.map((count, at) => count - (open[at - 1] ?? 0));
}

function start(options: ServiceOptions = {}): Promise<Service> {
  return startService({ ...options, env: { ...LOAD_ENV, ...options.env } });
}

test("24 kills under load lose nothing, leave nothing stuck and repeat only what they cut", async () => {
  await using recorder = await startRecorder();
  await using service = await start();
  const { kills, books } = await run(service, recorder, 24);
  const cut = cutAttempts(kills, books);
  const meaningful = kills.filter(({ unanswered }, at) => unanswered > 0 && (cut[at] ?? 0) > 0);
  console.log(
    `${kills.length} kills: ${books.acknowledged.length} requests acknowledged, ${books.receipts.length} deliveries received, ` +
      `${kills.map(({ unanswered }) => unanswered).join(" ")} requests unanswered, ${cut.join(" ")} attempts in flight`,
  );
  expect(meaningful.length).toBeGreaterThanOrEqual(20);
  expect(audit(books, kills.map(({ at }) => at))).toEqual([]);

  expect(await service.stop()).toBe(0);
  const { integrity, attempts, misnumbered, tried, metered } = inspectCopy(service.dataDir);
  expect({ integrity, misnumbered }).toEqual({ integrity: "ok", misnumbered: 0 });
  // Whatever was received twice was in flight at a kill.
  expect(books.receipts.length - attempts).toBe(cut.reduce((sum, count) => sum + count, 0));
  expect({ tried, metered }).toEqual({ tried: books.deliveries.length, metered: books.deliveries.length });
}, 200_000);

test("a build that acknowledges before the commit fails this", async () => {
  const { command, env } = mutantCommand("acknowledges before the commit");
  await using recorder = await startRecorder();
  await using service = await start({ command, env });
  const { kills, books } = await run(service, recorder, 8);
  const broken = audit(books, kills.map(({ at }) => at));
  console.log(broken);
  expect(broken.join("\n")).toContain("acknowledged and not in the log");
}, 100_000);

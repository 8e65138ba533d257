/**
 * The take-over bench: how long it takes until a standby answers in place of a primary that is killed.
 *
 *   bun test/bench/takeover.ts [--kills 100] [--mib 0] [--durability replica] [--replica bucket]
 *
 * For each kill a pair of its own under the real Litestream, whose replica is a bucket on this machine or a
 * folder, with a database of so many MiB before, and eight publishers. The primary and its Litestream are
 * killed with SIGKILL, and its data directory is deleted; what was acknowledged, sent and sent again is
 * counted once all is delivered. Prints numbers, and ends with 1 where something acknowledged is lost.
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { settleBooks } from "../durability/books.ts";
import { Bucket, type Places } from "../durability/machine.ts";
import { type Pair, Router, startPair } from "../durability/pair.ts";
import { Publishers } from "../durability/publishers.ts";
import { prepareLoad } from "../durability/setup.ts";
import { buildLitestream } from "../kit/litestream.ts";
import { startRecorder } from "../kit/recorder.ts";
import { describeMachine } from "./machine.ts";
import { publishBatches } from "./server.ts";

const { values: options } = parseArgs({
  options: {
    kills: { type: "string", default: "100" },
    mib: { type: "string", default: "0" },
    durability: { type: "string", default: "replica" },
    replica: { type: "string", default: "bucket" },
  },
});
const kills = Number(options.kills);
const mib = Number(options.mib);
/** Of an event that nobody gets, on the disk. */
const EVENT_BYTES = 1372;
const MIB = 2 ** 20;
const PUBLISHERS = 8;
const ACKNOWLEDGED = 100;

/** Litestream stumbles over it. */
delete process.env["AWS_CA_BUNDLE"];

const home = mkdtempSync(join(tmpdir(), "sealpost-takeover-"));
process.on("exit", () => rmSync(home, { recursive: true, force: true }));

interface Taken {
  /**
   * From the kill until the standby has the lease, until it answers `/readyz`, and until a publish is
   * accepted, in milliseconds.
   */
  leaseMs: number;
  readyMs: number;
  acknowledgedMs: number;
  acknowledged: number;
  lost: number;
  /** Messages that came more than once without a refusal, each time under the same `webhook-id`. */
  again: number;
}

async function fill({ primary, standby }: Pair): Promise<number> {
  const path = join(primary.service.dataDir, "sealpost.db");
  if (mib > 0) {
    const server = { port: Number(new URL(primary.url).port), apiKey: primary.service.keys.live };
    await publishBatches(server, "bench.unheard", Math.ceil((mib * MIB) / EVENT_BYTES));
    await Bun.sleep(3000);
    await standby.follows();
  }
  return statSync(path).size;
}

async function killOnce(litestream: string, places: Places): Promise<Taken> {
  const settings = options.durability === "replica" ? { SEALPOST_DURABILITY: "replica" } : {};
  await using pair = await startPair(litestream, settings, places);
  await using recorder = await startRecorder();
  const { primary, standby } = pair;
  const bytes = await fill(pair);
  const target = await prepareLoad(primary.service, recorder);
  if (mib > 0) console.log(`  the database has ${(bytes / MIB).toFixed(0)} MiB`);
  const router = new Router(target, [primary, standby]);
  const publishers = new Publishers(target, { count: PUBLISHERS });
  await publishers.whenAcknowledged(ACKNOWLEDGED);
  await Bun.sleep(Math.random() * 1000);
  const lostAt = await primary.lose();
  rmSync(primary.service.dataDir, { recursive: true });
  await standby.ready();
  const [readyMs, leaseMs] = [Date.now() - lostAt, standby.becameAt - lostAt];
  await publishers.whenAcknowledged(1);
  const acknowledgedMs = Date.now() - lostAt;
  await publishers.whenAcknowledged(ACKNOWLEDGED);
  await publishers.finish();
  await router[Symbol.asyncDispose]();
  const { acknowledged, events, receipts } = await settleBooks(standby.service, recorder, publishers);
  const known = new Set(events.map(({ id }) => id));
  const promised = acknowledged.flatMap(({ ids }) => ids);
  const byId = [...Map.groupBy(receipts, ({ id }) => id).values()];
  return {
    leaseMs,
    readyMs,
    acknowledgedMs,
    acknowledged: promised.length,
    lost: promised.filter((id) => !known.has(id)).length,
    again: byId.filter((all) => all.slice(0, -1).some(({ status }) => status !== 500)).length,
  };
}

function placesIn(bucket: Bucket): Places {
  if (options.replica === "bucket") return bucket.places(home);
  const replica = mkdtempSync(join(home, "replica-"));
  const hasBegun = () => Promise.resolve(true);
  return { env: { LITESTREAM_REPLICA_URL: `file://${replica}` }, restored: home, hasBegun };
}

const at = (sorted: readonly number[], part: number) =>
  (sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0) / 1000;

function distribution(title: string, all: readonly number[]): void {
  const sorted = all.toSorted((a, b) => a - b);
  const parts = [0, 0.5, 0.9, 0.99, 1].map((part) => at(sorted, part).toFixed(2));
  console.log(
    `${title}: least ${parts[0]} s, p50 ${parts[1]}, p90 ${parts[2]}, p99 ${parts[3]}, most ${parts[4]}`,
  );
}

console.log(describeMachine(home));
const litestream = await buildLitestream();
await using bucket = await Bucket.start();
const taken: Taken[] = [];
for (let nth = 1; nth <= kills; nth++) {
  const one = await killOnce(litestream, placesIn(bucket));
  taken.push(one);
  const { leaseMs, readyMs, acknowledgedMs, acknowledged, lost, again } = one;
  console.log(
    `${nth}: lease ${leaseMs} ms, ready ${readyMs} ms, a publish accepted ${acknowledgedMs} ms; ${acknowledged} acknowledged, ${lost} lost, ${again} sent again`,
  );
}
const sum = (read: (one: Taken) => number) => taken.reduce((total, one) => total + read(one), 0);
console.log(`\n${kills} kills, by ${options.durability}, the replica in a ${options.replica}`);
distribution(
  "until the standby has the lease",
  taken.map(({ leaseMs }) => leaseMs),
);
distribution(
  "until it answers",
  taken.map(({ readyMs }) => readyMs),
);
distribution(
  "until a publish is accepted",
  taken.map(({ acknowledgedMs }) => acknowledgedMs),
);
console.log(
  `${sum((one) => one.acknowledged)} events acknowledged, ${sum((one) => one.lost)} of them lost, ${sum((one) => one.again)} messages sent again under the same webhook-id`,
);
process.exit(sum((one) => one.lost) === 0 || options.durability === "disk" ? 0 : 1);

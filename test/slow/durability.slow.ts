// time budget: 900 s
/**
 * Answers that wait for the replica, under the real Litestream: the machine is lost under load, its disk with
 * it, and what was acknowledged is in what is restored elsewhere. On a machine that has no Litestream yet,
 * building it takes most of the time.
 */
import { Database } from "bun:sqlite";
import { randomBytes } from "node:crypto";
import { describe, expect, test } from "bun:test";
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { audit } from "../durability/audit.ts";
import { settleBooks } from "../durability/books.ts";
import { Grounds } from "../durability/grounds.ts";
import { Bucket, checkIntegrity, gauge, type Places, startRestored } from "../durability/machine.ts";
import { Publishers } from "../durability/publishers.ts";
import { addEndpoint, clientOf, prepareLoad } from "../durability/setup.ts";
import type { Replicated } from "../kit/litestream.ts";
import { startRecorder } from "../kit/recorder.ts";

const REPLICA = { SEALPOST_DURABILITY: "replica" };
const LOSSES = 10;

const grounds = new Grounds("durability");

/** Loses a machine under load, and starts another one on what its replica gives back. */
async function lose(places: Places, settings = REPLICA): Promise<{ acknowledged: number; broken: string[] }> {
  await using recorder = await startRecorder();
  await using replicated = await grounds.startReplicated(places, settings);
  const { service } = replicated;
  const publishers = new Publishers(await prepareLoad(service, recorder));
  await publishers.whenAcknowledged(500);
  await Bun.sleep(Math.random() * 1500);
  expect(publishers.unanswered).toBeGreaterThan(0);
  await replicated.loseMachine();
  await publishers.abandon();
  rmSync(service.dataDir, { recursive: true });

  await grounds.restoreFrom(places, service);
  expect(checkIntegrity(places)).toEqual({ integrity_check: "ok" });
  const restoredAt = Date.now();
  await using restored = await startRestored(places, service);
  const broken = audit(await settleBooks(restored, recorder, publishers), [restoredAt]);
  return { acknowledged: publishers.acknowledged.length, broken };
}

describe("a machine that is lost, with its disk", () => {
  // Nothing that was acknowledged is missing, and no receiver has seen what the replica does not have.
  test.each(grounds.kinds(LOSSES))(
    "loses nothing that was acknowledged, %i, by a replica in %s",
    async (_, __, make) => {
      const { acknowledged, broken } = await lose(make());
      console.log(`${acknowledged} acknowledged`);
      expect(broken).toEqual([]);
    },
    60_000,
  );
});

test("with the disk alone some are lost: what is above can tell", async () => {
  const { broken } = await lose(grounds.inFolder(), { SEALPOST_DURABILITY: "disk" });
  expect(broken.join()).toContain("acknowledged and not in the log");
}, 60_000);

describe("a bucket that hangs under load", () => {
  const MIB = 1024 * 1024;
  const WAL_BYTES_MAX = 100 * MIB;
  /** Longer than an upload is waited for, and than a successor waits before it goes on. */
  const HANGS_MS = 40_000;
  /** By the clock: Litestream may ask then what one of its levels holds, and copies nothing meanwhile. */
  const LEVELS_MS = 300_000;
  /** A batch is 1 MB of its own. */
  const batch = () => ({
    events: Array.from({ length: 50 }, () => ({
      type: "order.paid",
      data: { text: randomBytes(10_000).toString("hex") },
    })),
  });

  test("keeps the WAL small, and has everything once it is back", async () => {
    await using hanging = await Bucket.start();
    const places = hanging.places(grounds.home);
    await using replicated = await grounds.startReplicated(places);
    const { service } = replicated;
    const client = clientOf(service);
    await client.post("/v1/events/batch", batch());
    while ((await hanging.count(`${places.path}/0001/`)) === 0) await Bun.sleep(100);
    const left = LEVELS_MS - (Date.now() % LEVELS_MS);
    if (left < 2 * HANGS_MS) await Bun.sleep(left + 2000);
    const walBytes = () => statSync(join(service.dataDir, "sealpost.db-wal")).size;
    const age = () => gauge(service, "sealpost_replica_age_seconds");
    const [seen, took]: [number[], number[]] = [[], []];
    let accepted = 50;
    const publish = async () => {
      const at = performance.now();
      expect((await client.post("/v1/events/batch", batch())).status).toBe(202);
      took.push(performance.now() - at);
      accepted += 50;
      seen.push(walBytes());
      await Bun.sleep(50);
    };
    const goOn = hanging.hang();
    try {
      for (const at = performance.now(); performance.now() - at < HANGS_MS; ) await publish();
    } finally {
      goOn();
    }
    while ((await age()) > 5) await publish();
    const largest = Math.max(...seen) / MIB;
    const slowest = Math.max(...took);
    console.log(
      `${accepted / 50} MB, WAL ${largest.toFixed(0)} MiB, slowest answer ${slowest.toFixed(0)} ms`,
    );
    expect(Math.max(...seen)).toBeLessThan(WAL_BYTES_MAX);
    expect(await service.stop()).toBe(0);
    await grounds.restoreFrom(places, service);
    expect(checkIntegrity(places)).toEqual({ integrity_check: "ok" });
    const sqlite = new Database(join(places.restored, "sealpost.db"), { readonly: true });
    const row = sqlite.query<{ count: number }, []>("SELECT count(*) AS count FROM event").get();
    sqlite.close();
    expect(row?.count).toBe(accepted);
  }, 300_000);
});

describe("without the replica", () => {
  const publish = (replicated: Replicated, headers: Record<string, string> = {}) =>
    clientOf(replicated.service).post("/v1/events", { type: "order.paid", data: {} }, headers);

  test("503 is answered once Litestream is gone, and nothing is stored; the disk alone may be asked for", async () => {
    await using recorder = await startRecorder();
    await using replicated = await grounds.startReplicated(grounds.inFolder(), REPLICA);
    const { service } = replicated;
    await addEndpoint(service, recorder.url("/gone"));
    const confirmed = await publish(replicated);
    expect([confirmed.status, confirmed.headers.get("sealpost-durability")]).toEqual([202, "replica"]);
    const orphans = replicated.killLitestream();
    try {
      while ((await publish(replicated)).status === 202) await Bun.sleep(10);
      const accepted = await gauge(service, "sealpost_replica_confirmed_events_total");
      const refused = await publish(replicated);
      expect([refused.status, refused.json.code]).toEqual([503, "replica_unavailable"]);
      expect(await gauge(service, "sealpost_replica_confirmed_events_total")).toBe(accepted);
      expect((await publish(replicated, { "sealpost-durability": "disk" })).status).toBe(202);
    } finally {
      for (const pid of orphans) process.kill(pid, "SIGKILL");
    }
  }, 60_000);

  test("SIGTERM cuts no answer that waits: it is 503 where the bucket stays away", async () => {
    await using away = await Bucket.start();
    await using replicated = await grounds.startReplicated(away.places(grounds.home), REPLICA);
    const { service } = replicated;
    const client = clientOf(service);
    await away.stop();
    const waiting = client.post("/v1/events", { type: "order.paid", data: {}, external_id: "o-1" });
    const stored = async () => (await client.get("/v1/events?external_id=o-1")).json.data as unknown[];
    while ((await stored()).length === 0) await Bun.sleep(20);
    const stopped = service.stop();
    const { status, json } = await waiting;
    expect([status, json.code]).toEqual([503, "replica_unavailable"]);
    await stopped;
  }, 90_000);

  test("a bucket that is away closes the door; what is on disk by then is delivered once it is back", async () => {
    await using away = await Bucket.start();
    await using recorder = await startRecorder();
    const places = away.places(grounds.home);
    await using replicated = await grounds.startReplicated(places, REPLICA);
    const { service } = replicated;
    await addEndpoint(service, recorder.url("/away"));
    const client = clientOf(service);
    const ask = () =>
      client.post("/v1/events", { type: "order.paid", data: { token: "t" }, external_id: "o-1" });
    await away.stop();
    const reply = await ask();
    expect([reply.status, reply.json.code]).toEqual([503, "replica_unavailable"]);
    expect(reply.json.detail).toContain("may be delivered later");
    expect((await client.get("/v1/events?external_id=o-1")).json.data).toHaveLength(1);
    expect(await recorder.receipts()).toEqual([]);
    // From now on nothing is stored.
    const closed = await client.post("/v1/events", { type: "order.paid", data: {}, external_id: "o-2" });
    expect([closed.status, closed.json.code]).toEqual([503, "replica_unavailable"]);
    expect((await client.get("/v1/events?external_id=o-2")).json.data).toHaveLength(0);

    await away.restart();
    let again = await ask();
    while (again.status !== 200) {
      await Bun.sleep(100);
      again = await ask();
    }
    expect(again.json["duplicate"]).toBe(true);
    await recorder.received("/away", 1);
    expect(await recorder.receipts()).toHaveLength(1);
  }, 120_000);
});

// time budget: 300 s
/**
 * kill -9 in the middle of retention and of an erasure: what is left is whole after each, and in the end all
 * of it is gone.
 */
import type { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withCopy } from "../durability/books.ts";
import { AgedDirectory } from "../kit/aged.ts";
import { entriesOfNothing } from "../kit/entries.ts";
import { Client } from "../kit/app.ts";
import { Service } from "../kit/service.ts";

const DAY_MS = 86_400_000;
const OLD = 16_000;
const ADA = 16_000;
const YOUNG = 500;
const WIDE = 1500;
/** That found the service at work; afterwards it is left alone. */
const KILLS = 6;
const ALIVE_MS_MAX = 300;
const STARTS_MAX = 60;

const SECRET_KEY = Buffer.alloc(32, 9);

/** Rows that hang on nothing: an event left half of itself behind. */
const LOOSE = {
  "deliveries without event": `SELECT count(*) FROM delivery d WHERE NOT EXISTS (SELECT 1 FROM event WHERE id = d.event_id)
    AND NOT EXISTS (SELECT 1 FROM removal WHERE event_id = d.event_id)`,
  "attempts without delivery":
    "SELECT count(*) FROM attempt a WHERE NOT EXISTS (SELECT 1 FROM delivery WHERE id = a.delivery_id)",
  "events without all their deliveries": `SELECT count(*) FROM event LEFT JOIN (SELECT event_id, count(*) AS found FROM delivery GROUP BY event_id) ON event_id = id
    WHERE delivery_count <> ifnull(found, 0)`,
  "delivered without attempt": `SELECT count(*) FROM delivery d WHERE status = 2 AND id NOT IN (SELECT delivery_id FROM attempt)
    AND EXISTS (SELECT 1 FROM event WHERE id = d.event_id)`,
};

interface State {
  events: number;
  rest: number;
  loose: Record<string, number>;
}

function inspect(dataDir: string): State {
  return withCopy(dataDir, (sqlite) => ({
    events: scalar(sqlite, "SELECT count(*) FROM event"),
    rest: scalar(sqlite, "SELECT count(*) FROM removal"),
    loose: {
      ...Object.fromEntries(Object.entries(LOOSE).map(([name, sql]) => [name, scalar(sqlite, sql)])),
      "entries of nothing": entriesOfNothing(sqlite),
    },
  }));
}

function scalar(sqlite: Database, sql: string): number {
  return Number(Object.values(sqlite.query<Record<string, unknown>, []>(sql).get() ?? {})[0]);
}

const WHOLE = Object.fromEntries([...Object.keys(LOOSE), "entries of nothing"].map((name) => [name, 0]));

/**
 * Kills the service soon after it is ready, again and again, then lets it come to the end; answers how many
 * kills found it at work.
 */
async function killUntil(service: Service, isDone: (state: State) => boolean): Promise<number> {
  let before = inspect(service.dataDir);
  let atWork = 0;
  for (let nth = 0; nth < STARTS_MAX; nth++) {
    await service.restart();
    const isKilled = atWork < KILLS;
    await Bun.sleep(isKilled ? Math.random() * ALIVE_MS_MAX : 15 * ALIVE_MS_MAX);
    if (isKilled) await service.kill9();
    else await service.stop();
    const now = inspect(service.dataDir);
    expect(now.loose).toEqual(WHOLE);
    if (isDone(now)) return atWork;
    if (isKilled && (now.events !== before.events || now.rest !== before.rest)) atWork++;
    before = now;
  }
  throw new Error(`it did not come to its end in ${STARTS_MAX} starts`);
}

test("retention and an erasure that are killed again and again go on, and leave nothing half", async () => {
  const home = mkdtempSync(join(tmpdir(), "sealpost-aged-"));
  const dir = join(home, "data");
  mkdirSync(dir);
  const aged = new AgedDirectory(dir, SECRET_KEY);
  const now = Date.now();
  await aged.prepare(now - 40 * DAY_MS, WIDE);
  await aged.add({ count: OLD, at: now - 39 * DAY_MS, deliveries: 1 });
  await aged.add({ count: 1, at: now - 38 * DAY_MS, deliveries: WIDE });
  await aged.add({ count: ADA, at: now - 2 * DAY_MS, deliveries: 1, consumerId: "ada" });
  await aged.add({ count: 1, at: now - 2 * DAY_MS, deliveries: WIDE, consumerId: "ada" });
  await aged.add({ count: YOUNG, at: now - DAY_MS, deliveries: 1 });
  aged.close();
  const metered = withCopy(dir, (sqlite) => scalar(sqlite, "SELECT sum(deliveries) FROM usage"));

  const env = {
    SEALPOST_DATA_DIR: dir,
    SEALPOST_SECRET_KEY: SECRET_KEY.toString("base64"),
    SEALPOST_LOG_LEVEL: "warn",
  };
  await using service = new Service({ env });
  await service.ready();
  await service.kill9();
  const aliveAfterRetention = ADA + 1 + YOUNG;
  const inRetention = await killUntil(
    service,
    ({ events, rest }) => events === aliveAfterRetention && rest === 0,
  );

  await service.restart();
  const client = new Client(service, aged.keys.live);
  const { status, json } = await client.delete("/v1/consumers/ada");
  expect([status, json["status"]]).toEqual([202, "running"]);
  await service.kill9();
  const inErasure = await killUntil(service, ({ events, rest }) => events === YOUNG && rest === 0);
  console.log(`kills at work: ${inRetention} in retention, ${inErasure} in the erasure`);
  expect(inRetention).toBeGreaterThanOrEqual(3);
  expect(inErasure).toBeGreaterThanOrEqual(3);

  await service.restart();
  const read = async () => (await client.get(`/v1/erasures/${String(json["id"])}`)).json;
  while ((await read())["status"] !== "completed") await Bun.sleep(20);
  expect(await read()).toMatchObject({ events: ADA + 1, deliveries: ADA + WIDE, consumer_id: "ada" });
  expect((await client.get("/v1/events?consumer_id=ada")).json["data"]).toEqual([]);
  expect(await service.stop()).toBe(0);
  expect(withCopy(dir, (sqlite) => scalar(sqlite, "SELECT sum(deliveries) FROM usage"))).toBe(metered);
  expect(withCopy(dir, (sqlite) => String(sqlite.query("PRAGMA integrity_check").values()[0]))).toBe("ok");
  rmSync(home, { recursive: true });
}, 280_000);

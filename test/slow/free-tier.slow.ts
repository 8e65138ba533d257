// time budget: 300 s
/**
 * The free tier's walk: a new account publishes its 10,000 deliveries while the process is killed again and
 * again, is stopped at the next one, is upgraded, and goes on. What counts are the records of others: each
 * 2xx that a client got, each message that the receiver saw.
 */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readList, whenNothingIsOpen } from "../durability/books.ts";
import { LOAD_ENV } from "../durability/setup.ts";
import { Client } from "../kit/app.ts";
import { createTenant, OPERATOR_TOKEN, operatorOf } from "../kit/operator.ts";
import { ENDPOINT_SECRET, type Recorder, startRecorder } from "../kit/recorder.ts";
import { type Service, startService } from "../kit/service.ts";

const FREE = 10_000;
const WAITING_MAX = 10_000;
const PUBLISHERS = 32;
const KILL_AFTER = [1500, 4000, 6500, 9000];
const SETTLE_MS_MAX = 60_000;

const ENV = {
  ...LOAD_ENV,
  SEALPOST_OPERATOR_TOKEN: OPERATOR_TOKEN,
  SEALPOST_PLANS: JSON.stringify({ none: { deliveries: 0, blocks: true } }),
};

/** Events that are published once each, by many clients at once, whatever happens to the process. */
class Walk {
  readonly accepted = new Set<string>();
  #next = 0;
  #isOver = false;

  constructor(private readonly client: Client) {}

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Publishes until the plan says stop. */
  async untilRefused(): Promise<void> {
    await Promise.all(Array.from({ length: PUBLISHERS }, () => this.#work()));
    this.#isOver = true;
  }

  async #work(): Promise<void> {
    while (!this.#isOver) {
      const body = { type: "order.paid", external_id: `walk-${this.#next++}`, data: {} };
      const reply = await this.#send(body);
      if (reply.status === 402) this.#isOver = true;
      else this.accepted.add(String(reply.json["id"]));
    }
  }

  /** What a kill cut off is sent again, under its external_id. */
  async #send(body: object) {
    for (;;) {
      try {
        const reply = await this.client.post("/v1/events", body);
        if (reply.status === 202 || reply.status === 200 || reply.status === 402) return reply;
        if (reply.status !== 503) throw new Error(`published, and answered ${reply.status}: ${reply.text}`);
      } catch (error) {
        if (error instanceof Error && error.message.startsWith("published")) throw error;
      }
      await Bun.sleep(20);
    }
  }
}

interface Counters {
  metered: number;
  shown: number;
  taken: number;
  open: number;
}

const COUNTERS = `SELECT (SELECT coalesce(sum(deliveries), 0) FROM usage) AS metered,
  (SELECT count(*) FROM delivery WHERE metered = 1) AS shown,
  (SELECT coalesce(sum(taken + awaited), 0) FROM plan_place) AS taken,
  (SELECT count(*) FROM delivery WHERE status IN (0, 1) AND metered = 0) AS open`;

/** What a killed process has on disk: the counters, and what the deliveries table shows. */
function readCounters(dataDir: string): Counters {
  const folder = mkdtempSync(join(tmpdir(), "sealpost-walk-"));
  for (const name of ["sealpost.db", "sealpost.db-wal"]) {
    if (existsSync(join(dataDir, name))) copyFileSync(join(dataDir, name), join(folder, name));
  }
  const sqlite = new Database(join(folder, "sealpost.db"));
  try {
    return sqlite.query<Counters, []>(COUNTERS).get() as Counters;
  } finally {
    sqlite.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function expectEqualCounters({ metered, shown, taken, open }: Counters): void {
  expect({ metered, taken }).toEqual({ metered: shown, taken: open });
}

async function uniqueReceived(recorder: Recorder): Promise<number> {
  return new Set((await recorder.receipts()).map(({ id }) => id)).size;
}

/** The three counts that have to agree: metered, shown, received. */
async function counts(client: Client, recorder: Recorder): Promise<number[]> {
  await whenNothingIsOpen(client, SETTLE_MS_MAX);
  const { json } = await client.get("/v1/usage");
  const shown = await readList(client, "/v1/deliveries");
  return [Number(json["deliveries"]), shown.length, await uniqueReceived(recorder)];
}

const addEndpoint = (client: Client, recorder: Recorder) =>
  client.create("/v1/endpoints", {
    url: recorder.url("/fast"),
    secret: ENDPOINT_SECRET,
    max_concurrency: 50,
  });

/** Sends the n-th event of a source. */
async function addSource(client: Client, service: Service): Promise<(n: number) => Promise<number>> {
  const source = await client.create("/v1/sources", { provider: "service", name: "walk" });
  const headers = { "x-service-token": String(source["secret"]) };
  const anyone = new Client(service, null);
  return async (n) => (await anyone.post(String(source["ingest_path"]), { id: `in-${n}` }, headers)).status;
}

test("the free tier's walk ends with what the receiver has, to the last delivery", async () => {
  await using recorder = await startRecorder();
  await using service = await startService({ env: ENV });
  const { id, live } = await createTenant(service);
  await addEndpoint(live, recorder);

  const walk = new Walk(live);
  const walking = walk.untilRefused();
  let cut = 0;
  for (const count of KILL_AFTER) {
    while (walk.accepted.size < count && !walk.isOver) await Bun.sleep(5);
    await service.kill9();
    const counters = readCounters(service.dataDir);
    expectEqualCounters(counters);
    cut += counters.open;
    await service.restart();
  }
  await walking;
  console.log(`${KILL_AFTER.length} kills, with ${cut} deliveries accepted and not yet attempted on disk`);

  expect(walk.accepted.size).toBe(FREE);
  const refused = await live.post("/v1/events", { type: "order.paid", data: {} });
  expect([refused.status, refused.headers.get("sealpost-usage-remaining")]).toEqual([402, "0"]);
  expect(await counts(live, recorder)).toEqual([FREE, FREE, FREE]);

  const ingest = await addSource(live, service);
  for (let n = 0; n < 3; n++) expect(await ingest(n)).toBe(200);
  expect((await live.get("/v1/deliveries?status=pending")).json["data"]).toMatchObject(
    Array.from({ length: 3 }, () => ({ waiting_for: "plan_limit" })),
  );
  await service.kill9();
  expectEqualCounters(readCounters(service.dataDir));
  await service.restart();

  const upgraded = await operatorOf(service).patch(`/v1/operator/accounts/${id}`, { plan: "pro" });
  expect(upgraded.status).toBe(200);
  const events = Array.from({ length: 500 }, () => ({ type: "order.paid", data: {} }));
  expect((await live.post("/v1/events/batch", { events })).status).toBe(202);
  const total = FREE + 3 + 500;
  expect(await counts(live, recorder)).toEqual([total, total, total]);
  const { text } = await operatorOf(service).get("/v1/operator/usage");
  expect(JSON.parse(text)).toMatchObject({ account_id: id, plan: "pro", deliveries: total, overage: 0 });
}, 200_000);

test("10,000 verified events wait for the plan, the next is 429, and all flow when it changes", async () => {
  await using recorder = await startRecorder();
  await using service = await startService({ env: ENV });
  const { id, live } = await createTenant(service, { plan: "none" });
  await addEndpoint(live, recorder);
  const ingest = await addSource(live, service);
  let next = 0;
  const work = async () => {
    while (next < WAITING_MAX) expect(await ingest(next++)).toBe(200);
  };
  await Promise.all(Array.from({ length: PUBLISHERS }, work));
  expect([await ingest(WAITING_MAX), await ingest(0)]).toEqual([429, 200]);
  await service.kill9();
  expectEqualCounters(readCounters(service.dataDir));
  await service.restart();
  expect(await ingest(WAITING_MAX)).toBe(429);
  await operatorOf(service).patch(`/v1/operator/accounts/${id}`, { plan: "free" });
  expect(await counts(live, recorder)).toEqual([FREE, FREE, FREE]);
  expect((await live.post("/v1/events", { type: "order.paid", data: {} })).status).toBe(402);
}, 100_000);

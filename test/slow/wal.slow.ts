// time budget: 150 s
/** A reader that stands still keeps the WAL from starting anew; once it has gone the WAL is small again. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import { clientOf, LOAD_ENV } from "../durability/setup.ts";
import { type Service, startService } from "../kit/service.ts";

const MIB = 1024 * 1024;
/** Above the size to which SQLite cuts a WAL that starts anew. */
const GROWN_BYTES = 100 * MIB;
const SMALL_BYTES = 64 * MIB;
const WITHIN_MS = 10_000;
const OPERATOR_TOKEN = "operator-token-of-the-wal-suite";
const PADDING = "x".repeat(20_000);
const events = Array.from({ length: 50 }, (_, n) => ({ type: "wal.grows", data: { n, padding: PADDING } }));

const walBytes = (service: Service) => statSync(join(service.dataDir, "sealpost.db-wal")).size;

async function shownBytes(service: Service): Promise<number> {
  const headers = { authorization: `Bearer ${OPERATOR_TOKEN}` };
  const text = await (await fetch(`${service.url}/metrics`, { headers })).text();
  return Number(/^sealpost_wal_bytes (\S+)$/m.exec(text)?.[1]);
}

/** One transaction that has read and does not end: `release` ends it. */
function readAndStand(service: Service): { release(): void } {
  const reader = new Database(join(service.dataDir, "sealpost.db"), { readonly: true });
  reader.exec("BEGIN");
  reader.query("SELECT count(*) FROM event").get();
  return {
    release() {
      reader.exec("COMMIT");
      reader.close();
    },
  };
}

async function publish(service: Service, key: string): Promise<void> {
  const reply = await fetch(`${service.url}/v1/events/batch`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ events }),
  });
  expect(reply.status).toBe(202);
}

test("the WAL that a standing reader made grow is at most 64 MiB within 10 s after the reader has gone", async () => {
  await using service = await startService({ env: LOAD_ENV });
  const key = service.keys.live;
  expect((await clientOf(service).get("/v1/events")).status).toBe(200);
  await service.stop();
  await service.restart({ SEALPOST_OPERATOR_TOKEN: OPERATOR_TOKEN });
  await publish(service, key);
  const reader = readAndStand(service);
  while (walBytes(service) < GROWN_BYTES) await publish(service, key);
  expect(await shownBytes(service)).toBeGreaterThanOrEqual(GROWN_BYTES);

  reader.release();
  const goneAt = performance.now();
  while (walBytes(service) > SMALL_BYTES && performance.now() - goneAt < WITHIN_MS) {
    await publish(service, key);
    await Bun.sleep(100);
  }
  console.log(
    `${(walBytes(service) / MIB).toFixed(0)} MiB after ${Math.round(performance.now() - goneAt)} ms`,
  );
  expect(walBytes(service)).toBeLessThanOrEqual(SMALL_BYTES);
}, 120_000);

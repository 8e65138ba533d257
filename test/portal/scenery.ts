/** What makes the README's pictures look like a service in use: a week of numbers, and a logo. */
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { bucketOf } from "../../src/store/counts/hours.ts";
import { PROJECT_HOURS_ANEW } from "../kit/project-hours.ts";

const HOUR_MS = 3_600_000;
const HOURS = 168;

/**
 * Writes a week of hourly numbers for each endpoint, by the end of its address, below the service's own of
 * this hour.
 */
export function paintHistory(dataDir: string): void {
  using sqlite = new Database(join(dataDir, "sealpost.db"));
  sqlite.exec("PRAGMA busy_timeout = 5000");
  const endpoints = sqlite.query<{ id: number; config: string }, []>("SELECT id, config FROM endpoint").all();
  const now = Math.floor(Date.now() / HOUR_MS);
  const insert = sqlite.prepare("INSERT OR IGNORE INTO stat VALUES (?, ?, ?, ?, ?, ?)");
  for (const { id, config } of endpoints) {
    const isBroken = config.includes("/fails");
    for (let hour = now - HOURS; hour < now; hour++) {
      // More by day than by night; the broken one began to fail five hours ago.
      const day = 1 + Math.sin(((hour % 24) - 8) / 3.82);
      const count = Math.round(40 + 130 * day + ((hour * 37) % 29));
      const fails = isBroken && hour > now - 5;
      const failed = fails ? Math.round(count / 3) : hour % 11;
      const durations = [[bucketOf(60 + (hour % 40)), count]];
      insert.run(id, hour, fails ? 0 : count, failed, fails ? 3 : 0, JSON.stringify(durations));
    }
  }
  sqlite.exec(`BEGIN IMMEDIATE; ${PROJECT_HOURS_ANEW} COMMIT`);
}

/**
 * A week of numbers for each source that is active: one refuses since its secret was rotated at the provider.
 */
export function paintSources(dataDir: string): void {
  using sqlite = new Database(join(dataDir, "sealpost.db"));
  sqlite.exec("PRAGMA busy_timeout = 5000");
  const sources = sqlite
    .query<{ id: number; provider: string }, []>("SELECT id, provider FROM source WHERE status = 'active'")
    .all();
  const now = Math.floor(Date.now() / HOUR_MS);
  const insert = sqlite.prepare("INSERT OR IGNORE INTO source_stat VALUES (?, ?, ?, ?)");
  const setLast = sqlite.prepare("INSERT OR REPLACE INTO source_last VALUES (?, ?, ?)");
  for (const { id, provider } of sources) {
    for (let hour = now - HOURS; hour < now; hour++) {
      const day = 1 + Math.sin(((hour % 24) - 8) / 3.82);
      const count = Math.round(20 + 60 * day + ((hour * 37) % 17));
      const add = (outcome: string, many: number) => {
        if (many === 0) return;
        insert.run(id, hour, outcome, many);
        setLast.run(id, outcome, hour * HOUR_MS);
      };
      const isBroken = provider === "stripe" && hour > now - 4;
      add("accepted", isBroken ? 0 : count);
      add("duplicate", isBroken ? 0 : Math.floor(count / 20));
      add("bad_signature", isBroken ? Math.round(count / 2) : 0);
      add("missing_header", hour % 9 === 0 ? hour % 4 : 0);
      add("stale_timestamp", hour % 31 === 0 ? 2 : 0);
    }
  }
}

/** A PNG of one colour with a lighter stripe, rounded: 64 × 64. */
export function drawLogo([r, g, b]: readonly [number, number, number]): Uint8Array<ArrayBuffer> {
  const size = 64;
  const places = [...Array(size).keys()];
  const rows = places.map((y) => {
    const pixels = places.map((x) => {
      const isInside = Math.hypot(x - 31.5, y - 31.5) < 31;
      const isStripe = Math.abs(x + y - 63) < 9;
      return [...(isStripe ? [255, 255, 255] : [r, g, b]), isInside ? 255 : 0];
    });
    return [0, ...pixels.flat()];
  });
  // Width, height, 8 bits, RGBA.
  const header = Buffer.from([0, 0, 0, size, 0, 0, 0, size, 8, 6, 0, 0, 0]);
  const data = deflateSync(Buffer.from(rows.flat()));
  const signature = Buffer.from("89504e470d0a1a0a", "hex");
  const parts = [signature, chunk("IHDR", header), chunk("IDAT", data), chunk("IEND", Buffer.alloc(0))];
  return new Uint8Array(Buffer.concat(parts));
}

function chunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(Bun.hash.crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** The digest: hourly numbers are written down in parts, and a crash between two of them neither loses nor doubles any. */
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase } from "../../src/store/database.ts";
import { Digest } from "../../src/store/digest.ts";
import { Store } from "../../src/store/store.ts";

const AT = Date.UTC(2026, 10, 21);
const ENDPOINTS = 600;

test("numbers of very many endpoints go down in parts, each with its mark", async () => {
  const dir = mkdtempSync(join(tmpdir(), "sealpost-digest-"));
  const disk = openDatabase(dir);
  const store = new Store(disk.sqlite, {
    now: () => AT,
    schedule: setImmediate,
    // However slow the machine is: whoever looks on does so after each part.
    beginShare: () => ({ isOver: false }),
    sync: () => disk.sync(),
    later: (ms, run) => void setTimeout(run, ms),
    fail: (error) => {
      throw error;
    },
  });
  const digest = new Digest(store);
  // Parts end with a transaction, so that a mark covers all of it: here each attempt has one.
  for (let endpoint = 1; endpoint <= ENDPOINTS; endpoint++) {
    const tally = { endpointId: endpoint, projectId: 1, at: AT, delivered: true, dead: false, durationMs: 5 };
    digest.addTally(endpoint, tally);
    digest.done();
  }
  const rows = () =>
    disk.sqlite.query<{ count: number }, []>("SELECT count(*) AS count FROM stat").get()?.count;
  const seen: string[] = [];
  const writtenDown = digest.writeDown();
  for (let isDone = false; !isDone; ) {
    // As a process would find it that starts here: the rows end with the mark.
    const now = `${rows()} ${digest.mark}`;
    if (seen.at(-1) !== now) seen.push(now);
    isDone = (await Promise.race([writtenDown.then(() => "done"), store.write(() => "next")])) === "done";
  }
  seen.push(`${rows()} ${digest.mark}`);
  expect([...new Set(seen)]).toEqual(["0 0", "250 250", "500 500", "600 600"]);
  expect([...digest.recentHours(1), ...digest.recentHours(ENDPOINTS)]).toEqual([]);
  await store.close();
  disk.close();
  rmSync(dir, { recursive: true });
});

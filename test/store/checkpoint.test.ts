import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { startCheckpointThread } from "../../src/maintenance/checkpoint-thread.ts";
import { Checkpoints } from "../../src/store/checkpoint.ts";
import { type Disk, openDatabase } from "../../src/store/database.ts";
import { Store } from "../../src/store/store.ts";
import { storeParts } from "../kit/store-parts.ts";

let dir: string;
let disk: Disk;
let store: Store;
const CHECKPOINTER = new URL("../../src/checkpointer.ts", import.meta.url);

let thread: ReturnType<typeof startCheckpointThread>;
let failure: Error | null;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "sealpost-checkpoint-"));
  disk = openDatabase(dir);
  disk.sqlite.exec("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT NOT NULL)");
  failure = null;
  const fail = (error: Error) => {
    failure = error;
  };
  store = new Store(disk.sqlite, storeParts({ sync: disk.sync, fail }));
  thread = startCheckpointThread(CHECKPOINTER, disk.path, fail);
});

afterEach(async () => {
  await thread.stop();
  disk.close();
  rmSync(dir, { recursive: true });
});

const walBytes = () => statSync(`${disk.path}-wal`).size;
let nextId = 1;
const fill = (rows: number) =>
  store.write(() => {
    for (let n = 0; n < rows; n++)
      disk.sqlite.run("INSERT INTO t VALUES (?, ?)", [nextId++, "x".repeat(4000)]);
  });

test("the WAL is written anew from its start once it has grown, so it does not grow for ever", async () => {
  const checkpoints = new Checkpoints(store, thread);
  await fill(5000);
  const grown = walBytes();
  expect(grown).toBeGreaterThan(4000 * 4096);
  for (let round = 0; round < 3; round++) {
    await checkpoints.run();
    await fill(4500);
  }
  expect(walBytes()).toBeLessThan(grown * 1.2);
  expect(failure).toBeNull();
});

test("a write that comes during the last part of a checkpoint waits for it and is not lost", async () => {
  await fill(1);
  let release = () => {};
  const held = store.holdCommits(() => new Promise<void>((resolve) => (release = resolve)));
  let written = false;
  const write = fill(1).then(() => {
    written = true;
  });
  await nextTurn();
  await nextTurn();
  expect(written).toBe(false);
  release();
  await Promise.all([held, write]);
  expect(written).toBe(true);
});

test("nothing is asked of the disk where nothing was written since", async () => {
  let asked = 0;
  const counting = {
    run: () => {
      asked++;
      return thread.run();
    },
  };
  const checkpoints = new Checkpoints(store, counting);
  await fill(1);
  await checkpoints.run();
  await checkpoints.run();
  expect(asked).toBe(1);
});

test("where Litestream has been and is gone, the WAL does not grow for ever", async () => {
  disk.sqlite.exec("CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)");
  let isThere = true;
  const checkpoints = new Checkpoints(store, thread, () => isThere);
  await fill(5000);
  const grown = walBytes();
  await checkpoints.run();
  await fill(4500);
  expect(walBytes()).toBeGreaterThan(grown * 1.5);
  isThere = false;
  await checkpoints.run();
  const left = walBytes();
  for (let round = 0; round < 2; round++) {
    await fill(4500);
    await checkpoints.run();
  }
  expect(walBytes()).toBeLessThan(left * 1.2);
});

test("a thread that cannot work ends the service", async () => {
  await thread.stop();
  const failed = new Promise<Error>((resolve) => {
    thread = startCheckpointThread(CHECKPOINTER, join(dir, "missing", "sealpost.db"), resolve);
  });
  expect((await failed).message).toContain("checkpoint thread");
});

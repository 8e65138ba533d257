import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { startCheckpointThread } from "../../src/maintenance/checkpoint-thread.ts";
import { type CheckpointMode, Checkpoints } from "../../src/store/checkpoint.ts";
import { type Disk, openDatabase } from "../../src/store/database.ts";
import { Store } from "../../src/store/store.ts";
import { canMakeDisks, makeDisk } from "../kit/disk.ts";
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
    run: (mode: CheckpointMode) => {
      asked++;
      return thread.run(mode);
    },
  };
  const checkpoints = new Checkpoints(store, counting);
  await fill(1);
  await checkpoints.run();
  await checkpoints.run();
  expect(asked).toBe(1);
});

test("where Litestream has been and is gone, the WAL does not grow for ever", async () => {
  let isThere = true;
  const checkpoints = new Checkpoints(store, thread, () => (isThere ? "here" : "gone"));
  await fill(5000);
  const grown = walBytes();
  await checkpoints.run();
  await fill(4500);
  expect(walBytes()).toBeGreaterThan(grown * 1.5);
  isThere = false;
  // Cut each time, however little there is: Litestream would not notice that it was written anew.
  for (const rows of [0, 4500, 1]) {
    await fill(rows);
    await checkpoints.run();
    expect([rows, walBytes()]).toEqual([rows, 0]);
  }
});

describe.skipIf(!(await canMakeDisks()))("on a disk that the WAL has filled", () => {
  test("all of it is copied as soon as there is room, and it gives back its own, although nothing is written", async () => {
    await using small = await makeDisk(32);
    const full = openDatabase(small.path);
    const checkpointer = startCheckpointThread(CHECKPOINTER, full.path, (error) => (failure ??= error));
    try {
      full.sqlite.exec("CREATE TABLE t (text TEXT NOT NULL)");
      const its = new Store(full.sqlite, storeParts({ sync: full.sync }));
      await its.write(() => {
        for (let n = 0; n < 2000; n++) full.sqlite.run("INSERT INTO t VALUES (?)", ["x".repeat(4000)]);
      });
      const sizes = () => [full.path, `${full.path}-wal`].map((path) => statSync(path).size >> 20);
      small.fill();
      const checkpoints = new Checkpoints(its, checkpointer);
      for (let n = 0; n < 3; n++) await checkpoints.run();
      expect([sizes(), failure]).toEqual([[0, 8], null]);
      small.leave(10 * 1024);
      // While somebody reads it, the WAL is copied and not cut.
      const reader = new Database(full.path);
      reader.exec("BEGIN; SELECT count(*) FROM t");
      await checkpoints.run();
      expect(sizes()).toEqual([8, 8]);
      reader.close();
      await checkpoints.run();
      expect(sizes()).toEqual([8, 0]);
      await checkpoints.run();
      expect(await its.write(() => full.sqlite.run("INSERT INTO t VALUES ('')").changes)).toBe(1);
    } finally {
      await checkpointer.stop();
      full.close();
    }
  });
});

test("a thread that cannot work ends the service", async () => {
  await thread.stop();
  const failed = new Promise<Error>((resolve) => {
    thread = startCheckpointThread(CHECKPOINTER, join(dir, "missing", "sealpost.db"), resolve);
  });
  expect((await failed).message).toContain("checkpoint thread");
});

import { type Database, Database as OtherDatabase } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Disk, openDatabase } from "../../src/store/database.ts";
import { type BatchPart, Store } from "../../src/store/store.ts";

let dir: string;
let disk: Disk;
let sqlite: Database;
let store: Store;
/** What the store asked for; the test decides when it happens. */
let scheduled: (() => void)[];
let syncs: { resolve: () => void; reject: (error: Error) => void }[];
let probes: (() => void)[];
let failure: Error | null;
let reports: { work: string; error: unknown }[];
/** Jobs that a share of a turn has time for, beside the first one. */
let shareLeft: number;

function openStore(): Store {
  return new Store(sqlite, {
    now: () => Date.UTC(2026, 10, 21),
    schedule: (commit) => scheduled.push(commit),
    beginShare: () => ({
      get isOver() {
        return --shareLeft < 0;
      },
    }),
    sync: () => new Promise((resolve, reject) => syncs.push({ resolve, reject })),
    later: (_, probe) => probes.push(probe),
    fail: (error) => {
      failure = error;
    },
    report: (work, error) => reports.push({ work, error }),
  });
}

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "sealpost-store-"));
  disk = openDatabase(dir);
  sqlite = disk.sqlite;
  sqlite.exec("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT NOT NULL)");
  [scheduled, syncs, probes, reports] = [[], [], [], []];
  [failure, shareLeft] = [null, Number.POSITIVE_INFINITY];
  store = openStore();
});

afterEach(() => {
  disk.close();
  rmSync(dir, { recursive: true });
});

const commit = () => scheduled.shift()?.();
const insert =
  (id: number, text: string | null = "x") =>
  () =>
    sqlite.run("INSERT INTO t VALUES (?, ?)", [id, text]);
/** A write that the disk refuses with this code. */
const refusedWith = (code: string) => () => {
  throw Object.assign(new Error(code), { code });
};
const ids = () =>
  sqlite
    .query<{ id: number }, []>("SELECT id FROM t ORDER BY id")
    .all()
    .map(({ id }) => id);

/** How a promise stands, without waiting for it. */
async function stateOf(promise: Promise<unknown>): Promise<"pending" | "resolved" | "rejected"> {
  const settled = promise.then(
    () => "resolved" as const,
    () => "rejected" as const,
  );
  return Promise.race([settled, nextTurn().then(() => "pending" as const)]);
}

describe("a write", () => {
  test("resolves with its value, and only after the sync", async () => {
    const written = store.write(() => 42);
    expect(await stateOf(written)).toBe("pending");
    commit();
    expect(await stateOf(written)).toBe("pending");
    syncs.shift()?.resolve();
    expect(await written).toBe(42);
  });

  test("shares its transaction with those that came with it, in their order", async () => {
    const all = [1, 2, 3].map((id) => store.write(insert(id)));
    expect(scheduled.length).toBe(1);
    commit();
    expect(store.commits).toBe(1);
    syncs.shift()?.resolve();
    await Promise.all(all);
    expect(ids()).toEqual([1, 2, 3]);
  });

  test("that comes during a sync waits for the next batch", async () => {
    const first = store.write(insert(1));
    commit();
    const second = store.write(insert(2));
    expect(scheduled.length).toBe(0);
    syncs.shift()?.resolve();
    await first;
    expect(await stateOf(second)).toBe("pending");
    commit();
    syncs.shift()?.resolve();
    await second;
    expect(ids()).toEqual([1, 2]);
  });

  test("that throws fails alone; its neighbours are written once", async () => {
    const broken = new Error("broken");
    const [before, failing, after] = [
      store.write(insert(1)),
      store.write(() => {
        insert(2)();
        throw broken;
      }),
      store.write(insert(3)),
    ];
    failing.catch(() => {});
    commit();
    syncs.shift()?.resolve();
    await before;
    expect(failing).rejects.toBe(broken);
    commit();
    syncs.shift()?.resolve();
    await after;
    expect(ids()).toEqual([1, 3]);
  });

  test("for which its turn of the loop has no time goes into the next transaction, in its order", async () => {
    const all = [1, 2, 3, 4].map((id) => store.write(insert(id)));
    shareLeft = 1;
    commit();
    expect([ids(), store.waiting]).toEqual([[1, 2], 2]);
    syncs.shift()?.resolve();
    await all[1];
    expect(await stateOf(all[2] as Promise<unknown>)).toBe("pending");
    shareLeft = 0;
    commit();
    expect(ids()).toEqual([1, 2, 3]);
    syncs.shift()?.resolve();
    await all[2];
    commit();
    syncs.shift()?.resolve();
    await Promise.all(all);
    expect([ids(), store.commits]).toEqual([[1, 2, 3, 4], 3]);
  });

  test("of a project waits for one of each other project, however many another has", async () => {
    const all = [1, 2, 3, 4].map((id) => store.writeFor(1, insert(id)));
    const upTo = async (count: number) => {
      shareLeft = count - 1;
      commit();
      syncs.shift()?.resolve();
      await nextTurn();
    };
    await upTo(1);
    all.push(store.writeFor(2, insert(5)), store.writeFor(2, insert(6)), store.write(insert(7)));
    await upTo(3);
    expect(ids()).toEqual([1, 2, 5, 7]);
    await upTo(2);
    expect(ids()).toEqual([1, 2, 3, 5, 6, 7]);
    await upTo(1);
    await Promise.all(all);
    expect(ids()).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  test("takes keys that only grow, also over a rollback", async () => {
    const keys: number[] = [];
    const failing = store.write(() => {
      keys.push(store.takeKey());
      throw new Error("no");
    });
    failing.catch(() => {});
    const kept = store.write(() => store.takeKey(5));
    const later = store.write(() => store.takeKey());
    commit();
    syncs.shift()?.resolve();
    expect(failing).rejects.toThrow("no");
    await nextTurn();
    commit();
    syncs.shift()?.resolve();
    expect(await later).toBe((await kept) + 5);
    expect(await kept).toBeGreaterThan(keys[0] ?? Number.POSITIVE_INFINITY);
  });
});

describe("a part of the batch", () => {
  test("is flushed before the commit, told of it, and reset by a rollback", async () => {
    const told: string[] = [];
    const part: BatchPart = {
      flush: () => told.push("flush"),
      done: () => told.push("done"),
      reset: () => told.push("reset"),
    };
    store.addBatchPart(part);
    const failing = store.write(() => {
      throw new Error("no");
    });
    failing.catch(() => {});
    const fine = store.write(insert(1));
    commit();
    syncs.shift()?.resolve();
    await nextTurn();
    commit();
    syncs.shift()?.resolve();
    await fine;
    expect(told).toEqual(["reset", "flush", "done"]);
  });
});

describe("a disk that hangs", () => {
  test("is silent for as long as a write waits, and not once it is answered", async () => {
    expect(store.silentMs).toBe(0);
    const written = store.write(insert(1));
    commit();
    await nextTurn();
    const before = store.silentMs;
    expect(before).toBeGreaterThan(0);
    await nextTurn();
    expect(store.silentMs).toBeGreaterThan(before);
    for (const sync of syncs.splice(0)) sync.resolve();
    await written;
    expect(store.silentMs).toBe(0);
  });
});

describe("a full disk", () => {
  const fill = () => {
    const pages = sqlite.query<{ page_count: number }, []>("PRAGMA page_count").get()?.page_count ?? 0;
    sqlite.exec(`PRAGMA max_page_count = ${pages}`);
  };
  const large = "x".repeat(100_000);

  test("that fills up while the process stops does not keep it", async () => {
    fill();
    const kept = store.write(insert(1, large), true);
    const closed = store.close();
    commit();
    await closed;
    expect(await stateOf(kept)).toBe("pending");
  });

  test("is not silent, though outcomes wait for it", async () => {
    store.write(refusedWith("SQLITE_FULL")).catch(() => {});
    commit();
    void store.write(insert(1), true);
    await nextTurn();
    expect([store.writable, store.silentMs]).toEqual([false, 0]);
    probes.shift()?.();
    await nextTurn();
    expect(store.writable).toBe(true);
    expect(store.silentMs).toBeGreaterThan(0);
  });

  test("is not tried while commits are held, and takes writes after that", async () => {
    store.write(refusedWith("SQLITE_FULL")).catch(() => {});
    commit();
    const written = () => sqlite.query("SELECT value FROM meta WHERE name = 'probe'").all().length;
    const hold = Promise.withResolvers<void>();
    const held = store.holdCommits(() => hold.promise);
    probes.shift()?.();
    expect([written(), store.writable]).toEqual([0, false]);
    hold.resolve();
    await held;
    probes.shift()?.();
    expect([written(), store.writable]).toEqual([1, true]);
  });

  test("refuses what waits and what comes with 503, keeps the outcomes of attempts, and takes all up again by itself", async () => {
    fill();
    let timesFull = 0;
    store.onFull(() => timesFull++);
    const refused = store.write(insert(1, large));
    const kept = store.write(insert(2, large), true);
    refused.catch(() => {});
    commit();
    probes.shift()?.();
    expect(timesFull).toBe(1);
    expect(refused).rejects.toMatchObject({ code: "unavailable" });
    expect(store.writable).toBe(false);
    expect(store.write(insert(3))).rejects.toMatchObject({ code: "unavailable" });
    let recovered = false;
    store.onWritable(() => {
      recovered = true;
    });
    sqlite.exec("PRAGMA max_page_count = 1000000");
    probes.shift()?.();
    expect(recovered).toBe(true);
    expect(store.writable).toBe(true);
    commit();
    for (const sync of syncs.splice(0)) sync.resolve();
    await nextTurn();
    commit();
    for (const sync of syncs.splice(0)) sync.resolve();
    await kept;
    expect(ids()).toEqual([2]);
    expect(failure).toBeNull();
  });
});

describe("writes that go one by one, because one of them throws", () => {
  /** A write that the disk refuses with this code once it goes alone. */
  const refusedAlone = (code: string) => {
    let times = 0;
    return () => times++ > 0 && refusedWith(code)();
  };
  /** Commits those of `runs`, and one that throws. */
  const writeBeside = (...runs: (() => unknown)[]) => {
    const throws = () => {
      throw new Error("no");
    };
    const all = [...runs, throws].map((run) => store.write(run));
    for (const written of all) written.catch(() => {});
    commit();
    return all;
  };

  test("are answered where the disk took them, before it is full for the others", async () => {
    const [taken, refused, throws] = writeBeside(insert(1), refusedAlone("SQLITE_FULL"));
    const closed = store.close();
    await nextTurn();
    expect(store.silentMs).toBeGreaterThan(0);
    expect(await stateOf(closed)).toBe("pending");
    syncs.shift()?.resolve();
    await taken;
    commit();
    expect(throws).rejects.toThrow("no");
    expect(refused).rejects.toMatchObject({ code: "unavailable" });
    await closed;
    expect([ids(), failure]).toEqual([[1], null]);
  });

  test("end the service where the disk fails for one, even if it is full for another", () => {
    void writeBeside(refusedAlone("SQLITE_FULL"), refusedAlone("SQLITE_IOERR_WRITE"));
    expect(failure?.message).toBe("SQLITE_IOERR_WRITE");
  });

  test("are not acknowledged where the disk fails for one", async () => {
    const all = writeBeside(insert(1), refusedAlone("SQLITE_IOERR_WRITE"));
    syncs.shift()?.resolve();
    await nextTurn();
    expect(failure?.message).toBe("SQLITE_IOERR_WRITE");
    expect(await Promise.all(all.map(stateOf))).toEqual(["pending", "pending", "pending"]);
  });
});

describe("a listener", () => {
  test("joins those who listen already", () => {
    const told: string[] = [];
    for (const who of ["first", "second"]) {
      store.onTimed((what) => told.push(`${who}: ${what}`));
      store.onFull(() => told.push(`${who}: full`));
      store.onWritable(() => told.push(`${who}: recovered`));
    }
    store.write(refusedWith("SQLITE_FULL")).catch(() => {});
    commit();
    probes.shift()?.();
    const all = ["commit", "full", "recovered"].flatMap((what) => [`first: ${what}`, `second: ${what}`]);
    expect(told).toEqual(all);
  });
});

describe("work that nobody waits for", () => {
  test("is told of where it fails, by name", async () => {
    const error = new Error("no such row");
    store.unattended("fan-out", Promise.reject(error));
    store.unattended("release", Promise.resolve());
    await nextTurn();
    expect(reports).toEqual([{ work: "fan-out", error }]);
  });
});

describe("a database that somebody else writes to", () => {
  test("is tried again, and nothing is lost or refused", async () => {
    const other = new OtherDatabase(disk.path);
    disk.goLive();
    other.exec("BEGIN IMMEDIATE");
    const written = [1, 2, 3].map((id) => store.write(insert(id)));
    commit();
    expect(store.writable).toBe(true);
    expect(await stateOf(Promise.any(written))).toBe("pending");
    other.exec("ROLLBACK");
    other.close();
    probes.shift()?.();
    commit();
    syncs.shift()?.resolve();
    await Promise.all(written);
    expect([ids(), store.commits]).toEqual([[1, 2, 3], 1]);
    expect(failure).toBeNull();
  });
});

describe("a failing disk", () => {
  test("ends the service: a sync that failed acknowledges nothing, then or later", async () => {
    const first = store.write(insert(1));
    commit();
    syncs.shift()?.reject(new Error("EIO"));
    await nextTurn();
    expect(failure?.message).toBe("EIO");
    expect(await stateOf(first)).toBe("pending");
    expect(store.write(insert(2))).rejects.toMatchObject({ code: "unavailable" });
  });
});

describe("closing", () => {
  test("is not told of as silence of the disk", async () => {
    await store.close();
    void store.write(insert(1), true);
    await nextTurn();
    expect(store.silentMs).toBe(0);
  });

  test("writes what waits and nothing after it", async () => {
    const written = store.write(insert(1));
    const closed = store.close();
    commit();
    syncs.shift()?.resolve();
    await Promise.all([written, closed]);
    expect(store.write(insert(2))).rejects.toMatchObject({ code: "unavailable" });
    expect(ids()).toEqual([1]);
  });
});

/** The end of the process, for those who write (src/store/store.ts). */
import { expect, test } from "bun:test";
import { openMemory } from "../kit/memory.ts";
import { Store } from "../../src/store/store.ts";

function openStore() {
  const sqlite = openMemory();
  sqlite.exec("CREATE TABLE t (id INTEGER PRIMARY KEY)");
  const store = new Store(sqlite, {
    now: Date.now,
    schedule: setImmediate,
    beginShare: () => ({ isOver: false }),
    sync: () => Bun.sleep(1),
    later: (ms, next) => setTimeout(next, ms),
    fail: (error) => {
      throw error;
    },
    report: () => {},
  });
  const insert = (id: number) => () => sqlite.run("INSERT INTO t VALUES (?)", [id]);
  const ids = () => sqlite.query<{ id: number }, []>("SELECT id FROM t ORDER BY id").all();
  return { store, insert, ids };
}

test("whoever writes slice after slice does not hold up the end, nor is more taken meanwhile", async () => {
  const { store, insert, ids } = openStore();
  let slices = 0;
  let late = "pending";
  const writeOn = async () => {
    for (; ; slices++) await store.write(insert(slices), true);
  };
  void writeOn();
  const closed = store.close();
  void store.write(insert(1000), true).then(() => (late = "written"));
  expect(store.write(insert(1001))).rejects.toMatchObject({ code: "unavailable" });
  await closed;
  await Bun.sleep(5);
  expect([slices, late, ids()]).toEqual([1, "pending", [{ id: 0 }]]);
});

test("whoever tries again for as long as the store takes writes does not turn in circles at the end", async () => {
  const { store, insert, ids } = openStore();
  let tries = 0;
  // As the writer of fan-outs does: a slice that is refused is put back, and taken again.
  const writeOn = async () => {
    while (store.writable && tries < 100) {
      tries++;
      await store.write(insert(tries)).catch(() => {});
    }
  };
  const writing = writeOn();
  const closed = store.close();
  await Promise.all([writing, closed]);
  expect([tries, ids()]).toEqual([1, [{ id: 1 }]]);
});

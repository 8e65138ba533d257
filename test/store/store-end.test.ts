/** The end of the process, for those who write (src/store/store.ts). */
import { expect, test } from "bun:test";
import { openMemory } from "../kit/memory.ts";
import { Store } from "../../src/store/store.ts";

test("whoever writes slice after slice does not hold up the end, nor is more taken meanwhile", async () => {
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
  const rows = sqlite.query<{ id: number }, []>("SELECT id FROM t").all();
  expect([slices, late, rows]).toEqual([1, "pending", [{ id: 0 }]]);
});

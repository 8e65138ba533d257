/**
 * The index: hourly numbers are written down in parts, and a crash between two of them neither loses nor
 * doubles any.
 */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Disk, openDatabase } from "../../../src/store/database.ts";
import { Index } from "../../../src/store/index/index.ts";
import { Store } from "../../../src/store/store.ts";
import { storeParts } from "../../kit/store-parts.ts";

const AT = Date.UTC(2026, 10, 21);
const ENDPOINTS = 600;

let dir: string;
let disk: Disk;
let store: Store;
let index: Index;
/** Runs where the disk takes what was committed. */
let onSync: () => void;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "sealpost-index-"));
  disk = openDatabase(dir);
  // However slow the machine is: whoever looks on does so after each part.
  const beginShare = () => ({ isOver: false });
  onSync = () => {};
  const sync = () => {
    onSync();
    return disk.sync();
  };
  store = new Store(disk.sqlite, storeParts({ now: () => AT, beginShare, sync }));
  index = new Index(store);
});

afterEach(async () => {
  await store.close();
  disk.close();
  rmSync(dir, { recursive: true });
});

const count = (table: "stat" | "entry") =>
  disk.sqlite.query<{ count: number }, []>(`SELECT count(*) AS count FROM ${table}`).get()?.count;

const tallyOf = (endpointId: number) => ({
  endpointId,
  projectId: 1,
  at: AT,
  delivered: true,
  failed: false,
  dead: false,
  durationMs: 5,
});

test("numbers of very many endpoints go down in slices, and the mark passes them with the last", async () => {
  await store.write(() => {
    for (let endpoint = ENDPOINTS; endpoint > 0; endpoint--) index.countAttempt(7, tallyOf(endpoint));
  });
  const seen: string[] = [];
  // As a process would find it that starts here.
  onSync = () => {
    const { mark, cutOff } = index;
    const left = index.recentHoursOfProject(1).toArray().length;
    seen.push(`${count("stat")} and ${left}, ${cutOff ? `${cutOff.to} up to ${cutOff.endpointId}` : mark}`);
  };
  await index.writeDown();
  const slices = Array.from({ length: Math.ceil(ENDPOINTS / 64) - 1 }, (_, at) => (at + 1) * 64);
  const cut = slices.map((to) => `${to} and ${ENDPOINTS - to}, 7 up to ${to}`);
  expect([...new Set(seen)]).toEqual([...cut, `${ENDPOINTS} and 0, 7`]);
});

test("nothing is counted twice while the disk still takes what was written down", async () => {
  const hour = Math.floor(AT / 3_600_000);
  const shown = () =>
    [...index.hours.ofEndpoint(1, hour, hour + 1, 9), ...index.recentHours(1)].map(
      ([, { delivered }]) => delivered,
    );
  await store.write(() => index.countAttempt(store.takeKey(), tallyOf(1)));
  const seen: number[][] = [];
  onSync = () => void seen.push(shown());
  await index.writeDown();
  expect([...seen, shown()]).toEqual([[1], [1]]);
});

test("after a write that failed the next one writes all that was gathered", async () => {
  await store.write(() => index.add(store.takeKey(), [1]));
  disk.sqlite.exec("ALTER TABLE entry RENAME TO entry_elsewhere");
  expect(await index.writeDown().catch(String)).toContain("no such table");
  disk.sqlite.exec("ALTER TABLE entry_elsewhere RENAME TO entry");
  await store.write(() => index.add(store.takeKey(), [2]));
  await index.settle();
  expect([count("entry"), index.size]).toEqual([2, 0]);
});

test("a row that leaves before it is written down, or while it is, is in no list afterwards", async () => {
  const [list, other] = [7, 8];
  await store.write(() => {
    index.add(100, [list, other]);
    index.add(101, [list]);
    index.add(102, [list]);
  });
  await store.write(() => index.remove(list, 100));
  expect(index.below([list], 1000, 10)).toEqual([102, 101]);
  // It joins the transaction of the first slice, or of what follows it.
  const written = index.writeDown();
  const removed = store.write(() => index.remove(list, 101));
  await Promise.all([written, removed]);
  await index.settle();
  expect(index.below([list], 1000, 10)).toEqual([102]);
  expect(index.below([other], 1000, 10)).toEqual([100]);
});

test("whoever settles waits for a write-down that somebody else began", async () => {
  await store.write(() => index.add(100, [7]));
  void index.writeDown();
  const settled = [index.settle(), index.settle()];
  await Promise.all(settled);
  expect(count("entry")).toBe(1);
});

test("the key behind another one of a list is found where it is in memory, and where it is written down", async () => {
  const LIST = 7;
  await store.write(() => [10, 20, 30].forEach((key) => index.add(key, [LIST])));
  const behind = () => [0, 10, 29, 30].map((after) => index.next(LIST, after));
  expect(behind()).toEqual([10, 20, 30, null]);
  await index.settle();
  expect(behind()).toEqual([10, 20, 30, null]);
  await store.write(() => index.add(40, [LIST]));
  expect([index.next(LIST, 20), index.next(LIST, 30), index.next(8, 0)]).toEqual([30, 40, null]);
});

/** Who has the lease, for how long, and what whoever starts is to do. */
import { beforeEach, describe, expect, test } from "bun:test";
import { generationUrl, splitGeneration } from "../../src/replica/generations.ts";
import {
  adoptLease,
  findLease,
  HeldLease,
  type Lease,
  LEASE_FILE,
  LEASE_MS,
  readLease,
  roleOf,
  SILENCE_MS,
  type Succession,
  successionOf,
} from "../../src/replica/lease.ts";
import type { Objects, StoredObject } from "../../src/replica/objects.ts";

/** A store in memory that may be away, or lose an answer after it has written. */
class PlayedObjects implements Objects {
  readonly stored = new Map<string, StoredObject>();
  failure: "none" | "away" | "answer lost" = "none";
  #tags = 0;

  async read(name: string) {
    if (this.failure === "away") throw new Error("away");
    return this.stored.get(name) ?? null;
  }

  async write(name: string, text: string) {
    this.stored.set(name, { text, tag: String(++this.#tags) });
  }

  async replace(name: string, text: string, tag: string | null) {
    if (this.failure === "away") throw new Error("away");
    if ((this.stored.get(name)?.tag ?? null) !== tag) return null;
    await this.write(name, text);
    if (this.failure === "answer lost") throw new Error("no answer");
    return String(this.#tags);
  }

  async remove(name: string) {
    this.stored.delete(name);
  }

  async holdsAny(folder: string) {
    return [...this.stored.keys()].some((name) => name.startsWith(`${folder}/`));
  }
}

const LEASE: Lease = {
  installation: null,
  writer: "a",
  place: "here",
  holder: "run of a",
  host: "host-a",
  generation: 1,
  from: null,
  kept: null,
  key: "00000000",
  schema: 1,
  version: "1",
  txid: 0,
  start: 0,
  beat: 0,
  isOpen: false,
  ended: false,
  renewals: 0,
  at: "",
};

let objects: PlayedObjects;
let time = 0;
let wall = 0;
const lost: string[] = [];
const parts = {
  monotonic: () => time,
  now: () => wall,
  log: () => {},
  onLost: (error: Error) => lost.push(error.message),
};

beforeEach(() => {
  objects = new PlayedObjects();
  time = 1000;
  wall = 0;
  lost.length = 0;
});

async function hold(lease = LEASE, tag: string | null = null): Promise<HeldLease> {
  const held = new HeldLease(objects, lease, tag, parts);
  expect(await held.change()).toBe(true);
  await held.begin({ installation: "db", start: 1, beat: 1 });
  return held;
}

const stored = async () => (await findLease(objects))?.lease;

describe("a lease", () => {
  test("is held until its time is over since the last renewal began, and again after the next", async () => {
    const held = await hold();
    time += LEASE_MS - 1;
    expect(held.isHeld).toBe(true);
    time += 1;
    expect(held.isHeld).toBe(false);
    const waiting = held.untilHeld();
    expect(await held.change()).toBe(true);
    await waiting;
    expect(held.isHeld).toBe(true);
    expect(lost).toEqual([]);
  });

  test("is not held where the machine slept: its wall clock has gone on, and the other has not", async () => {
    const held = await hold();
    wall += LEASE_MS;
    expect(held.isHeld).toBe(false);
    await held.change();
    expect(held.isHeld).toBe(true);
    wall -= 3_600_000;
    expect(held.isHeld).toBe(true);
  });

  test("that is lost before the service has begun is told, and nothing waits for it", async () => {
    await (await hold()).rest();
    const adopted = await adoptLease(objects, { holder: "run of a", generation: 1 }, parts);
    await objects.write(
      LEASE_FILE,
      JSON.stringify({ ...LEASE, writer: "b", holder: "run of b", host: "host-b", generation: 2 }),
    );
    await adopted.begin({ installation: "db", start: 2, beat: 2 });
    expect(lost.join()).toContain("host-b");
  });

  test("is not renewed by a write whose answer is lost, and not lost by it either", async () => {
    const held = await hold();
    objects.failure = "answer lost";
    time += LEASE_MS;
    held.note({ txid: 7 });
    await expect(held.change()).rejects.toThrow("no answer");
    held.note({ txid: 8 });
    expect(held.isHeld).toBe(false);
    objects.failure = "none";
    expect(await held.change()).toBe(true);
    expect(held.isHeld).toBe(true);
    expect(await stored()).toMatchObject({ writer: "a", txid: 8 });
  });

  test("that another one took is lost for good, whatever the clock says", async () => {
    const held = await hold();
    const other = new HeldLease(
      objects,
      { ...LEASE, writer: "b", holder: "run of b", host: "host-b", generation: 2 },
      objects.stored.get(LEASE_FILE)?.tag ?? null,
      parts,
    );
    expect(await other.change()).toBe(true);
    expect(await held.change()).toBe(false);
    expect([held.isHeld, other.isHeld]).toEqual([false, true]);
    expect(lost.join()).toContain("host-b, generation 2");
    expect(await held.change({ ended: true })).toBe(false);
    expect(await stored()).toMatchObject({ writer: "b", ended: false });
  });

  test("of two that want it one has it, and each generation is taken once", async () => {
    const seen = objects.stored.get(LEASE_FILE)?.tag ?? null;
    const wants = ["b", "c", "d"].map(
      (holder) => new HeldLease(objects, { ...LEASE, holder, generation: 2 }, seen, parts),
    );
    const got = await Promise.all(wants.map((want) => want.change()));
    expect(got.filter(Boolean)).toHaveLength(1);
  });

  test("that is given up says so, is held no more, and what was noted is in it", async () => {
    const held = await hold();
    held.note({ txid: 9 });
    await held.end();
    expect(await stored()).toMatchObject({ ended: true, txid: 9, installation: "db", start: 1 });
    expect(held.isHeld).toBe(false);
  });

  test("of another run of the same directory, or of a copy of it, is not its own", async () => {
    const held = await hold();
    await objects.write(LEASE_FILE, JSON.stringify({ ...LEASE, holder: "run of a copy" }));
    expect(await held.change()).toBe(false);
    expect([held.isHeld, lost.length]).toEqual([false, 1]);
  });

  test("that a copy of this very process has renewed further is lost", async () => {
    const held = await hold();
    const { lease } = (await findLease(objects)) ?? {};
    await objects.write(LEASE_FILE, JSON.stringify({ ...lease, renewals: 100 }));
    expect(await held.change()).toBe(false);
  });

  test("that is no lease any more is lost", async () => {
    const held = await hold();
    await objects.write(LEASE_FILE, "garbage");
    expect(await held.change()).toBe(false);
    expect(lost.join()).toContain("no lease any more");
  });

  test("that is gone from the store is lost", async () => {
    const held = await hold();
    await objects.remove(LEASE_FILE);
    expect(await held.change()).toBe(false);
    expect(lost.join()).toContain("it is gone");
  });

  test("is adopted by the run and for the generation that it names, and by no other", async () => {
    await (await hold()).rest();
    const adopt = (holder: string, generation: number) =>
      adoptLease(objects, { holder, generation }, parts).catch(String);
    expect(await adopt("run of b", 1)).toContain("start with sealpost standby");
    expect(await adopt("run of a", 2)).toContain("start with sealpost standby");
    const adopted = await adopt("run of a", 1);
    expect(adopted).toBeInstanceOf(HeldLease);
    await (adopted as HeldLease).rest();
    await objects.remove(LEASE_FILE);
    expect(await adopt("run of a", 1)).toContain("not there");
  });

  test("what is none is none, and nobody goes on beside it", async () => {
    for (const text of ["", "null", "{}", "[]", '{"writer": 1, "generation": 1, "renewals": 1}'])
      expect(readLease(text)).toBeNull();
    await objects.write(LEASE_FILE, "{}");
    await expect(findLease(objects)).rejects.toThrow("does not hold a lease");
  });
});

describe("whoever starts, or waits", () => {
  const own = { writer: "a", place: "here", generation: 3, start: 5, beat: 50, copiedTo: 7 };
  const ours: NonNullable<Parameters<typeof roleOf>[0]> = {
    installation: "db",
    writer: "a",
    place: "here",
    generation: 3,
    from: null,
    kept: null,
    ended: false,
    start: 5,
    beat: 50,
    txid: 7,
  };
  const theirs = { ...ours, writer: "b", place: "there" };
  /** Of a copy of this directory, or of this one before its machine started anew. */
  const copys = { ...ours, place: "elsewhere" };
  const none = { ...own, generation: null };
  const as = (lease: typeof ours) => ({ lease, isLease: true });
  const placeless = { ...own, place: null };
  const cases: [what: string, role: string, ...Parameters<typeof roleOf>][] = [
    ["where there is no lease begins", "begin", null, own, "still"],
    ["with the lease and its database goes on", "resume", ours, own, "still"],
    ["also where it has ended", "resume", { ...ours, ended: true }, own, "still"],
    ["also where it has written more than the replica has", "resume", ours, { ...own, beat: 51 }, "still"],
    [
      "with the lease and a database of an earlier generation restores",
      "take",
      ours,
      { ...own, generation: 2 },
      "still",
    ],
    ["with the lease and no database restores", "take", ours, { ...own, generation: null }, "still"],
    [
      "with an older copy of the disk, of an earlier start, restores",
      "take",
      ours,
      { ...own, start: 4 },
      "still",
    ],
    ["… of an earlier beat", "take", ours, { ...own, beat: 49 }, "still"],
    [
      "whose very first start was cut off begins again",
      "resume",
      { ...ours, installation: null },
      { ...own, generation: null },
      "still",
    ],
    [
      "that was to go on from its own earlier database, and was cut off, does",
      "resume",
      { ...ours, from: 0 },
      { ...own, generation: 0 },
      "still",
    ],
    [
      "… also from one of another generation than the one that could be restored",
      "resume",
      { ...ours, from: 2, kept: 1 },
      { ...own, generation: 1 },
      "still",
    ],
    [
      "that was to restore, and was cut off, restores",
      "take",
      { ...ours, from: 2 },
      { ...own, generation: null },
      "still",
    ],
    ["beside another one follows", "follow", theirs, own, "still"],
    ["takes the lease of one that is silent", "take", theirs, own, "silent"],
    ["that has seen it change follows", "follow", theirs, own, "changing"],
    ["with a copy of the directory that has the lease waits", "wait", copys, own, "still"],
    ["… and follows it where it lives", "follow", copys, own, "changing"],
    ["… and goes on in its place where it is silent", "resume", copys, own, "silent"],
    ["… or has given it up", "resume", { ...copys, ended: true }, own, "still"],
    [
      "… with a database of an earlier generation restores",
      "take",
      copys,
      { ...own, generation: 2 },
      "silent",
    ],
    [
      "… with a copy of the same beat that lacks the last uploads restores",
      "take",
      copys,
      { ...own, copiedTo: 6 },
      "silent",
    ],
    ["waits for nothing of that at its own place", "resume", ours, { ...own, copiedTo: 0 }, "still"],
    ["with a copy and no database waits too", "wait", copys, { ...own, generation: null }, "still"],
    ["waits where no place can be told", "wait", { ...ours, place: null }, placeless, "still"],
    ["takes it at once where it was given up", "take", { ...theirs, ended: true }, own, "still"],
  ];
  for (const [what, role, ...given] of cases)
    test(what, () => {
      expect(roleOf(...given)).toBe(role as "begin");
    });

  const generations: [what: string, next: Succession, ...Parameters<typeof successionOf>][] = [
    ["of the first lease is the first", { generation: 1, from: null, kept: null }, "begin", null, none],
    [
      "of the first lease over a database is the first, and that is kept",
      { generation: 1, from: 0, kept: 0 },
      "begin",
      null,
      { ...own, generation: 0 },
    ],
    ["at its own place goes on", { generation: 3, from: null, kept: 3 }, "resume", as(ours), own],
    [
      "at its own place goes on where it is not whole yet",
      { generation: 3, from: 2, kept: 1 },
      "resume",
      as({ ...ours, from: 2, kept: 1 }),
      { ...own, generation: 1 },
    ],
    [
      "that was given up goes on at another place",
      { generation: 3, from: null, kept: 3 },
      "resume",
      as({ ...copys, ended: true }),
      own,
    ],
    [
      "of a silent copy is followed by the next",
      { generation: 4, from: 3, kept: 3 },
      "resume",
      as(copys),
      own,
    ],
    [
      "of a silent copy that is not whole is not what is restored",
      { generation: 4, from: 2, kept: 3 },
      "resume",
      as({ ...copys, from: 2 }),
      own,
    ],
    [
      "of a silent copy that never began has nothing to restore",
      { generation: 4, from: null, kept: null },
      "resume",
      as({ ...copys, installation: null }),
      none,
    ],
    ["of another machine is restored", { generation: 4, from: 3, kept: null }, "take", as(theirs), none],
    [
      "of a service that ran alone is kept, whatever it was",
      { generation: 1, from: 0, kept: 0 },
      "resume",
      { lease: { ...ours, generation: 0, ended: true }, isLease: false },
      { ...own, generation: 0 },
    ],
  ];
  for (const [what, next, ...given] of generations)
    test(`generation: one ${what}`, () => {
      expect(successionOf(...given)).toEqual(next);
    });

  test("the silence is longer than a lease by clocks that differ by a quarter", () => {
    expect(SILENCE_MS).toBeGreaterThan(LEASE_MS * 1.25);
  });
});

describe("a generation's path", () => {
  const urls = ["file:///a/b", "s3://bucket/path?region=x&endpoint=http://h:1/", "s3://bucket"];
  test("leads back to the replica and its number", () => {
    for (const url of urls)
      for (const generation of [1, 42, 99_999_999])
        expect(splitGeneration(generationUrl(url, generation))).toEqual({ base: url, generation });
    expect(generationUrl("s3://bucket/path?region=x", 7)).toBe(
      "s3://bucket/path/generations/00000007?region=x",
    );
  });

  test("of 0 is the replica's own", () => {
    for (const url of urls) {
      expect(generationUrl(url, 0)).toBe(url);
      expect(splitGeneration(url)).toBeNull();
    }
  });
});

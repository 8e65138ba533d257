/** Who has the lease, and for how long. */
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

  test("tells how far the source is until its own generation is whole, and of that from then on", async () => {
    const held = await hold({ ...LEASE, generation: 2, from: 1, txid: 70 });
    await held.change();
    expect(await stored()).toMatchObject({ from: 1, txid: 70 });
    expect(await held.reached(3)).toBe(true);
    expect(await stored()).toMatchObject({ from: null, txid: 3 });
    expect(await held.reached(4)).toBe(true);
    await held.change();
    expect(await stored()).toMatchObject({ from: null, txid: 4 });
  });

  test("whose take-over has failed is given up as it was taken", async () => {
    const held = await hold({ ...LEASE, generation: 2, from: 1, txid: 70 });
    await held.end();
    expect(await stored()).toMatchObject({ ended: true, generation: 2, from: 1, txid: 70 });
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

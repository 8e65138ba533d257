/**
 * Who may write to a replica, and what is seen of one that is late, gone or somebody else's: with a
 * Litestream of our own making.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readMark } from "../../src/replica/mark.ts";
import { findReplica } from "../../src/replica/find-replica.ts";
import type { Replica, ReplicaState } from "../../src/replica/replica.ts";
import { type FakeLitestream, Home, Writer } from "./kit.ts";

const MINUTE_MS = 60_000;
let place: Home;
let home = "";
let dir = "";
let env: Home["env"];
let control: FakeLitestream;
const begun: (() => Promise<void>)[] = [];

beforeEach(() => {
  place = new Home();
  ({ path: home, dir, env, control } = place);
});

afterEach(async () => {
  for (const stop of begun.splice(0)) await stop();
  await place.remove();
});

/** As another service does that goes on in this one's place. */
const takeOver = () =>
  writeFileSync(markPath(), JSON.stringify({ ...mark(), writer: "other", start: 2, at: "now" }));
/** From now on the mark cannot be read. Answers what ends that. */
function breakMark(): () => void {
  const text = readFileSync(markPath(), "utf8");
  rmSync(markPath());
  mkdirSync(markPath());
  return () => {
    rmSync(markPath(), { recursive: true });
    writeFileSync(markPath(), text);
  };
}

const markPath = () => join(home, "replica/sealpost-writer.json");
const mark = () => readMark(readFileSync(markPath(), "utf8"));

async function open(): Promise<Replica> {
  const found = await findReplica(dir, env, new Writer().holder);
  if (found === null) throw new Error("no replica");
  return found;
}

async function begin(writer = new Writer()): Promise<{ replica: Replica; writer: Writer }> {
  control.listen(join(dir, "sealpost.db"));
  const replica = await open();
  await replica.hold();
  await replica.claim(writer.identity, writer.parts);
  await replica.begin(writer.parts);
  begun.push(() => replica.stop(writer.parts));
  return { replica, writer };
}

describe("a start", () => {
  test("uploads nothing before it has looked at the mark, and marks the replica then", async () => {
    const { replica, writer } = await begin();
    expect(control.asked).toEqual(["/list", "/stop", "/start"]);
    expect(mark()).toMatchObject({ installation: "db", start: 1, ended: false });
    await replica.stop(writer.parts);
    expect(mark()).toMatchObject({ start: 1, ended: true });
  });

  test("goes on at once where it was this directory that wrote last, however it ended", async () => {
    const { writer } = await begin();
    await control.die();
    await begin(writer);
    expect(mark()).toMatchObject({ start: 2 });
  });

  test("of a copy of the database that is behind the replica is refused, and nothing is uploaded", async () => {
    const { replica, writer } = await begin();
    await replica.look(writer.parts);
    await control.die();
    control.asked.length = 0;
    const old = new Writer();
    old.identity = { installation: "db", start: 1, beat: 1 };
    await expect(begin(old)).rejects.toThrow(/after the database of this directory was/);
    expect(control.asked).toEqual(["/list", "/stop"]);
  });

  test("where the mark cannot be read goes on, and says so", async () => {
    mkdirSync(join(home, "replica/sealpost-writer.json"), { recursive: true });
    const { replica, writer } = await begin();
    expect(writer.lines).toEqual([expect.stringContaining("error the replica cannot be marked")]);
    expect(replica.report(writer.time).isMarked).toBe(false);
  });

  test("takes no silence for one where the mark can be read no more", async () => {
    const { replica, writer } = await begin();
    await replica.stop(writer.parts);
    await control.die();
    writeFileSync(markPath(), JSON.stringify({ ...mark(), writer: "other", ended: false }));
    const next = new Writer();
    next.identity = { installation: "db", start: 1, beat: 30 };
    next.parts.monotonic = () => {
      if (next.time === 0) breakMark();
      return (next.time += 10_000);
    };
    await expect(begin(next)).rejects.toThrow(/mark cannot be read/);
  });

  test("says where this kind of replica cannot be marked", async () => {
    env = { LITESTREAM_REPLICA_URL: "gs://bucket/path" };
    const { writer } = await begin();
    expect(writer.lines).toEqual([expect.stringContaining("warn This kind of replica cannot be marked")]);
  });
});

describe("while it runs", () => {
  test("the mark holds the beat that the replica has for certain, not a later one", async () => {
    const { replica, writer } = await begin();
    await replica.look(writer.parts);
    expect(mark()?.beat).toBe(writer.identity.beat);
    const before = writer.identity.beat;
    control.failure = "bucket is gone";
    await replica.look(writer.parts);
    expect(writer.identity.beat).toBe(before + 1);
    expect(mark()?.beat).toBe(before);
  });

  test("Litestream that dies is told once, and once that it is back", async () => {
    const { replica, writer } = await begin();
    await replica.look(writer.parts);
    await control.die();
    for (let look = 0; look < 3; look++) await replica.look(writer.parts);
    expect(replica.report(writer.time).state).toBe("gone");
    control.listen(join(dir, "sealpost.db"));
    await replica.look(writer.parts);
    expect(replica.report(writer.time).state).toBe("written");
    expect(writer.lines).toEqual([
      expect.stringContaining("error Litestream is gone"),
      expect.stringContaining("info the replica is up to date again"),
    ]);
  });

  test("a replica that takes nothing grows old, and is told once it is late", async () => {
    const { replica, writer } = await begin();
    await replica.look(writer.parts);
    control.failure = "bucket is gone";
    writer.time += MINUTE_MS / 2;
    await replica.look(writer.parts);
    expect(writer.lines).toEqual([]);
    writer.time += MINUTE_MS / 2;
    for (let look = 0; look < 2; look++) await replica.look(writer.parts);
    expect(writer.lines).toEqual([expect.stringContaining("error the replica is late")]);
    expect(replica.report(writer.time)).toMatchObject({ ageSeconds: 60, state: "late" });
    control.failure = null;
    await replica.look(writer.parts);
    expect(replica.report(writer.time).ageSeconds).toBe(0);
  });

  test("a replica that is late is told of, although the clock is set back by a day", async () => {
    const { replica, writer } = await begin();
    await replica.look(writer.parts);
    control.failure = "bucket is gone";
    writer.wall -= 24 * 60 * MINUTE_MS;
    writer.time += MINUTE_MS;
    await replica.look(writer.parts);
    expect(writer.lines).toEqual([expect.stringContaining("error the replica is late")]);
    expect(replica.report(writer.time).ageSeconds).toBe(60);
  });

  test("another writer that is found is told, the upload stops, and its mark stays", async () => {
    const { replica, writer } = await begin();
    takeOver();
    const other = mark();
    await replica.look(writer.parts);
    expect(control.uploads).toBe(0);
    expect(replica.report(writer.time).state).toBe("contested");
    expect(writer.lines).toEqual([expect.stringContaining("error another service writes to the replica")]);
    expect(control.asked.at(-1)).toBe("/stop");
    await replica.stop(writer.parts);
    expect(mark()).toEqual(other);
  });

  test("a lease that stands beside the mark is a standby's that went on in its place", async () => {
    const { replica, writer } = await begin();
    const lease = {
      ...mark(),
      holder: "h",
      generation: 1,
      from: 0,
      txid: 0,
      renewals: 1,
      key: "",
      schema: 1,
    };
    writeFileSync(join(home, "replica/sealpost-lease.json"), JSON.stringify(lease));
    await replica.look(writer.parts);
    expect(control.uploads).toBe(0);
    expect(replica.report(writer.time).state).toBe("contested");
  });

  test("another writer's mark stays where this one stops and has not seen it yet", async () => {
    const { replica, writer } = await begin();
    takeOver();
    const other = mark();
    await replica.stop(writer.parts);
    expect(mark()).toEqual(other);
    expect([replica.report(writer.time).state, control.asked.at(-1)]).toEqual(["contested", "/stop"]);
  });

  test("another writer's mark stays where it is written while an upload runs", async () => {
    const { replica, writer } = await begin();
    const end = Promise.withResolvers<void>();
    control.upload = end.promise;
    const looked = replica.look(writer.parts);
    await control.heard("/sync", 1);
    takeOver();
    const other = mark();
    end.resolve();
    await looked;
    expect(mark()).toEqual(other);
  });
});

describe("what the replica confirms", () => {
  test("is what was there when an upload began; whoever comes during one shares the next", async () => {
    const { replica } = await begin();
    const order: string[] = [];
    const ask = (name: string) => replica.untilWritten().then(() => order.push(name));
    let end = Promise.withResolvers<void>();
    control.upload = end.promise;
    const first = ask("first");
    await control.heard("/sync", 1);
    const others = ["a", "b", "c"].map(ask);
    const ended = end;
    control.upload = (end = Promise.withResolvers<void>()).promise;
    ended.resolve();
    await first;
    await control.heard("/sync", 2);
    expect(order).toEqual(["first"]);
    end.resolve();
    await Promise.all(others);
    expect([order, control.uploads]).toEqual([["first", "a", "b", "c"], 2]);
  });

  test("after an upload that failed is what the next good one brings; until then nothing is let in", async () => {
    const { replica, writer } = await begin();
    expect(replica.obstacle(writer.time)).toBeNull();
    control.failure = "bucket is gone";
    let isConfirmed = false;
    const confirmed = replica.untilWritten().then(() => (isConfirmed = true));
    await replica.look(writer.parts);
    expect([isConfirmed, replica.obstacle(writer.time)]).toEqual([false, expect.stringContaining("failed")]);
    control.failure = null;
    await replica.look(writer.parts);
    await confirmed;
    expect(replica.obstacle(writer.time)).toBeNull();
  });

  test("is nothing more while an upload does not end, and once Litestream is gone", async () => {
    const { replica, writer } = await begin();
    const end = Promise.withResolvers<void>();
    control.upload = end.promise;
    const confirmed = replica.untilWritten();
    await control.heard("/sync", 1);
    writer.time += 5000;
    expect(replica.obstacle(writer.time)).toBeNull();
    writer.time += 1;
    expect(replica.obstacle(writer.time)).toContain("does not answer");
    end.resolve();
    await confirmed;
    await replica.look(writer.parts);
    expect(replica.obstacle(writer.time)).toBeNull();
    await control.die();
    await replica.look(writer.parts);
    expect(replica.obstacle(writer.time)).toContain("gone");
  });

  test("is nothing where the process stood still and another one writes by now", async () => {
    const { replica, writer } = await begin();
    await replica.look(writer.parts);
    takeOver();
    writer.time += 15_000;
    await expectNothingConfirmed({ replica, writer });
  });
});

/** The next upload finds the other's mark: nothing is uploaded or confirmed, and Litestream is stopped. */
async function expectNothingConfirmed({ replica, writer }: Awaited<ReturnType<typeof begin>>): Promise<void> {
  const before = control.uploads;
  let isConfirmed = false;
  void replica.untilWritten().then(() => (isConfirmed = true));
  await control.heard("/stop", 2);
  expect([isConfirmed, control.uploads]).toEqual([false, before]);
  expect(replica.obstacle(writer.time)).toContain("Another service");
}

test("a database that is another's by now is stopped without an upload", async () => {
  const { replica, writer } = await begin();
  await replica.look(writer.parts);
  takeOver();
  const before = control.uploads;
  await replica.look(writer.parts);
  expect(control.asked.slice(-2)).toEqual(["/stop", "/list"]);
  expect(control.uploads).toBe(before);
});

describe("a store that was lost for as long as a successor waits", () => {
  test("and is another's by then confirms nothing when it is back", async () => {
    const { replica, writer } = await begin();
    await replica.look(writer.parts);
    const heal = breakMark();
    control.failure = "no route to the bucket";
    for (let look = 0; look < 4; look++) {
      writer.time += 5000;
      await replica.look(writer.parts);
    }
    heal();
    control.failure = null;
    takeOver();
    await expectNothingConfirmed({ replica, writer });
  });

  test("is not uploaded to while its mark cannot be read, and is again once it can", async () => {
    const { replica, writer } = await begin();
    await replica.look(writer.parts);
    const heal = breakMark();
    writer.time += 15_000;
    const before = control.uploads;
    await replica.look(writer.parts);
    expect(control.uploads).toBe(before);
    expect(replica.obstacle(writer.time)).toContain("failed");
    heal();
    await replica.look(writer.parts);
    expect(control.uploads).toBe(before + 1);
    expect(replica.obstacle(writer.time)).toBeNull();
  });

  test("confirms nothing by an upload that began before and ends after", async () => {
    const { replica, writer } = await begin();
    await replica.look(writer.parts);
    const end = Promise.withResolvers<void>();
    control.upload = end.promise;
    const before = control.uploads;
    let isConfirmed = false;
    void replica.untilWritten().then(() => (isConfirmed = true));
    await control.heard("/sync", before + 1);
    takeOver();
    writer.time += 15_000;
    end.resolve();
    await control.heard("/stop", 2);
    expect(isConfirmed).toBe(false);
  });
});

test("a replica that is ahead of the database confirms nothing: Litestream has uploaded nothing", async () => {
  const { replica, writer } = await begin();
  control.txids = { txid: 5, replicated_txid: 7 };
  await replica.look(writer.parts);
  expect(replica.obstacle(writer.time)).toContain("failed");
});

describe("every event in every state", () => {
  type Stage = Awaited<ReturnType<typeof begin>>;
  const look = ({ replica, writer }: Stage) => replica.look(writer.parts);
  const refuse = (stage: Stage, ms: number) => {
    control.failure = "bucket is gone";
    stage.writer.time += ms;
    return look(stage);
  };
  const events = {
    async "a good sync"(stage: Stage) {
      control.failure = null;
      await control.die();
      control.listen(join(dir, "sealpost.db"));
      await look(stage);
    },
    async "a sync that is refused"(stage: Stage) {
      await control.die();
      control.listen(join(dir, "sealpost.db"));
      await refuse(stage, 0);
    },
    async "refusals for a minute"(stage: Stage) {
      await control.die();
      control.listen(join(dir, "sealpost.db"));
      await refuse(stage, MINUTE_MS);
    },
    async "Litestream's end"(stage: Stage) {
      await control.die();
      await look(stage);
    },
    async "another writer's mark"(stage: Stage) {
      takeOver();
      await look(stage);
    },
    stop: ({ replica, writer }: Stage) => replica.stop(writer.parts),
  };
  type Event = keyof typeof events;
  const wayTo: Partial<Record<ReplicaState, Event>> = {
    written: "a good sync",
    late: "refusals for a minute",
    gone: "Litestream's end",
    contested: "another writer's mark",
    stopped: "stop",
  };
  const after: Record<Event, Record<string, ReplicaState>> = {
    "a good sync": { written: "written", late: "written", gone: "written" },
    "a sync that is refused": { written: "written", late: "late", gone: "late" },
    "refusals for a minute": { written: "late", late: "late", gone: "late" },
    "Litestream's end": { written: "gone", late: "gone", gone: "gone" },
    "another writer's mark": { written: "contested", late: "contested", gone: "contested" },
    stop: { written: "stopped", late: "stopped", gone: "stopped" },
  };
  for (const [from, way] of Object.entries(wayTo))
    test(from, async () => {
      for (const [event, next] of Object.entries(after)) {
        const stage = await begin();
        await events[way](stage);
        expect(stage.replica.report(0).state).toBe(from as ReplicaState);
        await events[event as Event](stage);
        // What has ended stays so.
        expect([event, stage.replica.report(0).state]).toEqual([event, next[from] ?? (from as ReplicaState)]);
        await stage.replica.stop(stage.writer.parts);
        await control.die();
        control.failure = null;
        rmSync(join(home, "replica"), { recursive: true });
      }
    });

  test("held, until it begins", async () => {
    control.listen(join(dir, "sealpost.db"));
    expect((await open()).report(0).state).toBe("held");
  });
});

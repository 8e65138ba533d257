/** The WAL is copied while uploads hang or fail: with a Litestream of our own making. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findReplica } from "../../src/replica/find-replica.ts";
import type { Replica } from "../../src/replica/replica.ts";
import { type FakeLitestream, Home, Writer } from "./kit.ts";

/** A good upload begins every second. */
const LATE_MS = 2000;
/** A successor may write by then. */
const SILENCE_MS = 15_000;

let place: Home;
let home = "";
let control: FakeLitestream;
let stop: () => Promise<void>;

beforeEach(() => {
  place = new Home();
  ({ path: home, control } = place);
});

afterEach(async () => {
  await stop();
  await place.remove();
});

interface Stage {
  replica: Replica;
  writer: Writer;
}

async function begin(): Promise<Stage> {
  const writer = new Writer();
  control.listen(join(home, "data/sealpost.db"));
  const replica = await findReplica(place.dir, place.env, writer.holder);
  if (replica === null) throw new Error("no replica");
  await replica.hold();
  await replica.claim(writer.identity, writer.parts);
  await replica.begin(writer.parts);
  stop = () => replica.stop(writer.parts);
  await replica.look(writer.parts);
  return { replica, writer };
}

const markPath = () => join(home, "replica/sealpost-writer.json");

/** From now on the mark cannot be read, for as long as a successor waits. Answers what ends that. */
function loseMark({ writer }: Stage): () => void {
  renameSync(markPath(), `${markPath()}.kept`);
  mkdirSync(markPath());
  writer.time += SILENCE_MS;
  return () => {
    rmSync(markPath(), { recursive: true });
    renameSync(`${markPath()}.kept`, markPath());
  };
}

/** One is made, at this look or, where one ran already, at the next. */
async function expectCopy({ replica, writer }: Stage): Promise<void> {
  const copied = control.heard("/copy", control.copies + 1);
  await replica.copyIfLate(writer.parts);
  await copied;
}

async function expectNoCopy({ replica, writer }: Stage): Promise<void> {
  const before = control.copies;
  await replica.copyIfLate(writer.parts);
  expect(control.copies).toBe(before);
}

/** Litestream has copied what the replica lacks. */
async function fallBehind(stage: Stage): Promise<void> {
  control.txids = { txid: 5, replicated_txid: 4 };
  stage.writer.time += LATE_MS;
  await expectCopy(stage);
}

test("a copy is made once a second, which confirms nothing", async () => {
  const stage = await begin();
  const { replica, writer } = stage;
  await expectNoCopy(stage);
  const end = Promise.withResolvers<void>();
  const before = control.uploads;
  control.upload = end.promise;
  let isConfirmed = false;
  const confirmed = replica.untilWritten().then(() => (isConfirmed = true));
  await control.heard("/sync", before + 1);
  writer.time += LATE_MS;
  await control.heard("/copy", 2);
  expect([isConfirmed, control.uploads]).toEqual([false, before + 1]);
  end.resolve();
  await confirmed;
});

describe("where another one may write by now", () => {
  test("nothing is copied, as Litestream would upload it", async () => {
    const stage = await begin();
    loseMark(stage);
    await expectNoCopy(stage);
  });

  test("copies go on where Litestream has something to upload anyway, until that is done", async () => {
    const stage = await begin();
    await fallBehind(stage);
    const find = loseMark(stage);
    await expectCopy(stage);
    find();
    control.txids = { txid: 5, replicated_txid: 5 };
    await stage.replica.look(stage.writer.parts);
    loseMark(stage);
    await expectNoCopy(stage);
  });

  test("another Litestream has nothing to upload yet", async () => {
    const stage = await begin();
    await fallBehind(stage);
    loseMark(stage);
    await control.die();
    await stage.replica.copyIfLate(stage.writer.parts);
    control.listen(join(home, "data/sealpost.db"));
    await expectNoCopy(stage);
  });
});

test.each(["another one is found", "this one has stopped"])("none is made once %s", async (end) => {
  const stage = await begin();
  const { replica, writer } = stage;
  await fallBehind(stage);
  if (end === "this one has stopped") await replica.stop(writer.parts);
  else writeFileSync(markPath(), JSON.stringify({ installation: "db", writer: "other", start: 2, beat: 9 }));
  await replica.look(writer.parts);
  writer.time += LATE_MS;
  await expectNoCopy(stage);
});

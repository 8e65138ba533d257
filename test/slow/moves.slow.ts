// time budget: 600 s
/**
 * Accounts move from one cell to another under load, by the real Litestream: whoever is killed on the way,
 * one cell owns them in the end, and nothing is lost or sent twice.
 */
import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import page from "../../src/docs/cells.md" with { type: "text" };
import { dirname, join } from "node:path";
import { audit } from "../durability/audit.ts";
import { settleBooks } from "../durability/books.ts";
import { Grounds } from "../durability/grounds.ts";
import { type Places, SERVICE_ENV } from "../durability/machine.ts";
import { publish, startPair } from "../durability/pair.ts";
import { Publishers } from "../durability/publishers.ts";
import { addEndpoint, clientOf, prepareLoad } from "../durability/setup.ts";
import { Client } from "../kit/app.ts";
import { CONFIG, killAllOf, Replicated, replicateCommand } from "../kit/litestream.ts";
import { createTenant, OPERATOR_TOKEN } from "../kit/operator.ts";
import { type Recorder, startRecorder } from "../kit/recorder.ts";
import { freePorts } from "../kit/real-server.ts";
import { runService, Service } from "../kit/service.ts";
import { readBlocks } from "../readme/blocks.ts";

const MAIN = join(import.meta.dir, "../../src/main.ts");
const [OLD, NEW, THIRD] = ["1A", "2B", "3C"] as const;

const grounds = new Grounds("moves");
const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one[Symbol.asyncDispose]();
});

function kept<T extends AsyncDisposable>(one: T): T {
  open.push(one);
  return one;
}

function envOf(cell: string, { env }: Pick<Places, "env">): Record<string, string> {
  const path = `${dirname(grounds.litestream)}:${process.env["PATH"] ?? ""}`;
  const own = { SEALPOST_CELL: cell, SEALPOST_OPERATOR_TOKEN: OPERATOR_TOKEN, LITESTREAM_CONFIG: CONFIG };
  return { ...SERVICE_ENV, ...own, SEALPOST_LOG_LEVEL: "info", PATH: path, ...env };
}

/** Waits for accounts, and becomes the service under Litestream once it has them. */
function takerCommand(from: string): string[] {
  const words = replicateCommand(grounds.litestream).map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
  return [
    "sh",
    "-c",
    `mkdir -p "$SEALPOST_DATA_DIR" && '${process.execPath}' '${MAIN}' cells take --from '${from}' && exec ${words.join(" ")}`,
  ];
}

/** What follows for it would outlive a kill of its parents. */
function keepTaker(taker: Service): void {
  kept(new Replicated(taker));
  kept({
    async [Symbol.asyncDispose]() {
      killAllOf(taker.dataDir);
    },
  });
}

/** A move that is prepared: of an account under load, from the old cell to the new one, which waits. */
interface Cells {
  old: Replicated;
  new: Service;
  /** The characters of the two. */
  from: string;
  to: string;
  /** Where the old one has its replica, and where the new one will have its own. */
  fromReplica: string;
  replica: string;
  account: string;
  /** The file that lists all cells, and what stands in it. */
  list: string;
  listed: readonly { cell: string; machines: string[] }[];
  recorder: Recorder;
  publishers: Publishers;
}

/** Waits as the cell `cell` for accounts of that with the replica `from`; answers where its own will be. */
function startTaker(cell: string, from: string): { taker: Service; replica: string } {
  const to = grounds.inBucket();
  const taker = new Service({ command: takerCommand(from), env: envOf(cell, to) });
  keepTaker(taker);
  return { taker, replica: to.env["LITESTREAM_REPLICA_URL"] ?? "" };
}

const rowOf = (cell: string, { url }: Service) => ({ cell, machines: [new URL(url).host] });

function writeList(listed: Cells["listed"]): string {
  const list = join(grounds.home, `cells-${listed.map(({ machines }) => machines.join()).join("-")}.json`);
  writeFileSync(list, JSON.stringify({ cells: listed }));
  return list;
}

/** The old cell with an account under load; the new one waits. */
async function startCells(): Promise<Cells> {
  const from = grounds.inBucket();
  const recorder = kept(await startRecorder());
  const service = new Service({ command: replicateCommand(grounds.litestream), env: envOf(OLD, from) });
  const old = kept(new Replicated(service));
  await service.ready();
  const tenant = await createTenant(service, { name: "leaves", plan: "pro" });
  service.keys = tenant.keys;
  const target = await prepareLoad(service, recorder);
  const fromReplica = from.env["LITESTREAM_REPLICA_URL"] ?? "";
  const { taker, replica } = startTaker(NEW, fromReplica);
  const publishers = new Publishers(target);
  kept({ [Symbol.asyncDispose]: () => publishers.abandon() });
  const listed = [rowOf(OLD, service), rowOf(NEW, taker)];
  taker.keys = tenant.keys;
  await publishers.whenAcknowledged(500);
  const list = writeList(listed);
  const cells = { old, new: taker, from: OLD, to: NEW, fromReplica, replica, list, listed };
  await untilWaiting(cells);
  return { ...cells, account: tenant.id, recorder, publishers };
}

/** The account has moved, and that cell is the old one of a third, which waits. */
async function startCellsOnceMoved(): Promise<Cells> {
  const before = await startCells();
  expect((await move(before)).exitCode).toBe(0);
  const { taker, replica } = startTaker(THIRD, before.replica);
  taker.keys = before.new.keys;
  const listed = [...before.listed, rowOf(THIRD, taker)];
  const old = new Replicated(before.new);
  const replicas = { fromReplica: before.replica, replica };
  const own = { old, new: taker, from: NEW, to: THIRD, listed, list: writeList(listed) };
  const cells = { ...before, ...replicas, ...own };
  await untilWaiting(cells);
  await before.publishers.whenAcknowledged(500);
  return cells;
}

/** Where the move starts that is killed on its way. */
const STARTS = { "its first cell": startCells, "a cell that it has moved into": startCellsOnceMoved };
type Start = keyof typeof STARTS;

/** It ends by itself, however long a busy machine takes. */
async function move({ account, to, list }: Pick<Cells, "account" | "to" | "list">) {
  const child = Bun.spawn([process.execPath, MAIN, "cells", "move", account, "--to", to, list], {
    env: { SEALPOST_OPERATOR_TOKEN: OPERATOR_TOKEN },
    stdout: "pipe",
    stderr: "pipe",
  });
  const printed = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { exitCode: await child.exited, output: printed.join("") };
}

/** Until it waits for accounts, with a copy. */
async function untilWaiting({ new: { url }, to }: Pick<Cells, "new" | "to">): Promise<void> {
  for (;;) {
    const answer = await fetch(`${url}/readyz`).catch(() => null);
    const said = (await answer?.json().catch(() => null)) as Record<string, unknown> | null;
    if (said?.["waits_for_accounts_as"] === to && typeof said["installation"] === "string") return;
    await Bun.sleep(20);
  }
}

/** The cells of the list in which an account says that it lives. */
async function homesOf({ listed, account }: Pick<Cells, "listed" | "account">): Promise<string[]> {
  const asked = listed.flatMap(({ cell, machines }) =>
    machines.map(async (machine) => {
      const operator = new Client({ url: `http://${machine}` }, OPERATOR_TOKEN);
      const { status, json } = await operator.get(`/v1/operator/accounts/${account}`);
      return status === 200 && json["moved_to"] === null ? [cell] : [];
    }),
  );
  return (await Promise.all(asked.map((one) => one.catch(() => [])))).flat();
}

const cellOf = (id: unknown) => String(id).split("_")[1]?.slice(10, 12) ?? "";

describe("an account under load", () => {
  test("moves with all that it has; nothing is lost, and nothing sent twice", async () => {
    const cells = await startCells();
    const { old, publishers, recorder } = cells;
    const stays = await createTenant(old.service, { name: "stays", plan: "pro" });
    const link = await clientOf(old.service).create("/v1/portal-links", { consumer_id: "c_1" });
    const poll = await clientOf(old.service).create("/v1/endpoints", {
      kind: "poll",
      event_types: ["x.y"],
    });
    const { exitCode, output } = await move(cells);
    console.log(output.trim());
    expect([exitCode, output]).toEqual([0, expect.stringContaining("moved from cell 1A to cell 2B")]);
    await publishers.whenAcknowledged(500);
    await publishers.finish();
    expect(await homesOf(cells)).toEqual([NEW]);
    expect(audit(await settleBooks(cells.new, recorder, publishers), [])).toEqual([]);

    // By the old cell still, with keys, links and ids of before.
    const client = clientOf(old.service);
    const first = publishers.acknowledged[0]?.ids[0] ?? "";
    expect((await client.get(`/v1/events/${first}`)).json["id"]).toBe(first);
    const published = await client.post("/v1/events", { type: "x.y", data: {} });
    expect([published.status, cellOf(published.json["id"]), cellOf(first)]).toEqual([202, NEW, OLD]);
    const token = new URL(String(link["url"])).hash.slice(1);
    expect((await new Client(old.service, token).get("/v1/endpoints")).status).toBe(200);
    const polled = await fetch(`${old.service.url}/poll/${poll["id"]}`, {
      headers: { authorization: `Bearer ${poll["secret"]}` },
    });
    expect([polled.status, ((await polled.json()) as { data: object[] }).data.length]).toEqual([200, 1]);

    // The other one is where it was, and each cell knows it.
    const other = new Client(old.service, stays.keys.live);
    expect(cellOf((await other.post("/v1/events", { type: "x.y", data: {} })).json["id"])).toBe(OLD);
    const elsewhere = await new Client(cells.new, OPERATOR_TOKEN).get("/v1/operator/accounts");
    const rows = elsewhere.json["data"] as { name: string; moved_to: string | null }[];
    expect(rows.map(({ name, moved_to }) => [name, moved_to])).toEqual([
      ["stays", OLD],
      ["leaves", null],
    ]);

    // Over a restart of both.
    await cells.new.stop();
    await cells.new.restart();
    await old.service.stop();
    await old.service.restart();
    expect((await client.get(`/v1/events/${first}`)).status).toBe(200);
    const audited = await client.get("/v1/endpoints");
    expect((audited.json["data"] as object[]).length).toBe(4);
  }, 240_000);

  test("moves on into a third cell; requests of before go through all of them", async () => {
    const cells = await startCellsOnceMoved();
    const { publishers, recorder } = cells;
    expect(await homesOf(cells)).toEqual([NEW]);
    const { exitCode, output } = await move(cells);
    console.log(output.trim());
    expect([exitCode, output]).toEqual([0, expect.stringContaining("moved from cell 2B to cell 3C")]);
    const published = publishers.acknowledged.length;
    await publishers.whenAcknowledged(500);
    await publishers.finish();
    expect(await homesOf(cells)).toEqual([THIRD]);
    expect(audit(await settleBooks(cells.new, recorder, publishers), [])).toEqual([]);
    const ids = publishers.acknowledged.map((one) => one.ids[0] ?? "");
    expect(new Set(ids.map(cellOf))).toEqual(new Set([OLD, NEW, THIRD]));
    // At the first cell, which passes it to the second, and that to the third.
    const [
      {
        machines: [first = ""],
      } = { machines: [] },
    ] = cells.listed;
    const client = new Client({ url: `http://${first}` }, cells.new.keys.live);
    for (const id of [ids[0], ids[published - 1], ids.at(-1)])
      expect((await client.get(`/v1/events/${id}`)).json["id"]).toBe(id);
    // Said again it tells the machines to the cell that it came from.
    expect((await move(cells)).output).toContain("moved from cell 2B to cell 3C");
  }, 240_000);

  test("has others of its old cell beside it, in a cell of their own; both are killed in the middle", async () => {
    const first = await startCells();
    const { service } = first.old;
    const next = await createTenant(service, { name: "leaves too", plan: "pro" });
    service.keys = next.keys;
    const recorder = kept(await startRecorder());
    const publishers = new Publishers(await prepareLoad(service, recorder), { name: "q" });
    kept({ [Symbol.asyncDispose]: () => publishers.abandon() });
    const { taker, replica } = startTaker(THIRD, first.fromReplica);
    taker.keys = next.keys;
    const listed = [...first.listed, rowOf(THIRD, taker)];
    const own = { new: taker, to: THIRD, replica, listed, list: writeList(listed), account: next.id };
    const second: Cells = { ...first, ...own, recorder, publishers };
    // It waits beside the other one, and goes on when that has its account.
    await untilWaiting(second);
    expect((await move(first)).exitCode).toBe(0);
    const late = await move({ ...first, account: next.id });
    expect(late.output).toContain("Cell 2B has begun already");
    await publishers.whenAcknowledged(500);
    const moving = move(second);
    await Bun.sleep(900);
    for (const cell of [first.new, second.new]) await new Replicated(cell).loseMachine();
    const lostAt = Date.now();
    for (const cell of [first.new, second.new]) cell.relaunch();
    await goesThrough(second, await moving);
    for (const cells of [first, second]) {
      await cells.publishers.whenAcknowledged(200);
      await cells.publishers.finish();
      expect(audit(await settleBooks(cells.new, cells.recorder, cells.publishers), [lostAt])).toEqual([]);
    }
    expect([await homesOf({ ...second, account: first.account }), await homesOf(second)]).toEqual([
      [NEW],
      [THIRD],
    ]);
  }, 240_000);

  test.each<[number, Start]>([
    [300, "its first cell"],
    [460, "its first cell"],
    [500, "its first cell"],
    [700, "its first cell"],
    [460, "a cell that it has moved into"],
    [700, "a cell that it has moved into"],
  ])(
    "has one home where the old cell is killed %i ms after the call, from %s",
    async (ms, start) => {
      const cells = await STARTS[start]();
      const machines = [new URL(cells.new.url).host];
      const call = { accounts: [cells.account], cell: cells.to, machines };
      const calling = new Client(cells.old.service, OPERATOR_TOKEN).post("/v1/operator/moves", call);
      const answer = calling.then(({ status }) => status).catch(() => "no answer");
      await Bun.sleep(ms);
      await cells.old.loseMachine();
      const lostAt = Date.now();
      await cells.old.service.restart();
      const before = await homesOf(cells);
      console.log(`${await answer}, lives in ${before.join(" and ") || "none yet"}`);
      expect(before.length).toBeLessThanOrEqual(1);
      if (before[0] === cells.from) expect((await move(cells)).exitCode).toBe(0);
      await untilThere(cells);
      await cells.publishers.whenAcknowledged(200);
      await cells.publishers.finish();
      const books = await settleBooks(cells.new, cells.recorder, cells.publishers);
      expect(audit(books, [lostAt])).toEqual([]);
    },
    240_000,
  );

  test.each<[number, Start]>([
    [0, "its first cell"],
    [700, "its first cell"],
    [700, "a cell that it has moved into"],
  ])(
    "has one home where the new cell is killed %i ms after the call, from %s",
    async (ms, start) => {
      const cells = await STARTS[start]();
      const moving = move(cells);
      await Bun.sleep(300 + ms);
      await new Replicated(cells.new).loseMachine();
      const lostAt = Date.now();
      cells.new.relaunch();
      await goesThrough(cells, await moving);
      await cells.publishers.whenAcknowledged(200);
      await cells.publishers.finish();
      const books = await settleBooks(cells.new, cells.recorder, cells.publishers);
      expect(audit(books, [lostAt])).toEqual([]);
    },
    240_000,
  );
});

/** A move whose new cell was killed: said again where the account has not left. */
async function goesThrough(cells: Cells, { exitCode }: { exitCode: number }): Promise<void> {
  if (exitCode !== 0 && (await homesOf(cells))[0] === cells.from) {
    await untilWaiting(cells);
    expect((await move(cells)).exitCode).toBe(0);
  }
  await untilThere(cells);
}

async function untilThere(cells: Cells): Promise<void> {
  while ((await homesOf(cells))[0] !== cells.to) await Bun.sleep(50);
  expect(await homesOf(cells)).toEqual([cells.to]);
}

test("a standby of the old cell that takes over in the middle of a move owns the account alone", async () => {
  const from = grounds.inBucket();
  const own = { SEALPOST_CELL: OLD, SEALPOST_OPERATOR_TOKEN: OPERATOR_TOKEN };
  const pair = kept(await startPair(grounds.litestream, own, from));
  const { primary, standby } = pair;
  const tenant = await createTenant(primary.service, { name: "leaves", plan: "pro" });
  for (const { service } of [primary, standby]) service.keys = tenant.keys;
  await addEndpoint(primary.service, "http://127.0.0.1:9/");
  // Answered once the replica has the account too.
  expect((await publish(primary, "seen", { "sealpost-durability": "replica" })).status).toBe(202);
  const { taker } = startTaker(NEW, from.env["LITESTREAM_REPLICA_URL"] ?? "");
  const waiting = { new: taker, to: NEW };
  await untilWaiting(waiting);
  const { machines } = rowOf(NEW, taker);
  const call = { accounts: [tenant.id], cell: NEW, machines };
  // What says that it has left stands in the row, and Litestream uploads it when there is a successor.
  process.kill(primary.service.pid, "SIGSTOP");
  void new Client(primary.service, OPERATOR_TOKEN).post("/v1/operator/moves", call).catch(() => {});
  await Bun.sleep(800);
  primary.freeze();
  await standby.ready();
  process.kill(primary.service.pid, "SIGCONT");
  await Bun.sleep(5000);
  const account = tenant.id;
  // Not the other machine, which stands still.
  const listed = [rowOf(OLD, standby.service), rowOf(NEW, taker)];
  expect(await homesOf({ listed, account })).toEqual([OLD]);
  await primary.lose();
  await untilWaiting(waiting);
  const old = [primary, standby].map((machine) => new URL(machine.url).host);
  const list = writeList([{ cell: OLD, machines: old }, rowOf(NEW, taker)]);
  expect((await move({ account, to: NEW, list })).output).toContain("moved from cell 1A to cell 2B");
  expect(await homesOf({ listed, account })).toEqual([NEW]);
}, 240_000);

test("the page does what it says, typed from its first line to its last", async () => {
  const typed = readBlocks(page).filter(({ info }) => info === "in a terminal, with Litestream");
  expect(typed).toHaveLength(1);
  const [first = 0, second = 0] = await freePorts(2);
  const folder = mkdtempSync(join(grounds.home, "page-"));
  const script = typed
    .map(({ text }) => text)
    .join("")
    .replace("npx -y bun@1.4.5 run build\n", "")
    .replaceAll("-exec dist/sealpost", `-exec '${process.execPath} ${MAIN}'`)
    .replaceAll("dist/sealpost", `'${process.execPath}' '${MAIN}'`)
    .replaceAll("$PWD/litestream.yml", CONFIG)
    .replaceAll("8086", String(first))
    .replaceAll("8087", String(second));
  const PATH = `${dirname(grounds.litestream)}:${process.env["PATH"] ?? ""}`;
  const env = { PATH, HOME: process.env["HOME"] ?? "", SEALPOST_HOST: "127.0.0.1" };
  const end = "kill $(cat moving/*.pid); wait";
  const shell = Bun.spawn(["bash", "-c", `set -u\n${script}\n${end}`], { cwd: folder, env, stdout: "pipe" });
  const printed = await new Response(shell.stdout).text();
  expect(printed).toContain("moved from cell 1A to cell 2B");
  expect(cellOf(/"id":"(evt_\w+)"/.exec(printed)?.[1])).toBe(NEW);
}, 60_000);

describe("what is refused, and moves nothing", () => {
  test("a cell that does not wait, a cell that is not there, an account that nobody has", async () => {
    const cells = await startCells();
    await new Replicated(cells.new).loseMachine();
    expect((await move(cells)).output).toContain("No machine of cell 2B waits for accounts");
    const strange = { ...cells, account: cells.account.replace(/.$/, (last) => (last === "0" ? "1" : "0")) };
    cells.new.relaunch();
    await untilWaiting(cells);
    expect((await move(strange)).output).toContain("No cell that answers has the account");
    expect(await homesOf(cells)).toEqual([OLD]);
  }, 60_000);

  test("another key is refused before anything moves", async () => {
    const from = grounds.inFolder();
    const service = new Service({ command: replicateCommand(grounds.litestream), env: envOf(OLD, from) });
    kept(new Replicated(service));
    await service.ready();
    const tenant = await createTenant(service, { name: "leaves", plan: "pro" });
    service.keys = tenant.keys;
    await addEndpoint(service, "http://127.0.0.1:9/");
    const { exitCode, output } = await runService({
      command: [process.execPath, MAIN, "cells", "take", "--from", from.env["LITESTREAM_REPLICA_URL"] ?? ""],
      env: {
        ...envOf(NEW, grounds.inFolder()),
        SEALPOST_SECRET_KEY: Buffer.alloc(32, "x").toString("base64"),
      },
    });
    expect([exitCode, output]).toEqual([2, expect.stringContaining("SEALPOST_SECRET_KEY lacks the key")]);
  }, 60_000);
});

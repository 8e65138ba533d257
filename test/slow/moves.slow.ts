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
const [OLD, NEW] = ["1A", "2B"] as const;

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

interface Cells {
  old: Replicated;
  new: Service;
  account: string;
  list: string;
  recorder: Recorder;
  publishers: Publishers;
}

/** The old cell with an account under load, and another that stays; the new one waits. */
async function startCells(): Promise<Cells> {
  const [from, to] = [grounds.inBucket(), grounds.inBucket()];
  const recorder = kept(await startRecorder());
  const service = new Service({ command: replicateCommand(grounds.litestream), env: envOf(OLD, from) });
  const old = kept(new Replicated(service));
  await service.ready();
  const tenant = await createTenant(service, { name: "leaves", plan: "pro" });
  service.keys = tenant.keys;
  const target = await prepareLoad(service, recorder);
  const taker = new Service({
    command: takerCommand(from.env["LITESTREAM_REPLICA_URL"] ?? ""),
    env: envOf(NEW, to),
  });
  keepTaker(taker);
  const publishers = new Publishers(target);
  kept({ [Symbol.asyncDispose]: () => publishers.abandon() });
  const list = join(grounds.home, `cells-${new URL(service.url).port}.json`);
  const cells = [
    { cell: OLD, machines: [new URL(service.url).host] },
    { cell: NEW, machines: [new URL(taker.url).host] },
  ];
  writeFileSync(list, JSON.stringify({ cells }));
  taker.keys = tenant.keys;
  await publishers.whenAcknowledged(500);
  return { old, new: taker, account: tenant.id, list, recorder, publishers };
}

function move({ account, list }: Pick<Cells, "account" | "list">) {
  return runService({
    command: [process.execPath, MAIN, "cells", "move", account, "--to", NEW, list],
    env: { SEALPOST_OPERATOR_TOKEN: OPERATOR_TOKEN },
  });
}

/** Until it waits for accounts, with a copy. */
async function untilWaiting({ url }: Service): Promise<void> {
  for (;;) {
    const answer = await fetch(`${url}/readyz`).catch(() => null);
    const said = (await answer?.json().catch(() => null)) as Record<string, unknown> | null;
    if (said?.["waits_for_accounts_as"] === NEW && typeof said["installation"] === "string") return;
    await Bun.sleep(20);
  }
}

/** The cells of which an account says that it lives there. */
async function homesOf(
  cells: Pick<Cells, "new" | "account"> & { old: { service: Service } },
): Promise<string[]> {
  const asked = [cells.old.service, cells.new].map(async (service) => {
    const { status, json } = await new Client(service, OPERATOR_TOKEN).get(
      `/v1/operator/accounts/${cells.account}`,
    );
    return status === 200 && json["moved_to"] === null;
  });
  const there = await Promise.all(asked.map((one) => one.catch(() => false)));
  return [OLD, NEW].filter((_, at) => there[at]);
}

const cellOf = (id: unknown) => String(id).split("_")[1]?.slice(10, 12) ?? "";

describe("an account under load", () => {
  test("moves with all that it has; nothing is lost, and nothing sent twice", async () => {
    const cells = await startCells();
    const { old, publishers, recorder } = cells;
    const stays = await createTenant(old.service, { name: "stays", plan: "pro" });
    const link = await clientOf(old.service).create("/v1/portal-links", { consumer_id: "c_1" });
    const poll = await clientOf(old.service).create("/v1/endpoints", { kind: "poll", event_types: ["x.y"] });
    await untilWaiting(cells.new);
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
  }, 120_000);

  test.each([300, 460, 500, 700])(
    "has one home where the old cell is killed %i ms after the call",
    async (ms) => {
      const cells = await startCells();
      await untilWaiting(cells.new);
      const machines = [new URL(cells.new.url).host];
      const call = { accounts: [cells.account], cell: NEW, machines };
      const calling = new Client(cells.old.service, OPERATOR_TOKEN).post("/v1/operator/moves", call);
      const answer = calling.then(({ status }) => status).catch(() => "no answer");
      await Bun.sleep(ms);
      await cells.old.loseMachine();
      const lostAt = Date.now();
      await cells.old.service.restart();
      const before = await homesOf(cells);
      console.log(`${await answer}, lives in ${before.join(" and ") || "none yet"}`);
      expect(before.length).toBeLessThanOrEqual(1);
      if (before[0] === OLD) expect((await move(cells)).exitCode).toBe(0);
      while ((await homesOf(cells))[0] !== NEW) await Bun.sleep(50);
      expect(await homesOf(cells)).toEqual([NEW]);
      await cells.publishers.whenAcknowledged(200);
      await cells.publishers.finish();
      const books = await settleBooks(cells.new, cells.recorder, cells.publishers);
      expect(audit(books, [lostAt])).toEqual([]);
    },
    120_000,
  );

  test.each([0, 700])(
    "has one home where the new cell is killed %i ms after the call",
    async (ms) => {
      const cells = await startCells();
      await untilWaiting(cells.new);
      const moving = move(cells);
      await Bun.sleep(300 + ms);
      await new Replicated(cells.new).loseMachine();
      const lostAt = Date.now();
      cells.new.relaunch();
      const { exitCode } = await moving;
      if (exitCode !== 0 && (await homesOf(cells))[0] === OLD) {
        await untilWaiting(cells.new);
        expect((await move(cells)).exitCode).toBe(0);
      }
      while ((await homesOf(cells))[0] !== NEW) await Bun.sleep(50);
      await cells.publishers.whenAcknowledged(200);
      await cells.publishers.finish();
      const books = await settleBooks(cells.new, cells.recorder, cells.publishers);
      expect(audit(books, [lostAt])).toEqual([]);
    },
    120_000,
  );
});

test("a standby of the old cell that takes over in the middle of a move owns the account alone", async () => {
  const [from, to] = [grounds.inBucket(), grounds.inBucket()];
  const own = { SEALPOST_CELL: OLD, SEALPOST_OPERATOR_TOKEN: OPERATOR_TOKEN };
  const pair = kept(await startPair(grounds.litestream, own, from));
  const { primary, standby } = pair;
  const tenant = await createTenant(primary.service, { name: "leaves", plan: "pro" });
  for (const { service } of [primary, standby]) service.keys = tenant.keys;
  await addEndpoint(primary.service, "http://127.0.0.1:9/");
  // Answered once the replica has the account too.
  expect((await publish(primary, "seen", { "sealpost-durability": "replica" })).status).toBe(202);
  const url = from.env["LITESTREAM_REPLICA_URL"] ?? "";
  const taker = new Service({ command: takerCommand(url), env: envOf(NEW, to) });
  keepTaker(taker);
  await untilWaiting(taker);
  const machines = [new URL(taker.url).host];
  const call = { accounts: [tenant.id], cell: NEW, machines };
  // What says that it has left stands in the row, and Litestream uploads it when there is a successor.
  process.kill(primary.service.pid, "SIGSTOP");
  void new Client(primary.service, OPERATOR_TOKEN).post("/v1/operator/moves", call).catch(() => {});
  await Bun.sleep(800);
  primary.freeze();
  await standby.ready();
  process.kill(primary.service.pid, "SIGCONT");
  await Bun.sleep(5000);
  const cells = { old: { service: standby.service }, new: taker, account: tenant.id };
  expect(await homesOf(cells)).toEqual([OLD]);
  await primary.lose();
  await untilWaiting(taker);
  const list = join(grounds.home, "cells-pair.json");
  const old = [primary, standby].map((machine) => new URL(machine.url).host);
  const rows = [
    { cell: OLD, machines: old },
    { cell: NEW, machines },
  ];
  writeFileSync(list, JSON.stringify({ cells: rows }));
  expect((await move({ account: tenant.id, list })).output).toContain("moved from cell 1A to cell 2B");
  expect(await homesOf(cells)).toEqual([NEW]);
}, 120_000);

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
    await untilWaiting(cells.new);
    await new Replicated(cells.new).loseMachine();
    expect((await move(cells)).output).toContain("No machine of cell 2B waits for accounts");
    const strange = { ...cells, account: cells.account.replace(/.$/, (last) => (last === "0" ? "1" : "0")) };
    cells.new.relaunch();
    await untilWaiting(cells.new);
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

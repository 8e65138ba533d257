// time budget: 600 s
/**
 * `sealpost restore` and `sealpost backup verify` with replicas of the real Litestream. On a machine that has
 * no Litestream yet, building it takes most of the time.
 */
import { describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Grounds } from "../durability/grounds.ts";
import { gauge, type Places, SERVICE_ENV } from "../durability/machine.ts";
import { Machine, pairedEnv } from "../durability/pair.ts";
import { addEndpoint, clientOf } from "../durability/setup.ts";
import type { Replicated } from "../kit/litestream.ts";
import { type Service, startService } from "../kit/service.ts";

const MAIN = join(import.meta.dir, "../../src/main.ts");
const NOBODY_URL = "http://127.0.0.1:9/";

const grounds = new Grounds("backup");

/** What a command ended with; `found`: its JSON, where it printed any. */
interface Ended {
  exitCode: number;
  found: Record<string, unknown>;
  error: string;
}

type Env = Record<string, string>;

/** Runs a command over a replica, with a data directory; what else the environment has is left out. */
async function sealpost(
  words: readonly string[],
  places: Pick<Places, "env">,
  dir: string,
  env: Env = {},
): Promise<Ended> {
  const child = Bun.spawn([process.execPath, MAIN, ...words], {
    env: {
      PATH: `${dirname(grounds.litestream)}:${process.env["PATH"] ?? ""}`,
      SEALPOST_SECRET_KEY: SERVICE_ENV.SEALPOST_SECRET_KEY,
      SEALPOST_DATA_DIR: dir,
      TMPDIR: freshFolder("tmp"),
      ...places.env,
      ...env,
    },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, error] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  const exitCode = await child.exited;
  return { exitCode, error, found: out.startsWith("{") ? (JSON.parse(out) as Ended["found"]) : {} };
}

const verify = (places: Pick<Places, "env">, dir: string, env?: Env) =>
  sealpost(["backup", "verify", "--json"], places, dir, env);
const restore = (places: Pick<Places, "env">, dir: string, ...words: string[]) =>
  sealpost(["restore", "--json", ...words], places, dir);

function freshFolder(name: string): string {
  return mkdtempSync(join(grounds.home, `${name}-`));
}

/** A service under Litestream with an endpoint, all of it in the replica. */
async function startWithEndpoint(places: Places): Promise<Replicated> {
  const replicated = await grounds.startReplicated(places);
  await addEndpoint(replicated.service, NOBODY_URL);
  await publish(replicated.service, "in_1");
  return replicated;
}

/** Resolves once the event is in the replica. */
async function publish(service: Service, externalId: string): Promise<void> {
  const headers = { "sealpost-durability": "replica" };
  const event = { type: "order.paid", data: {}, external_id: externalId };
  expect((await clientOf(service).post("/v1/events", event, headers)).status).toBe(202);
}

/** So that what is uploaded next has another second than what was. */
async function untilNextSecond(): Promise<Date> {
  await Bun.sleep(2100 - (Date.now() % 1000));
  return new Date(Math.floor(Date.now() / 1000) * 1000);
}

/** A file of the replica that a restore needs. */
function oneOf(replica: string): string {
  const files = readdirSync(join(replica, "ltx"), { recursive: true, encoding: "utf8" });
  const file = files.find((path) => path.startsWith("0/") && path.endsWith(".ltx"));
  if (file === undefined) throw new Error("the replica has no file");
  return join(replica, "ltx", file);
}

describe("sealpost backup verify", () => {
  test("finds a backup good beside the running service, and the metrics tell", async () => {
    const places = grounds.inFolder();
    await using replicated = await startWithEndpoint(places);
    const { service } = replicated;
    const tmp = freshFolder("tmp");
    const { exitCode, found } = await verify(places, service.dataDir, { TMPDIR: tmp });
    expect({ exitCode, found }).toEqual({
      exitCode: 0,
      found: expect.objectContaining({
        replica: places.env["LITESTREAM_REPLICA_URL"],
        rows: { account: 1, endpoint: 1, source: 0, event: 1, delivery: 1, attempt: expect.any(Number) },
        secrets: 1,
        verdict: "good",
        problems: [],
      }),
    });
    expect(found["behind_seconds"]).toBeLessThan(10);
    expect(readdirSync(tmp)).toEqual([]);
    expect(await gauge(service, "sealpost_backup_good")).toBe(1);
    const age = Date.now() / 1000 - (await gauge(service, "sealpost_backup_verified_timestamp_seconds"));
    expect([age >= 0, age < 60]).toEqual([true, true]);
    await publish(service, "in_2");
    const words = ["backup", "verify", "--without-database", "--json"];
    const apart = await sealpost(words, places, join(grounds.home, "elsewhere"));
    expect(apart).toMatchObject({ exitCode: 0, found: { verdict: "good", behind_seconds: null } });
  }, 60_000);

  test("finds it in a bucket, as the newest generation of a pair", async () => {
    const places = grounds.inBucket();
    await using first = new Machine(pairedEnv(grounds.litestream, places));
    await first.ready();
    await addEndpoint(first.service, NOBODY_URL);
    await using second = new Machine(pairedEnv(grounds.litestream, places));
    await second.follows();
    const middle = await untilNextSecond();
    expect(await first.service.stop()).toBe(0);
    await second.ready();
    second.service.keys = first.service.keys;
    await addEndpoint(second.service, NOBODY_URL);
    await publish(second.service, "in_1");

    const { exitCode, found } = await verify(places, second.service.dataDir);
    const newest = expect.objectContaining({ endpoint: 2 });
    expect({ exitCode, found }).toEqual({ exitCode: 0, found: expect.objectContaining({ rows: newest }) });
    expect(found["replica"]).toContain("/generations/00000002?");

    const before = await restore(places, freshFolder("before"), "--at", middle.toISOString());
    const older = expect.objectContaining({ endpoint: 1 });
    expect(before).toMatchObject({ exitCode: 0, found: { rows: older } });
    expect(before.found["replica"]).toContain("/generations/00000001?");
    expect(before.found["next"]).toEqual([expect.stringContaining("another LITESTREAM_REPLICA_URL")]);
  }, 120_000);

  test("finds it bad where it is behind, and the last good time stays in the metrics", async () => {
    const places = grounds.inFolder();
    await using replicated = await startWithEndpoint(places);
    const { service } = replicated;
    expect((await verify(places, service.dataDir)).exitCode).toBe(0);
    const goodAt = await gauge(service, "sealpost_backup_verified_timestamp_seconds");
    process.kill(service.pid, "SIGSTOP"); // Litestream, which is above the service
    const event = { type: "order.paid", data: {} };
    expect((await clientOf(service).post("/v1/events", event)).status).toBe(202);
    await Bun.sleep(1500);
    const late = await sealpost(["backup", "verify", "--json", "--within", "1"], places, service.dataDir);
    process.kill(service.pid, "SIGCONT");
    expect(late).toMatchObject({ exitCode: 1, found: { verdict: "bad" } });
    expect(late.found["problems"]).toEqual([expect.stringMatching(/^It is \d+ s behind/)]);
    expect(await gauge(service, "sealpost_backup_good")).toBe(0);
    expect(await gauge(service, "sealpost_backup_verified_timestamp_seconds")).toBe(goodAt);
  }, 60_000);

  test("finds it bad where the key does not open it, and where it is of another database", async () => {
    const places = grounds.inFolder();
    await using replicated = await startWithEndpoint(places);
    const { dataDir } = replicated.service;
    const other = { SEALPOST_SECRET_KEY: Buffer.alloc(32, "other").toString("base64") };
    const keyless = await verify(places, dataDir, other);
    expect(keyless).toMatchObject({ exitCode: 1, found: { verdict: "bad" } });
    expect(keyless.found["problems"]).toEqual([expect.stringContaining("SEALPOST_SECRET_KEY lacks the key")]);

    await using stranger = await startService();
    const wrong = await verify(places, stranger.dataDir);
    expect(wrong.found["problems"]).toEqual([expect.stringContaining("a copy of another database")]);
  }, 60_000);

  test("ends with 1 where nothing can be restored, and with 2 where it cannot be tried", async () => {
    const places = grounds.inFolder();
    const replicated = await startWithEndpoint(places);
    const { dataDir } = replicated.service;
    expect(await replicated.service.stop()).toBe(0);
    await using _ = replicated;
    writeFileSync(oneOf(places.replica), "nothing that Litestream knows");
    const tmp = freshFolder("tmp");
    const broken = await verify(places, dataDir, { TMPDIR: tmp });
    expect(broken).toMatchObject({ exitCode: 1, error: expect.stringContaining("cannot be restored") });
    expect(readdirSync(tmp)).toEqual([]);
    for (const [env, error] of [
      [{ LITESTREAM_REPLICA_URL: "" }, "LITESTREAM_REPLICA_URL must say where the replica is"],
      [{ PATH: "/nowhere" }, "PATH must lead to litestream"],
      [{ TMPDIR: "/proc" }, "TMPDIR (/proc) must be a folder that can be written to"],
      [{ SEALPOST_DATA_DIR: join(grounds.home, "elsewhere") }, "or say --without-database"],
      [{ SEALPOST_PORT: "none" }, "SEALPOST_PORT"],
    ] as const)
      expect(await verify(places, dataDir, env)).toMatchObject({
        exitCode: 2,
        error: expect.stringContaining(error),
      });
    const unknown = "sftp://user:p^s=@127.0.0.1:1/replica";
    const failed = await verify({ env: { LITESTREAM_REPLICA_URL: unknown } }, dataDir);
    expect(failed).toMatchObject({ exitCode: 1, error: expect.not.stringContaining("p^s") });
    // A machine's role stands for keys: there is no pair then, and Litestream says the rest.
    const byRole = { env: { LITESTREAM_REPLICA_URL: "s3://replica/x?endpoint=http://127.0.0.1:1" } };
    const refused = expect.stringMatching(/^The replica cannot be restored: .*/);
    expect(await verify(byRole, dataDir)).toMatchObject({ exitCode: 1, error: refused });
    for (const words of [[], ["prove"], ["verify", "--within", "no"], ["verify", "--what"]])
      expect(await sealpost(["backup", ...words], places, dataDir)).toMatchObject({
        exitCode: 2,
        error: expect.stringContaining("usage: sealpost backup verify"),
      });
  }, 60_000);
});

describe("sealpost restore", () => {
  test("brings back all of it, or what was at a moment, and the service goes on", async () => {
    const places = grounds.inFolder();
    await using replicated = await startWithEndpoint(places);
    const { service } = replicated;
    const middle = await untilNextSecond();
    await addEndpoint(service, NOBODY_URL);
    await publish(service, "in_2");
    await replicated.loseMachine();

    const rowsAt = async (name: string, ...words: string[]) => {
      const dir = join(freshFolder(name), "data");
      const ended = await restore(places, dir, ...words);
      expect([ended.error, ended.exitCode]).toEqual(["", 0]);
      expect(existsSync(join(dir, "sealpost.db"))).toBe(true);
      return { dir, rows: ended.found["rows"] as Record<string, number>, next: ended.found["next"] };
    };
    const then = await rowsAt("then", "--at", middle.toISOString());
    expect([then.rows["endpoint"], then.rows["event"]]).toEqual([1, 1]);
    const later = await rowsAt("later", "--at", new Date(Date.now() + 60_000).toISOString());
    expect(later.rows["endpoint"]).toBe(2);
    const { dir, rows, next } = await rowsAt("all");
    expect([rows["endpoint"], rows["event"]]).toEqual([2, 2]);
    expect(next).toEqual(["Start the service on it with the same settings."]);

    await using again = await startService({
      env: { SEALPOST_DATA_DIR: dir, SEALPOST_SECRET_KEY: SERVICE_ENV.SEALPOST_SECRET_KEY },
    });
    again.keys = service.keys;
    const listed = await clientOf(again).get("/v1/endpoints");
    expect(listed.json["data"]).toHaveLength(2);
    expect(await restore(places, dir)).toMatchObject({
      exitCode: 1,
      error: expect.stringContaining("Another process"),
    });
  }, 90_000);

  test("touches no database that is there, and says what it cannot do", async () => {
    const places = grounds.inFolder();
    await using replicated = await startWithEndpoint(places);
    const { dataDir } = replicated.service;
    expect(await replicated.service.stop()).toBe(0);
    const refused = [
      [dataDir, [], 2, "holds a database already"],
      [freshFolder("a"), ["--at", "yesterday"], 2, "--at must be a time of RFC 3339"],
      [freshFolder("b"), ["--at", "2025-01-01T00:00:00Z"], 2, "holds nothing from before 2025-01-01"],
      [freshFolder("c"), ["--to", "x"], 2, "usage: sealpost restore"],
    ] as const;
    for (const [dir, words, exitCode, error] of refused)
      expect(await restore(places, dir, ...words)).toMatchObject({
        exitCode,
        error: expect.stringContaining(error),
      });
    const nowhere = { env: { LITESTREAM_REPLICA_URL: `file://${join(grounds.home, "no-replica")}` } };
    const empty = freshFolder("d");
    const ended = await restore(nowhere, empty);
    expect(ended).toMatchObject({ exitCode: 1, error: expect.stringContaining("cannot be restored") });
    expect(existsSync(join(empty, "sealpost.db"))).toBe(false);
  }, 60_000);
});

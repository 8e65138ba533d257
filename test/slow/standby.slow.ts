// time budget: 600 s
/**
 * A pair under the real Litestream: one machine writes, the other follows and takes over, whatever happens to
 * the first one, and nothing that was acknowledged is lost. On a machine that has no Litestream yet, building
 * it takes most of the time.
 */
import { describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { LEASE_FILE } from "../../src/replica/lease.ts";
import page from "../../src/docs/pair.md" with { type: "text" };
import { audit } from "../durability/audit.ts";
import { type Cable, canLay, Island } from "../durability/cable.ts";
import { settleBooks } from "../durability/books.ts";
import { Grounds } from "../durability/grounds.ts";
import { Bucket, gauge, type Places } from "../durability/machine.ts";
import {
  Machine,
  type Pair,
  pairedEnv,
  publish,
  Router,
  standbyCommand,
  startPair,
} from "../durability/pair.ts";
import { Publishers } from "../durability/publishers.ts";
import { addEndpoint, clientOf, prepareLoad } from "../durability/setup.ts";
import { CONFIG } from "../kit/litestream.ts";
import { type Recorder, startRecorder } from "../kit/recorder.ts";
import { freePorts } from "../kit/real-server.ts";
import { runService, startService } from "../kit/service.ts";
import { readBlocks } from "../readme/blocks.ts";

const REPLICA = { SEALPOST_DURABILITY: "replica" };
const LOSSES = 2;

const grounds = new Grounds("pair");

interface Loaded extends AsyncDisposable {
  publishers: Publishers;
  router: Router;
  recorder: Recorder;
  /** Waits until all is answered and delivered, and tells which promise is broken. */
  settle(by: Machine, startsAt: readonly number[]): Promise<string[]>;
}

async function load({ primary, standby }: Pair): Promise<Loaded> {
  const recorder = await startRecorder();
  const target = await prepareLoad(primary.service, recorder);
  const router = new Router(target, [primary, standby]);
  const publishers = new Publishers(target);
  await publishers.whenAcknowledged(500);
  return {
    publishers,
    router,
    recorder,
    async settle(by, startsAt) {
      await publishers.whenAcknowledged(200);
      await publishers.finish();
      return audit(await settleBooks(by.service, recorder, publishers), startsAt);
    },
    async [Symbol.asyncDispose]() {
      await publishers.abandon();
      await router[Symbol.asyncDispose]();
      await recorder[Symbol.asyncDispose]();
    },
  };
}

describe("a primary that is killed", () => {
  test.each(grounds.kinds(LOSSES))(
    "has a successor that lost nothing of what was acknowledged, %i, by a replica in %s",
    async (_, __, make) => {
      await using pair = await startPair(grounds.litestream, REPLICA, make());
      await using loaded = await load(pair);
      await Bun.sleep(Math.random() * 1500);
      const lostAt = await pair.primary.lose();
      rmSync(pair.primary.service.dataDir, { recursive: true });
      await pair.standby.ready();
      const { becameAt } = pair.standby;
      console.log(`ready ${Date.now() - lostAt} ms after the kill, the lease ${becameAt - lostAt} ms`);
      expect(await loaded.settle(pair.standby, [becameAt])).toEqual([]);
    },
    90_000,
  );

  test("and comes back within the lease goes on with its own disk: nothing is lost with the disk alone", async () => {
    await using pair = await startPair(grounds.litestream, {}, grounds.inFolder());
    await using loaded = await load(pair);
    await pair.primary.lose();
    await pair.primary.service.restart();
    expect(await gauge(pair.primary.service, "sealpost_replica_generation")).toBe(1);
    expect(await loaded.settle(pair.primary, [pair.primary.becameAt])).toEqual([]);
    await pair.standby.follows();
  }, 90_000);

  test("comes back as the standby; its database stays aside, and it takes over in its turn", async () => {
    await using pair = await startPair(grounds.litestream, {}, grounds.inBucket());
    const { primary, standby } = pair;
    await addEndpoint(primary.service, "http://127.0.0.1:9/");
    await primary.lose();
    await standby.ready();
    primary.service.relaunch();
    await primary.follows();
    const aside = join(primary.service.dataDir, "superseded/generation-1");
    expect(readdirSync(aside)).toContain("sealpost.db");
    const made = await addEndpoint(standby.service, "http://127.0.0.1:9/second");
    expect(await standby.service.stop()).toBe(0);
    await primary.ready();
    expect((await clientOf(primary.service).get(`/v1/endpoints/${made}`)).status).toBe(200);
    expect(await gauge(primary.service, "sealpost_replica_generation")).toBe(3);
  }, 90_000);
});

describe("a primary that is told to end", () => {
  test("hands over under load at once, and loses nothing with the disk alone", async () => {
    await using pair = await startPair(grounds.litestream, {}, grounds.inBucket());
    await using loaded = await load(pair);
    const stoppedAt = Date.now();
    expect(await pair.primary.service.stop()).toBe(0);
    const endedAt = Date.now();
    await pair.standby.ready();
    console.log(`ended after ${endedAt - stoppedAt} ms, its successor ready after ${Date.now() - stoppedAt}`);
    expect(await loaded.settle(pair.standby, [pair.standby.becameAt])).toEqual([]);
    expect(loaded.router.turns).toBe(1);
  }, 90_000);
});

interface Overseas extends AsyncDisposable {
  /** The way of one machine to the replica. */
  cable: Cable;
  byCable: Pick<Places, "env">;
  places: Places;
}

/** A replica in a bucket in a network namespace of its own, to which two cables lead. */
async function overseas(): Promise<Overseas> {
  const island = new Island();
  const [cable, other] = [island.lay(), island.lay()];
  const bucket = await Bucket.start({ enter: island.enter, address: other.address }).catch(
    (error: unknown) => {
      island[Symbol.dispose]();
      throw error;
    },
  );
  const places = bucket.places(grounds.home);
  const url = (places.env["LITESTREAM_REPLICA_URL"] ?? "").replace(other.address, cable.address);
  const end = async () => {
    await bucket[Symbol.asyncDispose]();
    island[Symbol.dispose]();
  };
  return {
    cable,
    byCable: { env: { ...places.env, LITESTREAM_REPLICA_URL: url } },
    places,
    [Symbol.asyncDispose]: end,
  };
}

describe("a primary that does not know that it has a successor", () => {
  test("as its host halted it: what it wrote and sends does not count, and it ends", async () => {
    await using pair = await startPair(grounds.litestream, REPLICA, grounds.inBucket());
    await using loaded = await load(pair);
    const { primary, standby } = pair;
    const goOn = primary.freeze();
    await standby.ready();
    await Bun.sleep(1000);
    goOn();
    await primary.service.exit();
    expect(primary.service.output()).toContain("The lease is lost");
    primary.service.relaunch();
    expect(await loaded.settle(standby, [standby.becameAt])).toEqual([]);
    await primary.follows();
  }, 90_000);

  test.skipIf(!canLay())(
    "as its network is cut: it answers and sends nothing until it knows, and ends",
    async () => {
      await using replica = await overseas();
      const { cable } = replica;
      await using pair = await startPair(grounds.litestream, {}, replica.byCable, replica.places);
      await using loaded = await load(pair);
      const { primary, standby } = pair;
      // The replica has what the load goes to.
      const begunAt = Date.now();
      const copiedAt = async () =>
        Date.now() - 1000 * (await gauge(primary.service, "sealpost_replica_age_seconds"));
      while ((await copiedAt()) <= begunAt) await Bun.sleep(50);
      cable.cut();
      const keyed = { "idempotency-key": "k1" };
      expect((await publish(primary, "kept", keyed)).status).toBe(202);
      await standby.ready();
      expect((await fetch(`${primary.url}/readyz`)).status).toBe(503);
      // Nothing is acknowledged there any more, and nothing once again.
      const asked = [publish(primary, "late"), publish(primary, "kept"), publish(primary, "kept", keyed)];
      const answers = asked.map((one) => one.then(({ status }) => status).catch(() => null));
      expect(await Promise.race([...answers, Bun.sleep(1000).then(() => "no answer")])).toBe("no answer");
      cable.mend();
      await primary.service.exit();
      expect(primary.service.output()).toContain("The lease is lost");
      const broken = await loaded.settle(standby, [standby.becameAt]);
      // The announced second: what the disk of the first one had acknowledged before the cut was seen.
      expect(broken.filter((sentence) => !/not in the log/.test(sentence))).toEqual([]);
    },
    90_000,
  );

  test.skipIf(!canLay())(
    "a lease that nobody took is renewed again, and all goes on",
    async () => {
      await using replica = await overseas();
      const { cable } = replica;
      await using primary = new Machine(pairedEnv(grounds.litestream, replica.byCable));
      await primary.ready();
      cable.cut();
      while ((await fetch(`${primary.url}/readyz`)).ok) await Bun.sleep(50);
      const asked = clientOf(primary.service).post("/v1/events", { type: "a.b", data: {} });
      cable.mend();
      expect((await asked).status).toBe(202);
      await primary.ready();
    },
    90_000,
  );
});

describe("what is refused at a start, with exit code 2 and the reason", () => {
  async function refusal(
    places: Pick<Places, "env">,
    settings: Record<string, string | undefined>,
    command = standbyCommand(),
  ): Promise<string> {
    const env = { ...pairedEnv(grounds.litestream, places), ...settings };
    const given = Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined);
    const { exitCode, output } = await runService({ command, env: Object.fromEntries(given) });
    return `${exitCode} ${output}`;
  }

  test("settings by which there can be no pair", async () => {
    const places = grounds.inFolder();
    expect(await refusal(places, { SEALPOST_SECRET_KEY: undefined })).toMatch(
      /^2 [^]*SEALPOST_SECRET_KEY must be set/,
    );
    for (const url of [undefined, "sftp://host/path"])
      expect(await refusal(places, { LITESTREAM_REPLICA_URL: url })).toMatch(
        /^2 [^]*must be that of a bucket or a folder/,
      );
    expect(await refusal(places, { PATH: "/nowhere" })).toMatch(/^2 [^]*PATH must lead to litestream/);
    expect(await refusal(places, {}, standbyCommand("--sideways"))).toMatch(/^2 [^]*takes --upgrade alone/);
  }, 60_000);

  test("a bucket without conditional writes", async () => {
    const objects = new Map<string, string>();
    await using simple = Bun.serve({
      port: 0,
      async fetch(request) {
        const { pathname } = new URL(request.url);
        if (request.method === "PUT") objects.set(pathname, await request.text());
        const headers = { etag: '"always"' };
        return new Response(objects.get(pathname) ?? "", {
          status: objects.has(pathname) ? 200 : 404,
          headers,
        });
      },
    });
    const url = `s3://bucket/path?endpoint=http://127.0.0.1:${simple.port}`;
    const { env } = grounds.inBucket();
    const text = await refusal({ env: { ...env, LITESTREAM_REPLICA_URL: url } }, {});
    expect(text).toMatch(/^2 [^]*without conditional writes/);
  }, 60_000);

  test("a standby that could not go on: another key, another schema, another installation; half a pair", async () => {
    const places = grounds.inFolder();
    await using primary = new Machine(pairedEnv(grounds.litestream, places));
    await primary.ready();
    const otherKey = Buffer.alloc(32, "other").toString("base64");
    expect(await refusal(places, { SEALPOST_SECRET_KEY: otherKey })).toMatch(
      /^2 [^]*SEALPOST_SECRET_KEY lacks the key/,
    );

    await using alone = await startService();
    await alone.stop();
    const others = { SEALPOST_DATA_DIR: alone.dataDir };
    expect(await refusal(places, others)).toMatch(/^2 [^]*another installation/);

    const { command } = grounds.replicatedBy(places);
    expect(await refusal(places, {}, command)).toMatch(/start with sealpost standby/);
    const own = `${places.env["LITESTREAM_REPLICA_URL"]}/generations/00000001`;
    expect(await refusal(places, { LITESTREAM_REPLICA_URL: own }, command)).toMatch(/generation of its own/);
    await primary.ready();
  }, 90_000);
});

test("a copy that a killed standby has left is not taken for another generation's", async () => {
  const places = grounds.inBucket();
  await using pair = await startPair(grounds.litestream, {}, places);
  const { primary, standby } = pair;
  await standby.service.kill9();
  await using third = new Machine(pairedEnv(grounds.litestream, places));
  await third.follows();
  await primary.lose();
  await third.ready();
  third.service.keys = primary.service.keys;
  const made = await addEndpoint(third.service, "http://127.0.0.1:9/");
  standby.service.relaunch();
  await standby.follows();
  expect(await third.service.stop()).toBe(0);
  await standby.ready();
  expect((await clientOf(standby.service).get(`/v1/endpoints/${made}`)).status).toBe(200);
}, 90_000);

test("a lease that is gone is nobody's: no machine begins over what there is", async () => {
  const places = grounds.inBucket();
  await using pair = await startPair(grounds.litestream, {}, places);
  const { primary, standby } = pair;
  await grounds.bucket.remove(`${places.path}/${LEASE_FILE}`);
  for (const machine of [primary, standby]) await machine.service.exit();
  expect(primary.service.output()).toContain("The lease is lost: it is gone");
  const { exitCode, output } = await runService({
    command: standbyCommand(),
    env: pairedEnv(grounds.litestream, places),
  });
  expect(output).toContain("is gone, and generations are there");
  expect(exitCode).toBe(2);
}, 60_000);

test("a service that ran alone becomes the primary of a pair, with its database", async () => {
  const places = grounds.inBucket();
  await using alone = await grounds.startReplicated(places);
  const made = await addEndpoint(alone.service, "http://127.0.0.1:9/");
  expect(await alone.service.stop()).toBe(0);
  const env = pairedEnv(grounds.litestream, places);
  await using primary = new Machine({ ...env, SEALPOST_DATA_DIR: alone.service.dataDir });
  await primary.ready();
  await using standby = new Machine(env);
  await standby.follows();
  primary.service.keys = standby.service.keys = alone.service.keys;
  await primary.lose();
  await standby.ready();
  expect((await clientOf(standby.service).get(`/v1/endpoints/${made}`)).status).toBe(200);
  expect(existsSync(join(standby.service.dataDir, "following"))).toBe(false);
}, 90_000);

test("the page of a pair does what it says, typed from its first line to its last", async () => {
  const typed = readBlocks(page).filter(({ info }) => info === "in a terminal");
  expect(typed.length).toBeGreaterThan(3);
  const [first = 0, second = 0] = await freePorts(2);
  const folder = mkdtempSync(join(grounds.home, "page-"));
  const script = typed
    .map(({ text }) => text)
    .join("")
    .replace("npx -y bun@1.4.5 run build\n", "")
    .replaceAll("dist/sealpost standby", standbyCommand().join(" "))
    .replaceAll("$PWD/litestream.yml", CONFIG)
    .replaceAll("8082", String(first))
    .replaceAll("8083", String(second));
  const { PATH = "" } = pairedEnv(grounds.litestream, { env: {} });
  const env = { PATH, HOME: process.env["HOME"] ?? "", SEALPOST_HOST: "127.0.0.1" };
  const end = "kill $(cat pair/*.pid); wait";
  const shell = Bun.spawn(["bash", "-c", `set -u\n${script}\n${end}`], { cwd: folder, env, stdout: "pipe" });
  const printed = await new Response(shell.stdout).text();
  const published = printed
    .split(/(?=\{"id":"evt_)/)
    .slice(1)
    .map((text) => text.includes('"duplicate":true'));
  expect(published).toEqual([false, true, false, true]);
}, 120_000);

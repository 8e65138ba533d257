// time budget: 900 s
/**
 * `sealpost bridge` between real servers: what it reads from, and a real service. Bridges, sources and the
 * service are killed under load; each message arrives as exactly one event, and nothing is left over.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { startPostgresTrial } from "../client/bridge/postgres-trial.ts";
import { QUEUE, RabbitmqTrial } from "../client/bridge/rabbitmq-trial.ts";
import { SqsTrial } from "../client/bridge/sqs-trial.ts";
import { eventsOf, startBridge, type Trial } from "../client/bridge/trial.ts";
import { call, personAt, type Running } from "../client/listening.ts";
import { Person } from "../client/kit.ts";
import { hasPostgres } from "../kit/postgres.ts";
import { hasRabbitmq } from "../kit/rabbitmq.ts";
import { requireTool } from "../kit/tools.ts";
import { PYTHON_HINT } from "../kit/python.ts";
import { type Service, startService } from "../kit/service.ts";
import { lookAgain } from "../kit/until.ts";

/** moto is installed before the first of these, once on a machine. */
const START_MS = 240_000;
/** What a killed bridge had received of SQS is there again after 45 seconds. */
const DRAIN_MS = 100_000;
const TEST_MS = 180_000;
/** About as long as it takes to publish what is written between two kills. */
const LOAD_MS_MAX = 150;
const KILLS = 6;

const hasPython = requireTool("python3", PYTHON_HINT);

interface TrialRow {
  name: string;
  isHere: boolean;
  start: () => Promise<Trial>;
}

const TRIALS: readonly TrialRow[] = [
  { name: "PostgreSQL", isHere: hasPostgres, start: startPostgresTrial },
  { name: "SQS", isHere: hasPython, start: () => SqsTrial.start() },
  { name: "RabbitMQ", isHere: hasRabbitmq, start: () => RabbitmqTrial.start() },
];

for (const { name, isHere, start } of TRIALS)
  describe.skipIf(!isHere)(name, () => {
    let trial: Trial;
    let service: Service;
    let person: Person;

    beforeAll(async () => {
      trial = await start();
    }, START_MS);
    afterAll(() => trial?.[Symbol.asyncDispose]());

    beforeEach(async () => {
      service = await startService();
      const { env } = personAt(service);
      person = new Person({ ...env, ...trial.env });
    });
    afterEach(async () => {
      person[Symbol.dispose]();
      await service.close();
    });

    const begin = () => startBridge(person, trial.words);

    /** Waits until all is published, and ends the bridges: nothing is left, and each message is one event. */
    async function finish(bridges: readonly Running[], written: readonly string[]): Promise<void> {
      const events = await lookAgain(
        async () => {
          const found = (await trial.left()) === 0 ? await eventsOf(service) : [];
          return found.length >= written.length && found;
        },
        () => undefined,
        DRAIN_MS,
      );
      for (const bridge of bridges) {
        const exitCode = await bridge.end("SIGTERM");
        expect([exitCode, bridge.stderr]).toEqual([0, expect.stringContaining("Published ")]);
      }
      expect(events.map(({ external_id: id }) => id ?? "").toSorted()).toEqual(written.toSorted());
      expect([await trial.left(), (await eventsOf(service)).length]).toEqual([0, written.length]);
    }

    /** Writes, and calls for a kill in the midst of it; so many times. */
    async function killAgainAndAgain(count: number, kill: () => Promise<void>): Promise<string[]> {
      const written: string[] = [];
      for (let nth = 0; nth < count; nth++) {
        written.push(...(await trial.write(trial.load)));
        await Bun.sleep(Math.random() * LOAD_MS_MAX);
        await kill();
      }
      return written;
    }

    test(
      "a bridge that is killed under load publishes each message once",
      async () => {
        let bridge = await begin();
        const written = await killAgainAndAgain(KILLS, async () => {
          await bridge.end("SIGKILL");
          bridge = await begin();
        });
        await finish([bridge], written);
      },
      TEST_MS,
    );

    test(
      "so does one whose service is killed, which waits for it",
      async () => {
        await using bridge = await begin();
        const written = await killAgainAndAgain(3, async () => {
          await service.kill9();
          await service.restart();
        });
        await finish([bridge], written);
      },
      TEST_MS,
    );

    test(
      "and one whose source is killed",
      async () => {
        await using bridge = await begin();
        const written = await killAgainAndAgain(3, async () => {
          await trial.kill9();
          await bridge.tells("trying until it is there again");
          await trial.restart();
        });
        await finish([bridge], written);
      },
      TEST_MS,
    );

    test(
      "two bridges share the work, and one that is ended lets go of what it has",
      async () => {
        const one = await begin();
        const other = await begin();
        const written = await trial.write(3 * trial.load);
        await Bun.sleep(Math.random() * LOAD_MS_MAX);
        expect(await one.end("SIGTERM")).toBe(0);
        written.push(...(await trial.write(3 * trial.load)));
        const third = await begin();
        await finish([other, third], written);
      },
      TEST_MS,
    );

    test(
      "a service that is away is waited for, and an end does not wait",
      async () => {
        const bridge = await begin();
        await service.kill9();
        const written = await trial.write(10);
        await bridge.tells("cannot be reached");
        expect(await bridge.end("SIGTERM")).toBe(0);
        expect(await trial.left()).toBe(10);
        await service.restart();
        const next = await begin();
        await finish([next], written);
      },
      TEST_MS,
    );
  });

describe.skipIf(!hasPython)("messages of SQS", () => {
  let trial: SqsTrial;
  let service: Service;
  let person: Person;

  beforeAll(async () => {
    [trial, service] = await Promise.all([SqsTrial.start(), startService()]);
    person = new Person({ ...personAt(service).env, ...trial.env });
  }, START_MS);
  afterAll(async () => {
    person?.[Symbol.dispose]();
    await Promise.all([service?.close(), trial?.[Symbol.asyncDispose]()]);
  });

  test(
    "stay hidden for as long as a publish takes, whatever the queue's own time is",
    async () => {
      const asked = Promise.withResolvers<void>();
      const answer = Promise.withResolvers<void>();
      await using slow = Bun.serve({
        port: 0,
        hostname: "127.0.0.1",
        async fetch(request) {
          if ((await request.text()) === "{}")
            return Response.json({ code: "invalid_request" }, { status: 422 });
          asked.resolve();
          await answer.promise;
          return Response.json({ id: "evt_1", duplicate: false });
        },
      });
      await trial.send([{ type: "order.paid", body: "{}" }]);
      using somebody = new Person({ ...person.env, SEALPOST_URL: `http://127.0.0.1:${slow.port}` });
      await using bridge = await startBridge(somebody, trial.words);
      await asked.promise;
      expect(await trial.receive()).toEqual([]);
      answer.resolve();
      await lookAgain(
        async () => (await trial.left()) === 0,
        () => undefined,
        DRAIN_MS,
      );
      expect(await bridge.end("SIGTERM")).toBe(0);
    },
    TEST_MS,
  );

  test(
    "become events by their attribute, and what is refused stays there",
    async () => {
      const ids = await trial.send([
        { type: "order.paid", body: '{"n": 1}' },
        { type: "not a type", body: "{}" },
        { body: "{}" },
        { type: "a.b", body: "no JSON" },
        { type: "order.closed", body: '{"n": 2}' },
      ]);
      const bridge = await startBridge(person, trial.words);
      await lookAgain(
        async () => (await trial.left()) === 3 && bridge.stderr.split("refused, and left").length > 3,
        () => undefined,
        DRAIN_MS,
      );
      expect(await bridge.end("SIGTERM")).toBe(0);
      expect(bridge.stderr).toContain("It names no type, and neither does --type.");
      expect(bridge.stderr).toContain("Its body is no JSON object in UTF-8.");
      const events = await eventsOf(service);
      const typeOf = new Map(events.map(({ type, external_id: id }) => [id ?? "", type]));
      expect([events.length, typeOf.get(ids[0] ?? ""), typeOf.get(ids[4] ?? "")]).toEqual([
        2,
        "order.paid",
        "order.closed",
      ]);
    },
    TEST_MS,
  );

  test.each([
    ["a queue that is not there", {}, "/1/nothing", "SQS: "],
    ["a key that is missing", { AWS_ACCESS_KEY_ID: "", AWS_EC2_METADATA_DISABLED: "true" }, "", "SQS: "],
    ["a region that is missing", { AWS_REGION: "" }, "", "SQS: Region "],
  ])(
    "%s ends the bridge",
    async (_, env, path, told) => {
      const [, url = ""] = trial.words;
      const words = ["bridge", "sqs", path === "" ? url : new URL(path, url).href];
      const { exitCode, stderr } = await person.types(words, "", env);
      expect([exitCode, stderr]).toEqual([1, expect.stringContaining(told)]);
    },
    TEST_MS,
  );
});

describe.skipIf(!hasRabbitmq)("messages of RabbitMQ", () => {
  let trial: RabbitmqTrial;
  let service: Service;
  let person: Person;

  beforeAll(async () => {
    [trial, service] = await Promise.all([RabbitmqTrial.start(), startService()]);
    await trial.rabbitmq.admin("/queues/%2F/copies", { durable: true });
    person = new Person({ ...personAt(service).env, ...trial.env });
  }, START_MS);
  afterAll(async () => {
    person?.[Symbol.dispose]();
    await Promise.all([service?.close(), trial?.[Symbol.asyncDispose]()]);
  });

  /** Runs a bridge until so many more events are there, and the queue is empty; what it said. */
  async function bridge(words: readonly string[], count: number): Promise<string> {
    const before = (await eventsOf(service)).length;
    await using running = await startBridge(person, [...trial.words, ...words]);
    await lookAgain(
      async () => (await trial.left()) === 0 && (await eventsOf(service)).length === before + count,
      () => undefined,
    );
    expect(await running.end("SIGTERM")).toBe(0);
    return running.stderr;
  }

  const newest = async (count: number) => (await eventsOf(service)).slice(0, count).toReversed();

  test(
    "become events by their type or their routing key, and numbers keep their digits",
    async () => {
      await trial.send([
        { messageId: "m1", type: "order.paid", body: '{"n": 12345678901234567890}' },
        { messageId: "m2", body: "{}" },
      ]);
      expect(await bridge([], 2)).toContain("Published 2.");
      const [first, second] = await newest(2);
      expect([first, second]).toMatchObject([
        { type: "order.paid", external_id: "orders:m1" },
        { type: QUEUE, external_id: "orders:m2" },
      ]);
      const headers = { authorization: `Bearer ${service.keys.test}` };
      const reply = await fetch(`${service.url}/v1/events/${first?.id}`, { headers });
      expect(await reply.text()).toContain('{"n":12345678901234567890}');

      await trial.send([{ messageId: "m3", type: "not a type", body: "{}" }]);
      await bridge(["--type", "fixed.one"], 1);
      expect(await newest(1)).toMatchObject([{ type: "fixed.one", external_id: "orders:m3" }]);
    },
    TEST_MS,
  );

  test(
    "are envelopes where that is said",
    async () => {
      await trial.send([
        { body: '{"type": "a.own", "data": {}, "external_id": "own", "consumer_id": "cust_7"}' },
        { messageId: "e2", body: ' {"type": "a.message", "data": {}}' },
      ]);
      await bridge(["--envelope"], 2);
      expect(await newest(2)).toMatchObject([
        { type: "a.own", external_id: "own", consumer_id: "cust_7" },
        { type: "a.message", external_id: "orders:e2" },
      ]);
    },
    TEST_MS,
  );

  test(
    "go to another queue where they are refused, with the reason, and hold up nothing",
    async () => {
      await trial.send([
        { messageId: "r1", type: "a.b", body: "no JSON" },
        { messageId: "r2", type: "a.b", body: Buffer.from([0x7b, 0xff, 0x7d]) },
        { messageId: "r3", type: "not a type", body: "{}", headers: { mine: "kept", CC: ["copies"] } },
        { type: "a.b", body: '{"without": "an id"}' },
        { messageId: "r5", type: "a.b", body: "{}" },
      ]);
      expect(await bridge([], 1)).toContain("Published 1; 4 refused.");
      // That of the sender alone.
      expect((await trial.takeAll("copies")).length).toBe(1);
      const refused = await trial.takeAll(`${QUEUE}.refused`);
      expect(
        refused.map(({ content, properties }) => [content.toString("latin1"), properties.messageId]),
      ).toEqual([
        ["no JSON", "r1"],
        ["{\xff}", "r2"],
        ["{}", "r3"],
        ['{"without": "an id"}', undefined],
      ]);
      const told = refused.map(({ properties }) => properties.headers as Record<string, string>);
      expect(told[0]?.["x-sealpost-error"]).toBe("Its body is no JSON object in UTF-8.");
      expect(told[2]).toMatchObject({
        mine: "kept",
        "x-sealpost-error": expect.stringContaining("/type: Expected letters"),
        "x-sealpost-routing-key": QUEUE,
      });
      expect(told[3]?.["x-sealpost-error"]).toContain("It has no id");
    },
    TEST_MS,
  );

  test(
    "need no id where that is said",
    async () => {
      await trial.send([{ type: "a.b", body: "{}" }]);
      await bridge(["--without-ids"], 1);
      expect(await newest(1)).toMatchObject([{ external_id: null }]);
    },
    TEST_MS,
  );

  test(
    "of a quorum queue, which counts what comes back, outlast wrong keys and an outage",
    async () => {
      await trial.rabbitmq.admin("/queues/%2F/counted", {
        durable: true,
        arguments: { "x-queue-type": "quorum", "x-delivery-limit": 1 },
      });
      const { key } = await call<{ key: string }>(service, "POST", "/v1/api-keys", {
        name: "reads",
        scopes: ["read"],
      });
      const words = ["rabbitmq", "counted", "--refused", "counted.refused"];
      await trial.send([{ messageId: "c1", type: "a.counted", body: "{}" }], "counted");
      for (let nth = 0; nth < 3; nth++) {
        const { exitCode, stderr } = await person.types(["bridge", ...words], "", { SEALPOST_API_KEY: key });
        expect([exitCode, stderr]).toEqual([1, expect.stringContaining("is answered 403")]);
      }
      expect(await trial.left("counted")).toBe(1);

      await using running = await startBridge(person, words);
      await lookAgain(
        async () => (await trial.left("counted")) === 0,
        () => undefined,
      );
      await service.kill9();
      await trial.send([{ messageId: "c2", type: "a.counted", body: "{}" }], "counted");
      await running.tells("cannot be reached");
      await service.restart();
      await lookAgain(
        async () => (await newest(1))[0]?.external_id === "counted:c2",
        () => undefined,
        DRAIN_MS,
      );
      expect(await running.end("SIGTERM")).toBe(0);
      expect((await newest(2)).map(({ external_id: id }) => id)).toEqual(["counted:c1", "counted:c2"]);
      expect(await trial.left("counted")).toBe(0);
    },
    TEST_MS,
  );

  test(
    "stay where the key is wrong; a password or a queue that is wrong ends the bridge",
    async () => {
      const wrong = [
        [{ SEALPOST_API_KEY: "sp_test_wrong" }, trial.words, "is answered 401"],
        [
          { AMQP_URL: trial.rabbitmq.amqpUrl.replace(":guest@", ":wrong@") },
          trial.words,
          "403 (ACCESS-REFUSED)",
        ],
        [{}, ["rabbitmq", "nothing"], "no queue 'nothing' in vhost '/'"],
      ] as const;
      await trial.send([{ messageId: "w1", type: "a.b", body: "{}" }]);
      for (const [env, words, told] of wrong) {
        const { exitCode, stderr } = await person.types(["bridge", ...words], "", env);
        expect([exitCode, stderr]).toEqual([1, expect.stringContaining(told)]);
      }
      await bridge([], 1);
    },
    TEST_MS,
  );
});

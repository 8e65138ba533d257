// time budget: 900 s
/**
 * `sealpost bridge` between real servers: what it reads from, and a real service. Bridges, sources and the
 * service are killed under load; each message arrives as exactly one event, and nothing is left over.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { startPostgresTrial } from "../client/bridge/postgres-trial.ts";
import { RabbitmqTrial } from "../client/bridge/rabbitmq-trial.ts";
import { SqsTrial } from "../client/bridge/sqs-trial.ts";
import { eventsOf, startBridge, type Trial } from "../client/bridge/trial.ts";
import { personAt, type Running } from "../client/listening.ts";
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
        // A question of a bridge that has ended may have hidden them, for 45 seconds.
        await bridge.tells("cannot be reached", TEST_MS / 2);
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

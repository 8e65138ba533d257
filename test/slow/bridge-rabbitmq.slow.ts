// time budget: 300 s
/** `sealpost bridge rabbitmq` on a real server: what becomes of its messages. Kills: bridge.slow.ts. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { QUEUE, RabbitmqTrial } from "../client/bridge/rabbitmq-trial.ts";
import { eventsOf, startBridge } from "../client/bridge/trial.ts";
import { call, personAt } from "../client/listening.ts";
import { Person } from "../client/kit.ts";
import { hasRabbitmq } from "../kit/rabbitmq.ts";
import { type Service, startService } from "../kit/service.ts";
import { lookAgain } from "../kit/until.ts";

const START_MS = 60_000;
const TEST_MS = 120_000;

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
    "that are refused while the server takes nothing stay, and an end does not wait",
    async () => {
      await trial.send([
        { messageId: "f1", type: "a.b", body: "{}" },
        { messageId: "f2", type: "a.b", body: "no JSON" },
        { messageId: "f3", type: "a.b", body: "{}" },
      ]);
      await trial.rabbitmq.setMemory("0");
      const running = await startBridge(person, trial.words);
      await running.tells(`${QUEUE}.refused does not take it: no answer in 10 seconds`);
      expect(await running.end("SIGTERM")).toBe(0);
      expect(await trial.left()).toBe(2);
      await trial.rabbitmq.setMemory("0.4");
      expect(await bridge([], 1)).toContain("Published 1; 1 refused.");
      // One whose confirmation did not come may be there twice.
      const refused = await trial.takeAll(`${QUEUE}.refused`);
      expect(new Set(refused.map(({ properties }) => properties.messageId as string))).toEqual(
        new Set(["f2"]),
      );
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
        START_MS,
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

// time budget: 600 s
/**
 * `sealpost bridge` between real servers: what it reads from, and a real service. Bridges, sources and the
 * service are killed under load; each message arrives as exactly one event, and nothing is left over.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { startPostgresTrial } from "../client/bridge/postgres-trial.ts";
import { eventsOf, startBridge, type Trial } from "../client/bridge/trial.ts";
import { personAt, type Running } from "../client/listening.ts";
import { Person } from "../client/kit.ts";
import { hasPostgres } from "../kit/postgres.ts";
import { type Service, startService } from "../kit/service.ts";
import { lookAgain } from "../kit/until.ts";

const START_MS = 60_000;
const DRAIN_MS = 60_000;
const TEST_MS = 120_000;
/** About as long as it takes to publish what is written between two kills. */
const LOAD_MS_MAX = 150;
const KILLS = 6;
const WRITTEN_BETWEEN = 350;

interface TrialRow {
  name: string;
  isHere: boolean;
  start: () => Promise<Trial>;
}

const TRIALS: readonly TrialRow[] = [{ name: "PostgreSQL", isHere: hasPostgres, start: startPostgresTrial }];

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

    /** Waits until nothing is left, and ends the bridges, which have nothing to complain about. */
    async function finish(bridges: readonly Running[]): Promise<void> {
      await lookAgain(
        async () => (await trial.left()) === 0,
        () => undefined,
        DRAIN_MS,
      );
      for (const bridge of bridges) {
        const exitCode = await bridge.end("SIGTERM");
        expect([exitCode, bridge.stderr]).toEqual([0, expect.stringContaining("Published ")]);
      }
    }

    async function expectOnceEach(written: readonly string[]): Promise<void> {
      const events = await eventsOf(service);
      const published = events.map(({ external_id: id }) => id ?? "").toSorted();
      expect(published.length).toBe(written.length);
      expect(published).toEqual(written.toSorted());
    }

    /** Writes, and calls for a kill in the midst of it; so many times. */
    async function killAgainAndAgain(count: number, kill: () => Promise<void>): Promise<string[]> {
      const written: string[] = [];
      for (let nth = 0; nth < count; nth++) {
        written.push(...(await trial.write(WRITTEN_BETWEEN)));
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
        await finish([bridge]);
        await expectOnceEach(written);
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
        await finish([bridge]);
        await expectOnceEach(written);
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
        await finish([bridge]);
        await expectOnceEach(written);
      },
      TEST_MS,
    );

    test(
      "two bridges share the work, and one that is ended lets go of what it has",
      async () => {
        const one = await begin();
        const other = await begin();
        const written = await trial.write(1000);
        await Bun.sleep(Math.random() * LOAD_MS_MAX);
        expect(await one.end("SIGTERM")).toBe(0);
        written.push(...(await trial.write(1000)));
        const third = await begin();
        await finish([other, third]);
        await expectOnceEach(written);
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
        await finish([next]);
        await expectOnceEach(written);
      },
      TEST_MS,
    );
  });

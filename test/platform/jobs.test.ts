/**
 * Scheduled work: one at a time, by its time and at the start, ended at a stop; what fails is told and
 * runs again.
 */
import { describe, expect, test } from "bun:test";
import { type Job, type JobReport, Jobs } from "../../src/platform/jobs.ts";

function open(jobs: readonly Job[]): { jobs: Jobs; reports: JobReport[] } {
  const reports: JobReport[] = [];
  return { jobs: new Jobs(jobs, (report) => reports.push(report)), reports };
}

/** A job whose runs end when the test says so. */
class Held {
  begun = 0;
  stopping = false;
  end = Promise.withResolvers<number>();
  readonly job: Job = {
    name: "held",
    every: "0 0 1 1 *",
    run: async ({ isStopping }) => {
      this.begun++;
      const rows = await this.end.promise;
      this.stopping = isStopping();
      return rows;
    },
  };
}

describe("a job", () => {
  test("runs at the start, and again by its time", async () => {
    const third = Promise.withResolvers<void>();
    let runs = 0;
    const job: Job = {
      name: "often",
      every: 1,
      run: async () => {
        if (++runs === 3) third.resolve();
      },
    };
    const { jobs } = open([job]);
    jobs.start();
    await third.promise;
    await jobs.stop();
  });

  test("by a cron pattern runs when its second comes", async () => {
    const second = Promise.withResolvers<void>();
    let runs = 0;
    const job: Job = {
      name: "cron",
      every: "* * * * * *",
      run: async () => {
        if (++runs === 2) second.resolve();
      },
    };
    const { jobs } = open([job]);
    jobs.start();
    await second.promise;
    await jobs.stop();
  });

  test("runs once at a time: who asks meanwhile waits for that run", async () => {
    const held = new Held();
    const { jobs, reports } = open([held.job]);
    jobs.start();
    const asked = [jobs.run("held"), jobs.run("held")];
    held.end.resolve(7);
    await Promise.all(asked);
    expect([held.begun, reports.map(({ rows }) => rows)]).toEqual([1, [7]]);
    await jobs.run("held");
    expect(held.begun).toBe(2);
    await jobs.stop();
  });

  test("that fails is reported, takes no other with it, and runs again", async () => {
    let runs = 0;
    const failing: Job = {
      name: "failing",
      every: "0 0 1 1 *",
      run: async () => {
        if (++runs === 1) throw new Error("the disk is full");
        return 1;
      },
    };
    const { jobs, reports } = open([failing, { name: "other", every: "0 0 1 1 *", run: async () => {} }]);
    await jobs.run("failing");
    await jobs.run("failing");
    await jobs.run("other");
    expect(reports.map(({ name, rows, error }) => [name, rows, error])).toEqual([
      ["failing", 0, "Error: the disk is full"],
      ["failing", 1, undefined],
      ["other", 0, undefined],
    ]);
    for (const { seconds } of reports) expect(seconds).toBeGreaterThanOrEqual(0);
    await jobs.stop();
  });

  test("that runs at a stop is told so and waited for; none starts afterwards", async () => {
    const held = new Held();
    const { jobs } = open([held.job]);
    jobs.start();
    const stopped = jobs.stop();
    held.end.resolve(0);
    await stopped;
    await jobs.run("held");
    expect([held.begun, held.stopping]).toEqual([1, true]);
  });

  test("that is not in the table is nobody's", () => {
    expect(() => open([]).jobs.run("missing")).toThrow("there is no job missing");
  });
});

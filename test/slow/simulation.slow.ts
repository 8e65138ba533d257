// time budget: 3000 s
import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { MUTANTS } from "../simulation/mutants.ts";
import { COUNTED } from "../simulation/tally.ts";

const folder = join(import.meta.dir, "../simulation");
const SEEDS = 600;
/** Others in each run: seeds that are always the same find nothing new. Below where crowded ones begin. */
const FIRST_SEED = 1 + Math.floor(Math.random() * 900_000);
const SEEDS_FOR_A_MUTANT = 2000;
const SCENARIOS = 2;
/** Two together that have 2,500 steps: each is run as often as it has steps. */
const FIRST_SCENARIO = 49;

/** Mutants that lose something only at a crash. */
const LOST_BY_A_CRASH = ["recovery skips deliveries that wait for a retry"];

interface Ended {
  exitCode: number;
  output: string;
}

async function run(
  script: string,
  args: string[],
  { mutant, signal }: { mutant?: number; signal?: AbortSignal } = {},
): Promise<Ended> {
  const preload = mutant === undefined ? [] : ["--preload", join(folder, "mutate.ts")];
  const env = mutant === undefined ? process.env : { ...process.env, MUTANT: String(mutant) };
  const child = Bun.spawn([process.execPath, ...preload, join(folder, script), ...args], {
    env,
    stderr: "pipe",
    stdout: "pipe",
    ...(signal && { signal }),
  });
  const [output, errors, exitCode] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  return { exitCode, output: output + errors };
}

/** The first half of the seeds or scenarios beside the second, as two processors can. */
async function halves(script: string, option: string, count: number, first = 1): Promise<Ended> {
  const half = count / 2;
  const each = [first, first + half].map((from) =>
    run(script, [option, String(half), "--from", String(from)]),
  );
  const ended = await Promise.all(each);
  const output = ended.map((one) => one.output.trim()).join("\n");
  console.log(output);
  return { exitCode: Math.max(...ended.map((one) => one.exitCode)), output };
}

const hunts = new Map<number, Promise<Ended>>();
const over = new AbortController();

/** All seeds with a planted bug, until one finds it. */
function hunt(mutant: number): Promise<Ended> {
  const args = ["--seeds", String(SEEDS_FOR_A_MUTANT), "--failures", "1"];
  const begun = hunts.get(mutant) ?? run("simulate.ts", args, { mutant, signal: over.signal });
  hunts.set(mutant, begun);
  return begun;
}

function sum(matches: Iterable<RegExpMatchArray>): number {
  let total = 0;
  for (const [, count] of matches) total += Number(count);
  return total;
}

afterAll(() => over.abort());

describe("the simulation", () => {
  test(`keeps every promise over ${SEEDS} seeds, while each kind of fault strikes and each bound is met`, async () => {
    console.log(`from seed ${FIRST_SEED}`);
    const { exitCode, output } = await halves("simulate.ts", "--seeds", SEEDS, FIRST_SEED);
    expect({ exitCode, output: exitCode === 0 ? "" : output }).toEqual({ exitCode: 0, output: "" });
    const countOf = (name: string) => sum(output.matchAll(new RegExp(`\\b${name} (\\d+)`, "g")));
    expect(COUNTED.filter((name) => countOf(name) === 0)).toEqual([]);
  }, 1_800_000);

  test("keeps every promise at every crash point of two scenarios", async () => {
    const { exitCode, output } = await halves("crash-points.ts", "--scenarios", SCENARIOS, FIRST_SCENARIO);
    expect({ exitCode, output: exitCode === 0 ? "" : output }).toEqual({ exitCode: 0, output: "" });
  }, 1_200_000);

  test.each(LOST_BY_A_CRASH)(
    "finds at a crash point: %s",
    async (name) => {
      const mutant = MUTANTS.findIndex((one) => one.name === name);
      const { exitCode, output } = await run("crash-points.ts", ["--scenarios", "4"], { mutant });
      expect(output).toContain("fails with a crash after step");
      expect(exitCode).not.toBe(0);
    },
    600_000,
  );

  test("has at least twelve bugs to find", () => expect(MUTANTS.length).toBeGreaterThanOrEqual(12));

  for (const [number, mutant] of MUTANTS.entries()) {
    test(`finds: ${mutant.name}`, async () => {
      const hunted = hunt(number);
      // Beside it the next one, as two processors can.
      if (number + 1 < MUTANTS.length) void hunt(number + 1);
      const { exitCode, output } = await hunted;
      expect(output).not.toContain("does not fit");
      // A bug that names what is not there any more would be found by anything.
      expect(output).not.toContain("ReferenceError");
      expect(exitCode).not.toBe(0);
    }, 900_000);
  }
});

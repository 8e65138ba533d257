/**
 * Runs `bun test` with the arguments given and closes with one line, `N passed, N failed` (and `, N skipped`
 * where any). `bun run test` is the quick suite; `bun run test ./test/slow/<name>.slow.ts` is one of the slow
 * ones. A run that executed no test, ended without its summary or overran its time budget has failed.
 */
import { availableParallelism } from "node:os";
import { basename } from "node:path";

export type Counts = { passed: number; failed: number; skipped: number };

/**
 * It takes some 200 s of processor time over all cores, so less than two minutes on two that are idle; the
 * rest is for machines that are not.
 */
const quickBudgetSeconds = 600;

/**
 * Reads the counts from what `bun test` printed on standard error. A test that calls `process.exit(0)` may
 * end the whole run with exit code 0 and no summary: that is a failure too.
 */
export function readCounts(output: string, exitCode: number): Counts {
  const summary = output.match(/(?:^ \d+ .*\n)+(?=Ran \d+ tests? across)/gm)?.at(-1) ?? "";
  const count = (name: string) => Number(summary.match(new RegExp(`^ (\\d+) ${name}$`, "m"))?.[1] ?? 0);
  const counts = { passed: count("pass"), failed: count("fail"), skipped: count("skip") + count("todo") };
  const isSound = exitCode === 0 && counts.passed + counts.failed + counts.skipped > 0;
  return isSound ? counts : { ...counts, failed: Math.max(counts.failed, 1) };
}

/** The line that a reader, and `.ci/run`, looks for. */
export function describeCounts({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

/**
 * A slow suite states its own budget in a comment, `// time budget: 600 s`; everything else shares the
 * quick one.
 */
export async function readBudgetSeconds(args: string[]): Promise<number> {
  const slow = args.find((arg) => arg.endsWith(".slow.ts"));
  if (slow === undefined) return quickBudgetSeconds;
  const stated = (await Bun.file(slow).text()).match(/^\/\/ time budget: (\d+) s$/m)?.[1];
  if (stated === undefined)
    throw new Error(`${basename(slow)} states no time budget: add "// time budget: <seconds> s"`);
  return Number(stated);
}

/**
 * The quick suite takes all processors: a worker each, which runs one file after the other as a single run
 * does, and one more, as tests wait for timers and disks. A slow suite has the machine to itself.
 */
function shareOut(args: string[]): string[] {
  const isSlow = args.some((arg) => arg.endsWith(".slow.ts"));
  return isSlow ? [] : [`--parallel=${availableParallelism() + 1}`, "--no-isolate"];
}

/** Passes everything on while it comes, and answers it whole. */
async function echo(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stream) {
    process.stderr.write(chunk);
    text += decoder.decode(chunk, { stream: true });
  }
  return text;
}

/**
 * `bun run` puts a folder in front whose `node` is Bun; a test that starts `node` or `npx` means the
 * machine's own.
 */
function machinePath(): string {
  const folders = (process.env["PATH"] ?? "").split(":");
  return folders.filter((folder) => !/\/bun-node-[^/]*$/.test(folder)).join(":");
}

async function main(args: string[]): Promise<number> {
  const budgetSeconds = await readBudgetSeconds(args);
  const child = Bun.spawn([process.execPath, "test", "--timeout", "20000", ...shareOut(args), ...args], {
    env: { ...process.env, PATH: machinePath() },
    stdin: "ignore",
    stdout: "inherit",
    stderr: "pipe",
    timeout: budgetSeconds * 1000,
    killSignal: "SIGKILL",
  });
  const [output, exitCode] = await Promise.all([echo(child.stderr), child.exited]);
  const counts = readCounts(output, exitCode);
  if (child.signalCode === "SIGKILL")
    console.log(`killed: out of memory, or over the time budget of ${budgetSeconds} s`);
  console.log(describeCounts(counts));
  return counts.failed === 0 ? 0 : 1;
}

if (import.meta.main) process.exit(await main(process.argv.slice(2)));

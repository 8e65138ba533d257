/** Samples of the processor's time that Linux's perf took of a process, by kernel and frame pointers. */
export interface Recorded {
  /** By thread: Linux cuts the names that Bun gives them. */
  threads: Map<string, number>;
  kernel: number;
  /** In machine code that was made of JavaScript, as against Bun's own. */
  compiled: number;
  /** Of the main thread: in JavaScript or in what it called. */
  inJavaScript: number;
}

const PERF = "perf";
const PER_SECOND = "997";
const MAIN_THREAD = /^bun/;

/** Records a process into `file` for so long. */
export async function record(pid: number, seconds: number, file: string): Promise<Recorded> {
  if (Bun.which(PERF) === null) throw new Error("perf is missing: apt-get install linux-perf");
  const until = ["--", "sleep", String(seconds)];
  const command = [PERF, "record", "-F", PER_SECOND, "-e", "cpu-clock", "-g", "-o", file, "-p", String(pid)];
  await run([...command, ...until]);
  return count(await run([PERF, "script", "-i", file, "-F", "comm,ip,sym,dso"]));
}

async function run(command: string[]): Promise<string> {
  const child = Bun.spawn(command, { stdout: "pipe", stderr: "pipe" });
  const [text, complaint] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")}: ${complaint}`);
  return text;
}

/** Each sample is a line with its thread, then a line for each frame, and an empty line. */
function count(script: string): Recorded {
  const recorded: Recorded = { threads: new Map(), kernel: 0, compiled: 0, inJavaScript: 0 };
  for (const sample of script.split("\n\n")) {
    const [thread = "", innermost = "", ...callers] = sample.trim().split("\n");
    const name = thread.trim();
    if (name === "") continue;
    recorded.threads.set(name, (recorded.threads.get(name) ?? 0) + 1);
    if (innermost.includes("[kernel")) recorded.kernel++;
    if (isCompiled(innermost)) recorded.compiled++;
    if (isMain(name) && [innermost, ...callers].some(isCompiled)) recorded.inJavaScript++;
  }
  return recorded;
}

/** What perf calls memory whose code no file holds. */
function isCompiled(frame: string): boolean {
  return /perf-\d+\.map/.test(frame);
}

export function isMain(thread: string): boolean {
  return MAIN_THREAD.test(thread);
}

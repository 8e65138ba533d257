import { EXIT } from "../platform/command-line.ts";

/**
 * What the commands ask of whoever runs them: a text that nobody sees, keys as they are pressed, the end. And
 * what those that run on tell of the service.
 */

const INTERRUPT = "\u0003";
const END = "\u0004";
const BACK = "\u0008\u007f";

/** All of standard input without spaces around it; at a terminal a line that is not shown as it is typed. */
export async function readHidden(question: string): Promise<string> {
  if (!process.stdin.isTTY) return (await Bun.stdin.text()).trim();
  process.stderr.write(question);
  const { promise, resolve } = Promise.withResolvers<string>();
  let text = "";
  const release = onKeys((key) => {
    if (key === INTERRUPT) {
      release();
      process.stderr.write("\n");
      process.exit(1);
    }
    if (key === "\r" || key === "\n" || key === END) resolve(text);
    else if (BACK.includes(key)) text = text.slice(0, -1);
    else text += key;
  });
  await promise;
  release();
  process.stderr.write("\n");
  return text.trim();
}

/**
 * Calls back for each key that is pressed, and shows none of them; the function that is answered ends that.
 * Where standard input is no terminal, no key is ever pressed.
 */
export function onKeys(press: (key: string) => void): () => void {
  const { stdin } = process;
  if (!stdin.isTTY) return () => {};
  const read = (text: Buffer) => {
    for (const key of text.toString()) press(key);
  };
  stdin.setRawMode(true);
  stdin.on("data", read);
  stdin.resume();
  return () => {
    stdin.setRawMode(false);
    stdin.off("data", read);
    stdin.pause();
  };
}

/** For a command that runs until a signal, or until its reader has left; `end` does the same. */
export function endBySignal(): { signal: AbortSignal; end: () => void } {
  const ending = new AbortController();
  const end = () => {
    // Whoever asks twice does not want to wait for the end.
    if (ending.signal.aborted) process.exit(EXIT.failed);
    ending.abort();
  };
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, end);
  process.stdout.on("error", () => ending.abort());
  return { signal: ending.signal, end };
}

/** That the service is not reached, and why. Null: it is there again. */
export function tellWeather(problem: string | null): void {
  console.error(problem === null ? "It is there again." : `${problem} (trying until it is there again)`);
}

/** A line of a command that runs on. Not by the console, which would not notice that its reader has left. */
export function printLine(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Such as 12:05:59, by the clock of this machine. */
export function timeOfDay(): string {
  return new Date().toTimeString().slice(0, 8);
}

import { join } from "node:path";
import type { BunFile, Subprocess } from "bun";

const STOP_TIMEOUT_MS = 15_000;

const running = new Set<Subprocess>();
const asked = new WeakSet<Subprocess>();
process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));

/** Starts a process that does not outlive the bench, however the bench ends. */
export function startChild(
  command: string[],
  options: Bun.Spawn.SpawnOptions<"ignore", "inherit" | BunFile, "inherit" | BunFile>,
): Subprocess {
  const child = Bun.spawn(command, options);
  running.add(child);
  void child.exited.then(() => running.delete(child));
  return child;
}

/** Ends the bench, and says what `describe` makes of it, where the child ends before it is asked to. */
export function expectToLast(child: Subprocess, describe: (code: number) => string): void {
  void child.exited.then((code) => {
    if (!asked.has(child)) throw new Error(describe(code));
  });
}

/** SIGKILL. Answers the exit code. */
export function killChild(child: Subprocess): Promise<number> {
  asked.add(child);
  child.kill("SIGKILL");
  return child.exited;
}

/** Asks a child to end with SIGTERM, and kills it when it has not ended after 15 s. Answers its exit code. */
export async function stopChild(child: Subprocess): Promise<number> {
  asked.add(child);
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
  const code = await child.exited;
  clearTimeout(timer);
  return code;
}

/** One of the bench's own processes; it answers each message with exactly one message. */
export interface Peer {
  pid: number;
  ask<Answer>(message: unknown): Promise<Answer>;
  stop(): Promise<number>;
}

/**
 * Starts a file of this folder with `settings` as its argument, and resolves with the first message it sends.
 */
export async function startPeer(file: string, settings: object): Promise<{ peer: Peer; ready: unknown }> {
  let next = Promise.withResolvers<unknown>();
  const child = startChild([process.execPath, join(import.meta.dir, file), JSON.stringify(settings)], {
    stdio: ["ignore", "inherit", "inherit"],
    ipc: (message) => next.resolve(message),
  });
  expectToLast(child, (code) => `${file} ended with exit code ${code}`);
  const ready = await next.promise;
  const ask = <Answer>(message: unknown) => {
    next = Promise.withResolvers();
    child.send(message);
    return next.promise as Promise<Answer>;
  };
  return { peer: { pid: child.pid, ask, stop: () => stopChild(child) }, ready };
}

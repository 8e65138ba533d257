import { openSync, closeSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Subprocess } from "bun";

const START_TIMEOUT_MS = 20_000;
const STOP_TIMEOUT_MS = 15_000;
const POLL_MS = 20;

const running = new Set<Subprocess>();
process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));

/** A child process of the bench that answers each message with exactly one message. */
export interface Peer {
  /** Sends a message and resolves with the answer; rejects when the process has ended. */
  ask<Answer>(message: unknown): Promise<Answer>;
  stop(): Promise<void>;
}

/** Starts `file` of this folder with `settings` as its argument; resolves with the first message it sends. */
export async function startPeer<Ready>(file: string, settings: unknown): Promise<{ peer: Peer; ready: Ready }> {
  let settle = Promise.withResolvers<unknown>();
  const child = spawn([process.execPath, join(import.meta.dir, file), JSON.stringify(settings)], {
    ipc: (message) => settle.resolve(message),
    onExit: (_, code) => settle.reject(new Error(`${file} ended with exit code ${code}`)),
  });
  const ready = (await settle.promise) as Ready;
  const peer: Peer = {
    ask<Answer>(message: unknown) {
      settle = Promise.withResolvers();
      child.send(message);
      return settle.promise as Promise<Answer>;
    },
    stop: () => stop(child),
  };
  return { peer, ready };
}

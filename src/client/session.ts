import { createHmac, randomBytes } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { messageOf } from "../core/errors.ts";
import { parseObject } from "../core/json/value.ts";
import { CommandError } from "../platform/command-line.ts";
import { type Env, makeSettingsFolder } from "./profiles.ts";
import { changeShared, readIfThere } from "./shared-file.ts";

/**
 * A run of `sealpost listen`. Whether it still runs is asked of its socket in the folder of settings: one
 * that has crashed answers nobody, whatever process has its number by now.
 */

/** This machine, for whoever shares the folder with others too. */
export interface Machine {
  id: string;
  /** What the signing secrets of this machine are made of: 32 bytes in base64. */
  seed: string;
}

/** What the folder says of this machine; made where it says nothing. Throws CommandError. */
export function readMachine(env: Env): Machine {
  const path = join(makeSettingsFolder(env), "machine.json");
  try {
    const machine = machineIn(readIfThere(path)) ?? makeMachine(path);
    return { ...machine, id: `${machine.id}@${hostname()}` };
  } catch (error) {
    throw new CommandError(`${path} cannot be read or made: ${messageOf(error)}`);
  }
}

/** Another process may make it at the same time: its one is taken then. */
function makeMachine(path: string): Machine {
  let machine: Machine = { id: randomBytes(8).toString("hex"), seed: randomBytes(32).toString("base64") };
  changeShared(path, (text) => {
    const kept = machineIn(text);
    machine = kept ?? machine;
    return kept === null ? `${JSON.stringify(machine)}\n` : null;
  });
  return machine;
}

function machineIn(text: string | null): Machine | null {
  const { id, seed } = parseObject(text ?? "") ?? {};
  return typeof id === "string" && typeof seed === "string" ? { id, seed } : null;
}

/** The secret that signs what this machine listens to in a project: the same in every session. */
export function secretFor({ seed }: Machine, url: string, projectId: string): string {
  const key = createHmac("sha256", Buffer.from(seed, "base64"))
    .update(`${url}\n${projectId}`)
    .digest("base64");
  return `whsec_${key}`;
}

/** A session that is this process's own. */
export interface Session extends Disposable {
  name: string;
}

export function newSession(env: Env): Promise<Session | null> {
  return claimSession(env, randomBytes(8).toString("hex"));
}

/** Makes a session this process's own, and ends with it; null where it is another one's that still runs. */
export async function claimSession(env: Env, name: string): Promise<Session | null> {
  const folder = join(makeSettingsFolder(env), "listening");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `${name}.sock`);
  if (await answers(path)) return null;
  // What a crash left stands in the way of a new socket.
  rmSync(path, { force: true });
  try {
    const listener = Bun.listen({ unix: path, socket: { data() {} } });
    return {
      name,
      [Symbol.dispose]: () => {
        listener.stop(true);
        rmSync(path, { force: true });
      },
    };
  } catch {
    return null;
  }
}

async function answers(path: string): Promise<boolean> {
  try {
    (await Bun.connect({ unix: path, socket: { data() {} } })).end();
    return true;
  } catch {
    return false;
  }
}

/** Two machines of a pair, and a router that sends each request to the one that is ready. */
import { dirname } from "node:path";
import { CONFIG, Replicated } from "../kit/litestream.ts";
import { Service } from "../kit/service.ts";
import { type Places, SERVICE_ENV } from "./machine.ts";
import { clientOf } from "./setup.ts";
import type { Target } from "./publishers.ts";

const MAIN = `${import.meta.dir}/../../src/main.ts`;
const LOOK_MS = 20;

/** The settings of one machine of a pair. */
export function pairedEnv(litestream: string, { env }: Pick<Places, "env">): Record<string, string> {
  return {
    ...SERVICE_ENV,
    SEALPOST_LOG_LEVEL: "info",
    LITESTREAM_CONFIG: CONFIG,
    PATH: `${dirname(litestream)}:${process.env["PATH"] ?? ""}`,
    ...env,
  };
}

export const standbyCommand = (...options: string[]) => [process.execPath, MAIN, "standby", ...options];

/** One machine, which is started as a standby, and anew whenever it ends, as an orchestrator does. */
export class Machine implements AsyncDisposable {
  readonly service: Service;
  readonly #replicated: Replicated;

  constructor(env: Record<string, string>) {
    this.service = new Service({ command: standbyCommand(), env });
    this.#replicated = new Replicated(this.service);
  }

  get url(): string {
    return this.service.url;
  }

  /** Resolves once it answers as the primary. */
  async ready(): Promise<void> {
    const { keys } = this.service;
    await this.service.ready();
    // Only the first start of a database prints them.
    if (this.service.keys.live === "") this.service.keys = keys;
  }

  /** Resolves once it follows, and has a copy. */
  async follows(): Promise<void> {
    for (;;) {
      const answer = await fetch(`${this.url}/readyz`).catch(() => null);
      const { behind_seconds: behind } = ((await answer?.json()) ?? {}) as { behind_seconds?: number | null };
      if (typeof behind === "number" && behind < 1) return;
      await Bun.sleep(LOOK_MS);
    }
  }

  /** When it last became the primary, in Unix milliseconds. */
  get becameAt(): number {
    const lines = this.service.output().split("\n");
    const last = lines.findLast((line) => line.includes("this machine is the primary")) ?? "";
    return Date.parse((JSON.parse(last) as { ts: string }).ts);
  }

  /** kill -9 of all its processes. */
  lose(): Promise<number> {
    return this.#replicated.loseMachine();
  }

  /** Everything stands still, as where the host halts its guest. Answers what ends that. */
  freeze(): () => void {
    const goOn = this.#replicated.freeze();
    process.kill(this.service.pid, "SIGSTOP");
    return () => {
      process.kill(this.service.pid, "SIGCONT");
      goOn();
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#replicated[Symbol.asyncDispose]();
  }
}

export interface Pair extends AsyncDisposable {
  primary: Machine;
  standby: Machine;
}

/** Both at one replica; the first one is the primary, and the second has a copy. */
export async function startPair(
  litestream: string,
  settings: Record<string, string>,
  ofPrimary: Pick<Places, "env">,
  ofStandby = ofPrimary,
): Promise<Pair> {
  const primary = new Machine({ ...pairedEnv(litestream, ofPrimary), ...settings });
  await primary.ready();
  const standby = new Machine({ ...pairedEnv(litestream, ofStandby), ...settings });
  await standby.follows();
  standby.service.keys = primary.service.keys;
  const end = async () => {
    for (const machine of [primary, standby]) await machine[Symbol.asyncDispose]();
  };
  return { primary, standby, [Symbol.asyncDispose]: end };
}

export function publish(
  { service }: Pick<Machine, "service">,
  externalId: string,
  headers: Record<string, string> = {},
) {
  const event = { type: "order.paid", data: {}, external_id: externalId };
  return clientOf(service).post("/v1/events", event, headers);
}

/** Asks the machines whether they are ready, and has a target lead to one that is. */
export class Router implements AsyncDisposable {
  #isOpen = true;
  readonly #looking: Promise<void>;
  /** How often it turned to another machine. */
  turns = 0;

  constructor(
    private readonly target: Target,
    private readonly machines: readonly Machine[],
  ) {
    this.#looking = this.#look();
  }

  async #look(): Promise<void> {
    while (this.#isOpen) {
      const urls = await Promise.all(this.machines.map(({ url }) => readyUrl(url)));
      const url = urls.find((one) => one !== null);
      if (url && url !== this.target.url) {
        this.target.url = url;
        this.turns++;
      }
      await Bun.sleep(LOOK_MS);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOpen = false;
    await this.#looking;
  }
}

async function readyUrl(url: string): Promise<string | null> {
  const signal = AbortSignal.timeout(300);
  const answer = await fetch(`${url}/readyz`, { signal }).catch(() => null);
  return answer?.ok ? url : null;
}

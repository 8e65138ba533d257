/**
 * What an event costs the service itself, from the request to the recorded attempt, without any network:
 * requests are handed to its handler in one process, and its sockets answer at once. It prints processor
 * time of the main thread for each event, the least of some runs: a busy machine disturbs that less than
 * `run.ts`. Linux only: its data lies in memory.
 *
 *   bun test/bench/own-work.ts [--rounds 5] [--events 10000] [--endpoints 1] [--beside ../other-checkout]
 *                              [--traced RATIO]
 *
 * `--endpoints`: so many, each of which gets every so manyth event.
 * `--beside`: another checkout in turns with this one, and the ratio of the two.
 * `--traced`: this checkout once more, with so much of its traces recorded, and the ratio to that without.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type * as AppModule from "../../src/app.ts";
import type * as ConfigModule from "../../src/config.ts";
import type * as ClockModule from "../../src/platform/clock.ts";
import type * as LogModule from "../../src/platform/log.ts";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    events: { type: "string", default: "10000" },
    endpoints: { type: "string", default: "1" },
    beside: { type: "string" },
    traced: { type: "string" },
    run: { type: "string" },
  },
});

const own = join(import.meta.dir, "../..");
const RUNS = 5;
const TOGETHER = 64;
const URL_OF_SERVICE = "http://127.0.0.1:18999";
const ANSWER = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

if (options.run === undefined) await compare();
else console.log(await measure(options.run, Number(options.events), Number(options.endpoints)));
process.exit(0);

/** What is measured: a checkout, and what its environment says of traces. */
interface Variant {
  name: string;
  folder: string;
  env: Record<string, string>;
}

function variants(): Variant[] {
  const { beside, traced } = options;
  const plain = { name: own, folder: own, env: {} };
  if (traced !== undefined) return [plain, { name: `${own}, traced`, folder: own, env: tracing(traced) }];
  return beside === undefined ? [plain] : [{ name: beside, folder: resolve(beside), env: {} }, plain];
}

/** Of settings that trace to a collector in this process, which takes all. */
function tracing(ratio: string): Record<string, string> {
  const collector = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => Response.json({}) });
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.port}`,
    OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
    OTEL_TRACES_SAMPLER_ARG: ratio,
  };
}

/** Prints the least of all rounds of each variant; the two take turns. */
async function compare(): Promise<void> {
  const all = variants();
  const least = new Map<Variant, number>();
  for (let round = 0; round < Number(options.rounds); round++) {
    for (const variant of all) {
      const us = await measureApart(variant);
      console.log(`${variant.name}: ${us.toFixed(1)} us an event`);
      least.set(variant, Math.min(us, least.get(variant) ?? us));
    }
  }
  const [first = 0, second] = all.map((variant) => least.get(variant) ?? 0);
  console.log(`\nleast ${(second ?? first).toFixed(1)} us an event`);
  if (second !== undefined) console.log(`beside ${first.toFixed(1)}: ratio ${(second / first).toFixed(3)}`);
}

/** In a process of its own, as each checkout has modules of its own. */
async function measureApart({ folder, env }: Variant): Promise<number> {
  const numbers = ["--events", options.events, "--endpoints", options.endpoints];
  const command = [process.execPath, import.meta.path, "--run", folder, ...numbers];
  const child = Bun.spawn(command, { env: { ...process.env, ...env }, stdout: "pipe", stderr: "inherit" });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`${folder} could not be measured: ${text}`);
  return Number(text);
}

/** Microseconds of the main thread for each event: the least of some runs, after one to warm up. */
async function measure(folder: string, events: number, endpoints: number): Promise<number> {
  const directory = mkdtempSync("/dev/shm/sealpost-own-work-");
  process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
  const network = new NoNetwork();
  const key = await start(folder, directory);
  const post = (path: string, value: object) => network.post(path, key, JSON.stringify(value));
  for (let at = 0; at < endpoints; at++) {
    const endpoint = { url: urlOf(at), event_types: [typeOf(at)], max_concurrency: 100 };
    const made = await post("/v1/endpoints", endpoint);
    if (made.status !== 201) throw new Error(`no endpoint: ${made.status} ${await made.text()}`);
  }
  const data = { text: "x".repeat(950) };
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run <= RUNS; run++) {
    const before = process.threadCpuUsage();
    await publish(events, (at) => post("/v1/events", { type: typeOf(at % endpoints), data }));
    await network.untilSent(events * (run + 1));
    const after = process.threadCpuUsage();
    const us = (after.user + after.system - before.user - before.system) / events;
    if (run > 0) least = Math.min(least, us);
  }
  return least;
}

function typeOf(endpoint: number): string {
  return `bench.event_${endpoint}`;
}

/** Each is at an address of its own. */
function urlOf(endpoint: number): string {
  return `http://127.${1 + (endpoint >> 16)}.${(endpoint >> 8) & 255}.${endpoint & 255}:9/`;
}

/** Starts the service of a checkout; answers its live key. */
async function start(folder: string, directory: string): Promise<string> {
  const load = <Module>(path: string) => import(join(folder, "src", path)) as Promise<Module>;
  const { startApp } = await load<typeof AppModule>("app.ts");
  const { readConfig } = await load<typeof ConfigModule>("config.ts");
  const { systemClock } = await load<typeof ClockModule>("platform/clock.ts");
  const { createLogger } = await load<typeof LogModule>("platform/log.ts");
  const read = readConfig({
    SEALPOST_HOST: "127.0.0.1",
    SEALPOST_PORT: new URL(URL_OF_SERVICE).port,
    SEALPOST_DATA_DIR: directory,
    SEALPOST_ALLOW_PRIVATE_DESTINATIONS: "127.0.0.0/8",
    SEALPOST_PUBLISH_RATE_LIMIT: "0",
    SEALPOST_MANAGEMENT_RATE_LIMIT: "0",
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith("OTEL_"))),
  });
  if (!read.ok) throw new Error(read.problems.join("\n"));
  let key = "";
  await startApp(read.config, {
    clock: systemClock,
    logger: createLogger("info", () => {}, Date.now),
    announce: ({ live }) => void (key = live),
    fail(error) {
      throw error;
    },
  });
  return key;
}

async function publish(count: number, one: (at: number) => Promise<Response>): Promise<void> {
  let next = 0;
  const goOn = async () => {
    while (next < count) {
      const { status } = await one(next++);
      if (status !== 202) throw new Error(`an event was answered with ${status}`);
    }
  };
  await Promise.all(Array.from({ length: TOGETHER }, goOn));
}

interface SocketHandlers {
  open(socket: object): void;
  data(socket: object, bytes: Buffer): void;
}

/** In place of Bun's server and sockets: requests come by `post`, and what is sent is answered with 200. */
class NoNetwork {
  #handle: (request: Request) => Response | Promise<Response> = () => new Response(null, { status: 503 });
  #sent = 0;
  #asked: (() => void)[] = [];

  constructor() {
    Object.assign(Bun, {
      serve: (server: { fetch: (request: Request) => Response | Promise<Response> }) => {
        this.#handle = server.fetch;
        return { port: 18999, stop: async () => {}, timeout() {} };
      },
      connect: async (target: { data: object; socket: SocketHandlers }) => this.#connect(target),
    });
  }

  async post(path: string, key: string, body: string): Promise<Response> {
    const headers = {
      host: new URL(URL_OF_SERVICE).host,
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "content-length": String(body.length),
    };
    return this.#handle(new Request(URL_OF_SERVICE + path, { method: "POST", headers, body }));
  }

  async untilSent(count: number): Promise<void> {
    while (this.#sent < count) await new Promise<void>((next) => setImmediate(next));
  }

  #connect({ data, socket: handlers }: { data: object; socket: SocketHandlers }): object {
    const socket = {
      data,
      write: (bytes: Uint8Array) => {
        this.#answerSoon(() => handlers.data(socket, Buffer.from(ANSWER, "latin1")));
        return bytes.length;
      },
      terminate() {},
    };
    setImmediate(() => handlers.open(socket));
    return socket;
  }

  /** All that were asked in one turn are answered in the next, as the loop does. */
  #answerSoon(answer: () => void): void {
    if (this.#asked.push(answer) > 1) return;
    setImmediate(() => {
      const asked = this.#asked;
      this.#asked = [];
      this.#sent += asked.length;
      for (const one of asked) one();
    });
  }
}

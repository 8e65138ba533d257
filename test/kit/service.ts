/**
 * The real service as a child process, on a data directory and a port of its own, for tests that talk to it
 * over HTTP, kill it and start it again. It runs from the sources, or from the executable where `command`
 * says so.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type ServiceOptions = {
  /** More settings, over the test's own (port, host, data directory, loopback destinations allowed). */
  env?: Record<string, string>;
  /** Default: `bun src/main.ts` with the Bun that runs the test. */
  command?: string[];
};

export type Exit = { exitCode: number | null; output: string };

const fromSources = [process.execPath, join(import.meta.dir, "../../src/main.ts")];
const readyDeadlineMs = 30_000;
const stopDeadlineMs = 15_000;
const keysLagMs = 500;

/**
 * One process and what it printed; it sees only the environment given, and no file of the checkout's folder.
 */
class Process {
  readonly #child: Bun.Subprocess<"ignore", "pipe", "pipe">;
  readonly #printed: Promise<void>[];
  readonly #waiting = new Set<() => void>();
  output = "";

  constructor(command: string[], env: Record<string, string>, cwd: string) {
    const inherited = { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "" };
    this.#child = Bun.spawn(command, {
      cwd,
      env: { ...inherited, ...env },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    this.#printed = [this.#read(this.#child.stdout), this.#read(this.#child.stderr)];
  }

  get pid(): number {
    return this.#child.pid;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  async end(signal: NodeJS.Signals): Promise<Exit> {
    this.#child.kill(signal);
    return this.exit();
  }

  /** Resolves when the process is gone and all that it printed is read; past the deadline it is killed. */
  async exit(): Promise<Exit> {
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), stopDeadlineMs);
    await this.#child.exited;
    clearTimeout(timer);
    await Promise.all(this.#printed);
    return { exitCode: this.#child.exitCode, output: this.output };
  }

  /** Resolves once the output holds this text: true; false where it has ended, or the time is over. */
  async prints(text: string, ms: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => void (this.output.includes(text) && resolve());
    this.#waiting.add(look);
    const timer = setTimeout(resolve, ms);
    look();
    await Promise.race([promise, Promise.all(this.#printed)]);
    clearTimeout(timer);
    this.#waiting.delete(look);
    return this.output.includes(text);
  }

  async #read(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      this.output += decoder.decode(chunk, { stream: true });
      for (const look of this.#waiting) look();
    }
  }
}

export class Service implements AsyncDisposable {
  readonly url: string;
  readonly dataDir: string;
  /** The API keys that the first start printed; empty where an operator token is set. */
  keys = { live: "", test: "" };
  readonly #home: string;
  readonly #command: string[];
  readonly #env: Record<string, string>;
  #process: Process;
  #earlierOutput = "";

  constructor(options: ServiceOptions) {
    const port = options.env?.["SEALPOST_PORT"] ?? String(findFreePort());
    this.#home = mkdtempSync(join(tmpdir(), "sealpost-service-"));
    this.url = `http://127.0.0.1:${port}`;
    this.dataDir = options.env?.["SEALPOST_DATA_DIR"] ?? join(this.#home, "data");
    this.#command = options.command ?? fromSources;
    this.#env = {
      SEALPOST_HOST: "127.0.0.1",
      SEALPOST_ALLOW_PRIVATE_DESTINATIONS: "127.0.0.0/8",
      ...options.env,
      SEALPOST_PORT: port,
      SEALPOST_DATA_DIR: this.dataDir,
    };
    this.#process = this.#launch({});
  }

  get pid(): number {
    return this.#process.pid;
  }

  /** False where its log is too quiet for that. */
  get #tellsListening(): boolean {
    return ["debug", "info"].includes(this.#env["SEALPOST_LOG_LEVEL"] ?? "info");
  }

  /** All that was printed on both streams, over every start. */
  output(): string {
    return this.#earlierOutput + this.#process.output;
  }

  /**
   * Resolves when `/readyz` answers 200; rejects with the output when the process ends or the
   * deadline passes.
   */
  async ready(): Promise<void> {
    const deadline = performance.now() + readyDeadlineMs;
    if (this.#tellsListening) await this.#process.prints('"msg":"listening"', readyDeadlineMs);
    while (!(await this.#isReady())) {
      if (this.#process.hasEnded)
        throw new Error(`the service ended at its start:\n${(await this.exit()).output}`);
      if (performance.now() > deadline)
        throw new Error(`not ready in ${readyDeadlineMs} ms:\n${this.output()}`);
      await Bun.sleep(10);
    }
    await this.#findKeys();
  }

  /** Resolves once this start has printed the text; rejects where it ends without, or the time is over. */
  async printed(text: string, ms = readyDeadlineMs): Promise<void> {
    if (await this.#process.prints(text, ms)) return;
    throw new Error(`it did not print ${JSON.stringify(text)}:\n${this.output()}`);
  }

  /** SIGTERM, then the exit code (null where it had to be killed after 15 s). */
  async stop(): Promise<number | null> {
    return (await this.#process.end("SIGTERM")).exitCode;
  }

  async kill9(): Promise<void> {
    await this.#process.end("SIGKILL");
  }

  /** Stops it where it stands: it answers nothing more, and only `kill9` ends it. */
  async freeze(): Promise<void> {
    process.kill(this.pid, "SIGSTOP");
    // The third field is the state, and the second one, the name, may hold spaces.
    const state = () => /\) (\w)/.exec(readFileSync(`/proc/${this.pid}/stat`, "utf8"))?.[1];
    while (state() !== "T") await Bun.sleep(1);
  }

  /** Resolves when the process has ended by itself. */
  exit(): Promise<Exit> {
    return this.#process.exit();
  }

  /**
   * Starts again on the same data directory and port, after `stop` or `kill9`; `env` is set for this
   * start only.
   */
  async restart(env: Record<string, string> = {}): Promise<void> {
    this.relaunch(env);
    await this.ready();
  }

  /** The same, and does not wait: for whoever is a standby then. */
  relaunch(env: Record<string, string> = {}): void {
    if (!this.#process.hasEnded) throw new Error("stop or kill the service before it is started again");
    this.#earlierOutput += this.#process.output;
    this.#process = this.#launch(env);
  }

  /** Kills what still runs and removes the data directory. */
  async close(): Promise<void> {
    await this.kill9();
    rmSync(this.#home, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #launch(env: Record<string, string>): Process {
    return new Process(this.#command, { ...this.#env, ...env }, this.#home);
  }

  async #isReady(): Promise<boolean> {
    try {
      return (await fetch(`${this.url}/readyz`)).status === 200;
    } catch {
      return false; // nothing listens yet
    }
  }

  /** They are printed before it listens; where no line says that it does, they may come a little later. */
  async #findKeys(): Promise<void> {
    this.#readKeys();
    if (this.keys.live !== "" || this.#tellsListening) return;
    await this.#process.prints("sp_test_", keysLagMs);
    this.#readKeys();
  }

  #readKeys(): void {
    const find = (mode: string) => this.output().match(new RegExp(`\\bsp_${mode}_[0-9A-Za-z]+`))?.[0] ?? "";
    this.keys = { live: find("live"), test: find("test") };
  }
}

/** Starts the service and waits until it is ready: `await using service = await startService()`. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const service = new Service(options);
  try {
    await service.ready();
    return service;
  } catch (error) {
    await service.close();
    throw error;
  }
}

/** Runs the service until it ends by itself, as it must where a setting is wrong. */
export async function runService(options: ServiceOptions = {}): Promise<Exit> {
  await using service = new Service(options);
  return await service.exit();
}

function findFreePort(): number {
  const probe = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  probe.stop(true);
  return probe.port;
}

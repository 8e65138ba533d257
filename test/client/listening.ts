/** A command that runs on, for tests that look at what it prints meanwhile. */
import { afterAll, beforeAll } from "bun:test";
import { MAIN } from "../cli/kit.ts";
import { type Service, startService } from "../kit/service.ts";
import { lookAgain } from "../kit/until.ts";
import { Person } from "./kit.ts";

export interface Line {
  webhook_id: string;
  type: string;
  status: number | null;
  duration_ms: number;
  again: boolean;
  error: string | null;
  body?: string;
  answer?: string | null;
}

export class Running implements AsyncDisposable {
  readonly #child: Bun.Subprocess<"ignore", "pipe", "pipe">;
  readonly #read: Promise<void>[];
  stdout = "";
  stderr = "";

  constructor(person: Person, words: readonly string[]) {
    this.#child = Bun.spawn([process.execPath, MAIN, ...words], {
      env: { PATH: process.env["PATH"] ?? "", ...person.env },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    this.#read = [
      this.#keep(this.#child.stdout, (text) => (this.stdout += text)),
      this.#keep(this.#child.stderr, (text) => (this.stderr += text)),
    ];
  }

  /** Of what it prints with `--json`. */
  parsed<T>(): T[] {
    return this.stdout
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as T);
  }

  tells(text: string, withinMs?: number): Promise<unknown> {
    return this.until(() => this.stderr.includes(text), text, withinMs);
  }

  shows(count: number): Promise<unknown> {
    return this.until(() => this.stdout.split("\n").length > count, `${count} lines`);
  }

  async end(signal: NodeJS.Signals = "SIGINT"): Promise<number | null> {
    this.#child.kill(signal);
    return this.exit();
  }

  async exit(): Promise<number | null> {
    await this.#child.exited;
    await Promise.all(this.#read);
    return this.#child.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end("SIGKILL");
  }

  async until(isThere: () => boolean, what: string, withinMs = 20_000): Promise<void> {
    try {
      await lookAgain(
        async () => isThere(),
        () => undefined,
        withinMs,
      );
    } catch {
      throw new Error(`no ${what}:\n${this.stdout}\n${this.stderr}`);
    }
  }

  async #keep(stream: ReadableStream<Uint8Array>, add: (text: string) => void): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of stream) add(decoder.decode(chunk, { stream: true }));
  }
}

/** A run of `sealpost listen`. */
export class Listening extends Running {
  /** Resolves once it listens. */
  static async start(person: Person, words: readonly string[]): Promise<Listening> {
    const listening = new Listening(person, ["listen", ...words]);
    await listening.tells("signed with");
    return listening;
  }

  get lines(): Line[] {
    return this.parsed<Line>();
  }

  get secret(): string {
    return /whsec_\S+/.exec(this.stderr)?.[0] ?? "";
  }
}

/** Somebody with a key of the test project. */
export function personAt({ url, keys }: Pick<Service, "url" | "keys">): Person {
  return new Person({ SEALPOST_URL: url, SEALPOST_API_KEY: keys.test });
}

/** A service and somebody with a key of it, from the first test of a file to its last. */
export function onService(tell: (at: { service: Service; person: Person }) => void): void {
  let at: { service: Service; person: Person } | null = null;
  beforeAll(async () => {
    const service = await startService();
    at = { service, person: personAt(service) };
    tell(at);
  });
  afterAll(async () => {
    at?.person[Symbol.dispose]();
    await at?.service.close();
  });
}

/** Calls the API; answers its JSON. */
export async function call<T>(service: Service, method: string, path: string, body?: unknown): Promise<T> {
  const headers = { authorization: `Bearer ${service.keys.test}`, "content-type": "application/json" };
  const given = body === undefined ? {} : { body: JSON.stringify(body) };
  const answer = await fetch(`${service.url}${path}`, { method, headers, ...given });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return (text === "" ? null : JSON.parse(text)) as T;
}

export async function endpointsOf(
  service: Service,
): Promise<{ id: string; kind: string; metadata: object }[]> {
  return (
    await call<{ data: { id: string; kind: string; metadata: object }[] }>(service, "GET", "/v1/endpoints")
  ).data;
}

export function publish(service: Service, type: string, data: object = {}): Promise<{ id: string }> {
  return call(service, "POST", "/v1/events", { type, data });
}

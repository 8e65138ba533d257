/**
 * The whole service in this process, on a free loopback port and a data directory of its own: real store,
 * real sockets, real deliveries to loopback receivers. `service.ts` beside this runs it as a process that can
 * be killed.
 */
import { expect } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type App, type FirstKeys, startApp as startService } from "../../src/app.ts";
import { type Clock, systemClock } from "../../src/platform/clock.ts";
import { readConfig } from "../../src/config.ts";
import { createLogger } from "../../src/platform/log.ts";
import type { Reply, ReplyJson, SendOptions } from "../http/kit.ts";
import { Conformance, type OpenApi } from "./conformance.ts";
import { type Look, lookAgain } from "./until.ts";

export type AppOptions = {
  /** Default: the real one. */
  clock?: Clock;
  /**
   * Settings over the test's own (free port, own data directory, loopback destinations allowed, no
   * rate limits).
   */
  env?: Record<string, string>;
};

const UNLIMITED = {
  SEALPOST_PUBLISH_RATE_LIMIT: "0",
  SEALPOST_MANAGEMENT_RATE_LIMIT: "0",
  SEALPOST_INGEST_RATE_LIMIT: "0",
};

/** Speaks to the service, with a key or without. */
export class Client {
  constructor(
    private readonly service: { readonly url: string },
    readonly key: string | null,
  ) {}

  get(path: string): Promise<Reply> {
    return this.send("GET", path);
  }

  post(path: string, json: unknown = {}, headers: Record<string, string> = {}): Promise<Reply> {
    return this.send("POST", path, { json, headers });
  }

  patch(path: string, json: unknown): Promise<Reply> {
    return this.send("PATCH", path, { json });
  }

  delete(path: string): Promise<Reply> {
    return this.send("DELETE", path);
  }

  /** Creates something: the answer's fields. */
  async create<Made = Record<string, string>>(path: string, json: unknown): Promise<Made> {
    const reply = await this.post(path, json);
    expect([path, reply.status, reply.json.errors]).toEqual([path, 201, undefined]);
    return reply.json as Made;
  }

  send(method: string, path: string, options: SendOptions = {}): Promise<Reply> {
    return ask(this.service.url, this.key, method, path, options);
  }
}

/** Answers to what the OpenAPI document has are held against it; routes of the tests' own are not in it. */
export async function ask(
  url: string,
  token: string | null,
  method: string,
  path: string,
  { json, body = json === undefined ? undefined : JSON.stringify(json), ...options }: SendOptions,
): Promise<Reply> {
  const headers = new Headers(options.headers);
  if (token !== null && !headers.has("authorization")) headers.set("authorization", `Bearer ${token}`);
  if (json !== undefined && !headers.has("content-type")) headers.set("content-type", "application/json");
  const response = await fetch(url + path, {
    method,
    headers,
    redirect: "manual",
    ...(body !== undefined && { body }),
  });
  const text = await response.text();
  const reply = { status: response.status, headers: response.headers, text, json: parse(text) };
  const fault = (await conformance()).faultOf(method, path, reply);
  if (fault !== null) throw new Error(fault);
  return reply;
}

let document: Promise<OpenApi> | undefined;
let held: Promise<Conformance> | undefined;

/** The OpenAPI document, read once from a service that nothing else asks. */
export function openApi(): Promise<OpenApi> {
  document ??= readDocument();
  return document;
}

/** What holds answers against the document. */
export function conformance(): Promise<Conformance> {
  held ??= openApi().then((read) => new Conformance(read));
  return held;
}

async function readDocument(): Promise<OpenApi> {
  await using app = new TestApp({}, systemClock);
  await app.start();
  const response = await fetch(`${app.url}/openapi.json`);
  return (await response.json()) as OpenApi;
}

function parse(text: string): ReplyJson {
  try {
    return JSON.parse(text) as ReplyJson;
  } catch {
    return {};
  }
}

export class TestApp implements AsyncDisposable {
  #app: App | null = null;
  #url = "";
  #log = "";
  #keys = { live: "", test: "" };
  readonly #home = mkdtempSync(join(tmpdir(), "sealpost-app-"));

  constructor(
    private readonly env: Record<string, string>,
    private readonly clock: Clock,
  ) {}

  get dataDir(): string {
    return join(this.#home, "data");
  }

  /** Of the last start: while it stops, the service still answers there. */
  get url(): string {
    return this.#url;
  }

  get keys(): { live: string; test: string } {
    return this.#keys;
  }

  /** With the full key of the live project. */
  get live(): Client {
    return new Client(this, this.#keys.live);
  }

  /** With the full key of the test project. */
  get test(): Client {
    return new Client(this, this.#keys.test);
  }

  /** With this key; null: with none. */
  with(key: string | null): Client {
    return new Client(this, key);
  }

  /** All lines logged so far, over every start. */
  log(): string {
    return this.#log;
  }

  /** Looks again after every commit, until `look` gives something. */
  async until<Found>(look: Look<Found>, deadlineMs?: number): Promise<Found> {
    return lookAgain(look, () => this.#app?.untilCommitted(), deadlineMs);
  }

  /** Starts, or starts again on the same data directory after `stop`, with these settings over its own. */
  async start(env: Record<string, string> = {}): Promise<void> {
    const read = readConfig({
      ...UNLIMITED,
      SEALPOST_ALLOW_PRIVATE_DESTINATIONS: "127.0.0.0/8",
      SEALPOST_BASE_URL: "https://hooks.example.com",
      ...this.env,
      ...env,
      SEALPOST_HOST: "127.0.0.1",
      SEALPOST_PORT: "0",
      SEALPOST_DATA_DIR: this.dataDir,
    });
    if (!read.ok) throw new Error(read.problems.join("\n"));
    const logger = createLogger(read.config.logLevel, (text) => void (this.#log += text), Date.now);
    const fail = (error: Error) => {
      throw error;
    };
    const announce = (keys: FirstKeys) => {
      this.#keys = keys;
    };
    this.#app = await startService(read.config, { clock: this.clock, logger, announce, fail });
    this.#url = `http://127.0.0.1:${this.#app.port}`;
  }

  /** Ends as SIGTERM does. The data directory stays. */
  async stop(): Promise<void> {
    const app = this.#app;
    this.#app = null;
    await app?.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    rmSync(this.#home, { recursive: true, force: true });
  }
}

/** Starts the service: `await using app = await startApp()`. */
export async function startApp({ env = {}, clock = systemClock }: AppOptions = {}): Promise<TestApp> {
  await conformance();
  const app = new TestApp(env, clock);
  await app.start();
  return app;
}

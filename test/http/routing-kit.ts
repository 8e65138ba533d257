/**
 * All routes over a real database and real actors; who calls is a table of names, as portal tokens are not
 * minted here.
 */
import { expect } from "bun:test";
import type { Caller } from "../../src/core/caller.ts";
import { allRoutes } from "../../src/http/routes.ts";
import { type Reply, type SendOptions, startServer, TestParts, type TestServer } from "./kit.ts";
import { type Api, startApi } from "./log-kit.ts";

/** In-memory parts, but for the callers and the database. */
class ApiParts extends TestParts {
  constructor(private readonly api: Api) {
    super();
  }

  override authenticate(token: string): Caller | null {
    return this.api.callers.get(token) ?? null;
  }

  override writeFor<T>(projectId: number | null, run: () => T): Promise<T> {
    return this.api.data.store.writeFor(projectId, run);
  }
}

/** What most answers have; the other fields are looked at where they are needed. */
interface Answered {
  id: string;
  [field: string]: unknown;
}

export class RoutingBench implements AsyncDisposable {
  readonly #server: TestServer;
  #names = 0;

  constructor(readonly api: Api) {
    this.#server = startServer(allRoutes(api.services), new ApiParts(api));
  }

  /** A name that no other test has, for types, groups and consumers. */
  fresh(word: string): string {
    return `${word}${++this.#names}`;
  }

  send(method: string, path: string, json?: unknown, token: string | null = "full"): Promise<Reply> {
    return this.request(method, path, json === undefined ? { token } : { token, json });
  }

  request(method: string, path: string, options: SendOptions): Promise<Reply> {
    return this.#server.send(method, path, options);
  }

  /** Sends what has to succeed: the answer's fields. */
  async take(method: string, path: string, json?: unknown, token = "full"): Promise<Answered> {
    const reply = await this.send(method, path, json, token);
    expect([method, path, reply.status < 300, reply.json.errors]).toEqual([method, path, true, undefined]);
    return reply.json as Answered;
  }

  async publish(type: string, data: unknown, more: Record<string, unknown> = {}): Promise<string> {
    return (await this.take("POST", "/v1/events", { type, data, ...more })).id;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
    await this.api[Symbol.asyncDispose]();
  }
}

export async function startRouting(): Promise<RoutingBench> {
  return new RoutingBench(await startApi());
}

/** Where the faults of an answer point. */
export function pointersOf(reply: Reply): string[] {
  return reply.json.errors?.map(({ pointer }) => pointer) ?? [];
}

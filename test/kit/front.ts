/**
 * Stands before a real server and lets requests through, answers in its place, keeps them waiting, or
 * is gone.
 */
import { freePorts } from "./real-server.ts";

export class Front implements AsyncDisposable {
  #server: ReturnType<typeof Bun.serve> | null = null;
  /** Taken by the next requests, one each; after them all pass. */
  readonly #instead: ((request: Request) => Response | Promise<Response>)[] = [];
  seen = 0;

  private constructor(
    private readonly target: string,
    readonly port: number,
  ) {}

  static async start(target: string): Promise<Front> {
    const [port = 0] = await freePorts(1);
    const front = new Front(target, port);
    front.open();
    return front;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  open(): void {
    this.#server ??= Bun.serve({
      hostname: "127.0.0.1",
      port: this.port,
      idleTimeout: 0,
      fetch: (request) => this.#pass(request),
    });
  }

  /** Refuses connections until it is opened again. */
  async close(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    await server?.stop(true);
  }

  /** What the next request gets instead. */
  next(answer: (request: Request) => Response | Promise<Response>): void {
    this.#instead.push(answer);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #pass(request: Request): Promise<Response> {
    this.seen++;
    const instead = this.#instead.shift();
    if (instead !== undefined) return instead(request);
    const { pathname, search } = new URL(request.url);
    const headers = new Headers(request.headers);
    headers.set("accept-encoding", "identity");
    return fetch(this.target + pathname + search, {
      method: request.method,
      headers,
      body: await request.arrayBuffer(),
      redirect: "manual",
    });
  }
}

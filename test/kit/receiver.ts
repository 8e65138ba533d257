/**
 * A real HTTP receiver on a free loopback port, with one behaviour per path.
 * It keeps every request with its raw bytes, and wakes whoever waits for it: no test has to sleep.
 */
import { createPublicKey, verify } from "node:crypto";
import { Webhook } from "standardwebhooks";

export type ReceivedRequest = {
  method: string;
  /** Path and query as they came. */
  target: string;
  headers: Record<string, string>;
  body: Buffer;
  /** Milliseconds since the epoch, when the whole body was there. */
  arrivedAt: number;
};

/** What a path answers; `nth` counts the requests of this path from 1. */
export type Behaviour = (request: ReceivedRequest, nth: number) => Response | Promise<Response>;

type Waiter = { name: string; count: number; resolve: (requests: ReceivedRequest[]) => void };

/** A behaviour that never answers; the connection ends when the receiver closes. */
export const hang: Behaviour = () => new Promise(() => {});

export class Receiver implements AsyncDisposable {
  readonly #behaviours = new Map<string, Behaviour>();
  readonly #requests = new Map<string, ReceivedRequest[]>();
  readonly #waiters = new Set<Waiter>();
  readonly #server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    fetch: (request) => this.#receive(request),
  });

  /** The address of the path `/name`; it answers 204 until `at` says otherwise. */
  url(name: string): string {
    return `http://127.0.0.1:${this.#server.port}/${name}`;
  }

  /** Sets what the path `/name` answers from now on, and gives its address. */
  at(name: string, behaviour: Behaviour): string {
    this.#behaviours.set(name, behaviour);
    return this.url(name);
  }

  /** What has arrived at `/name` so far, oldest first. */
  requests(name: string): readonly ReceivedRequest[] {
    return this.#requests.get(name) ?? [];
  }

  /**
   * Resolves with all requests of `/name` as soon as there are `count`; rejects after the deadline, saying
   * what came.
   */
  async arrived(name: string, count = 1, deadlineMs = 10_000): Promise<ReceivedRequest[]> {
    const { promise, resolve, reject } = Promise.withResolvers<ReceivedRequest[]>();
    const waiter = { name, count, resolve };
    this.#waiters.add(waiter);
    const timer = setTimeout(() => reject(new Error(this.#describeMissing(waiter, deadlineMs))), deadlineMs);
    this.#wake();
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#waiters.delete(waiter);
    }
  }

  /** Refuses new connections and cuts the open ones. */
  async close(): Promise<void> {
    await this.#server.stop(true);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #receive(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    const received: ReceivedRequest = {
      method: request.method,
      target: pathname + search,
      headers: Object.fromEntries(request.headers),
      body: Buffer.from(await request.arrayBuffer()),
      arrivedAt: Date.now(),
    };
    const name = pathname.slice(1);
    const nth = this.#keep(name, received);
    return this.#behaviours.get(name)?.(received, nth) ?? new Response(null, { status: 204 });
  }

  #keep(name: string, request: ReceivedRequest): number {
    const requests = this.#requests.get(name) ?? [];
    requests.push(request);
    this.#requests.set(name, requests);
    this.#wake();
    return requests.length;
  }

  #wake(): void {
    for (const { name, count, resolve } of this.#waiters) {
      const requests = this.requests(name);
      if (requests.length >= count) resolve([...requests]);
    }
  }

  #describeMissing({ name, count }: Waiter, deadlineMs: number): string {
    const others = [...this.#requests].map(([path, requests]) => `/${path}: ${requests.length}`).join(", ");
    return `/${name} got ${this.requests(name).length} of ${count} requests in ${deadlineMs} ms (all: ${others || "none"})`;
  }
}

/** Starts a receiver; use it as `await using receiver = startReceiver()`, so that it closes with the test. */
export function startReceiver(): Receiver {
  return new Receiver();
}

/**
 * Verifies a delivery with the published Standard Webhooks library (age of the timestamp included) and gives
 * the parsed body. Throws where no `v1` entry is right.
 */
export function verifyDelivery({ body, headers }: ReceivedRequest, secret: string): unknown {
  return new Webhook(secret).verify(body, headers);
}

/**
 * Whether a `v1a` entry of the delivery is an ed25519 signature by the key `whpk_…`, over
 * `id.timestamp.body`. An own reading of the Standard Webhooks specification, independent of the product's
 * code.
 */
export function isSignedByKey({ body, headers }: ReceivedRequest, publicKey: string): boolean {
  const x = Buffer.from(publicKey.replace(/^whpk_/, ""), "base64").toString("base64url");
  const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
  const signed = Buffer.concat([
    Buffer.from(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.`),
    body,
  ]);
  const entries = (headers["webhook-signature"] ?? "").split(" ");
  return entries.some((entry) => {
    const [version, signature = ""] = entry.split(",");
    return version === "v1a" && verify(null, signed, key, Buffer.from(signature, "base64"));
  });
}

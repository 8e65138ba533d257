/**
 * What the tests of the transport share: transports and receivers that are closed, and watched while
 * they close.
 */
import { NO_ANSWER_CODES } from "../../src/core/attempt-error.ts";
import { expect } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createGuard } from "../../src/transport/guard.ts";
import type { Resolver } from "../../src/transport/resolver.ts";
import {
  createTransport,
  type Transport,
  type TransportOptions,
  type TransportRequest,
  type TransportResult,
} from "../../src/transport/transport.ts";
import {
  type Answer,
  type Receiver,
  type ReceiverOptions,
  startHostile,
  startReceiver,
} from "../kit/hostile.ts";

const receivers: Receiver[] = [];
const transports: Transport[] = [];

/**
 * For `afterEach`: nothing stays open, neither at the transport nor, as the receivers see it, on the wire.
 */
export async function closeAll(): Promise<void> {
  for (const transport of transports.splice(0)) {
    transport.close();
    expect(transport.stats()).toMatchObject({ open: 0, idle: 0 });
  }
  for (const receiver of receivers.splice(0)) {
    await receiver.whenNoneOpen();
    await receiver.close();
  }
}

/** Has the transport closed after the test. */
export function keep(transport: Transport): Transport {
  transports.push(transport);
  return transport;
}

export async function hostile(options?: ReceiverOptions): Promise<Receiver> {
  const receiver = await startHostile(options);
  receivers.push(receiver);
  return receiver;
}

export async function answering(answer: Answer, options?: ReceiverOptions): Promise<Receiver> {
  const receiver = await startReceiver(answer, options);
  receivers.push(receiver);
  return receiver;
}

/** Answers from a table, and remembers what was asked. */
export function fakeResolver(table: Record<string, string[]>): Resolver & { asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    async resolve(host) {
      asked.push(host);
      const found = table[host];
      if (found === undefined) throw Object.assign(new Error("not found"), { code: "ENOTFOUND" });
      return found;
    },
  };
}

type Addresses = string[] | ((host: string) => string[] | Promise<string[]>);

/** Every name leads to 127.0.0.1, unless told otherwise; 127.0.0.1 and 127.0.0.3 are allowed. */
export function open(addresses: Addresses = ["127.0.0.1"], options: Partial<TransportOptions> = {}) {
  const asked: string[] = [];
  const guard = createGuard({
    allow: ["127.0.0.1/32", "127.0.0.3/32"],
    ownAddresses: [],
    resolver: {
      async resolve(host) {
        asked.push(host);
        return Array.isArray(addresses) ? addresses : addresses(host);
      },
    },
  });
  const transport = keep(createTransport({ guard, monotonic: () => performance.now(), ...options }));
  const send = (url: URL, request: Partial<TransportRequest> = {}) =>
    transport.send({ ...post(url), ...request });
  return { transport, asked, send };
}

export function post(url: URL): TransportRequest {
  const body = Buffer.from("{}");
  return {
    method: "POST",
    url,
    owner: "",
    headers: [],
    body,
    timeoutMs: 5_000,
    maxReadBytes: 65_536,
    maxKeepBytes: 16_384,
  };
}

/** A result without what nobody asked for: kind, code or status, body as text, truncated. */
export function short(result: TransportResult): string {
  if (result.kind === "response") {
    const body = Buffer.from(result.body).toString("latin1");
    const shown = body.length > 100 ? `${body.length} bytes` : body;
    return `${result.status} ${shown}${result.truncated ? " truncated" : ""}`;
  }
  if (result.kind === "aborted") return "aborted";
  expect(NO_ANSWER_CODES).toContain(result.code);
  return `${result.kind} ${result.code}`;
}

/** Waits for a state that only the transport itself can see, one turn of the loop after the other. */
export async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await nextTurn();
}

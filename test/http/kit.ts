/** A server over test routes on a free loopback port, with the parts that it needs kept in memory. */
import { expect } from "bun:test";
import { connect } from "node:net";
import type { AuditEntry } from "../../src/core/audit.ts";
import type { Caller } from "../../src/core/caller.ts";
import { TurnQueue } from "../../src/core/structures/turn-queue.ts";
import type { FailureLine, HttpParts } from "../../src/http/framework/parts.ts";
import type { KeptAnswer } from "../../src/store/kept-answers.ts";
import type { RequestLine } from "../../src/platform/log.ts";
import type { AnyRoute } from "../../src/http/framework/route.ts";
import { createServer } from "../../src/http/framework/server.ts";
import { beginArrivals, turnParts } from "../../src/platform/turns.ts";
import { ask } from "../kit/app.ts";

/** A key with scope full; others derive from it. */
export const owner: Caller = {
  kind: "api_key",
  id: 1,
  projectId: 7,
  accountId: 3,
  expiresAt: null,
  mode: "live",
  scopes: ["full"],
  consumerId: null,
  manage: true,
  create: true,
};

/** A portal token of the key's project that may look, and do nothing. */
export function portalOf(key: Caller, consumerId: string): Caller {
  return { ...key, kind: "portal", scopes: [], consumerId, manage: false, create: false };
}

const portal: Caller = { ...portalOf(owner, "acme"), id: 9 };

/** The tokens that tests send, by what they stand for. */
export const callers: Record<string, Caller> = {
  full: owner,
  publish: { ...owner, id: 2, scopes: ["publish"] },
  read: { ...owner, id: 3, scopes: ["read"] },
  otherKey: { ...owner, id: 4 },
  otherProject: { ...owner, id: 5, projectId: 8 },
  portalRead: portal,
  portalManage: { ...portal, id: 10, manage: true },
  portalCreate: { ...portal, id: 11, create: true },
};

export const OPERATOR_TOKEN = "operator-token-of-the-tests";
export const METRICS_TOKEN = "metrics-token-of-the-tests";

/** Parts in memory: `writeFor` undoes what was saved when `run` throws, as a rollback does. */
export class TestParts implements HttpParts {
  readonly cell = "00";
  readonly version = "1.2.3";
  baseUrl = "http://localhost:8080";
  turns = new TurnQueue(turnParts);
  beginArrivals: HttpParts["beginArrivals"] = beginArrivals;
  operatorToken: string | null = OPERATOR_TOKEN;
  metricsToken: string | null = METRICS_TOKEN;
  rateLimits = { publish: 0, management: 0 };
  time = Date.UTC(2026, 10, 21);
  isStopping = false;
  /** What a primary waits for that has not renewed its lease. */
  held: Promise<void> | null = null;
  readiness: { ready: boolean; reason?: string } = { ready: true };
  lines: RequestLine[] = [];
  failures: FailureLine[] = [];
  kept = new Map<string, KeptAnswer>();
  /** Called between `run` and the commit: throws to lose the transaction, as a crash does. */
  beforeCommit: () => void = () => {};

  readonly keptAnswers: HttpParts["keptAnswers"] = {
    find: ({ projectId, consumerId }, key) =>
      this.kept.get(JSON.stringify([projectId, consumerId, key])) ?? null,
    takeRoom: () => true,
    giveRoomBack: () => {},
    save: ({ projectId, consumerId }, key, kept) => {
      this.kept.set(JSON.stringify([projectId, consumerId, key]), kept);
    },
    erasuresOf: () => 0,
    keepUnchanging: (whose, key, kept) => this.keptAnswers.save(whose, key, kept),
  };

  audited: AuditEntry[] = [];
  readonly audit: HttpParts["audit"] = {
    add: (entry) => this.audited.push(entry) && JSON.stringify(entry).length,
  };

  authenticate(token: string): Caller | { refused: string } | null {
    if (token === "suspended") return { refused: "The account is suspended." };
    return callers[token] ?? null;
  }

  now(): number {
    return this.time;
  }

  logRequest(line: RequestLine): void {
    this.lines.push(line);
  }

  logFailure(line: FailureLine): void {
    this.failures.push(line);
  }

  /** Every caller is looked up again each time. */
  accessChanges(): number {
    return Number.NaN;
  }
  isAnswered(): boolean {
    return !this.isStopping;
  }

  untilMayGo(): Promise<void> | null {
    return this.held;
  }

  async writeFor<T>(_projectId: number | null, run: () => T): Promise<T> {
    const before = new Map(this.kept);
    try {
      const result = run();
      this.beforeCommit();
      return result;
    } catch (error) {
      this.kept = before;
      throw error;
    }
  }

  usageRemaining(): number | null {
    return null;
  }

  ready(): { ready: boolean; reason?: string } {
    return this.readiness;
  }

  async metrics(): Promise<string> {
    return "# TYPE up gauge\nup 1\n";
  }
}

export interface TestServer extends AsyncDisposable {
  port: number;
  url: string;
  parts: TestParts;
  /** One request; `token` becomes the bearer, `json` the body. */
  send(method: string, path: string, options?: SendOptions): Promise<Reply>;
  stop(withinMs: number): Promise<void>;
}

export type RequestBody = string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;

export interface SendOptions {
  token?: string | null;
  json?: unknown;
  body?: RequestBody;
  headers?: Record<string, string>;
}

export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed body, null where it is not JSON. */
  json: ReplyJson;
}

/** What tests read from a JSON answer. */
export interface ReplyJson {
  [field: string]: unknown;
  code?: string;
  detail?: string;
  request_id?: string;
  errors?: { pointer: string; detail: string }[];
}

export function startServer(routes: readonly AnyRoute[], parts = new TestParts()): TestServer {
  const server = createServer(routes, parts);
  const { port } = server.listen({ port: 0, hostname: "127.0.0.1" });
  const url = `http://127.0.0.1:${port}`;
  return {
    port,
    url,
    parts,
    send: (method, path, { token = "full", ...options } = {}) => ask(url, token, method, path, options),
    stop: (withinMs) => server.stop(withinMs),
    [Symbol.asyncDispose]: () => server.stop(0),
  };
}

/** Writes the pieces to a socket as they are, and gives back all that comes until the server closes it. */
export function sendRaw(port: number, ...pieces: (string | Uint8Array)[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(port, "127.0.0.1", () => {
      for (const piece of pieces) socket.write(piece);
    });
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.on("close", () => resolve(Buffer.concat(chunks).toString("latin1")));
    socket.on("error", reject);
  });
}

/** Status, code and the shape of every problem document, with the id of the header. */
export function expectProblem(reply: Reply, status: number, code: string): void {
  expect(reply.status).toBe(status);
  expect(reply.headers.get("content-type")).toBe("application/problem+json");
  const { type, title, detail, request_id, errors, ...rest } = reply.json;
  expect(rest).toEqual({ status, code });
  expect(type).toBe(`urn:sealpost:error:${code}`);
  expect(String(title).length).toBeGreaterThan(5);
  expect(String(detail).length).toBeGreaterThan(5);
  expect(request_id).toBe(String(reply.headers.get("x-request-id")));
  if (errors !== undefined) expect(errors.length).toBeGreaterThan(0);
}

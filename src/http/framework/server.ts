import { Elysia } from "elysia";
import { notFound, Problem } from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";
import { answerHeaders } from "./answer-headers.ts";
import {
  IDLE_TIMEOUT_SECONDS,
  RequestHandler,
  type PreparedRoute,
  prepareRoute,
  type Shared,
} from "./request-handler.ts";
import { Arrivals } from "./arrivals.ts";
import { makeAuditRoom, makeByHandRoom } from "./caller-room.ts";
import { ANSWERS, BodiesInFlight } from "./bodies-in-flight.ts";
import { PassOn } from "./pass-on.ts";
import { RunningKeys } from "./idempotency.ts";
import { LongWorks } from "./long-works.ts";
import type { HttpParts } from "./parts.ts";
import { TokenBuckets } from "./ratelimit.ts";
import { type AnyRoute, paramNames } from "./route.ts";
import { systemRoutes } from "../system.ts";

/** Bun answers 413 without a body by itself above this; ours comes first (request-body.ts). */
const BUN_BODY_MAX_BYTES = Number.MAX_SAFE_INTEGER;

export interface HttpServer {
  /** Answers a request without a socket; its URL begins with `http://`. */
  handle(request: Request): Promise<Response>;
  /** Binds to the address; port 0 takes a free one. Throws where the port is taken. */
  listen(options: { port: number; hostname: string }): { port: number };
  /** Takes no new connections, lets answers under way finish for at most `withinMs`, then cuts them. */
  stop(withinMs?: number): Promise<void>;
}

/** The server for a table of routes and the system's own. Throws where the table contradicts itself. */
export function createServer(routes: readonly AnyRoute[], parts: HttpParts): HttpServer {
  const table = [...routes, ...systemRoutes(routes, parts)];
  requireDistinct(table.map((entry) => entry.operationId));
  requireDistinct(table.map((entry) => `${entry.method} ${entry.path}`));
  const shared = {
    parts,
    buckets: {
      publish: new TokenBuckets(parts.rateLimits.publish),
      management: new TokenBuckets(parts.rateLimits.management),
    },
    runningKeys: new RunningKeys(),
    arrivals: new Arrivals(() => parts.beginArrivals()),
    bodies: new BodiesInFlight(),
    answers: new BodiesInFlight(ANSWERS),
    longWorks: new LongWorks(),
    auditRoom: makeAuditRoom(),
    byHandRoom: makeByHandRoom(),
    passOn: new PassOn(parts.cell),
    headers: answerHeaders(parts.baseUrl),
  };
  return new BunServer(table, shared);
}

class BunServer implements HttpServer {
  private readonly app: { fetch(request: Request): Response | Promise<Response> };
  private readonly arrivals: Arrivals;
  private bun: Bun.Server<undefined> | null = null;

  constructor(table: readonly AnyRoute[], shared: Omit<Shared, "extendTimeout">) {
    this.arrivals = shared.arrivals;
    this.app = createApp(table, {
      ...shared,
      extendTimeout: (request, seconds) => this.bun?.timeout(request, seconds),
    });
  }

  async handle(request: Request): Promise<Response> {
    return this.app.fetch(request);
  }

  private receive(request: Request): Response | Promise<Response> {
    const turn = this.arrivals.begin(request.url.length);
    return turn === null ? this.app.fetch(request) : turn.then(() => this.app.fetch(request));
  }

  /**
   * Not by Elysia's own `listen`: that routes through Bun's table, where `/q/` equals `/q`, shares the port
   * with a second process (`reusePort`), and leaves a listener on the process behind. Before any handler Bun
   * itself answers 400 (no Host in HTTP/1.1, targets, headers and lengths that it cannot read), 431 and 505,
   * without a body, and closes the connection at a method that it does not know. In one turn of its loop it
   * accepts whoever waits, and reads 512 KiB of each connection, of one that sends more several times: 1,000
   * bodies of 1 MiB that come at once hold up the others for some half a second, as long as a server of Bun's
   * that only reads them. Of requests in a pipeline so many begin as `Arrivals` lets.
   */
  listen({ port, hostname }: { port: number; hostname: string }): { port: number } {
    this.bun = Bun.serve({
      port,
      hostname,
      fetch: (request) => this.receive(request),
      reusePort: false,
      development: false,
      idleTimeout: IDLE_TIMEOUT_SECONDS,
      maxRequestBodySize: BUN_BODY_MAX_BYTES,
    });
    return { port: this.bun.port ?? port };
  }

  async stop(withinMs: number = limit("drainMs")): Promise<void> {
    const { bun } = this;
    this.bun = null;
    if (bun === null) return;
    const deadline = setTimeout(() => void bun.stop(true), withinMs);
    await bun.stop();
    clearTimeout(deadline);
  }
}

/**
 * Elysia routes; it neither parses nor validates. `strictPath` tells `/q/` from `/q`; `standardHostname:
 * false` keeps a short Host (`a`) from shifting the path.
 */
function createApp(table: readonly AnyRoute[], shared: Shared) {
  const app = new Elysia({ strictPath: true, normalize: false, handler: { standardHostname: false } });
  const paths = new PathTable(table);
  const unmatched = fallback(({ request }) => refusePath(paths, request));
  app.onError(({ code, error, request }) => {
    const prepared = code === "NOT_FOUND" ? unmatched : fallback(() => Promise.reject(error));
    return new RequestHandler(shared, prepared, request, {}).respond();
  });
  for (const entry of table) {
    const prepared = prepareRoute(entry);
    for (const method of methodsOf(entry)) {
      app.route(method, entry.path, answerWith(prepared, unmatched, shared), {
        parse: "none",
      });
    }
  }
  for (const [method, path] of shadowed(paths)) {
    const refuse = ({ request }: ElysiaContext) =>
      new RequestHandler(shared, unmatched, request, {}).respond();
    app.route(method, path, refuse, { parse: "none" });
  }
  const router = app.compile();
  return {
    fetch: (request: Request): Response | Promise<Response> =>
      isReadable(request)
        ? router.fetch(request)
        : new RequestHandler(shared, malformed, request, {}).respond(),
  };
}

/**
 * Bun makes the URL of the Host header as it came: without one (HTTP/1.0) it is the bare path, of
 * `CONNECT host:443` it is the target. Of two Hosts Bun takes the first, and something in front of us may
 * take the other.
 */
function isReadable({ url, headers }: Request): boolean {
  return url.startsWith("http://") && URL.canParse(url) && !headers.get("host")?.includes(",");
}

const malformed = fallback(() => {
  throw new Problem("malformed_request", "Expected a target that is a path, and one Host that names a host.");
});

interface ElysiaContext {
  request: Request;
  params: Record<string, string>;
}

function answerWith(prepared: PreparedRoute, unmatched: PreparedRoute, shared: Shared) {
  const { waitMaxSeconds, refusesHead } = prepared.route;
  return async ({ request, params }: ElysiaContext) => {
    if (waitMaxSeconds !== undefined) shared.extendTimeout(request, waitMaxSeconds + IDLE_TIMEOUT_SECONDS);
    // Elysia hands a HEAD to the GET where there is no route for it.
    const isRefused = refusesHead === true && request.method === "HEAD";
    return new RequestHandler(shared, isRefused ? unmatched : prepared, request, params).respond();
  };
}

/** Every GET is a HEAD too; Bun leaves the body out. */
function methodsOf(entry: AnyRoute): string[] {
  return entry.method === "GET" && !entry.refusesHead ? ["GET", "HEAD"] : [entry.method];
}

/** Where no route answers, a request still passes through the ordinary steps. */
function fallback(handle: AnyRoute["handle"]): PreparedRoute {
  return prepareRoute({
    method: "GET",
    path: "unmatched",
    operationId: "unmatched",
    tag: "System",
    summary: "No route",
    access: "none",
    budget: "none",
    ignoresQuery: true,
    answers: {},
    handle,
  });
}

/**
 * Methods that a path does not take, but a wider one that fits too: `GET /v1/endpoints/preview` is no
 * endpoint called preview. Elysia, which looks for each method by itself, would find the wider one.
 */
function shadowed(paths: PathTable): [method: string, path: string][] {
  return paths.all.flatMap(({ path }) => {
    const own = new Set(paths.methodsOf(path));
    const wider = new Set(paths.fitting(path).flatMap(({ methods }) => methods));
    return [...wider.difference(own)].map((method): [string, string] => [method, path]);
  });
}

/** Throws 404, or 405 where the path takes other methods. With a fragment behind it no path is found. */
function refusePath(paths: PathTable, request: Request): never {
  const methods = paths.methodsOf(new URL(request.url).pathname);
  if (methods.length === 0 || methods.includes(request.method)) throw notFound("path");
  const allow = methods.toSorted().join(", ");
  throw new Problem("method_not_allowed", `This path takes ${allow}.`, { headers: { allow } });
}

/** A path of the table, with all methods that it takes. */
interface PathPattern {
  path: string;
  segments: readonly string[];
  params: number;
  methods: readonly string[];
}

/** The paths of a table, split once: strangers ask for paths that do not exist as often as they like. */
class PathTable {
  readonly all: readonly PathPattern[];
  readonly #byLength: ReadonlyMap<number, readonly PathPattern[]>;
  readonly #longest: number;

  constructor(table: readonly AnyRoute[]) {
    const entries = Map.groupBy(table, ({ path }) => path);
    this.all = [...entries].map(([path, routes]) => ({
      path,
      segments: path.split("/"),
      params: paramNames(path).length,
      methods: routes.flatMap(methodsOf),
    }));
    this.#byLength = Map.groupBy(this.all, ({ segments }) => segments.length);
    this.#longest = Math.max(...this.#byLength.keys());
  }

  fitting(pathname: string): PathPattern[] {
    const parts = pathname.split("/", this.#longest + 1);
    const patterns = this.#byLength.get(parts.length) ?? [];
    return patterns.filter(({ segments }) =>
      segments.every((segment, at) => (segment.startsWith(":") ? parts[at] !== "" : segment === parts[at])),
    );
  }

  /** The methods of a path: where several patterns fit it, of those with the fewest parameters. */
  methodsOf(pathname: string): string[] {
    const fitting = this.fitting(pathname);
    const fewest = Math.min(...fitting.map(({ params }) => params));
    return fitting.filter(({ params }) => params === fewest).flatMap(({ methods }) => methods);
  }
}

function requireDistinct(names: readonly string[]): void {
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new Error(`Two routes are called ${twice}.`);
}

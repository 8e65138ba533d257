/**
 * The routes of the event log over a real database, real actors and real sockets; only who calls is a table
 * of names, as portal tokens are not minted here.
 */
import { afterAll, beforeAll, expect } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, systemClock } from "../../src/platform/clock.ts";
import type { Caller } from "../../src/core/caller.ts";
import { Cipher } from "../../src/core/cipher.ts";
import type { Endpoint } from "../../src/core/model.ts";
import { makeSecret } from "../../src/core/signing.ts";
import type { DeliveryAnswer } from "../../src/http/deliveries/shape.ts";
import type { PublishedAnswer } from "../../src/http/events/shape.ts";
import { allRoutes } from "../../src/http/routes.ts";
import { authenticator } from "../../src/http/framework/authenticate.ts";
import { createServer, type HttpServer } from "../../src/http/framework/server.ts";
import type { Services } from "../../src/http/framework/services.ts";
import { Eraser } from "../../src/maintenance/eraser.ts";
import { makeActors } from "../kit/actors.ts";
import { makePipeline } from "../kit/pipeline.ts";
import { confirmationsBy, GateByHand } from "../kit/replica-gate.ts";
import { createGuard } from "../../src/transport/guard.ts";
import { handOut } from "../../src/delivery/polling/hand-out.ts";
import { Poller } from "../../src/delivery/polling/poller.ts";
import { Retries } from "../../src/delivery/retries.ts";
import { send } from "../../src/delivery/send.ts";
import { sendTrial } from "../../src/delivery/trial.ts";
import { createTransport } from "../../src/transport/transport.ts";
import { Replayer } from "../../src/pipeline/replayer.ts";
import { BUILT_IN_PLANS, type Plans } from "../../src/core/plans.ts";
import { beginArrivals } from "../../src/platform/turns.ts";
import { type Data, openData } from "../../src/store/data.ts";
import { type Disk, openDatabase } from "../../src/store/database.ts";
import { DeliveryList } from "../../src/store/log/delivery-list.ts";
import { turnsOf } from "../../src/store/project-turns.ts";
import type { NewEndpoint } from "../../src/store/resources/endpoints.ts";
import { EventList } from "../../src/store/log/event-list.ts";
import { storeParts } from "../kit/store-parts.ts";
import { conformance } from "../kit/app.ts";
import { plainEndpoint } from "../kit/endpoint.ts";
import { type Receiver, startReceiver } from "../kit/receiver.ts";
import { steadyOver } from "../kit/clock.ts";
import { type Look, lookAgain } from "../kit/until.ts";
import { owner, portalOf, type ReplyJson, OPERATOR_TOKEN } from "./kit.ts";

export type Reply = { status: number; headers: Headers; text: string; json: ReplyJson };
export type Page<Row> = { data: Row[]; next_cursor: string | null };
export type EventRow = Omit<PublishedAnswer, "duplicate"> & { source_id: string | null; test: boolean };

/** Fields of an endpoint that a test cares about; the others have their defaults. */
export type EndpointFields = Partial<Omit<NewEndpoint, "projectId">> & { url: string };

/** By which every secret of these services is encrypted. */
export const CIPHER = new Cipher([new Uint8Array(32).fill(1)]);

export class Api implements AsyncDisposable {
  /** Where every test that publishes sends to. */
  readonly receiver: Receiver = startReceiver();
  readonly data: Data;
  readonly services: Services;
  /** Requests a second; 0: no limit. */
  readonly rateLimits = { publish: 0, management: 0 };
  /** Beside them those who have a token of the database. */
  readonly callers = new Map<string, Caller>();
  /** Every caller is looked up again each time. */
  accessChanges = () => Number.NaN;
  readonly replica = new GateByHand();
  /** What the disk waits for, from its next sync on. */
  diskWaitsFor: Promise<unknown> = Promise.resolve();
  readonly #dir = mkdtempSync(join(tmpdir(), "sealpost-api-"));
  readonly #disk: Disk = openDatabase(this.#dir);
  readonly #transport;
  #server: HttpServer | null = null;

  constructor(
    readonly clock: Clock,
    plans: Plans,
  ) {
    const { now } = clock;
    const sync = () => this.diskWaitsFor.then(() => this.#disk.sync());
    const parts = storeParts({ now, sync });
    this.data = openData(this.#disk.sqlite, parts, { cipher: CIPHER, cell: "00", plans });
    const { data } = this;
    const guard = createGuard({ allow: ["127.0.0.0/8"] });
    const transport = createTransport({ guard, monotonic: () => performance.now() });
    this.#transport = transport;
    const { signal } = new AbortController();
    const sending = {
      transport,
      ids: data.ids,
      turnsOf: (projectId: number) => turnsOf(data, projectId),
      isTurnOver: () => data.store.turns.isOver,
      now,
      dated: now,
      monotonic: () => performance.now(),
      signal,
      untilMayGo: () => null,
      onBroken: () => {},
    };
    const { actors, recorder } = makeActors(data, {
      clock: steadyOver(clock),
      random: () => 0.5,
      send: (endpoint, load) => send(sending, endpoint, load),
    });
    const confirmations = confirmationsBy(this.replica);
    const pipeline = makePipeline(data, actors, { confirmations, unconfirmed: actors.unconfirmed });
    this.services = {
      ...data,
      eventList: new EventList(data),
      deliveryList: new DeliveryList(data),
      pipeline,
      confirmations,
      actors,
      eraser: new Eraser({ data, actors }),
      retries: new Retries(data, actors),
      replayer: new Replayer(data, actors, pipeline),
      poller: new Poller(data, actors, {
        recorder,
        heldMax: 1000,
        handOut: (endpoint, load) => handOut(sending, endpoint, load),
        onAcknowledged: () => {},
      }),
      guard,
      tracing: null,
      transport,
      sendTrial: (endpoint) =>
        actors.inSlot(endpoint.projectId, () => sendTrial(sending, endpoint, data.store.takeKey())),
      cell: "00",
      baseUrl: "http://localhost",
      ingestRateLimit: 0,
      durability: "disk",
      pollRateLimit: 0,
      wallNow: now,
      monotonic: () => performance.now(),
      onRejected: () => {},
      log: () => {},
    };
  }

  /** Makes two projects and a caller of each kind: see `callers`. */
  async open(): Promise<void> {
    const { tenants } = this.data;
    const account = await tenants.createAccount({ name: "test", plan: "unlimited" });
    const [live, other] = [
      await tenants.createProject(account.id, "live", "live"),
      await tenants.createProject(account.id, "test", "test"),
    ];
    const full: Caller = { ...owner, projectId: live.id, accountId: account.id };
    const portal = portalOf(full, "anna");
    const callers: Record<string, Caller> = {
      full,
      other: { ...full, id: 2, projectId: other.id },
      publish: { ...full, id: 3, scopes: ["publish"] },
      read: { ...full, id: 4, scopes: ["read"] },
      anna: { ...portal, id: 5 },
      annaManages: { ...portal, id: 6, manage: true },
      bertManages: { ...portal, id: 7, consumerId: "bert", manage: true },
    };
    for (const [token, caller] of Object.entries(callers)) this.callers.set(token, caller);
    this.#server = createServer(allRoutes(this.services), this.#parts());
  }

  /** One request. A string is the body as it stands, anything else becomes JSON. */
  async call(method: string, path: string, body?: unknown, token = "full", headers = {}): Promise<Reply> {
    const response = await this.handle(method, path, body, token, headers);
    const text = await response.text();
    const isObject = response.headers.get("content-type")?.includes("json") && !path.includes("ndjson");
    const json = (isObject ? JSON.parse(text) : {}) as ReplyJson;
    const fault = (await conformance()).faultOf(method, path, {
      status: response.status,
      headers: response.headers,
      text,
    });
    if (fault !== null) throw new Error(fault);
    return { status: response.status, headers: response.headers, text, json };
  }

  /** One request of a client that leaves when `signal` says so. */
  async handle(
    method: string,
    path: string,
    body?: unknown,
    token = "full",
    headers = {},
    signal: AbortSignal | null = null,
  ): Promise<Response> {
    if (this.#server === null) throw new Error("open() comes first");
    const isJson = method !== "GET" && body !== undefined;
    const init = {
      signal,
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(isJson && { "content-type": "application/json" }),
        ...headers,
      },
      ...(isJson && { body: isText(body) ? body : JSON.stringify(body) }),
    };
    return this.#server.handle(new Request(`http://localhost${path}`, init));
  }

  /** The body of a GET that has to succeed. */
  async get<Body>(path: string, token?: string): Promise<Body> {
    const reply = await this.call("GET", path, undefined, token);
    expect([path, reply.status]).toEqual([path, 200]);
    return reply.json as Body;
  }

  /** Publishes an event that has to be accepted. */
  async publish(type: string, more: Record<string, unknown> = {}, token?: string): Promise<PublishedAnswer> {
    const reply = await this.call("POST", "/v1/events", { type, data: {}, ...more }, token);
    expect([type, reply.status, reply.json.errors]).toEqual([type, 202, undefined]);
    return reply.json as unknown as PublishedAnswer;
  }

  /** An endpoint; without retries, so that a failure is the end. */
  async endpoint(
    { url, ...fields }: EndpointFields,
    token = "full",
  ): Promise<Endpoint & { publicId: string }> {
    const made = await this.data.store.write(() =>
      this.data.endpoints.insert({
        ...plainEndpoint,
        projectId: this.callers.get(token)?.projectId ?? 0,
        config: { url },
        secret: makeSecret(),
        retry: { schedule: [] },
        timeoutSeconds: 5,
        updatedAt: this.services.wallNow(),
        ...fields,
      }),
    );
    this.data.endpoints.announce(made);
    return { ...made, publicId: this.data.ids.encode("ep", made.id) };
  }

  async change(endpoint: Endpoint, fields: Partial<Endpoint>): Promise<void> {
    await this.data.endpoints.change(endpoint.id, () => fields);
  }

  /** Looks again after every commit, until `look` gives something. */
  until<Found>(look: Look<Found>): Promise<Found> {
    return lookAgain(look, () => this.data.store.untilCommitted());
  }

  /** Resolves in a later millisecond: what comes then has a later time. */
  async tick(): Promise<void> {
    const now = Date.now();
    while (Date.now() <= now) await Bun.sleep(1);
  }

  /** The deliveries of an event once each has one of these states, and the disk has all that came with it. */
  async settled(eventId: string, states = ["delivered", "dead"]): Promise<DeliveryAnswer[]> {
    const settled = await this.until(async () => {
      const { data } = await this.get<Page<DeliveryAnswer>>(`/v1/deliveries?event_id=${eventId}`);
      return data.every((delivery) => states.includes(delivery.status)) && data;
    });
    await this.data.store.settled();
    return settled;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.receiver.close();
    await this.services.actors.stop();
    this.#transport.close();
    await this.data.store.close();
    this.#disk.close();
    rmSync(this.#dir, { recursive: true });
  }

  #parts() {
    const { store, keptAnswers, audit } = this.data;
    const authenticate = authenticator(this.data, this.clock.now);
    return {
      version: "1.2.3",
      cell: "00",
      baseUrl: "http://localhost",
      authenticate: (token: string, isInWrite?: boolean) =>
        this.callers.get(token) ?? authenticate(token, isInWrite),
      operatorToken: OPERATOR_TOKEN,
      metricsToken: null,
      now: this.clock.now,
      onRejected: () => {},
      logRequest: () => {},
      logFailure: () => {},
      accessChanges: () => this.accessChanges(),
      isAnswered: () => true,
      untilMayGo: () => null,
      writeFor: <T>(projectId: number | null, run: () => T) => store.writeFor(projectId, run),
      turns: store.turns,
      beginArrivals,
      keptAnswers,
      audit,
      rateLimits: this.rateLimits,
      usageRemaining: (projectId: number) => this.data.meter.remaining(projectId),
      ready: () => ({ ready: true }),
      metrics: async () => "",
    };
  }
}

function isText(body: unknown): body is string | Uint8Array<ArrayBuffer> {
  return typeof body === "string" || body instanceof Uint8Array;
}

type ApiOptions = [limits?: Partial<Api["rateLimits"]>, clock?: Clock, plans?: Plans];

function makeApi(...[limits = {}, clock = systemClock, plans = BUILT_IN_PLANS]: ApiOptions): Api {
  const api = new Api(clock, plans);
  Object.assign(api.rateLimits, limits);
  return api;
}

/** The API with its projects; use it as `await using api = await startApi()`. */
export async function startApi(...options: ApiOptions): Promise<Api> {
  const api = makeApi(...options);
  await api.open();
  return api;
}

/** The API for all tests of a file: open before the first of them, gone after the last. */
export function apiForFile(...options: ApiOptions): Api {
  const api = makeApi(...options);
  beforeAll(() => api.open());
  afterAll(() => api[Symbol.asyncDispose]());
  return api;
}

/** An id of the right shape that nothing has. */
export function nobody(prefix: string): string {
  return `${prefix}_01KAHM9Q7W00ZZZZZZZZZZZZZZ`;
}

/** Expects a problem with this status, code and these pointers. */
export function expectRefusal(reply: Reply, status: number, code: string, pointers?: string[]): void {
  expect([reply.status, reply.json.code]).toEqual([status, code]);
  expect(reply.headers.get("content-type")).toBe("application/problem+json");
  if (pointers) expect(reply.json.errors?.map((fault) => fault.pointer)).toEqual(pointers);
}

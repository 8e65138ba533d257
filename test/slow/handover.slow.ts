// time budget: 600 s
/**
 * A planned handover of a pair behind the real HAProxy and the real Envoy: senders that never repeat a
 * request lose none, there and back, and nothing that has arrived is sent again.
 */
import { describe, expect, test } from "bun:test";
import { ROUTER_HEADER } from "../../src/core/router.ts";
import { Grounds } from "../durability/grounds.ts";
import { Machine, pairedEnv } from "../durability/pair.ts";
import { addEndpoint, clientOf, LOAD_ENV } from "../durability/setup.ts";
import { PYTHON_HINT } from "../kit/python.ts";
import { type Recorder, startRecorder } from "../kit/recorder.ts";
import { Router, ROUTERS, type RouterKind } from "../kit/router.ts";
import { requireTool } from "../kit/tools.ts";

const CELL = "5P";
const SENDERS = 32;
const BODY_BYTES = [1000, 100_000] as const;
const ANSWER_MS_MAX = 60_000;
const PAUSE_MS = 20;

const canRun = requireTool("haproxy", "apt-get install haproxy") && requireTool("python3", PYTHON_HINT);
const grounds = new Grounds("handover");

/** Each publishes one event after the other, and each event once. */
class Senders implements AsyncDisposable {
  /** The tokens of what was answered, by the status; 0: with nothing. */
  readonly answered = new Map<number, string[]>();
  longestMs = 0;
  #isOver = false;
  readonly #loops: Promise<void>[];

  constructor(
    private readonly name: string,
    private readonly url: string,
    private readonly key: string,
  ) {
    this.#loops = Array.from({ length: SENDERS }, (_, at) => this.#run(at));
  }

  get accepted(): readonly string[] {
    return this.answered.get(202) ?? [];
  }

  async whenAccepted(more: number): Promise<void> {
    const count = this.accepted.length + more;
    while (this.accepted.length < count) await Bun.sleep(PAUSE_MS);
  }

  async #run(at: number): Promise<void> {
    const padding = "x".repeat(BODY_BYTES[at % BODY_BYTES.length] ?? 0);
    for (let nth = 0; !this.#isOver; nth++) {
      const token = `${this.name}-${at}-${nth}`;
      const begunAt = performance.now();
      const status = await this.#send({ type: "order.paid", data: { token, padding } });
      this.longestMs = Math.max(this.longestMs, performance.now() - begunAt);
      this.answered.set(status, [...(this.answered.get(status) ?? []), token]);
      await Bun.sleep(PAUSE_MS);
    }
  }

  async #send(event: object): Promise<number> {
    const headers = { authorization: `Bearer ${this.key}`, "content-type": "application/json" };
    const signal = AbortSignal.timeout(ANSWER_MS_MAX);
    try {
      const body = JSON.stringify(event);
      const answer = await fetch(`${this.url}/v1/events`, { method: "POST", headers, body, signal });
      await answer.text();
      return answer.status;
    } catch {
      return 0;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#loops);
  }
}

interface Routed extends AsyncDisposable {
  machines: [one: Machine, other: Machine];
  router: Router;
  recorder: Recorder;
}

/** A pair under one router, with a quick receiver for orders and one for `slow.*` that takes nine seconds. */
async function startRouted(kind: RouterKind): Promise<Routed> {
  const stack = new AsyncDisposableStack();
  const recorder = stack.use(await startRecorder());
  const env = { ...LOAD_ENV, ...pairedEnv(grounds.litestream, grounds.inBucket()), SEALPOST_CELL: CELL };
  const one = stack.use(new Machine(env));
  await one.ready();
  await addEndpoint(one.service, recorder.url("/quick"), { event_types: ["order.*"], max_concurrency: 50 });
  await addEndpoint(one.service, recorder.url("/slow?delay_ms=9000"), { event_types: ["slow.*"] });
  const other = stack.use(new Machine(env));
  await other.follows();
  other.service.keys = one.service.keys;
  const machines = [one, other].map(({ url }) => new URL(url).host);
  const router = stack.use(await Router.start(kind, { cells: [{ cell: CELL, machines }] }));
  // One that has just begun to check may ask the standby.
  for (let inARow = 0; inARow < 20; await Bun.sleep(100)) {
    const { ok } = await fetch(`${router.url}/docs`);
    inARow = ok ? inARow + 1 : 0;
  }
  return { machines: [one, other], router, recorder, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** The first one is told to end under load, and comes back as the standby. Answers what was accepted. */
async function handOver(routed: Routed, from: Machine, to: Machine, prepare = async () => {}) {
  const { url } = routed.router;
  await using senders = new Senders(from.url, url, from.service.keys.live);
  await senders.whenAccepted(200);
  await prepare();
  const began = performance.now();
  const ended = from.service.stop();
  while ((await statusOf(from, "/readyz")) === 200);
  // Whoever comes past the router is refused at once.
  expect(await statusOf(from, "/v1/events")).toBe(503);
  expect(await statusOf(from, "/docs", { [ROUTER_HEADER]: "test" })).toBe(200);
  expect(await ended).toBe(0);
  await to.ready();
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  from.service.relaunch();
  await senders.whenAccepted(200);
  await senders[Symbol.asyncDispose]();
  const counts = [...senders.answered].map(([status, tokens]) => `${status}: ${tokens.length}`).join(", ");
  console.log(
    `ready after ${seconds} s; ${counts}; the longest answer took ${Math.round(senders.longestMs)} ms`,
  );
  expect([...senders.answered.keys()]).toEqual([202]);
  await from.follows();
  return senders.accepted;
}

async function statusOf({ url }: Machine, path: string, headers: Record<string, string> = {}) {
  return (await fetch(url + path, { headers })).status;
}

describe.skipIf(!canRun).each([...ROUTERS])("behind %s", (kind: RouterKind) => {
  test("a handover refuses nothing, whatever is in flight, and the way back neither", async () => {
    await using routed = await startRouted(kind);
    const { machines, recorder } = routed;
    const [one, other] = machines;
    const there = await handOver(routed, one, other, async () => {
      await clientOf(one.service).post("/v1/events", { type: "slow.thing", data: { token: "slow" } });
      await recorder.received("/slow", 1);
    });
    const back = await handOver(routed, other, one);
    const accepted = [...there, ...back].toSorted();
    await recorder.received("/quick", accepted.length, 60_000);
    const receipts = (await recorder.receipts()).filter(({ path }) => path === "/quick");
    expect(receipts.map(({ token }) => token).toSorted()).toEqual(accepted);
  }, 180_000);
});

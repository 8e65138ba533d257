/**
 * Every push kind against a server that is down, slow, busy or broken: the outcome, what the delivery and its
 * endpoint do next, and that it arrives once the server is well again. Its server stands where the case's
 * config leads, by plain http at 127.0.0.1. The real servers are in `../slow/kinds-*.slow.ts`.
 */
import { describe, expect, test } from "bun:test";
import { appForFile } from "../../kit/for-file.ts";
import { type Behaviour, hang, type ReceivedRequest } from "../../kit/receiver.ts";
import { findKind } from "../../../src/destinations/destinations.ts";
import type { Answer } from "../../../src/destinations/destination.ts";
import { answerOf, type Config, type KindCase } from "./case.ts";
import { CASES } from "./cases.ts";

const RETRY_AFTER_SECONDS = 120;
const SLOWLY = { "retry-after": String(RETRY_AFTER_SECONDS) };

const app = appForFile();

/** The case's config with another server in the place of those that it names. */
function configAt(config: Config, host: string): Config {
  const moved = Object.entries(config).map(([name, value]) => [
    name,
    typeof value === "string" ? value.replaceAll(/127\.0\.0\.1(?::\d+)?/g, host) : value,
  ]);
  return Object.fromEntries(moved);
}

function responseOf({ status, headers, body }: Answer): Response {
  return new Response(status === 204 ? null : body.slice(), { status, headers: Object.fromEntries(headers) });
}

/** A server of the kind: `behave` answers deliveries; whoever is asked before answers as the case says. */
class Server implements AsyncDisposable {
  readonly #server;
  delivered = 0;

  constructor(
    private readonly proof: KindCase,
    public behave: Behaviour,
    port = 0,
  ) {
    this.#server = Bun.serve({
      hostname: "127.0.0.1",
      port,
      idleTimeout: 0,
      fetch: (request) => this.#answer(request),
    });
  }

  get port(): number {
    return this.#server.port ?? 0;
  }

  get host(): string {
    return `127.0.0.1:${this.port}`;
  }

  async #answer(request: Request): Promise<Response> {
    const body = Buffer.from(await request.arrayBuffer());
    const headers = Object.fromEntries(request.headers);
    const asked = this.proof.asked;
    const text = body.toString();
    // A token is asked for by a form, which no kind that asks for one is delivered by.
    if (asked && /grant_type=|Action=AssumeRole/.test(text)) {
      const url = new URL(request.url);
      return responseOf(asked({ method: request.method, url, headers: Object.entries(headers), body }));
    }
    this.delivered++;
    const target = new URL(request.url).pathname;
    return this.behave(
      { method: request.method, target, headers, body, arrivedAt: Date.now() },
      this.delivered,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true);
  }
}

const wellOf = (proof: KindCase): Behaviour => {
  const good = proof.answers.find(({ judged }) => judged.delivered);
  if (good === undefined) throw new Error(`${proof.kind} has no answer that is a success`);
  return () => responseOf(answerOf(good));
};

let types = 0;

interface Attempt {
  outcome: string;
  status_code: number | null;
  error_code: string | null;
  error_detail: string | null;
  url: string;
  request_headers: Record<string, string>;
  request_body: string;
}

interface Delivery {
  id: string;
  status: string;
  waiting_for: string | null;
  next_attempt_at: string | null;
}

/** An endpoint of the kind, and an event for it alone. */
async function publish(
  proof: KindCase,
  host: string,
  fields: object = {},
): Promise<{ endpoint: string; event: string }> {
  const type = `made.k${++types}`;
  const { kind } = proof;
  const config = configAt(proof.config, host);
  const made = await app.live.create("/v1/endpoints", { kind, config, event_types: [type], ...fields });
  const event = await app.live.post("/v1/events", { type, data: { n: types } });
  expect(event.status).toBe(202);
  return { endpoint: String(made["id"]), event: String(event.json["id"]) };
}

/** The delivery once it has as many attempts, and the last of these. */
async function tried(endpoint: string, count = 1): Promise<{ delivery: Delivery; attempt: Attempt }> {
  const delivery = await app.until(async () => {
    const { json } = await app.live.get(`/v1/deliveries?endpoint_id=${endpoint}`);
    const [first] = json["data"] as (Delivery & { attempt_count: number })[];
    return first !== undefined && first.attempt_count >= count && first;
  });
  const { json } = await app.live.get(`/v1/deliveries/${delivery.id}/attempts`);
  const [attempt] = json["data"] as Attempt[];
  if (attempt === undefined) throw new Error("there is no attempt");
  return { delivery, attempt };
}

async function read(id: string): Promise<Delivery> {
  return (await app.live.get(`/v1/deliveries/${id}`)).json as unknown as Delivery;
}

/** One more try by hand, once the server is well: nothing was lost. */
async function expectArrival(endpoint: string): Promise<void> {
  const { delivery } = await tried(endpoint);
  expect((await app.live.post(`/v1/deliveries/${delivery.id}/retry`)).status).toBe(202);
  const { delivery: after, attempt } = await tried(endpoint, 2);
  expect([attempt.outcome, after.status]).toEqual(["delivered", "delivered"]);
}

test("a server that does not answer: timeout, tried again, and it arrives, whatever the kind", async () => {
  const waits = CASES.map(async (proof) => {
    await using server = new Server(proof, hang);
    const { endpoint } = await publish(proof, server.host, { timeout_seconds: 1 });
    const { delivery, attempt } = await tried(endpoint);
    expect([proof.kind, attempt.outcome, delivery.status]).toEqual([proof.kind, "timeout", "retrying"]);
    server.behave = wellOf(proof);
    await expectArrival(endpoint);
  });
  await Promise.all(waits);
});

describe.each(CASES.map((proof) => [proof.kind, proof] as const))("%s", (_kind, proof) => {
  const well = wellOf(proof);

  test("a server that is down: unreachable, tried again, and it arrives", async () => {
    const gone = new Server(proof, well);
    const { host, port } = gone;
    await gone[Symbol.asyncDispose]();
    const { endpoint } = await publish(proof, host);
    const { delivery, attempt } = await tried(endpoint);
    expect(attempt).toMatchObject({
      outcome: "unreachable",
      status_code: null,
      error_code: "connection_refused",
    });
    expect(delivery.status).toBe("retrying");
    await using back = new Server(proof, well, port);
    await expectArrival(endpoint);
    expect(back.delivered).toBe(1);
  });

  test("a server that is busy: the endpoint slows down for as long as it says", async () => {
    await using server = new Server(proof, () => new Response(null, { status: 429, headers: SLOWLY }));
    const before = Date.now();
    const { endpoint } = await publish(proof, server.host);
    const { delivery, attempt } = await tried(endpoint);
    expect(attempt).toMatchObject({ outcome: "rejected", status_code: 429 });
    expect(delivery.status).toBe("retrying");
    await app.until(async () => (await read(delivery.id)).waiting_for === "backoff");
    const due = Date.parse(delivery.next_attempt_at ?? "");
    expect(due).toBeGreaterThanOrEqual(before + (RETRY_AFTER_SECONDS - 1) * 1000);
    server.behave = well;
    await expectArrival(endpoint);
  });

  const throttled = proof.answers.filter(({ judged }) => !judged.delivered && judged.throttled);

  test.each(throttled.map((each) => [each.name, each] as const))(
    "%s slows the endpoint down",
    async (_name, each) => {
      const answer = answerOf({ ...each, headers: { ...each.headers, ...SLOWLY } });
      await using server = new Server(proof, () => responseOf(answer));
      const { endpoint } = await publish(proof, server.host);
      const { delivery, attempt } = await tried(endpoint);
      expect(attempt).toMatchObject({ outcome: "rejected", status_code: each.status });
      const error = each.judged.delivered ? null : each.judged.error;
      expect([attempt.error_code, attempt.error_detail]).toEqual([
        error && error.code,
        error && error.detail,
      ]);
      expect(delivery.status).toBe("retrying");
      await app.until(async () => (await read(delivery.id)).waiting_for === "backoff");
      server.behave = well;
      await expectArrival(endpoint);
    },
  );

  test("a server that breaks: rejected, tried again, and it arrives", async () => {
    await using server = new Server(proof, () => new Response("broken", { status: 500 }));
    const { endpoint } = await publish(proof, server.host);
    const { delivery, attempt } = await tried(endpoint);
    expect(attempt).toMatchObject({ outcome: "rejected", status_code: 500 });
    expect(delivery.status).toBe("retrying");
    server.behave = well;
    await expectArrival(endpoint);
  });

  test("a server that repeats what it was sent: nothing that opens a door is kept", async () => {
    const { fields = [] } = findKind(proof.kind) ?? {};
    const passes = fields.flatMap(({ name, secret }) => (secret ? [String(proof.config[name])] : []));
    await using server = new Server(proof, ({ headers, target }) => {
      const [scheme = "", pass = ""] = (headers["authorization"] ?? "").split(" ");
      if (["Basic", "Bearer", "SharedAccessSignature"].includes(scheme)) passes.push(pass);
      return new Response(`${target}\n${JSON.stringify(headers)}`, { status: 401 });
    });
    const { endpoint } = await publish(proof, server.host);
    const { delivery } = await tried(endpoint);
    const { text } = await app.live.get(`/v1/deliveries/${delivery.id}/attempts`);
    const kept = passes.filter((pass) => (text + app.log()).includes(pass));
    const told = kept.map((pass) => {
      const field = fields.find(({ name }) => proof.config[name] === pass);
      return `${field ? `field ${field.name}: secret: true?` : "of authorization:"} ${pass}`;
    });
    expect(told).toEqual([]);
  });

  test("its attempts show the requests as they were sent, credentials aside", async () => {
    const sent: ReceivedRequest[] = [];
    await using server = new Server(proof, (request, nth) => {
      sent.push(request);
      return nth === 1 ? new Response(null, { status: 500 }) : well(request, nth);
    });
    const { endpoint } = await publish(proof, server.host, { headers: { "x-tenant": "acme" } });
    const { delivery } = await tried(endpoint);
    await expectArrival(endpoint);
    const { json } = await app.live.get(`/v1/deliveries/${delivery.id}/attempts`);
    const shown = (json["data"] as Attempt[]).toReversed();
    for (const [nth, { url, request_headers, request_body }] of shown.entries()) {
      const { headers = {}, body, target } = sent[nth] ?? {};
      expect([new URL(url).pathname, request_body]).toEqual([String(target), String(body)]);
      expect(request_headers["x-tenant"]).toBeDefined();
      for (const [name, value] of Object.entries(request_headers)) {
        if (value !== "***") expect([name, value]).toEqual([name, headers[name] ?? ""]);
      }
    }
  });

  test("a message that is too large is malformed at once, and nothing is sent", async () => {
    const maxBytes = findKind(proof.kind)?.maxBytes ?? null;
    if (maxBytes === null || maxBytes > 900_000) return;
    await using server = new Server(proof, well);
    const type = `made.k${++types}`;
    const config = configAt(proof.config, server.host);
    const made = await app.live.create("/v1/endpoints", { kind: proof.kind, config, event_types: [type] });
    await app.live.post("/v1/events", { type, data: { text: "x".repeat(maxBytes) } });
    const { delivery, attempt } = await tried(String(made["id"]));
    expect([attempt.outcome, delivery.status, server.delivered]).toEqual(["malformed", "dead", 0]);
  });
});

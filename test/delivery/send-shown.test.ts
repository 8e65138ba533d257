/** What an attempt shows is what was sent, for every kind and over several messages of one endpoint. */
import { describe, expect, test } from "bun:test";
import { untriedDelivery } from "../../src/core/delivery.ts";
import type { Endpoint } from "../../src/core/model.ts";
import type { Load } from "../../src/core/waiting.ts";
import { isCredentialHeader, MASK } from "../../src/destinations/credential-headers.ts";
import { readRequestHead, varyingHeaders } from "../../src/destinations/request-head.ts";
import { send, type SendParts } from "../../src/delivery/send.ts";
import { turnsOf } from "../../src/store/project-turns.ts";
import type { Transport, TransportRequest, TransportResult } from "../../src/transport/types.ts";
import { type Api, startApi } from "../http/log-kit.ts";
import { plainEndpoint } from "../kit/endpoint.ts";
import { CASES, kindOf } from "../destinations/kinds/cases.ts";
import type { KindCase } from "../destinations/kinds/case.ts";

const TYPES = ["invoice.paid", "order.created", "invoice.paid"];
const encoder = new TextEncoder();

/** Keeps each request, and answers as the kind's servers do. */
class Capture implements Transport {
  readonly requests: TransportRequest[] = [];

  constructor(private readonly proof: KindCase) {}

  async send(request: TransportRequest): Promise<TransportResult> {
    this.requests.push(request);
    const answer = await this.#answerTo(request);
    const headers = Object.entries(answer.headers ?? {});
    return {
      kind: "response",
      status: answer.status,
      headers,
      body: encoder.encode(answer.body ?? ""),
      truncated: false,
    };
  }

  async #answerTo({ url, ...request }: TransportRequest) {
    const { asked, answers } = this.proof;
    const asks =
      asked && !request.headers.some(([name]) => name === "webhook-id" || name === "authorization");
    if (!asks) return answers[0] ?? { status: 200 };
    const answer = await asked({ ...request, url });
    return {
      status: answer.status,
      headers: Object.fromEntries(answer.headers),
      body: Buffer.from(answer.body).toString(),
    };
  }

  stats() {
    return { open: 0, idle: 0, connects: 0, reused: 0 };
  }

  close(): void {}
}

function loadOf(endpoint: Endpoint, id: number, type: string, hops: number): Load {
  const keys = { id, eventId: id, endpointId: endpoint.id, projectId: 1 };
  const delivery = untriedDelivery({ ...keys, origin: "publish", due: 0 });
  return {
    delivery,
    type,
    hops,
    trace: null,
    ...(hops > 0 && { traceparent: `00-${"a".repeat(32)}-${String(id).padStart(16, "0")}-01` }),
    body: encoder.encode(`{"type":"${type}","timestamp":"2026-11-21T09:00:00.000Z","data":{"n":${id}}}`),
  };
}

const START = Date.UTC(2026, 10, 21, 9);

function partsOf(api: Api, transport: Transport, now: () => number): SendParts {
  return {
    transport,
    ids: api.data.ids,
    turnsOf: (projectId: number) => turnsOf(api.data, projectId),
    isTurnOver: () => api.data.store.turns.isOver,
    now,
    dated: now,
    monotonic: now,
    signal: new AbortController().signal,
    untilMayGo: () => null,
    onBroken: (_: Endpoint, error: unknown) => {
      throw error;
    },
  };
}

/** Refuses whatever it is asked, and repeats it. */
class Echo implements Transport {
  readonly requests: TransportRequest[] = [];

  send(request: TransportRequest): Promise<TransportResult> {
    this.requests.push(request);
    const text = `${JSON.stringify(request.headers)}\n${Buffer.from(request.body).toString()}`;
    const answer = { status: 403, headers: [], body: encoder.encode(text), truncated: false };
    return Promise.resolve({ kind: "response", ...answer });
  }

  stats() {
    return { open: 0, idle: 0, connects: 0, reused: 0 };
  }

  close(): void {}
}

/** The case's config as an endpoint stores it. */
function storedOf(proof: KindCase): Pick<Endpoint, "config" | "credentials"> {
  const { fields } = kindOf(proof);
  const isSecret = (field: string) => fields.some(({ name, secret }) => secret && name === field);
  const entries = Object.entries(proof.config);
  return {
    config: Object.fromEntries(entries.filter(([name]) => !isSecret(name))),
    credentials: Object.fromEntries(
      entries.flatMap(([name, value]) => (isSecret(name) ? [[name, String(value)]] : [])),
    ),
  };
}

const shownUrl = (url: string) => url.replace(/\?.*$/, "");

describe.each(CASES.map((proof) => [proof.kind, proof] as const))("%s", (kind, proof) => {
  test("each attempt shows its own request", async () => {
    await using api = await startApi();
    // Without a role: what is asked for its session is no part of the message.
    const { role_arn: _role, external_id: _external, ...config } = proof.config;
    const endpoint: Endpoint = { ...plainEndpoint, id: api.data.store.takeKey(), kind, config };
    const transport = new Capture(proof);
    let now = START;
    const parts = partsOf(api, transport, () => now);
    for (const [at, type] of TYPES.entries()) {
      now += 61_000;
      // One that came out of a delivery stands between others that did not.
      const load = loadOf(endpoint, api.data.store.takeKey(), type, at % 2);
      const sent = await send(parts, endpoint, load);
      const wire = transport.requests.at(-1);
      if (!sent?.requestHead || !wire) throw new Error(`nothing was sent: ${sent?.error?.code}`);
      const id = api.data.ids.encode("msg", load.delivery.id);
      const shown = readRequestHead(
        sent.requestHead,
        varyingHeaders(id, sent.sentAt ?? 0, sent.signature ?? "", sent.traceparent ?? ""),
      );
      // What it is signed with is no credential, by whatever name it is sent.
      const isHidden = (name: string, value: string) =>
        isCredentialHeader(name) && !(kind === "http" && value === sent.signature);
      const headers = wire.headers.map(([name, value]) => [name, isHidden(name, value) ? MASK : value]);
      const url = new URL(`${wire.url.protocol}//${wire.url.host}${wire.url.pathname}${wire.url.search}`)
        .href;
      expect({ ...shown, url: shownUrl(shown.url) }).toEqual({
        method: wire.method,
        url: shownUrl(url),
        headers: Object.fromEntries(headers),
      });
      expect(Buffer.from(sent.requestBody ?? load.body).toString()).toBe(Buffer.from(wire.body).toString());
    }
  });
});

describe.each(CASES.filter(({ asked }) => asked).map((proof) => [proof.kind, proof] as const))(
  "%s",
  (kind, proof) => {
    test("what is asked for once for several attempts, and repeated, is hidden in each of them", async () => {
      await using api = await startApi();
      const endpoint: Endpoint = { ...plainEndpoint, id: api.data.store.takeKey(), kind, ...storedOf(proof) };
      const transport = new Echo();
      const parts = partsOf(api, transport, () => START);
      const attempts = await Promise.all(
        TYPES.map((type) => send(parts, endpoint, loadOf(endpoint, api.data.store.takeKey(), type, 0))),
      );
      const shown = attempts.map((sent) => Buffer.from(sent?.responseBody ?? []).toString());
      expect([transport.requests.length, shown.length, new Set(shown).size]).toEqual([1, TYPES.length, 1]);
      const [request] = transport.requests;
      const made = new URLSearchParams(Buffer.from(request?.body ?? []).toString()).get("assertion");
      const secret =
        request?.headers.find(([name]) => name === "authorization")?.[1].split("Signature=")[1] ?? made;
      expect(secret).toBeString();
      expect(shown[0]).toContain(MASK);
      expect(shown[0]).not.toContain(secret ?? "");
    });
  },
);

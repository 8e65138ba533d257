/** What the span of an attempt says where that ends otherwise than most, of which tracing.test.ts tells. */
import { expect, test } from "bun:test";
import { untriedDelivery } from "../../src/core/delivery.ts";
import type { Endpoint } from "../../src/core/model.ts";
import { sendTraced } from "../../src/delivery/traced-send.ts";
import { Tracing } from "../../src/platform/tracing.ts";
import type { TransportRequest, TransportResult } from "../../src/transport/types.ts";
import { endpointOf, spansAt } from "../kit/collector.ts";
import { plainEndpoint } from "../kit/endpoint.ts";
import { startReceiver } from "../kit/receiver.ts";
import { partsWith } from "../kit/send-parts.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const KEPT = `00-${TRACE}-b7ad6b7169203331-01`;

const keys = { id: 4, eventId: 3, endpointId: 1, projectId: 1 };
const delivery = { ...untriedDelivery({ ...keys, origin: "publish", due: 0 }), attemptCount: 2 };

/** Makes one attempt; answers its span, or null, and the headers that it was sent with. */
async function attempt(
  result: TransportResult,
  more: { endpoint?: Partial<Endpoint>; trace?: string | null } = {},
) {
  await using collector = startReceiver();
  const endpoint: Endpoint = { ...plainEndpoint, id: 1, ...more.endpoint };
  const { trace = KEPT } = more;
  const settings = { headers: {}, sampler: "parentbased_always_on", ratio: 1, resource: {} } as const;
  const tracing = new Tracing({ ...settings, endpoint: endpointOf(collector) }, () => {});
  const sent: TransportRequest[] = [];
  const parts = partsWith((request) => {
    sent.push(request);
    return Promise.resolve(result);
  });
  const body = new TextEncoder().encode("{}");
  await sendTraced(tracing, { ...parts, onBroken() {} }, endpoint, {
    type: "a.b",
    hops: 0,
    trace,
    body,
    delivery,
  });
  // The collector answers 204, which says no less than an empty object.
  await tracing.stop();
  const [span = null, ...others] = spansAt(collector);
  expect(others).toEqual([]);
  return { span, headers: Object.fromEntries(sent[0]?.headers ?? []) };
}

const answered = (status: number): TransportResult => {
  return { kind: "response", status, headers: [], body: new Uint8Array(), truncated: false };
};

test("a refusal is an error by its status, and an attempt without an answer by its code", async () => {
  const refused = await attempt(answered(404));
  expect(refused.span).toMatchObject({
    traceId: TRACE,
    status: 2,
    attributes: {
      "error.type": "404",
      "http.response.status_code": 404,
      "server.address": "example.com",
      "server.port": 443,
      "sealpost.attempt.number": 3,
    },
  });
  expect(refused.headers["traceparent"]).toBe(`00-${TRACE}-${refused.span?.spanId}-01`);
  const { span } = await attempt({ kind: "timeout", code: "timeout_connect" });
  expect(span?.attributes).toMatchObject({
    "error.type": "timeout_connect",
    "server.address": "example.com",
  });
  expect(span?.attributes).not.toHaveProperty(["http.response.status_code"]);
});

test("one that was given up, or could not be made, has a span of what is known", async () => {
  const { span: givenUp } = await attempt({ kind: "aborted" });
  expect(givenUp).toMatchObject({ status: 2, attributes: { "error.type": "given_up" } });
  const { span } = await attempt(answered(200), { endpoint: { kind: "none" } });
  expect(span?.attributes).toMatchObject({
    "error.type": "settings_unreadable",
    "sealpost.attempt.outcome": "malformed",
  });
  expect(span?.attributes).not.toHaveProperty(["server.address"]);
});

test("a kind that is no URL of the customer's has a span, and is told nothing", async () => {
  const config = { project_id: "p-12345", topic: "topic" };
  const { span, headers } = await attempt(answered(200), {
    endpoint: {
      kind: "cloudflare_queues",
      config: { account_id: "a".repeat(32), queue_id: "b".repeat(32), ...config },
    },
  });
  expect(span?.attributes).toMatchObject({ "sealpost.endpoint.kind": "cloudflare_queues" });
  expect(headers).not.toHaveProperty("traceparent");
});

test("an event without a trace is sent as without any of this", async () => {
  const { span, headers } = await attempt(answered(200), { trace: null });
  expect(span).toBeNull();
  expect(headers).not.toHaveProperty("traceparent");
});

/**
 * The way of an event as spans: what the collector gets, what the receiver is told, and that nothing of it
 * holds up an event, however the collector behaves.
 */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { readTraceparent } from "../../src/core/trace-context.ts";
import { limit } from "../../src/core/limits.ts";
import { watchSpans } from "../../src/maintenance/reports.ts";
import { createLogger } from "../../src/platform/log.ts";
import { createMetrics } from "../../src/platform/metrics.ts";
import { type SpanListener, Tracing, type TracingSettings } from "../../src/platform/tracing.ts";
import { createSource } from "../http/sources/kit.ts";
import { startApp, type TestApp } from "../kit/app.ts";
import { endpointOf, spansAt, TRACES } from "../kit/collector.ts";
import { hang, type ReceivedRequest, Receiver, startReceiver } from "../kit/receiver.ts";

/** The example of the specification (W3C Trace Context, section 3.2.2.5), and the same unsampled. */
const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CALLER = "b7ad6b7169203331";
const GIVEN = { traceparent: `00-${TRACE}-${CALLER}-01` };
const UNSAMPLED = { traceparent: `00-${TRACE}-${CALLER}-00` };

const EVENT = { type: "invoice.paid", data: { amount: 4200 } };

/** An app that is traced, its collector, and a receiver of its deliveries. */
async function startTraced(env: Record<string, string> = {}) {
  const collector = startReceiver();
  collector.at(TRACES, () => Response.json({}));
  const receiver = startReceiver();
  const app = await startApp({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: endpointOf(collector), ...env } });
  return {
    app,
    collector,
    receiver,
    async [Symbol.asyncDispose]() {
      await Promise.all([app[Symbol.asyncDispose](), receiver.close()]);
      await collector.close();
    },
  };
}

function toldBy(request: ReceivedRequest | undefined) {
  return readTraceparent(request?.headers["traceparent"] ?? null);
}

describe("an event's way", () => {
  test("goes on with the publisher's trace, and the receiver is told the attempt's place in it", async () => {
    await using traced = await startTraced({ OTEL_SERVICE_NAME: "webhooks", SEALPOST_CELL: "7K" });
    const { app, collector, receiver } = traced;
    const url = `${receiver.url("hook")}?token=not-for-the-collector`;
    const endpoint = await app.live.create("/v1/endpoints", { url });
    const { json: event } = await app.live.post("/v1/events", EVENT, GIVEN);
    const [request] = await receiver.arrived("hook");
    const delivery = await app.until(async () => {
      const { json } = await app.live.get("/v1/deliveries?status=delivered");
      return (json.data as { id: string }[])[0];
    });
    const { json: attempts } = await app.live.get(`/v1/deliveries/${delivery.id}/attempts`);
    await app.stop();

    const [published, attempted, ...others] = spansAt(collector);
    expect(others).toEqual([]);
    const ids = { "sealpost.event.id": String(event.id), "sealpost.event.type": "invoice.paid" };
    expect(published).toMatchObject({
      traceId: TRACE,
      parentSpanId: CALLER,
      name: "POST /v1/events",
      kind: 2,
      status: 0,
      resource: { "service.name": "webhooks", "sealpost.cell": "7K" },
    });
    const project = published?.attributes["sealpost.project.id"] ?? "";
    expect(project).toStartWith("proj_");
    expect(published?.attributes).toEqual({
      "http.request.method": "POST",
      "http.route": "/v1/events",
      "http.response.status_code": 202,
      "sealpost.project.id": project,
      "sealpost.event.duplicate": false,
      ...ids,
    });
    expect(attempted).toMatchObject({ traceId: TRACE, parentSpanId: published?.spanId, kind: 3, status: 0 });
    expect(attempted?.attributes).toEqual({
      "sealpost.project.id": project,
      ...ids,
      "sealpost.delivery.id": delivery.id,
      "sealpost.endpoint.id": endpoint["id"] ?? "",
      "sealpost.endpoint.kind": "http",
      "sealpost.attempt.number": 1,
      "sealpost.attempt.outcome": "delivered",
      "http.request.method": "POST",
      "http.response.status_code": 204,
      "server.address": "127.0.0.1",
      "server.port": Number(new URL(url).port),
    });
    const told = request?.headers["traceparent"];
    expect(told).toBe(`00-${TRACE}-${attempted?.spanId}-01`);
    expect(attempts.data).toMatchObject([{ request_headers: { traceparent: told } }]);
    expect(
      collector
        .requests(TRACES)
        .map(({ body }) => body.toString())
        .join(),
    ).not.toContain("not-for-the-collector");
  });

  test("stays one trace over a retry and a restart, each attempt with a span of its own", async () => {
    await using traced = await startTraced();
    const { app, collector, receiver } = traced;
    const url = receiver.at("hook", (_, nth) => new Response(null, { status: nth === 1 ? 503 : 200 }));
    await app.live.create("/v1/endpoints", { url, retry: { schedule: [1] } });
    await app.live.post("/v1/events", EVENT);
    await app.until(async () => {
      const { json } = await app.live.get("/v1/deliveries?status=retrying");
      return (json.data as unknown[]).length === 1;
    });
    await app.stop();
    await app.start();
    const requests = await receiver.arrived("hook", 2);
    await app.stop();
    const [published, first, second] = spansAt(collector);
    expect(published?.parentSpanId).toBe("");
    const below = { traceId: published?.traceId, parentSpanId: published?.spanId };
    expect([first, second]).toMatchObject([
      { ...below, status: 2, attributes: { "error.type": "503", "sealpost.attempt.number": 1 } },
      { ...below, status: 0, attributes: { "sealpost.attempt.number": 2 } },
    ]);
    expect(requests.map((one) => toldBy(one)?.spanId)).toEqual([first?.spanId, second?.spanId]);
  });

  test("begins a trace of its own where the caller's is not one", async () => {
    await using traced = await startTraced();
    const { app, receiver } = traced;
    await app.live.create("/v1/endpoints", { url: receiver.url("hook") });
    for (const traceparent of [GIVEN.traceparent.toUpperCase(), `${GIVEN.traceparent}-01`, "00-0-0-00"])
      await app.live.post("/v1/events", EVENT, { traceparent });
    const told = (await receiver.arrived("hook", 3)).map(toldBy);
    expect(new Set(told.map((one) => one?.traceId)).size).toBe(3);
    expect(told.map((one) => one?.traceId)).not.toContain(TRACE);
  });

  test("of a batch, and over very many endpoints, is the same", async () => {
    await using traced = await startTraced();
    const { app, collector, receiver } = traced;
    const count = limit("eventRowsMax") + 1;
    for (let nth = 0; nth < count; nth++)
      await app.live.create("/v1/endpoints", { url: receiver.url("hook"), event_types: ["wide"] });
    await app.live.create("/v1/endpoints", { url: receiver.url("narrow"), event_types: ["invoice.*"] });
    const events = [{ type: "wide", data: {} }, EVENT];
    await app.live.post("/v1/events/batch", { events }, GIVEN);
    const wide = await receiver.arrived("hook", count);
    const [narrow] = await receiver.arrived("narrow");
    await app.stop();
    const batch = spansAt(collector).find(({ kind }) => kind === 2);
    expect(batch).toMatchObject({
      parentSpanId: CALLER,
      name: "POST /v1/events/batch",
      attributes: { "messaging.batch.message_count": 2, "http.response.status_code": 202 },
    });
    const attempts = spansAt(collector).filter(({ kind }) => kind === 3);
    expect(attempts.filter(({ parentSpanId }) => parentSpanId !== batch?.spanId)).toEqual([]);
    const told = new Set([...wide, narrow].map((one) => toldBy(one)?.spanId ?? ""));
    expect(told).toEqual(new Set(attempts.map(({ spanId }) => spanId)));
    expect(told.size).toBe(count + 1);
  });

  test("that a provider's request begins is a trace of its own, whatever that request says", async () => {
    await using traced = await startTraced();
    const { app, collector, receiver } = traced;
    await app.live.create("/v1/endpoints", { url: receiver.url("hook") });
    const source = await createSource(app, "service");
    const ask = (authorization: string) =>
      fetch(app.url + source.ingest_path, {
        method: "POST",
        headers: { authorization, "content-type": "application/json", ...GIVEN },
        body: JSON.stringify(EVENT.data),
      });
    expect((await ask("Bearer forged")).status).toBe(401);
    expect((await ask(`Bearer ${source.secret}`)).ok).toBe(true);
    const [request] = await receiver.arrived("hook");
    await app.stop();
    const [received, attempted, ...others] = spansAt(collector);
    expect(others).toEqual([]);
    expect(received).toMatchObject({ name: "POST /ingest/:id", parentSpanId: "", kind: 2 });
    expect(received?.traceId).not.toBe(TRACE);
    expect(toldBy(request)).toMatchObject({ traceId: received?.traceId, spanId: attempted?.spanId });
  });

  test("that is refused is told as the caller was answered", async () => {
    await using traced = await startTraced();
    const { app, collector } = traced;
    expect((await app.live.post("/v1/events", { type: "" }, GIVEN)).status).toBe(422);
    await app.stop();
    expect(spansAt(collector)).toMatchObject([
      { traceId: TRACE, status: 0, attributes: { "http.response.status_code": 422 } },
    ]);
  });
});

describe("what is not recorded", () => {
  test("a caller's trace that is not recorded goes on, and makes no span", async () => {
    await using traced = await startTraced();
    const { app, collector, receiver } = traced;
    await app.live.create("/v1/endpoints", { url: receiver.url("hook") });
    await app.live.post("/v1/events", EVENT, UNSAMPLED);
    const [request] = await receiver.arrived("hook");
    await app.stop();
    expect(toldBy(request)).toMatchObject({ traceId: TRACE, isSampled: false });
    expect(toldBy(request)?.spanId).not.toBe(CALLER);
    expect(collector.requests(TRACES)).toEqual([]);
  });

  test("a trace that begins here and is not recorded leaves nothing, and a caller's is by its own flag", async () => {
    const sampler = { OTEL_TRACES_SAMPLER: "parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG: "0" };
    await using traced = await startTraced(sampler);
    const { app, collector, receiver } = traced;
    await app.live.create("/v1/endpoints", { url: receiver.url("hook") });
    await app.live.post("/v1/events", EVENT);
    const [request] = await receiver.arrived("hook");
    expect(request?.headers["traceparent"]).toBeUndefined();
    await app.live.post("/v1/events", EVENT, GIVEN);
    await receiver.arrived("hook", 2);
    await app.stop();
    expect(spansAt(collector).map(({ traceId }) => traceId)).toEqual([TRACE, TRACE]);
    expect(keptTraces(app).filter((one) => one === null)).toHaveLength(1);
  });

  test("by ratio alone no caller decides", async () => {
    await using traced = await startTraced({
      OTEL_TRACES_SAMPLER: "traceidratio",
      OTEL_TRACES_SAMPLER_ARG: "0",
    });
    const { app, collector, receiver } = traced;
    await app.live.create("/v1/endpoints", { url: receiver.url("hook") });
    await app.live.post("/v1/events", EVENT, GIVEN);
    const [request] = await receiver.arrived("hook");
    await app.stop();
    expect(toldBy(request)).toMatchObject({ traceId: TRACE, isSampled: false });
    expect(collector.requests(TRACES)).toEqual([]);
  });

  test("by ratio alone no trace's id decides either, and attempts follow their event", async () => {
    await using collector = startReceiver();
    collector.at(TRACES, () => Response.json({}));
    const tracing = tracingTo(collector, () => {}, { sampler: "traceidratio", ratio: 0.5 });
    const parent = { traceId: TRACE, spanId: CALLER, isSampled: true };
    const verdicts: boolean[] = [];
    for (let nth = 0; nth < 100; nth++)
      await tracing.request("/v1/events", parent, ({ kept }) => {
        const isRecorded = readTraceparent(kept)?.isSampled === true;
        const attempts = [1, 2].map(() => tracing.attempt(String(kept)).isRecorded);
        expect(attempts).toEqual([isRecorded, isRecorded]);
        verdicts.push(isRecorded);
        return Promise.resolve({ status: 202 });
      });
    await tracing.stop();
    expect(new Set(verdicts)).toEqual(new Set([true, false]));
    expect(spansAt(collector)).toHaveLength(verdicts.filter(Boolean).length);
  });

  test("without a collector nothing is kept, and nothing is told, also of what was traced before", async () => {
    await using traced = await startTraced();
    const { app, receiver } = traced;
    const url = receiver.at("hook", (_, nth) => new Response(null, { status: nth === 1 ? 500 : 200 }));
    await app.live.create("/v1/endpoints", { url, retry: { schedule: [1] } });
    await app.live.post("/v1/events", EVENT, GIVEN);
    await receiver.arrived("hook");
    await app.stop();
    await app.start({ OTEL_EXPORTER_OTLP_ENDPOINT: "" });
    await app.live.post("/v1/events", EVENT, GIVEN);
    const requests = await receiver.arrived("hook", 3);
    const told = requests.map(({ headers }) => headers["traceparent"] !== undefined);
    expect(told).toEqual([true, false, false]);
    await app.stop();
    expect(keptTraces(app).filter((one) => one === null)).toHaveLength(1);
  });
});

describe("a collector", () => {
  test("that is not there, or never answers, holds up neither an event nor the end", async () => {
    for (const behaviour of [null, hang]) {
      await using traced = await startTraced();
      const { app, collector, receiver } = traced;
      if (behaviour === null) await collector.close();
      else collector.at(TRACES, behaviour);
      await app.live.create("/v1/endpoints", { url: receiver.url("hook") });
      expect((await app.live.post("/v1/events", EVENT)).status).toBe(202);
      await receiver.arrived("hook");
      await app.stop();
    }
  });

  test("that refuses is told of once, and so is its return; every span is counted", async () => {
    await using collector = startReceiver();
    collector.at(TRACES, (_, nth) => (nth <= 2 ? new Response("no", { status: 401 }) : Response.json({})));
    const lines: string[] = [];
    const log = createLogger("info", (text) => void lines.push(...text.trim().split("\n")), Date.now);
    const metrics = createMetrics(() => Promise.reject(new Error("no gauges")), String, {});
    const { promise: isOver, resolve } = Promise.withResolvers<void>();
    const tell = watchSpans(metrics, log);
    let batches = 0;
    const tracing = tracingTo(collector, (spans) => {
      tell(spans);
      if (++batches === 4) resolve();
    });
    // A full batch leaves at once.
    for (let batch = 0; batch < 4; batch++) await record(tracing, BATCH);
    await isOver;
    log.flush();
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { level: "warn", msg: "the collector does not take spans", error: "Unauthorized" },
      { level: "info", msg: "the collector takes spans again" },
    ]);
    expect(metrics.spans.lines()).toEqual([
      `sealpost_spans_total{result="failed"} ${2 * BATCH}`,
      `sealpost_spans_total{result="exported"} ${2 * BATCH}`,
    ]);
    await tracing.stop();
  });

  test("that is slow is sent no more than may wait, and what comes meanwhile is dropped", async () => {
    await using collector = startReceiver();
    const { promise: isAwake, resolve: wake } = Promise.withResolvers<void>();
    collector.at(TRACES, async () => {
      await isAwake;
      return Response.json({});
    });
    const counts = { exported: 0, failed: 0, dropped: 0 };
    const tracing = tracingTo(collector, ({ result, count }) => (counts[result] += count));
    const max = limit("spansWaitingMax");
    await record(tracing, max + 100);
    await collector.arrived(TRACES);
    await record(tracing, 100);
    expect(counts).toEqual({ exported: 0, failed: 0, dropped: 200 });
    wake();
    await tracing.stop();
    expect(counts).toEqual({ exported: max, failed: 0, dropped: 200 });
    expect(spansAt(collector)).toHaveLength(max);
  });

  test("is sent what the library's own variables ask for, and no variable leads elsewhere", async () => {
    await using collector = startReceiver();
    collector.at(TRACES, () => Response.json({}));
    const variables = {
      OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: "x-tenant=7",
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://127.0.0.1:1/elsewhere",
      OTEL_RESOURCE_ATTRIBUTES: "team=not-told",
    };
    Object.assign(process.env, variables);
    try {
      const tracing = tracingTo(collector, () => {});
      await record(tracing, 1);
      await tracing.stop();
    } finally {
      for (const name of Object.keys(variables)) delete process.env[name];
    }
    const [request] = collector.requests(TRACES);
    expect(request?.headers).toMatchObject({ "content-encoding": "gzip", "x-tenant": "7" });
    expect(gunzipSync(request?.body ?? "").toString()).not.toContain("not-told");
  });

  test("gets the headers that the settings name", async () => {
    await using traced = await startTraced({ OTEL_EXPORTER_OTLP_HEADERS: "api-key=a%20b, X-Tenant=t=1" });
    await traced.app.live.post("/v1/events", EVENT);
    await traced.app.stop();
    const [request] = traced.collector.requests(TRACES);
    expect(request?.headers).toMatchObject({ "api-key": "a b", "x-tenant": "t=1" });
  });
});

/** So many spans leave together (BatchSpanProcessor). */
const BATCH = 512;

function tracingTo(collector: Receiver, onSpans: SpanListener, over: Partial<TracingSettings> = {}): Tracing {
  const settings = { headers: {}, sampler: "always_on", ratio: 1, resource: {} } as const;
  return new Tracing({ ...settings, endpoint: endpointOf(collector), ...over }, onSpans);
}

async function record(tracing: Tracing, count: number): Promise<void> {
  for (let nth = 0; nth < count; nth++)
    await tracing.request("/v1/events", null, () => Promise.resolve({ status: 202 }));
}

/** What the events of a service that has stopped keep of their traces. */
function keptTraces(app: TestApp): (string | null)[] {
  using database = new Database(join(app.dataDir, "sealpost.db"), { readonly: true });
  return database
    .query<{ trace: string | null }, []>("SELECT trace FROM event")
    .all()
    .map(({ trace }) => trace);
}

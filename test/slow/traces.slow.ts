// time budget: 600 s
/**
 * A real service that is traced: killed in the middle and started again, and with a collector that hangs.
 * What it sent is read by the OpenTelemetry Collector's own reader. Half a minute; the reader, in Go, is
 * built before that, once on a machine.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "../kit/app.ts";
import { endpointOf, TRACES } from "../kit/collector.ts";
import { buildGoFile } from "../kit/go.ts";
import { runCommand } from "../kit/real-server.ts";
import { hang, startReceiver } from "../kit/receiver.ts";
import { startService } from "../kit/service.ts";

const COLLECTOR = "go.opentelemetry.io/collector/pdata@v1.71.0";
const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CALLER = "b7ad6b7169203331";
const GIVEN = { traceparent: `00-${TRACE}-${CALLER}-01` };
const EVENT = { type: "invoice.paid", data: { amount: 4200 } };

const folder = mkdtempSync(join(tmpdir(), "sealpost-traces-"));
let reader = "";
beforeAll(async () => {
  reader = await buildGoFile(join(import.meta.dir, "../kit/SpanReader.go"), COLLECTOR);
}, 500_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Lines of what the Collector's reader finds in these requests. */
async function readAll(bodies: readonly Buffer[]): Promise<string[]> {
  const file = join(folder, "requests");
  await Bun.write(file, bodies.map(String).join("\n"));
  return (await runCommand([reader, file])).trim().split("\n");
}

test("a trace goes on behind kill -9, and the Collector reads every span", async () => {
  await using collector = startReceiver();
  collector.at(TRACES, () => Response.json({}));
  await using receiver = startReceiver();
  const url = receiver.at("hook", (_, nth) => new Response(null, { status: nth < 3 ? 500 : 200 }));
  await using service = await startService({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: endpointOf(collector) } });
  const live = new Client(service, service.keys.live);
  await live.create("/v1/endpoints", { url, retry: { schedule: [1, 10] } });
  await live.post("/v1/events", EVENT, GIVEN);
  await receiver.arrived("hook", 2);
  // A batch leaves five seconds after its first span ended; the third attempt comes later than that.
  await collector.arrived(TRACES);
  await service.kill9();
  await service.restart();
  const requests = await receiver.arrived("hook", 3, 30_000);
  expect(await service.stop()).toBe(0);

  const lines = await readAll(collector.requests(TRACES).map(({ body }) => body));
  const spans = lines.map((line) => line.split("|"));
  const [published, ...others] = spans.filter(([name]) => name === "POST /v1/events");
  expect([published?.slice(1, 2), published?.slice(3), others]).toEqual([
    [TRACE],
    [CALLER, "Server", "Unset", "7"],
    [],
  ]);
  const attempts = spans.filter(([name]) => name === "deliver");
  const parents = new Set(attempts.map(([, trace, , parent]) => `${trace} ${parent}`));
  expect([...parents]).toEqual([`${TRACE} ${published?.[2]}`]);
  const [, , last, , kind, status] = attempts.at(-1) ?? [];
  expect([kind, status]).toEqual(["Client", "Unset"]);
  expect(requests.at(-1)?.headers["traceparent"]).toBe(`00-${TRACE}-${last}-01`);
}, 60_000);

test("a collector that hangs keeps neither events nor the end, and what is too much is counted", async () => {
  await using collector = startReceiver();
  collector.at(TRACES, hang);
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: endpointOf(collector),
    SEALPOST_METRICS_TOKEN: "metrics-of-the-test",
    SEALPOST_PUBLISH_RATE_LIMIT: "0",
  };
  await using service = await startService({ env });
  const live = new Client(service, service.keys.live);
  for (let round = 0; round < 50; round++) {
    const statuses = await Promise.all(Array.from({ length: 50 }, () => live.post("/v1/events", EVENT)));
    expect(new Set(statuses.map(({ status }) => status))).toEqual(new Set([202]));
  }
  const metrics = await new Client(service, env.SEALPOST_METRICS_TOKEN).get("/metrics");
  expect(metrics.text).toContain(`sealpost_spans_total{result="dropped"} ${2500 - 2048}\n`);
  expect(await service.stop()).toBe(0);
}, 60_000);

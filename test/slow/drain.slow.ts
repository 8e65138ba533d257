// time budget: 180 s
/** SIGTERM under load, and starts with much to take up. */
import { expect, test } from "bun:test";
import { audit } from "../durability/audit.ts";
import { inspectCopy, settleBooks, whenNothingIsOpen } from "../durability/books.ts";
import { Publishers } from "../durability/publishers.ts";
import { addEndpoint, clientOf, LOAD_ENV, prepareLoad, stopInTime } from "../durability/setup.ts";
import { type Recorder, startRecorder } from "../kit/recorder.ts";
import { type Service, startService } from "../kit/service.ts";

const READY_MS_MAX = 5000;
const PENDING = 50_000;

test("SIGTERM under load, eight times over: 503 while draining, exit 0 in 10 s, nothing lost, nothing twice", async () => {
  await using recorder = await startRecorder();
  await using service = await startService({ env: LOAD_ENV });
  const target = await prepareLoad(service, recorder);
  await addEndpoint(service, recorder.url("/two-seconds?delay_ms=2000"), {
    event_types: ["slow.*", "flaky.*"],
    max_concurrency: 100,
  });
  const publishers = new Publishers(target);
  for (let nth = 0; nth < 8; nth++) {
    await publishers.whenAcknowledged(100);
    const refusedBefore = publishers.refused.length;
    const stopped = stopInTime(service);
    while ((await clientOf(service).get("/readyz")).status === 200);
    await stopped;
    expect(publishers.refused.length).toBeGreaterThan(refusedBefore);
    await service.restart();
  }
  await publishers.finish();
  const unlike = publishers.refused.filter(
    ({ status, contentType, retryAfter }) =>
      status !== 503 || contentType !== "application/problem+json" || !(Number(retryAfter) > 0),
  );
  expect(unlike).toEqual([]);

  const books = await settleBooks(service, recorder, publishers);
  console.log(
    `${books.acknowledged.length} acknowledged, ${books.receipts.length} received, ${publishers.refused.length} refused`,
  );
  // A process that drains leaves nothing behind that would excuse a message sent twice.
  expect(audit(books, [])).toEqual([]);
  await stopInTime(service);
  const { integrity, misnumbered, attempts } = inspectCopy(service.dataDir);
  expect({ integrity, misnumbered, attempts }).toEqual({
    integrity: "ok",
    misnumbered: 0,
    attempts: books.receipts.length,
  });
}, 120_000);

test("an attempt that SIGTERM cuts costs no attempt", async () => {
  await using recorder = await startRecorder();
  await using service = await startService({ env: LOAD_ENV });
  await addEndpoint(service, recorder.url("/hang?hang_first"), { timeout_seconds: 30 });
  const events = Array.from({ length: 8 }, (_, at) => ({ type: "order.paid", data: { token: `cut-${at}` } }));
  await clientOf(service).post("/v1/events/batch", { events });
  await recorder.received("/hang", 8);
  await stopInTime(service);
  await service.restart();
  await whenNothingIsOpen(clientOf(service), 20_000);

  const { data } = (await clientOf(service).get("/v1/deliveries")).json as {
    data: { id: string; attempt_count: number }[];
  };
  expect(data.map((delivery) => delivery.attempt_count)).toEqual(Array(8).fill(1));
  for (const { id } of data) {
    const attempts = (await clientOf(service).get(`/v1/deliveries/${id}/attempts`)).json["data"] as object[];
    expect(attempts).toMatchObject([{ number: 1, trigger: "publish", outcome: "delivered" }]);
  }
  expect((await recorder.receipts()).length).toBe(16);
}, 60_000);

test("50,000 pending deliveries are taken up in a few seconds, and go out within their endpoint's cap", async () => {
  await using recorder = await startRecorder();
  await using service = await startService({ env: LOAD_ENV });
  const endpointId = await addEndpoint(service, recorder.url("/fast"), { max_concurrency: 10 });
  await clientOf(service).post(`/v1/endpoints/${endpointId}/pause`);
  await publishPending(service);
  await stopInTime(service);
  for (const end of ["SIGTERM", "SIGKILL"]) {
    const began = performance.now();
    await service.restart();
    const readyMs = performance.now() - began;
    console.log(`ready after ${end}: ${Math.round(readyMs)} ms`);
    expect(readyMs).toBeLessThan(READY_MS_MAX);
    await service.kill9();
  }
  await service.restart();
  await clientOf(service).post(`/v1/endpoints/${endpointId}/resume`);
  await expectAllDelivered(service, recorder);
}, 100_000);

async function publishPending(service: Service): Promise<void> {
  const data = { padding: "x".repeat(200) };
  for (let from = 0; from < PENDING; from += 500) {
    const events = Array.from({ length: 500 }, (_, at) => ({
      type: "order.paid",
      data: { token: `${from + at}`, ...data },
    }));
    const { status } = await clientOf(service).post("/v1/events/batch", { events });
    expect(status).toBe(202);
  }
}

async function expectAllDelivered(service: Service, recorder: Recorder): Promise<void> {
  await recorder.received("/fast", PENDING, 60_000);
  await whenNothingIsOpen(clientOf(service), 10_000);
  const receipts = await recorder.receipts();
  expect(new Set(receipts.map(({ id }) => id)).size).toBe(PENDING);
  expect(receipts.length).toBe(PENDING);
  expect((await recorder.counts("/fast")).openMax).toBeLessThanOrEqual(10);
}

// time budget: 90 s
/**
 * "A slow, hanging or dead endpoint delays only itself": every event goes to endpoints that never answer and
 * to healthy ones alike.
 */
import { expect, test } from "bun:test";
import { type LoggedDelivery, readList } from "../durability/books.ts";
import { addEndpoint, clientOf, LOAD_ENV } from "../durability/setup.ts";
import { type Recorder, startRecorder } from "../kit/recorder.ts";
import { type Service, startService } from "../kit/service.ts";

/** Half of those that hang do so for as long as the test takes, the others for a second at a time. */
const HANGING = 300;
/** `max_concurrency` unless said otherwise. */
const ATTEMPTS_EACH = 10;
const HEALTHY = 50;
const EVENTS = 40;

async function addEndpoints(
  service: Service,
  count: number,
  url: string,
  fields: object,
): Promise<Set<string>> {
  const ids = Array.from({ length: count }, () => addEndpoint(service, url, fields));
  return new Set(await Promise.all(ids));
}

/** Publishes one event after the other; resolves when every healthy endpoint has all of them. */
async function publishToAll(service: Service, recorder: Recorder): Promise<void> {
  const { received } = await recorder.counts("/");
  for (let nth = 0; nth < EVENTS; nth++) {
    const event = { type: "order.paid", data: { token: `${received}-${nth}` } };
    expect((await clientOf(service).post("/v1/events", event)).status).toBe(202);
  }
  await recorder.received("/", received + HEALTHY * EVENTS, 30_000);
}

/** Deliveries to these endpoints of which an attempt has ended. */
async function countTried(service: Service, endpointIds: ReadonlySet<string>): Promise<number> {
  const deliveries = await readList<LoggedDelivery>(clientOf(service), "/v1/deliveries");
  return deliveries.filter(({ endpoint_id: id, attempt_count: count }) => endpointIds.has(id) && count > 0)
    .length;
}

/**
 * What the receiver has answered is on disk a moment later: all deliveries, once those to healthy
 * endpoints are.
 */
async function whenRecorded(service: Service, healthy: ReadonlySet<string>): Promise<LoggedDelivery[]> {
  for (;;) {
    const deliveries = await readList<LoggedDelivery>(clientOf(service), "/v1/deliveries");
    const isOpen = ({ endpoint_id: id, status }: LoggedDelivery) => healthy.has(id) && status === "pending";
    if (!deliveries.some(isOpen)) return deliveries;
  }
}

test("300 hanging endpoints delay none of 50 healthy ones, and what they time out was really sent", async () => {
  // Three, as a receiver's queue of new connections takes some 500 at once.
  await using ofLong = await startRecorder();
  await using ofShort = await startRecorder();
  await using ofHealthy = await startRecorder();
  await using service = await startService({ env: LOAD_ENV });
  const forLong = await addEndpoints(service, HANGING / 2, ofLong.url("/?hang"), { timeout_seconds: 30 });
  const slots = { timeout_seconds: 1, max_concurrency: 2 };
  const shortly = await addEndpoints(service, HANGING / 2, ofShort.url("/?hang"), slots);
  const healthy = await addEndpoints(service, HEALTHY, ofHealthy.url("/"), {});

  await publishToAll(service, ofHealthy);
  // Every slot of the long ones is taken and not one of them has ended: the healthy ones have waited for none
  // of them.
  await ofLong.received("/", (HANGING / 2) * ATTEMPTS_EACH);
  expect(await countTried(service, forLong)).toBe(0);

  // Again, while hundreds of attempts run into their deadline.
  while ((await countTried(service, shortly)) < HANGING / 2) await Bun.sleep(20);
  await publishToAll(service, ofHealthy);

  const deliveries = await whenRecorded(service, healthy);
  const delivered = deliveries.filter((delivery) => healthy.has(delivery.endpoint_id));
  const late = delivered.filter(
    (delivery) => delivery.status !== "delivered" || delivery.attempt_count !== 1,
  );
  const timedOut = deliveries.filter(
    (delivery) => shortly.has(delivery.endpoint_id) && delivery.attempt_count > 0,
  );
  const receipts = Map.groupBy(await ofShort.receipts(), ({ id }) => id);
  const unsent = timedOut.filter(
    (delivery) => (receipts.get(delivery.id)?.length ?? 0) < delivery.attempt_count,
  );
  console.log(`${delivered.length} healthy deliveries, ${timedOut.length} of others timed out`);
  expect({ delivered: delivered.length, late, unsent }).toEqual({
    delivered: 2 * HEALTHY * EVENTS,
    late: [],
    unsent: [],
  });
}, 80_000);

// time budget: 150 s
/**
 * kill -9 under pollers and publishers. What counts afterwards are the records of others: every 2xx that a
 * publisher got, every message that a poller got, and every cursor that was answered.
 */
import { expect, test } from "bun:test";
import { inspectCopy, type LoggedDelivery, readList, whenNothingIsOpen } from "../durability/books.ts";
import { mutantCommand } from "../durability/mutants.ts";
import { type Outlet, Pollers } from "../durability/pollers.ts";
import { Publishers } from "../durability/publishers.ts";
import { clientOf, LOAD_ENV } from "../durability/setup.ts";
import { type Service, type ServiceOptions, startService } from "../kit/service.ts";

const POLLERS = 4;
const LOAD_MS_MAX = 400;
const SETTLE_MS_MAX = 30_000;

function start(options: ServiceOptions = {}): Promise<Service> {
  return startService({ ...options, env: { ...LOAD_ENV, ...options.env } });
}

async function addOutlet(service: Service, fields: object): Promise<Outlet> {
  const made = await clientOf(service).create("/v1/endpoints", { kind: "poll", config: {}, ...fields });
  return { url: service.url, id: String(made["id"]), secret: String(made["secret"]) };
}

async function publishTo(service: Service): Promise<Publishers> {
  const source = await clientOf(service).create("/v1/sources", { provider: "service", name: "load" });
  const { ingest_path: ingestPath = "", secret: ingestSecret = "" } = source;
  return new Publishers(
    { url: service.url, apiKey: service.keys.live, ingestPath, ingestSecret },
    { count: 16 },
  );
}

interface Run {
  publishers: Publishers;
  /** Of everything, and of a part in order. */
  all: Pollers;
  some: Pollers;
  deliveries: readonly LoggedDelivery[];
}

async function run(service: Service, killCount: number): Promise<Run> {
  const all = new Pollers(await addOutlet(service, {}), POLLERS);
  const some = new Pollers(
    await addOutlet(service, { event_types: ["flaky.*", "service.flaky.*"], ordering: "fifo" }),
    1,
  );
  const publishers = await publishTo(service);
  for (let nth = 0; nth < killCount; nth++) {
    await publishers.whenAcknowledged(32);
    await Bun.sleep(Math.random() * LOAD_MS_MAX);
    await service.kill9();
    await service.restart();
  }
  await publishers.finish();
  await Promise.all([all.finish(), some.finish()]);
  await whenNothingIsOpen(clientOf(service), SETTLE_MS_MAX);
  const deliveries = await readList<LoggedDelivery>(clientOf(service), "/v1/deliveries");
  return { publishers, all, some, deliveries };
}

/** Tokens that a publisher was promised, and no poller got. */
function lost({ publishers, all }: Run): string[] {
  const received = new Set(all.received.values());
  return publishers.acknowledged.flatMap(({ tokens }) => tokens.filter((token) => !received.has(token)));
}

test("20 kills under 16 publishers and five pollers lose nothing; each delivery is one attempt, acknowledged", async () => {
  await using service = await start();
  const done = await run(service, 20);
  const { all, some, deliveries, publishers } = done;
  console.log(
    `${publishers.acknowledged.length} acknowledged requests, ${deliveries.length} deliveries, ${all.pages} pages, ` +
      `${all.forgotten} forgotten, ${all.cut} polls cut`,
  );
  expect(all.cut).toBeGreaterThanOrEqual(20);
  expect(all.forgotten).toBeGreaterThan(5);
  expect(lost(done)).toEqual([]);
  const got = new Set([...all.received.keys(), ...some.received.keys()]);
  const isShown = ({ id, status, attempt_count: count }: LoggedDelivery) =>
    status === "delivered" && count === 1 && got.has(id);
  expect(deliveries.filter((delivery) => !isShown(delivery))).toEqual([]);
  const logged = new Set(deliveries.map(({ id }) => id));
  expect([...all.acknowledged, ...some.acknowledged].filter((id) => !logged.has(id))).toEqual([]);

  expect(await service.stop()).toBe(0);
  const { integrity, attempts, misnumbered, tried, metered } = inspectCopy(service.dataDir);
  expect({ integrity, misnumbered }).toEqual({ integrity: "ok", misnumbered: 0 });
  const count = deliveries.length;
  expect({ attempts, tried, metered }).toEqual({ attempts: count, tried: count, metered: count });
}, 120_000);

test("a build that takes handing out for delivering fails this", async () => {
  const { command, env } = mutantCommand("delivers by handing out");
  await using service = await start({ command, env });
  expect(lost(await run(service, 12))).not.toEqual([]);
}, 60_000);

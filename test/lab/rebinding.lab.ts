/**
 * Runs inside a network and mount namespace of its own (`test/slow/rebinding.slow.ts` makes them): a "public"
 * receiver, a trap at the address of a cloud's metadata service, and a name server that changes its mind
 * between two questions.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer, type ServerResponse } from "node:http";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGuard } from "../../src/transport/guard.ts";
import { type LoggedDelivery, readList } from "../durability/books.ts";
import { addEndpoint, clientOf, LOAD_ENV } from "../durability/setup.ts";
import { type Service, startService } from "../kit/service.ts";
import { NameServer } from "./names.ts";

const PUBLIC = "93.184.216.34";
const TRAP = "169.254.169.254";
/**
 * In this namespace the public address is one of the host's own, which the guard refuses unless it is lifted.
 */
const ALLOWED = `${PUBLIC}/32`;
const NAMES = 100;
const EVENTS = 10;
/** Fewer than the failures in a row that make an actor back off. */
const REFUSED_EVENTS = 4;

/** Public when the endpoint is saved; what each name is later stands in its first label. */
const names = new NameServer((name, nth) => {
  const isFirst = nth === 1;
  if (name.startsWith("flip")) return [nth % 2 === 1 ? PUBLIC : TRAP];
  if (name.startsWith("mixed")) return isFirst ? [PUBLIC] : [PUBLIC, TRAP];
  if (name.startsWith("steady")) return [PUBLIC];
  return [];
});

let rounds = 0;
let received = 0;
let trapped = 0;
const receiver = createHttpServer((request, response) => {
  request.resume().on("end", () => answer(request.url ?? "/", response));
});
const trap: Server = createServer((socket) => {
  trapped++;
  socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
});
let service: Service;

/** Each answer ends its connection, so that every attempt asks for the address again. */
function answer(path: string, response: ServerResponse): void {
  received++;
  const status = Number(path.slice(1)) || 200;
  const location = status === 200 ? {} : { location: `http://${TRAP}/latest/meta-data/` };
  response.writeHead(status, { connection: "close", ...location }).end();
}

function run(...command: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(command, { stderr: "pipe" });
  if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stderr.toString()}`);
}

beforeAll(async () => {
  run("ip", "link", "set", "lo", "up");
  for (const address of [PUBLIC, TRAP]) run("ip", "address", "add", `${address}/32`, "dev", "lo");
  const resolver = join(mkdtempSync(join(tmpdir(), "sealpost-lab-")), "resolv.conf");
  writeFileSync(resolver, "nameserver 127.0.0.1\n");
  run("mount", "--bind", resolver, "/etc/resolv.conf");
  await names.listen("127.0.0.1");
  await new Promise<void>((resolve) => receiver.listen(80, PUBLIC, resolve));
  await new Promise<void>((resolve) => trap.listen(80, TRAP, resolve));
  service = await startService({ env: { ...LOAD_ENV, SEALPOST_ALLOW_PRIVATE_DESTINATIONS: ALLOWED } });
});

afterAll(async () => {
  await service.close();
  receiver.close();
  trap.close();
  names.close();
});

async function deliverTo(hosts: readonly string[], path = "/", count = EVENTS): Promise<LoggedDelivery[]> {
  const type = `lab.round${++rounds}`;
  const fields = { event_types: [type], retry: { schedule: [] } };
  for (const host of hosts) await addEndpoint(service, `http://${host}${path}`, fields);
  const events = Array.from({ length: count }, (_, n) => ({ type, data: { n } }));
  expect((await clientOf(service).post("/v1/events/batch", { events })).status).toBe(202);
  for (;;) {
    const deliveries = await readList<LoggedDelivery>(clientOf(service), `/v1/deliveries?event_type=${type}`);
    const isEnded = deliveries.every(({ status }) => status === "delivered" || status === "dead");
    if (isEnded && deliveries.length === hosts.length * count) return deliveries;
    await Bun.sleep(20);
  }
}

const hostsOf = (kind: string, count = NAMES) =>
  Array.from({ length: count }, (_, n) => `${kind}-${n}.lab.test`);
const countOf = (deliveries: readonly LoggedDelivery[], status: string) =>
  deliveries.filter((delivery) => delivery.status === status).length;

test("a check that does not pin what it checked reaches the trap: the lab can tell", async () => {
  const guard = createGuard({ allow: [ALLOWED] });
  const before = trapped;
  for (const host of hostsOf("flip-control")) {
    const verdict = await guard.checkDestination(`http://${host}/`, (ask) => ask());
    if (verdict?.ok) await (await fetch(verdict.url, { keepalive: false })).arrayBuffer();
  }
  console.log(`without a pin: ${trapped - before} of ${NAMES} reach the trap`);
  expect(trapped - before).toBeGreaterThanOrEqual(NAMES * 0.3);
}, 60_000);

test("a name that changes between two questions leads nowhere else", async () => {
  const before = { trapped, received };
  const deliveries = await deliverTo(hostsOf("flip"));
  const counts = { delivered: countOf(deliveries, "delivered"), dead: countOf(deliveries, "dead") };
  console.log(`flipping names: ${JSON.stringify(counts)}`);
  expect({ trapped: trapped - before.trapped, received: received - before.received }).toEqual({
    trapped: 0,
    received: counts.delivered,
  });
  expect(counts.delivered).toBeGreaterThan(0);
  expect(counts.dead).toBeGreaterThan(0);
}, 60_000);

test("one address of several that is not public blocks them all", async () => {
  const before = { trapped, received };
  const deliveries = await deliverTo(hostsOf("mixed"), "/", REFUSED_EVENTS);
  expect(countOf(deliveries, "dead")).toBe(NAMES * REFUSED_EVENTS);
  expect({ trapped, received }).toEqual(before);
}, 60_000);

test.each([301, 302, 303, 307, 308])(
  "a %i to the trap is not followed",
  async (status) => {
    const before = trapped;
    const hosts = hostsOf(`steady-${status}`, 5);
    const deliveries = await deliverTo(hosts, `/${status}`, REFUSED_EVENTS);
    expect({ dead: countOf(deliveries, "dead"), trapped: trapped - before }).toEqual({
      dead: hosts.length * REFUSED_EVENTS,
      trapped: 0,
    });
  },
  60_000,
);

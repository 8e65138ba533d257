/**
 * What an event and a delivery take on the disk once they are delivered: events of some 1 KiB, to one
 * endpoint and to ten. It counts bytes, so what else the machine does changes nothing.
 *
 *   bun test/bench/stored-bytes.ts [--events 50000]
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startPeer } from "./children.ts";
import { eventType } from "./event.ts";
import { createEndpoints, publishBatches, SERVICE, startServer } from "./server.ts";

const { values: options } = parseArgs({ options: { events: { type: "string", default: "50000" } } });
const events = Number(options.events);
/** Lists and hourly numbers go down once a second. */
const SETTLE_MS = 3000;
const FANOUTS = [1, 10] as const;
/** What ten endpoints get of more than some 9,000 is refused while it waits. */
const SLICE = 5000;

const directory = mkdtempSync(join(tmpdir(), "sealpost-stored-bytes-"));
process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
process.on("SIGINT", () => process.exit(130));

/** All files of a service that has delivered everything and has ended. */
async function bytesOf(fanout: number, count: number): Promise<number> {
  const own = join(directory, `${fanout}-${count}`);
  mkdirSync(own);
  const { peer: receiver, ready } = await startPeer("receiver.ts", { copies: fanout, delayMs: 0 });
  const { port } = ready as { port: number };
  const server = await startServer(SERVICE, own);
  await createEndpoints(server, { count: fanout, fanout, at: () => `http://127.0.0.1:${port}` });
  for (let done = 0; done < count; done += SLICE) {
    // The numbers of the events begin anew with each slice.
    await receiver.ask("reset");
    await publishBatches(server, eventType(0), SLICE);
    while ((await receiver.ask<number>("count")) < SLICE * fanout) await Bun.sleep(50);
  }
  await Bun.sleep(SETTLE_MS);
  await server.stop();
  await receiver.stop();
  const data = join(own, "data");
  const files = readdirSync(data).filter((name) => name.startsWith("sealpost.db"));
  return files.reduce((sum, name) => sum + statSync(join(data, name)).size, 0);
}

const perEvent: number[] = [];
for (const fanout of FANOUTS) {
  const few = await bytesOf(fanout, events / 5);
  const many = await bytesOf(fanout, events);
  // The difference: tables that are empty, and what one start writes, are in both.
  const each = (many - few) / (events * 0.8);
  perEvent.push(each);
  console.log(`delivered to ${fanout}: ${each.toFixed(0)} bytes for each event`);
}
const [one = 0, ten = 0] = perEvent;
const delivery = (ten - one) / (FANOUTS[1] - FANOUTS[0]);
console.log(`an event ${(one - delivery).toFixed(0)}, and ${delivery.toFixed(0)} for each delivery`);

/**
 * The restart bench: how long it takes from a start after SIGKILL under load until the service is ready.
 *
 *   bun test/bench/restart.ts [--kills 10] [--binary path | --profile file]
 *
 * Before each kill batches of events of 1 KiB are published to one endpoint for two seconds. Prints each
 * time, the median and the most, to some 20 ms, and judges none. `--profile`: the sources, whose last start
 * leaves its CPU profile there.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { startPeer } from "./children.ts";
import { eventType } from "./event.ts";
import { describeMachine } from "./machine.ts";
import { median } from "./report.ts";
import {
  createEndpoints,
  killUnderLoad,
  profiled,
  SERVICE,
  serviceOf,
  startAgain,
  startServer,
} from "./server.ts";

const { values: options } = parseArgs({
  options: {
    kills: { type: "string", default: "10" },
    binary: { type: "string" },
    profile: { type: "string" },
  },
});
const contender = options.profile ? profiled(SERVICE, resolve(options.profile)) : serviceOf(options.binary);

const directory = mkdtempSync(join(tmpdir(), "sealpost-restart-"));
process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
process.on("SIGINT", () => process.exit(130));

console.log(describeMachine(directory));
const { peer: receiver, ready } = await startPeer("receiver.ts", { copies: 1, delayMs: 0 });
const at = () => `http://127.0.0.1:${(ready as { port: number }).port}`;
let server = await startServer(contender, directory);
await createEndpoints(server, { count: 1, fanout: 1, at });
const times: number[] = [];
for (let kill = 0; kill < Number(options.kills); kill++) {
  await killUnderLoad(server, eventType(0));
  const began = performance.now();
  server = await startAgain(contender, directory, server);
  times.push(performance.now() - began);
  console.log(`ready after ${times.at(-1)?.toFixed(0)} ms`);
}
console.log(`median ${median(times).toFixed(0)} ms, at most ${Math.max(...times).toFixed(0)}`);
await server.stop();
await receiver.stop();
process.exit(0);

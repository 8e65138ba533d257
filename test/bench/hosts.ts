/**
 * The hosts bench: what the transport does when its deliveries go to many host names over TLS.
 *
 *   bun test/bench/hosts.ts [--hosts 400] [--requests 40000] [--in-flight 64]
 *
 * The transport runs in this process, the receiver in another; every name leads to the receiver, under a
 * certificate of a test authority. Prints requests a second and the share of requests that needed a new
 * connection, once each name has been asked.
 */
import { tmpdir } from "node:os";
import { parseArgs } from "node:util";
import { createGuard } from "../../src/transport/guard.ts";
import { createTransport } from "../../src/transport/transport.ts";
import { createAuthority } from "../transport/certificates.ts";
import { startPeer } from "./children.ts";
import { describeMachine } from "./machine.ts";

const { values: options } = parseArgs({
  options: {
    hosts: { type: "string", default: "400" },
    requests: { type: "string", default: "40000" },
    "in-flight": { type: "string", default: "64" },
  },
});
const hosts = Number(options.hosts);
const requests = Number(options.requests);
const inFlight = Number(options["in-flight"]);
const BODY = Buffer.alloc(1024, "x");
const RULES = { owner: "", timeoutMs: 15_000, maxReadBytes: 65_536, maxKeepBytes: 16_384 };

const authority = createAuthority();
const certificate = authority.sign("DNS:*.hosts.test");
const { peer, ready: port } = await startPeer("tls-receiver.ts", certificate);
const guard = createGuard({
  allow: ["127.0.0.1/32"],
  ownAddresses: [],
  resolver: { resolve: () => Promise.resolve(["127.0.0.1"]) },
});
const transport = createTransport({ guard, monotonic: () => performance.now(), tlsCa: authority.pem });
const urls = Array.from(
  { length: hosts },
  (_, n) => new URL(`https://n${n}.hosts.test:${String(port)}/hook`),
);

let next = 0;
const faults = new Map<string, number>();

async function sendOne(): Promise<void> {
  const url = urls[next++ % urls.length];
  if (url === undefined) throw new Error("there is no host");
  const headers = [["content-type", "application/json"]] as [string, string][];
  const result = await transport.send({ method: "POST", url, headers, body: BODY, ...RULES });
  if (result.kind !== "response") faults.set(result.kind, (faults.get(result.kind) ?? 0) + 1);
}

async function sendMany(count: number): Promise<number> {
  const end = next + count;
  const began = performance.now();
  const worker = async () => {
    while (next < end) await sendOne();
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return (performance.now() - began) / 1000;
}

console.log(describeMachine(tmpdir()));
// Twice around, so that each name has its connection.
await sendMany(2 * hosts + inFlight);
const before = await peer.ask<number>("count");
const seconds = await sendMany(requests);
const opened = (await peer.ask<number>("count")) - before;
console.log(
  `${hosts} hosts over TLS: ${Math.round(requests / seconds)} requests/s, ` +
    `${((100 * opened) / requests).toFixed(2)} % on new connections, ${JSON.stringify(Object.fromEntries(faults))} failed`,
);
transport.close();
authority.remove();
await peer.stop();

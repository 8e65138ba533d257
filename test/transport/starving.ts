/** Started by file-shortage.test.ts with few files: takes them all, and tells what the transport says. */
import { closeSync, openSync } from "node:fs";
import { createGuard } from "../../src/transport/guard.ts";
import { createTransport, type TransportRequest } from "../../src/transport/transport.ts";

const receiver = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("ok") });
const unused = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
const closed = unused.port;
unused.stop(true);

let time = 0;
let told = 0;
const guard = createGuard({
  allow: ["127.0.0.0/8"],
  self: { baseUrl: "http://other.example", port: () => null },
});
const transport = createTransport({ guard, monotonic: () => time, onShortage: () => told++ });

async function tell(what: string, url: string): Promise<void> {
  const verdict = guard.checkUrl(url);
  if (!verdict.ok) throw new Error(verdict.reason);
  const request: TransportRequest = {
    method: "POST",
    url: verdict.url,
    owner: "",
    headers: [],
    body: new Uint8Array(0),
    timeoutMs: 2000,
    maxReadBytes: 1000,
    maxKeepBytes: 1000,
  };
  const result = await transport.send(request);
  console.log(`${what}: ${result.kind}${"code" in result ? ` ${result.code}` : ""}`);
}

const url = `http://127.0.0.1:${receiver.port}/`;
await tell("refused", `http://127.0.0.1:${closed}/`);
const taken: number[] = [];
try {
  for (;;) taken.push(openSync("/dev/null", "r"));
} catch {}
await tell("no file, a receiver", url);
await tell("no file, by name", `http://example.com:${receiver.port}/`);
await tell("no file, https", `https://127.0.0.1:${receiver.port}/`);
console.log(`told: ${told}`);
for (const file of taken) closeSync(file);
time += 1000;
await tell("files again", url);
await tell("files again, refused", `http://127.0.0.1:${closed}/`);
process.exit(0);

/**
 * The bare loop: the least that a service with Sealpost's promise must do for an event, and nothing else.
 * HTTP in, group commit with an fsync'd 2xx, a Standard Webhooks signature, POST over keep-alive, group
 * commit of the outcome. No ids to hide, no authentication, no retries, no guard, no log: what the service is
 * measured against.
 *
 * It speaks the service's paths and reads the same three settings, so that the bench starts and drives
 * both alike.
 */
import { createHmac, randomBytes } from "node:crypto";
import { BareSender } from "./bare-sender.ts";
import { BareStore, type StoredEvent } from "./bare-store.ts";

interface Endpoint {
  id: number;
  path: string;
  host: string;
  secret: Buffer;
  sender: BareSender;
}

const jsonHeaders = { "content-type": "application/json" };
const store = new BareStore(process.env.SEALPOST_DATA_DIR ?? ".");
const endpoints = new Map<string, Endpoint>();
const senders = new Map<string, BareSender>();
let lastId = 0;

const server = Bun.serve({
  hostname: process.env.SEALPOST_HOST ?? "127.0.0.1",
  port: Number(process.env.SEALPOST_PORT ?? 0),
  routes: {
    "/readyz": new Response("ready"),
    "/v1/endpoints": { POST: createEndpoint },
    "/v1/events": { POST: publish },
  },
});
console.log("sp_live_bare");
process.on("SIGTERM", () => {
  void server.stop(true);
  store.close();
  process.exit(0);
});

async function createEndpoint(request: Request): Promise<Response> {
  const { url, event_types: types } = (await request.json()) as { url: string; event_types: string[] };
  const { host, hostname, port, pathname } = new URL(url);
  const sender = senders.get(host) ?? new BareSender(hostname, Number(port));
  senders.set(host, sender);
  const endpoint = { id: endpoints.size, path: pathname, host, secret: randomBytes(32), sender };
  for (const type of types) endpoints.set(type, endpoint);
  return new Response("{}", { status: 201, headers: jsonHeaders });
}

async function publish(request: Request): Promise<Response> {
  const { type, data } = JSON.parse(await request.text()) as { type: unknown; data: unknown };
  const endpoint = typeof type === "string" ? endpoints.get(type) : undefined;
  if (typeof type !== "string" || typeof data !== "object" || endpoint === undefined) {
    return new Response("{}", { status: 422, headers: jsonHeaders });
  }
  const acceptedAt = Date.now();
  const timestamp = new Date(acceptedAt).toISOString();
  const body = `{"type":"${type}","timestamp":"${timestamp}","data":${JSON.stringify(data)}}`;
  const event = { id: ++lastId, type, acceptedAt, body, endpointId: endpoint.id };
  await store.accept(event);
  deliver(event, endpoint);
  const id = `evt_${formatId(event.id)}`;
  return new Response(
    `{"id":"${id}","type":"${type}","timestamp":"${timestamp}","duplicate":false,"delivery_count":1}`,
    {
      status: 202,
      headers: jsonHeaders,
    },
  );
}

function deliver(event: StoredEvent, endpoint: Endpoint): void {
  const startedAt = Date.now();
  const start = performance.now();
  endpoint.sender.send(formatRequest(event, endpoint, startedAt), (statusCode) => {
    store.record({ deliveryId: event.id, statusCode, startedAt, durationMs: performance.now() - start });
  });
}

/**
 * The request of Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`. Bodies are ASCII here, so length
 * is bytes.
 */
function formatRequest({ id, body }: StoredEvent, endpoint: Endpoint, now: number): string {
  const messageId = `msg_${formatId(id)}`;
  const timestamp = Math.floor(now / 1000);
  const signature = createHmac("sha256", endpoint.secret)
    .update(`${messageId}.${timestamp}.${body}`)
    .digest("base64");
  return (
    `POST ${endpoint.path} HTTP/1.1\r\nhost: ${endpoint.host}\r\ncontent-type: application/json\r\n` +
    `user-agent: Sealpost/1.0\r\nwebhook-id: ${messageId}\r\nwebhook-timestamp: ${timestamp}\r\n` +
    `webhook-signature: v1,${signature}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  );
}

function formatId(id: number): string {
  return String(id).padStart(26, "0");
}

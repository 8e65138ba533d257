/**
 * Services that cannot be had here: what Sealpost sends is what their official clients send to the same
 * recorder, in method, path, the headers that matter and body.
 */
import { afterAll, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { v1 } from "@google-cloud/pubsub";
import azure from "azure-sb";
import { JWT } from "google-auth-library";
import { decodeJwt } from "jose";
import type { Message, OutgoingRequest } from "../../../src/destinations/destination.ts";
import { azureServiceBus as serviceBus } from "../../../src/destinations/kinds/azure-service-bus.ts";
import { gcpPubsub as pubsub } from "../../../src/destinations/kinds/gcp-pubsub.ts";
import { readServiceAccount, signAssertion } from "../../../src/destinations/google-tokens.ts";
import { atOnce, messageAt } from "./case.ts";
import { grantToken, serviceAccount } from "./google.ts";

interface Recorded {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string;
}

const recorded: Recorded[] = [];

const recorder = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    const headers = Object.fromEntries(request.headers);
    const path = new URL(request.url).pathname;
    recorded.push({ method: request.method, path, headers, body: await request.text() });
    return path.endsWith(":publish")
      ? Response.json({ messageIds: ["1"] })
      : new Response(null, { status: 201 });
  },
});

const host = `127.0.0.1:${recorder.port}`;

afterAll(() => recorder.stop(true));

function lastOf(list: readonly Recorded[]): Recorded {
  const last = list.at(-1);
  if (last === undefined) throw new Error("nothing was sent");
  return last;
}

async function recordOwn(request: OutgoingRequest): Promise<Recorded> {
  const { url, method, headers, body } = request;
  await fetch(url.href, { method, headers: Object.fromEntries(headers), body: body.slice() });
  return lastOf(recorded);
}

const webhookHeaders = ({ id, timestampSeconds, signature, type }: Message) => ({
  "webhook-id": id,
  "webhook-timestamp": String(timestampSeconds),
  "webhook-signature": signature,
  type,
});

const now = Date.now();
const message = messageAt(now);
const text = new TextDecoder().decode(message.body);

test("Service Bus: azure-sb sends the same message, signed alike", async () => {
  const connection = `Endpoint=sb://${host};SharedAccessKeyName=sender;SharedAccessKey=the key`;
  const client = Object.assign(azure.createServiceBusService(connection), {
    protocol: "http:",
    host: "127.0.0.1",
    port: recorder.port,
  });
  await new Promise<void>((resolve, reject) => {
    const sent = {
      body: text,
      contentType: "application/json",
      brokerProperties: { MessageId: message.id, Label: message.type },
      customProperties: webhookHeaders(message),
    };
    client.sendQueueMessage("orders", sent, (error) => (error ? reject(error) : resolve()));
  });
  const theirs = lastOf(recorded);
  const config = { connection_string: `${connection};UseDevelopmentEmulator=true`, entity: "orders" };
  const ours = await recordOwn(
    await serviceBus.request(config, message, now, () => Promise.reject(new Error()), atOnce),
  );
  expect([ours.method, ours.path]).toEqual([theirs.method, theirs.path.toLowerCase()]);
  expect(ours.body).toBe(theirs.body);
  const same = ["content-type", "brokerproperties", ...Object.keys(webhookHeaders(message))];
  for (const name of same) expect([name, ours.headers[name]]).toEqual([name, theirs.headers[name]]);
  for (const { headers } of [ours, theirs]) expectServiceBusToken(headers["authorization"] ?? "");
});

/** The parts of a token, whatever their order; its signature is that of the key over resource and end. */
function expectServiceBusToken(authorization: string): void {
  expect(authorization).toStartWith("SharedAccessSignature ");
  const parts = new Map(
    authorization
      .slice("SharedAccessSignature ".length)
      .split("&")
      .map((part) => [part.slice(0, part.indexOf("=")), part.slice(part.indexOf("=") + 1)]),
  );
  expect([...parts.keys()].toSorted()).toEqual(["se", "sig", "skn", "sr"]);
  expect(parts.get("skn")).toBe("sender");
  expect(decodeURIComponent(parts.get("sr") ?? "")).toStartWith(`http://${host}/orders`);
  expect(Number(parts.get("se"))).toBeGreaterThan(now / 1000);
  const signed = `${parts.get("sr")}\n${parts.get("se")}`;
  expect(decodeURIComponent(parts.get("sig") ?? "")).toBe(
    createHmac("sha256", "the key").update(signed).digest("base64"),
  );
}

test("Pub/Sub: @google-cloud/pubsub sends the same message", async () => {
  const authClient = {
    fetch,
    universeDomain: "googleapis.com",
    getUniverseDomain: () => "googleapis.com",
    getRequestHeaders: () => Promise.resolve(new Headers({ authorization: "Bearer ya29.granted" })),
  };
  const client = new v1.PublisherClient({
    fallback: true,
    protocol: "http",
    apiEndpoint: "127.0.0.1",
    port: Number(recorder.port),
    authClient,
  } as never);
  await client.publish({
    topic: "projects/acme-1/topics/orders",
    messages: [{ data: message.body, attributes: webhookHeaders(message) }],
  });
  const theirs = lastOf(recorded);
  const config = {
    project_id: "acme-1",
    topic: "orders",
    endpoint: `http://${host}`,
    service_account_json: serviceAccount(`http://${host}/token`),
  };
  const ask = (request: OutgoingRequest) => Promise.resolve(grantToken(request));
  const ours = await recordOwn(await pubsub.request(config, message, now, ask, atOnce));
  expect([ours.method, ours.path]).toEqual([theirs.method, theirs.path]);
  expect(JSON.parse(ours.body)).toEqual(JSON.parse(theirs.body));
  expect(ours.headers["content-type"]).toBe(theirs.headers["content-type"]);
  expect(ours.headers["authorization"]).toBe("Bearer ya29.granted");
});

test("tokens: google-auth-library asks for one with the same claims", async () => {
  const account = readServiceAccount(serviceAccount("https://oauth2.googleapis.com/token"));
  const scope = "https://www.googleapis.com/auth/pubsub";
  const client = new JWT({ email: account.email, key: account.privateKey, scopes: [scope] });
  const asked: { url: string; form: URLSearchParams }[] = [];
  const transporter = {
    defaults: {},
    request: ({ url, data }: { url: string | URL; data: URLSearchParams }) => {
      asked.push({ url: new URL(url).href, form: new URLSearchParams(data) });
      return Promise.resolve({ data: { access_token: "x", expires_in: 3600 }, headers: new Headers() });
    },
  };
  Object.assign(client, { transporter });
  await client.authorize();
  const [theirs] = asked;
  const claims = decodeJwt(theirs?.form.get("assertion") ?? "");
  const ours = decodeJwt(await signAssertion(account, scope, Number(claims.iat)));
  expect(theirs?.url).toBe(account.tokenUri);
  expect(theirs?.form.get("grant_type")).toBe("urn:ietf:params:oauth:grant-type:jwt-bearer");
  expect(ours).toEqual(claims);
});

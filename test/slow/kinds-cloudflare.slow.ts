// time budget: 120 s
/**
 * The kind `cloudflare_queues`: what Sealpost sends is what Cloudflare's official client sends to the same
 * recorder. The client weighs 120 MB, so it is installed beside the project.
 */
import { afterAll, expect, test } from "bun:test";
import { cloudflareQueues } from "../../src/destinations/kinds/cloudflare-queues.ts";
import { installProgram } from "../kit/npm.ts";
import { startReceiver } from "../kit/receiver.ts";
import { atOnce, messageAt } from "../destinations/kinds/case.ts";

/** What is used of the package. */
interface Client {
  queues: { messages: { push(queueId: string, message: object): Promise<unknown> } };
}
type Clients = { default: new (options: object) => Client };

const receiver = startReceiver();
afterAll(() => receiver.close());

test("cloudflare 7.3.0 sends the same message", async () => {
  const { default: Cloudflare } = (await import(await installProgram("cloudflare@7.3.0"))) as Clients;
  const ids = { account_id: "023e105f4ecef8ad", queue_id: "a7b3c1d2e4f50617" };
  const path = `client/v4/accounts/${ids.account_id}/queues/${ids.queue_id}/messages`;
  const url = receiver.at(path, () => Response.json({ success: true, errors: [], messages: [], result: {} }));
  const endpoint = new URL(url).origin;
  const now = Date.now();
  const message = messageAt(now);
  const client = new Cloudflare({ apiToken: "the-token", baseURL: `${endpoint}/client/v4`, maxRetries: 0 });
  const body: unknown = JSON.parse(new TextDecoder().decode(message.body));
  await client.queues.messages.push(ids.queue_id, { account_id: ids.account_id, body, content_type: "json" });
  const config = { ...ids, api_token: "the-token", endpoint };
  const refuse = () => Promise.reject(new Error("nobody is asked"));
  const request = await cloudflareQueues.request(config, message, now, refuse, atOnce);
  const headers = Object.fromEntries(request.headers);
  await fetch(request.url.href, { method: request.method, headers, body: request.body.slice() });
  const [theirs, ours] = await receiver.arrived(path, 2);
  expect(ours?.method).toBe(theirs?.method ?? "");
  expect(JSON.parse(String(ours?.body))).toEqual(JSON.parse(String(theirs?.body)));
  for (const name of ["content-type", "authorization"]) {
    expect([name, ours?.headers[name]]).toEqual([name, theirs?.headers[name]]);
  }
}, 100_000);

/**
 * Sources in every state: one that works, and where its events go; one that refuses; one that waits for its
 * secret; one that is paused.
 */
import { sign } from "@octokit/webhooks-methods";
import type { TestApp } from "../kit/app.ts";
import type { Receiver } from "../kit/receiver.ts";
import { type CreatedSource, knock } from "../http/sources/kit.ts";

/** Ids by what they are for. */
export type Sources = Record<"works" | "refuses" | "awaits" | "paused" | "hmac", string>;

/** Nobody else's: what the sources bring shows in no other screen. */
const CONSUMER = "cust_9";

export async function makeSources(app: TestApp, receiver: Receiver, oldName: string): Promise<Sources> {
  const make = (provider: string, name: string, fields: Record<string, unknown> = {}) =>
    app.live.create<CreatedSource>("/v1/sources", { provider, name, ...fields });
  const config = { header: "x-signature", algorithm: "sha256", encoding: "hex" };
  const hmac = await make("hmac", "Warehouse", { config });
  const paused = await make("service", oldName);
  const awaits = await make("slack", "Slack, support channel");
  const refuses = await make("stripe", "Stripe, live", { signing_secret: "whsec_of_another_endpoint" });
  const works = await make("github", "GitHub, all repositories", { consumer_id: CONSUMER });
  const url = receiver.url("deploys");
  await app.live.create("/v1/endpoints", {
    url,
    consumer_id: CONSUMER,
    description: "Deploys",
    event_types: ["github.push"],
  });
  await callsTo(app, works);
  await receiver.arrived("deploys", 3);
  await refusedBy(app, refuses);
  await app.live.post(`/v1/sources/${paused.id}/pause`);
  await knock(app, paused.ingest_path, "{}", { "x-service-token": paused.secret });
  return { works: works.id, refuses: refuses.id, awaits: awaits.id, paused: paused.id, hmac: hmac.id };
}

/** A ping, some events, one of them twice, and a stranger. */
async function callsTo(app: TestApp, source: CreatedSource): Promise<void> {
  const body = JSON.stringify({ ref: "refs/heads/main", repository: { full_name: "acme/shop" } });
  const signature = await sign(source.secret, body);
  const send = (event: string, id: string) =>
    knock(app, source.ingest_path, body, {
      "content-type": "application/json",
      "x-github-event": event,
      "x-github-delivery": id,
      "x-hub-signature-256": signature,
    });
  await send("ping", "0");
  await knock(app, source.ingest_path, "{}");
  for (const [event, id] of [
    ["push", "1"],
    ["push", "2"],
    ["push", "2"],
    ["star", "3"],
    ["push", "4"],
  ] as const)
    await send(event, id);
}

/** As where the secret of another endpoint was entered, and a scanner came by. */
async function refusedBy(app: TestApp, source: CreatedSource): Promise<void> {
  const at = Math.floor(Date.now() / 1000);
  await knock(app, source.ingest_path, "{}");
  await knock(app, source.ingest_path, "{}", { "stripe-signature": `t=${at - 4000},v1=${"0".repeat(64)}` });
  for (let n = 0; n < 4; n++)
    await knock(app, source.ingest_path, "{}", { "stripe-signature": `t=${at},v1=${"0".repeat(64)}` });
}

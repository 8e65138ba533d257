/** Some of everything that the metrics of a service count. */
import { createTenant } from "./operator.ts";
import { Client } from "./app.ts";
import type { Receiver } from "./receiver.ts";

const EVENT = { type: "order.paid", data: {} };

/**
 * Makes an account of an operated service, with an endpoint that takes what it is sent, one that does not,
 * and a source. Answers what makes one round of traffic to them.
 */
export async function makeTraffic(
  service: { url: string },
  receiver: Receiver,
): Promise<() => Promise<void>> {
  const { live } = await createTenant(service, { plan: "unlimited" });
  const broken = receiver.at("broken", () => new Response(null, { status: 500 }));
  for (const url of [receiver.url("well"), broken])
    await live.create("/v1/endpoints", { url, retry: { schedule: [] } });
  const source = await live.create("/v1/sources", { provider: "service", name: "x" });
  const ingest = (id: string, token: string) =>
    new Client(service, null).post(source["ingest_path"] ?? "", { id }, { "x-service-token": token });
  let round = 0;
  return async () => {
    round++;
    await live.post("/v1/events", EVENT);
    await live.post("/v1/events", { data: {} });
    // Refused where there is no replica.
    await live.post("/v1/events", EVENT, { "sealpost-durability": "replica" });
    await ingest(String(round), source["secret"] ?? "");
    await ingest(String(round), "forged");
    await live.get("/v1/events");
  };
}

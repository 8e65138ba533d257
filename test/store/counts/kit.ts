/** What the tests of metering do all the time, over the whole service under a clock that can be set. */
import { expect } from "bun:test";
import type { Reply } from "../../http/kit.ts";
import type { Client, TestApp } from "../../kit/app.ts";
import { RunningClock } from "../../kit/running-clock.ts";
import { createTenant, operatorOf, startOperated, type Tenant } from "../../kit/operator.ts";
import { type Receiver, startReceiver } from "../../kit/receiver.ts";

const PLANS = JSON.stringify({
  five: { deliveries: 5, blocks: true },
  none: { deliveries: 0, blocks: true },
  two: { deliveries: 2, blocks: false, retention_days: 3 },
});
const NOVEMBER = Date.UTC(2026, 10, 30, 12);
export const DECEMBER = Date.UTC(2026, 11, 1);
export const USAGE = "/v1/usage";

export interface Delivery {
  event_id: string;
  id: string;
  status: string;
  attempt_count: number;
  waiting_for: string | null;
  next_attempt_at: string | null;
  completed_at: string | null;
}

/** The service, at noon of the last day of November. */
export function start(clock = new RunningClock()): Promise<TestApp> {
  clock.set(NOVEMBER);
  return startOperated({ SEALPOST_PLANS: PLANS }, clock);
}

/** A service with a receiver. */
export class Bench implements AsyncDisposable {
  #names = 0;

  private constructor(
    readonly app: TestApp,
    readonly receiver: Receiver,
  ) {}

  static async open(clock?: RunningClock): Promise<Bench> {
    return new Bench(await start(clock), startReceiver());
  }

  /** A path of the receiver that no other test uses. */
  path(): string {
    return `path-${++this.#names}`;
  }

  tenant(plan = "five"): Promise<Tenant> {
    return createTenant(this.app, { plan });
  }

  endpoint(
    client: Client,
    name = this.path(),
    fields: Record<string, unknown> = {},
  ): Promise<Record<string, string>> {
    return client.create("/v1/endpoints", {
      url: this.receiver.url(name),
      retry: { schedule: [] },
      ...fields,
    });
  }

  /** Resolves when no delivery is open. */
  settled(client: Client): Promise<boolean> {
    const isOpen = ({ status }: Delivery) => status === "pending" || status === "retrying";
    return this.app.until(async () => !(await deliveries(client)).some(isOpen));
  }

  /** A source of the generic provider; answers how to send to it. */
  async source(client: Client): Promise<(id: string, data?: object) => Promise<Reply>> {
    const source = await client.create("/v1/sources", { provider: "service", name: "x" });
    const headers = { "x-service-token": String(source["secret"]) };
    return (id, data = {}) =>
      this.app.with(null).post(String(source["ingest_path"]), { id, ...data }, headers);
  }

  changePlan({ id }: Tenant, plan: string): Promise<Reply> {
    return operatorOf(this.app).patch(`/v1/operator/accounts/${id}`, { plan });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.app[Symbol.asyncDispose]();
    await this.receiver.close();
  }
}

export const publish = (client: Client, fields: Record<string, unknown> = {}) =>
  client.post("/v1/events", { type: "a.b", data: {}, ...fields });

export const batch = (client: Client, count: number) =>
  client.post("/v1/events/batch", {
    events: Array.from({ length: count }, () => ({ type: "a.b", data: {} })),
  });

export async function publishMany(client: Client, count: number): Promise<void> {
  for (let n = 0; n < count; n++) expect((await publish(client)).status).toBe(202);
}

export const usage = async (client: Client) => (await client.get(USAGE)).json as Record<string, unknown>;

export const metered = async (client: Client) => (await usage(client))["deliveries"];

export const remainingIn = ({ headers }: Reply) => headers.get("sealpost-usage-remaining");

export const countEvents = async (client: Client) =>
  ((await client.get("/v1/events")).json["data"] as unknown[]).length;

export async function deliveries(client: Client, query = ""): Promise<Delivery[]> {
  return (await client.get(`/v1/deliveries?limit=250${query}`)).json["data"] as Delivery[];
}

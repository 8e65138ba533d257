/**
 * The service with endpoints of the AWS kinds: what is published, what became of it, and what the SDK reads
 * of it.
 */
import { expect } from "bun:test";
import { Webhook } from "standardwebhooks";
import type { AttemptAnswer } from "../../src/http/deliveries/attempt-shape.ts";
import type { TestApp } from "./app.ts";
import type { AwsTarget, Keys } from "./aws-targets.ts";

/** What trips encoders. */
const DATA = { id: "in_42", note: '50 € "due" \\ +/=&<ü>', big: 9007199254740991 };

/** Of any real server. */
const DEADLINE_MS = 30_000;

export interface Made {
  id: string;
  secret: string;
  type: string;
}

interface Delivery {
  id: string;
  event_id: string;
  created_at: string;
  status: string;
  attempt_count: number;
  waiting_for: string | null;
}

export function configOf(keys: Keys, more: Record<string, string>): Record<string, string> {
  return {
    region: "us-east-1",
    access_key_id: keys.accessKeyId,
    secret_access_key: keys.secretAccessKey,
    ...more,
  };
}

export class AwsBench {
  #names = 0;

  constructor(readonly app: TestApp) {}

  /** Of a destination: nobody else's. */
  freshName(suffix = ""): string {
    return `t${++this.#names}-orders${suffix}`;
  }

  /** An endpoint that gets events of a type of its own, and tries again every second. */
  async create(kind: string, config: object, more: object = {}): Promise<Made> {
    const type = `shop.t${++this.#names}`;
    const body = { kind, config, event_types: [type], retry: { schedule: [1, 1, 1, 1, 1] }, ...more };
    return { ...(await this.app.live.create<Omit<Made, "type">>("/v1/endpoints", body)), type };
  }

  /** The id of the delivery. */
  async publish({ type }: Made): Promise<string> {
    const event = await this.app.live.post("/v1/events", { type, data: DATA });
    expect(event.status).toBe(202);
    const { json } = await this.app.live.get(`/v1/events/${String(event.json["id"])}`);
    return (json["deliveries"] as Delivery[])[0]?.id ?? "";
  }

  async delivery(id: string): Promise<Delivery> {
    return (await this.app.live.get(`/v1/deliveries/${id}`)).json as unknown as Delivery;
  }

  /** Oldest first. */
  async attempts(id: string): Promise<AttemptAnswer[]> {
    const { json } = await this.app.live.get(`/v1/deliveries/${id}/attempts`);
    return (json["data"] as AttemptAnswer[]).toReversed();
  }

  /** The attempts, as soon as it is delivered. */
  async delivered(id: string): Promise<AttemptAnswer[]> {
    await this.app.until(async () => (await this.delivery(id)).status === "delivered", DEADLINE_MS);
    return this.attempts(id);
  }

  /** The attempts so far, as soon as there are more than `before`. */
  attempted(id: string, before = 0): Promise<AttemptAnswer[]> {
    return this.app.until(async () => {
      const attempts = await this.attempts(id);
      return attempts.length > before && attempts;
    }, DEADLINE_MS);
  }

  /** Sends it again and waits until that is delivered. */
  async replay(id: string): Promise<AttemptAnswer[]> {
    const before = (await this.attempts(id)).length;
    const { event_id: event } = await this.delivery(id);
    expect((await this.app.live.post(`/v1/events/${event}/replay`)).status).toBe(202);
    await this.attempted(id, before);
    return this.delivered(id);
  }

  cancel(id: string): Promise<unknown> {
    return this.app.live.post(`/v1/deliveries/${id}/cancel`);
  }

  /** One message, which is this one, and verifies as a request would; what else the service says of it. */
  async expectArrived(target: AwsTarget, name: string, { secret, type }: Made, id: string) {
    const arrived = await target.read(name);
    expect(arrived.length).toBe(1);
    const { body = "", headers = null, more = {} } = arrived[0] ?? {};
    expect(JSON.parse(body)).toMatchObject({ type, data: DATA });
    if (headers !== null) {
      expect(new Webhook(secret).verify(body, headers)).toMatchObject({ type });
      expect(headers).toMatchObject({ "webhook-id": id, type });
    }
    return more;
  }
}

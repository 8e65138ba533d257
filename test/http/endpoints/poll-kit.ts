/** A polled endpoint of the service, and what its poller does. */
import { expect } from "bun:test";
import type { TestApp } from "../../kit/app.ts";
import type { Reply } from "../kit.ts";

export interface Polled {
  headers: Record<string, string>;
  body: string;
}

export interface Page {
  data: Polled[];
  next_cursor: string;
  done: boolean;
}

export interface Delivery {
  id: string;
  event_id: string;
  status: string;
  attempt_count: number;
  next_attempt_at: string | null;
  waiting_for: string | null;
  dead_reason: string | null;
}

let names = 0;

/** A polled endpoint with an event type of its own. */
export class Outlet {
  readonly type = `polled.t${++names}`;
  id = "";
  secret = "";

  constructor(private readonly app: TestApp) {}

  async open(fields: object = {}): Promise<this> {
    const made = await this.app.live.create("/v1/endpoints", {
      kind: "poll",
      config: {},
      event_types: [this.type],
      ...fields,
    });
    this.id = String(made["id"]);
    this.secret = String(made["secret"]);
    return this;
  }

  ask(query = "", secret = this.secret): Promise<Reply> {
    return this.app.with(secret).get(`/poll/${this.id}${query}`);
  }

  async page(query = "", secret = this.secret): Promise<Page> {
    const reply = await this.ask(query, secret);
    expect([reply.status, reply.json.errors]).toEqual([200, undefined]);
    return reply.json as unknown as Page;
  }

  async publish(...numbers: number[]): Promise<void> {
    for (const n of numbers) {
      expect((await this.app.live.post("/v1/events", { type: this.type, data: { n } })).status).toBe(202);
    }
  }

  /** Newest first. */
  async deliveries(): Promise<Delivery[]> {
    const { json } = await this.app.live.get(`/v1/deliveries?endpoint_id=${this.id}&limit=250`);
    return json["data"] as Delivery[];
  }

  async attempts(id: string): Promise<Record<string, unknown>[]> {
    return (await this.app.live.get(`/v1/deliveries/${id}/attempts`)).json["data"] as Record<
      string,
      unknown
    >[];
  }
}

export function openOutlet(app: TestApp, fields?: object): Promise<Outlet> {
  return new Outlet(app).open(fields);
}

export function numbersOf({ data }: Page): number[] {
  return data.map(({ body }) => (JSON.parse(body) as { data: { n: number } }).data.n);
}

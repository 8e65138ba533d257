import { Cipher } from "../../src/core/cipher.ts";
import { untriedDelivery } from "../../src/core/delivery.ts";
import type { AttemptFacts } from "../../src/core/model.ts";
import { type Data, openData } from "../../src/store/data.ts";
import { openDatabase } from "../../src/store/database.ts";
import type { FirstKeys } from "../../src/store/resources/tenants.ts";
import { storeParts } from "./store-parts.ts";
import { plainEndpoint } from "./endpoint.ts";

/**
 * A data directory as a service leaves it that has run for weeks: made by the store itself, under a clock of
 * the past.
 */

const EVENTS_A_WRITE = 500;

export interface AgedEvents {
  count: number;
  /** When they were accepted. */
  at: number;
  /** Deliveries of each, delivered at the first attempt. */
  deliveries: number;
  consumerId?: string | null;
  /** Bytes of `data`. */
  bytes?: number;
}

export class AgedDirectory {
  readonly #disk;
  readonly #data: Data;
  #now = 0;
  #projectId = 0;
  #endpoints: number[] = [];
  keys: FirstKeys = { live: "", test: "" };

  /** `secretKey`: 32 bytes; the service is started with the same. */
  constructor(dir: string, secretKey: Uint8Array) {
    this.#disk = openDatabase(dir);
    const parts = storeParts({ now: () => this.#now });
    this.#data = openData(this.#disk.sqlite, parts, { cipher: new Cipher([secretKey]), cell: "00" });
  }

  /**
   * An account with two projects; its live one has this many endpoints, made at `at` and paused: nothing is
   * sent to them.
   */
  async prepare(at: number, endpoints: number): Promise<void> {
    this.#now = at;
    await this.#data.tenants.createFirstAccount((keys) => (this.keys = keys));
    const [live] = this.#data.tenants.projects();
    if (live === undefined) throw new Error("the first account has no project");
    this.#projectId = live.id;
    const made = await this.#data.store.write(() =>
      Array.from({ length: endpoints }, () =>
        this.#data.endpoints.insert({
          ...plainEndpoint,
          projectId: live.id,
          status: "paused",
          updatedAt: at,
        }),
      ),
    );
    this.#endpoints = made.map(({ id }) => id);
  }

  async add(events: AgedEvents): Promise<void> {
    this.#now = events.at;
    for (let left = events.count; left > 0; left -= EVENTS_A_WRITE) {
      const some = Math.min(left, EVENTS_A_WRITE);
      await this.#data.store.write(() => {
        for (let n = 0; n < some; n++) this.#addOne(events);
      });
      await this.#data.index.writeDown();
    }
  }

  close(): void {
    this.#disk.close();
  }

  #addOne({ at, deliveries, consumerId = null, bytes = 200 }: AgedEvents): void {
    const { store, events, meter } = this.#data;
    const id = store.takeKey(1 + deliveries);
    const place = {
      projectId: this.#projectId,
      type: "aged.event",
      timestamp: at,
      consumerId,
      externalId: null,
    };
    const more = { sourceId: null, isTest: false, hops: 0, trace: null, deliveryCount: deliveries };
    const data = `{"fill":"${"x".repeat(bytes)}"}`;
    events.insert({ id, ...place, ...more, data });
    for (let n = 1; n <= deliveries; n++) this.#deliver(id, id + n, this.#endpoints[n - 1] ?? 0);
    for (let n = 0; n < deliveries; n++) meter.count(this.#projectId, at);
  }

  #deliver(eventId: number, id: number, endpointId: number): void {
    const { attempts, deliveries, index, store } = this.#data;
    const place = { id, eventId, endpointId, projectId: this.#projectId };
    const delivery = untriedDelivery({ ...place, origin: "publish", due: this.#now });
    deliveries.insert(delivery, null);
    const end = { status: "delivered", step: 1, due: null, deadReason: null } as const;
    const attempt = store.takeKey();
    deliveries.settle(delivery, { id: attempt, number: 1 }, true, end, null);
    const made = {
      id: attempt,
      deliveryId: id,
      number: 1,
      trigger: "publish",
      outcome: "delivered",
    } as const;
    attempts.insert({ ...made, nextAttemptAt: null, deadReason: null }, { ...FACTS, startedAt: this.#now });
    const projectId = this.#projectId;
    index.countAttempt(attempt, {
      endpointId,
      projectId,
      at: this.#now,
      delivered: true,
      failed: false,
      dead: false,
      durationMs: 5,
    });
  }
}

const FACTS: AttemptFacts = {
  startedAt: 0,
  durationMs: 5,
  statusCode: 200,
  error: null,
  requestHead: "POST https://example.com/\ncontent-type: application/json",
  sentAt: 1_700_000_000,
  signature: "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
  traceparent: null,
  requestBody: null,
  responseHeaders: [["content-type", "text/plain"]],
  responseBody: Buffer.from("thank you"),
  truncated: false,
};

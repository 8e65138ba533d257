/** The nouns over a real database file, with one account and its live project, and nobody who sends. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Cipher } from "../../src/core/cipher.ts";
import { untriedDelivery } from "../../src/core/delivery.ts";
import type { AttemptFacts, Endpoint, Project } from "../../src/core/model.ts";
import { makeSecret } from "../../src/core/signing.ts";
import { type Data, openData } from "../../src/store/data.ts";
import { type Disk, openDatabase } from "../../src/store/database.ts";
import type { NewEndpoint } from "../../src/store/resources/endpoints.ts";
import type { StoreParts } from "../../src/store/store.ts";
import { plainEndpoint } from "./endpoint.ts";
import { storeParts } from "./store-parts.ts";

type EventRow = Parameters<Data["events"]["insert"]>[0];

/** An attempt that was answered with an empty 200. */
export const ANSWERED: AttemptFacts = {
  startedAt: 0,
  durationMs: 5,
  statusCode: 200,
  error: null,
  requestHead: null,
  sentAt: null,
  signature: null,
  traceparent: null,
  requestBody: null,
  responseHeaders: [],
  responseBody: null,
  truncated: false,
};

export class TestData implements AsyncDisposable {
  readonly #dir = mkdtempSync(join(tmpdir(), "sealpost-data-"));
  readonly #parts: StoreParts;
  #disk: Disk;
  data: Data;
  project!: Project;

  constructor(parts: Partial<StoreParts>) {
    this.#parts = storeParts(parts);
    [this.#disk, this.data] = this.#open();
  }

  async fill(plan: string): Promise<this> {
    const account = await this.data.tenants.createAccount({ name: "a", plan });
    this.project = await this.data.tenants.createProject(account.id, "live", "live");
    return this;
  }

  /** Closes the database and opens it again, as a restart does. */
  async reopen(): Promise<void> {
    await this.#close();
    [this.#disk, this.data] = this.#open();
  }

  async endpoint(fields: Partial<NewEndpoint> = {}): Promise<Endpoint> {
    const { endpoints, store } = this.data;
    const own = { projectId: this.project.id, secret: makeSecret(), updatedAt: 0 };
    const made = await store.write(() => endpoints.insert({ ...plainEndpoint, ...own, ...fields }));
    endpoints.announce(made);
    return made;
  }

  /** Inside a write: an event, with the keys of so many deliveries set aside behind its own. */
  insertEvent(keys = 0, fields: Partial<EventRow> = {}): number {
    const id = this.data.store.takeKey(1 + keys);
    this.data.events.insert({
      id,
      projectId: this.project.id,
      type: "a.b",
      timestamp: 0,
      consumerId: null,
      externalId: null,
      sourceId: null,
      isTest: false,
      hops: 0,
      trace: null,
      deliveryCount: keys,
      data: "{}",
      ...fields,
    });
    return id;
  }

  /** Inside a write: an open delivery; `due` null: it waits for the plan. */
  insertDelivery(eventId: number, endpointId: number, due: number | null = 0): number {
    const id = this.data.store.takeKey();
    const keys = { id, eventId, endpointId, projectId: this.project.id };
    this.data.deliveries.insert(untriedDelivery({ ...keys, origin: "publish", due }), null);
    return id;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
    rmSync(this.#dir, { recursive: true });
  }

  #open(): [Disk, Data] {
    const disk = openDatabase(this.#dir);
    const cipher = new Cipher([new Uint8Array(32).fill(1)]);
    return [disk, openData(disk.sqlite, { ...this.#parts, sync: disk.sync }, { cipher, cell: "00" })];
  }

  async #close(): Promise<void> {
    await this.data.store.close();
    this.#disk.close();
  }
}

/** `await using it = await openTestData()`. */
export function openTestData({ plan = "free", ...parts }: Partial<StoreParts> & { plan?: string } = {}) {
  return new TestData(parts).fill(plan);
}

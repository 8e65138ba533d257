import { createHmac, randomUUID } from "node:crypto";
import { isObject } from "../../core/json/value.ts";
import { type Page, pagesOf } from "../../platform/pages.ts";
import type { PatientApi } from "../patient-api.ts";
import { ENDPOINT_FIELDS, type EndpointRecord, EVENT_TYPE_FIELDS, type EventTypeRecord } from "./records.ts";

/** What an import finds in a project, and writes to it. It keeps nothing: the endpoints themselves tell. */

/** What the metadata of an endpoint hold that an import has made. */
const MARK = "sealpost_import";

interface Mark {
  /** The record's. */
  id: string;
  /** Of the record as it was when this was written. */
  digest: string;
}

export interface FoundEndpoint {
  id: string;
  digest: string;
}

export type FoundEventType = Readonly<Record<(typeof EVENT_TYPE_FIELDS)[number], unknown>>;

export class Target {
  readonly #api: PatientApi;
  /** By the ids of the records that they were made of. */
  readonly endpoints = new Map<string, FoundEndpoint[]>();
  /** By their names. */
  readonly eventTypes = new Map<string, FoundEventType>();

  private constructor(api: PatientApi) {
    this.#api = api;
  }

  static async read(api: PatientApi): Promise<Target> {
    const target = new Target(api);
    await api.begin("/v1/project");
    for await (const type of all<FoundEventType>(api, "/v1/event-types"))
      target.eventTypes.set(String(type.name), type);
    for await (const { id, metadata } of all<{ id: string; metadata: Record<string, unknown> }>(
      api,
      "/v1/endpoints",
    )) {
      const mark = metadata[MARK];
      if (!isMark(mark)) continue;
      target.endpoints.set(mark.id, [...(target.endpoints.get(mark.id) ?? []), { id, digest: mark.digest }]);
    }
    return target;
  }

  async secretOf(endpointId: string): Promise<string> {
    return (await this.#api.ask<{ secret: string }>(`/v1/endpoints/${endpointId}/secret`)).secret;
  }

  async makeEventType(record: EventTypeRecord): Promise<void> {
    await this.#post("/v1/event-types", picked(record, EVENT_TYPE_FIELDS));
  }

  async changeEventType(record: EventTypeRecord): Promise<void> {
    const { name: _, ...body } = picked(record, EVENT_TYPE_FIELDS);
    const path = `/v1/event-types/${encodeURIComponent(record.name)}`;
    await this.#api.ask(path, { method: "PATCH", body: JSON.stringify(body) });
  }

  /** Answers the id of the endpoint. */
  async makeEndpoint(record: EndpointRecord): Promise<string> {
    const { secret, private_key } = record;
    return (await this.#post<{ id: string }>("/v1/endpoints", { ...bodyOf(record), secret, private_key })).id;
  }

  async changeEndpoint(endpointId: string, record: EndpointRecord): Promise<void> {
    const body = JSON.stringify(bodyOf(record));
    await this.#api.ask(`/v1/endpoints/${endpointId}`, { method: "PATCH", body });
  }

  /** The key is new each time: who deletes what an import made wants the next one to make it again. */
  #post<T>(path: string, body: object): Promise<T> {
    const idempotencyKey = `import-${randomUUID()}`;
    return this.#api.ask<T>(path, { method: "POST", body: JSON.stringify(body), idempotencyKey });
  }
}

/**
 * Tells whether a record is still the one that an endpoint was made of: what reads as `***` cannot be
 * compared. Its key is the secret itself, so that whoever reads metadata cannot try values of headers by it.
 */
export function digestOf(record: EndpointRecord): string {
  const { secret, private_key, metadata, config } = record;
  const text = JSON.stringify([picked(record, ENDPOINT_FIELDS), secret, private_key, metadata ?? {}]);
  return createHmac("sha256", secret ?? JSON.stringify(config ?? {}))
    .update(text)
    .digest("base64url");
}

function bodyOf(record: EndpointRecord): object {
  const mark: Mark = { id: record.id, digest: digestOf(record) };
  return { ...picked(record, ENDPOINT_FIELDS), metadata: { ...record.metadata, [MARK]: mark } };
}

function picked<T extends object>(from: T, names: readonly (keyof T)[]): Partial<T> {
  const entries = names.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]]));
  return Object.fromEntries(entries) as Partial<T>;
}

async function* all<Row>(api: PatientApi, path: string): AsyncGenerator<Row> {
  const pages = pagesOf<Row>(
    path,
    () => ({ limit: "250" }),
    (page) => api.ask<Page<Row>>(page),
  );
  for await (const { data } of pages) yield* data;
}

function isMark(value: unknown): value is Mark {
  return isObject(value) && typeof value["id"] === "string" && typeof value["digest"] === "string";
}

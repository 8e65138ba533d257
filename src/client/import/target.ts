import { createHmac, randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { isObject } from "../../core/json/value.ts";
import { limit } from "../../core/limits.ts";
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
  /** The record's. */
  source?: string | undefined;
  /** Names of its fields; those of metadata with `metadata.` before them. */
  fields?: unknown;
}

/** An endpoint as the API answers it; the names of its fields are those of a record. */
export type ShownEndpoint = Readonly<Record<string, unknown>> & {
  readonly id: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly status: string;
  /** Where it signs with `v1a` too. */
  readonly public_key?: string;
};

export interface FoundEndpoint {
  id: string;
  mark: Mark;
  shown: ShownEndpoint;
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
    await api.askOnce("/v1/project");
    for await (const type of all<FoundEventType>(api, "/v1/event-types"))
      target.eventTypes.set(String(type.name), type);
    for await (const shown of all<ShownEndpoint>(api, "/v1/endpoints")) {
      const mark = shown.metadata[MARK];
      if (!isMark(mark)) continue;
      const found = { id: shown.id, mark, shown };
      target.endpoints.set(mark.id, [...(target.endpoints.get(mark.id) ?? []), found]);
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
    const found = this.endpoints.get(record.id)?.find(({ id }) => id === endpointId);
    const body = found === undefined ? bodyOf(record) : patchOf(record, found);
    await this.#api.ask(`/v1/endpoints/${endpointId}`, { method: "PATCH", body: JSON.stringify(body) });
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
  const fields = picked(record, ENDPOINT_FIELDS);
  const text = JSON.stringify([fields, secret, private_key, metadata ?? {}], inOrder);
  return createHmac("sha256", secret ?? JSON.stringify(config ?? {}))
    .update(text)
    .digest("base64url");
}

/** For JSON.stringify: a service may list the names of an object in another order each time. */
function inOrder(_: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function bodyOf(record: EndpointRecord): { metadata: object } {
  const { id, source } = record;
  const mark: Mark = { id, digest: digestOf(record), source, fields: namesOf(record) };
  return { ...picked(record, ENDPOINT_FIELDS), metadata: { ...record.metadata, [MARK]: mark } };
}

/** What makes the endpoint as its record is: what an earlier run brought and is gone there goes here too. */
function patchOf(record: EndpointRecord, found: FoundEndpoint): object {
  const body = bodyOf(record);
  const names = new Set(namesOf(record));
  const gone = broughtBy(found.mark).filter((name) => !names.has(name) && !WHOLE.has(name));
  const isOfMetadata = (name: string) => name.startsWith(METADATA);
  const fields = gone.filter((name) => !isOfMetadata(name)).map((name) => [name, null]);
  const metadata = [
    ...gone.filter(isOfMetadata).map((name) => [name.slice(METADATA.length), null]),
    ...Object.entries(body.metadata).map(([name, one]) => [name, replacing(found.shown.metadata[name], one)]),
  ];
  return { ...Object.fromEntries(fields), ...body, metadata: Object.fromEntries(metadata) };
}

/** Where an endpoint delivers to is always given whole. */
const WHOLE = new Set(["kind", "config", "url"]);

const METADATA = "metadata.";

function namesOf(record: EndpointRecord): string[] {
  const names = ENDPOINT_FIELDS.filter((name) => record[name] !== undefined);
  return [...names, ...Object.keys(record.metadata ?? {}).map((name) => `${METADATA}${name}`)];
}

/** What an earlier run brought along. Whoever may write metadata may write anything there. */
function broughtBy({ fields }: Mark): string[] {
  const known: readonly unknown[] = ENDPOINT_FIELDS;
  const names: readonly unknown[] = Array.isArray(fields) ? fields : [];
  return names.filter(
    (name): name is string => typeof name === "string" && (known.includes(name) || name.startsWith(METADATA)),
  );
}

/** The merge patch that makes one value of metadata another, with nothing of it left. */
function replacing(before: unknown, after: unknown): unknown {
  if (!isObject(before) || !isObject(after)) return after;
  const gone = Object.keys(before).map((name) => [name, null]);
  const kept = Object.entries(after).map(([name, value]) => [name, replacing(before[name], value)]);
  return { ...Object.fromEntries(gone), ...Object.fromEntries(kept) };
}

/** The fields of an endpoint that are not as the record has them; what reads as `***` is not compared. */
export function changedFields(record: EndpointRecord, { shown, mark }: FoundEndpoint): string[] {
  const names = new Set([...namesOf(record), ...broughtBy(mark)]);
  const changed = [...names].filter((name) => {
    const isOfMetadata = name.startsWith(METADATA);
    const key = isOfMetadata ? name.slice(METADATA.length) : name;
    const wanted: unknown = isOfMetadata
      ? record.metadata?.[key]
      : (wantedOf(record, key, shown) ?? DEFAULTS[key]);
    return !isShownAs(wanted, isOfMetadata ? shown.metadata[key] : shown[key]);
  });
  return changed.length > 0 ? changed : ["a value that is not shown"];
}

/** A `config` is shown with the `url` that stands beside it too, which is told by its own name. */
function wantedOf(record: EndpointRecord, name: string, { url }: ShownEndpoint): unknown {
  if (name === "config" && record.url !== undefined) return { ...record.config, url };
  return Reflect.get(record, name);
}

/** What the API answers where null was given. */
const DEFAULTS: Readonly<Record<string, unknown>> = {
  kind: "http",
  headers: {},
  signature_versions: ["v1"],
  timeout_seconds: limit("attemptTimeoutSecondsDefault"),
  max_concurrency: limit("concurrencyDefault"),
  ordering: "none",
};

/** Of an object the order of its names says nothing. */
function isShownAs(wanted: unknown, shown: unknown): boolean {
  if (shown === HIDDEN) return typeof wanted === "string";
  if (!isObject(wanted) || !isObject(shown)) return isDeepStrictEqual(wanted ?? null, shown ?? null);
  const names = new Set([...Object.keys(wanted), ...Object.keys(shown)]);
  return [...names].every((name) => isShownAs(wanted[name], shown[name]));
}

/** What a value reads as that the API does not show. */
const HIDDEN = "***";

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

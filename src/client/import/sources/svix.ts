import type { Call } from "../../../platform/command-line.ts";
import { pagesBy } from "../../../platform/pages.ts";
import type { PatientApi } from "../../patient-api.ts";
import {
  listIn,
  orNone,
  readEach,
  runServiceImport,
  serviceApi,
  type ServiceOptions,
  transformationsFor,
} from "../service.ts";
import type { ConsumerRecord, EndpointRecord, EventTypeRecord, ImportRecord } from "../records.ts";

/**
 * Svix, by its API as server/openapi.json and codegen/lib-openapi.json of svix/svix-webhooks have it, which
 * the service and the server that one runs oneself have in common.
 */

const NAME = "Svix";
const TOKEN = "SVIX_AUTH_TOKEN";
/** Their own clients find the address in the same way. */
const REGIONS = ["us", "eu", "in", "ca", "au"];
const PAGE = 250;
const IDS = "svix:";

interface EventTypeOut {
  name: string;
  description: string;
  archived?: boolean;
  deprecated: boolean;
  schemas?: Record<string, object> | null;
  groupName?: string | null;
  featureFlag?: string | null;
  featureFlags?: string[] | null;
}

interface ApplicationOut {
  id: string;
  uid?: string | null;
  name: string;
  throttleRate?: number | null;
  rateLimit?: number | null;
}

interface EndpointOut {
  id: string;
  uid?: string | null;
  url: string;
  description: string;
  disabled?: boolean;
  eventTypes?: string[] | null;
  /** Its name before server-v1.100.0. */
  filterTypes?: string[] | null;
  channels?: string[] | null;
  throttleRate?: number | null;
  /** Its name before v1.90. */
  rateLimit?: number | null;
  metadata: Record<string, string>;
}

interface HeadersOut {
  headers: Record<string, string>;
  sensitive: string[];
}

interface TransformationOut {
  code?: string | null;
  enabled?: boolean;
}

type Body = ServiceOptions["body"];

/** `sealpost import svix`: applications, endpoints and event types. */
export function runImportSvix(call: Call<ServiceOptions>): Promise<number> {
  const { from = addressFor(process.env[TOKEN] ?? ""), body } = call.options;
  return runServiceImport(call, NAME, () => {
    const api = serviceApi(NAME, TOKEN, from);
    return { api, records: readSvix(api, body), idsBeginWith: IDS };
  });
}

/** A token says behind a dot in which region it is known. */
export function addressFor(token: string): string {
  const region = REGIONS.find((one) => one === token.split(".")[1]);
  return region === undefined ? "https://api.svix.com" : `https://api.${region}.svix.com`;
}

export async function* readSvix(api: PatientApi, body: Body): AsyncGenerator<ImportRecord> {
  await api.askOnce("/api/v1/event-type?limit=1");
  const all = "&include_archived=true&with_content=true";
  for await (const types of pages<EventTypeOut>(api, "/api/v1/event-type", "name", all))
    yield* types.map(eventTypeOf);
  for await (const applications of pages<ApplicationOut>(api, "/api/v1/app", "id"))
    yield* readEach(applications, (application) => readApplication(api, application, body));
}

interface ListOut {
  iterator?: string | null;
  done: boolean;
}

async function* pages<Row>(
  api: PatientApi,
  path: string,
  key: keyof Row & string,
  query = "",
): AsyncGenerator<Row[]> {
  const answers = pagesBy<ListOut>(
    (iterator) => {
      const from = iterator === null ? "" : `&iterator=${encodeURIComponent(iterator)}`;
      return api.ask(`${path}?limit=${PAGE}${query}${from}`);
    },
    ({ iterator, done }) => (done ? null : iterator || null),
  );
  for await (const answer of answers) yield listIn<Row>(answer, "data", key, NAME);
}

function eventTypeOf(type: EventTypeOut): EventTypeRecord {
  const [latest, ...older] = Object.entries(type.schemas ?? {}).toSorted(([a], [b]) => Number(b) - Number(a));
  const without: string[] = [];
  if (older.length > 0) without.push(`older versions of its schema: version ${latest?.[0]} comes along`);
  if (type.deprecated) without.push("being deprecated");
  if (type.featureFlag || (type.featureFlags?.length ?? 0) > 0) without.push("its feature flags");
  return {
    record: "event_type",
    name: type.name,
    description: type.description || null,
    schema: latest?.[1] ?? null,
    group: type.groupName || null,
    archived: type.archived ?? false,
    without,
  };
}

async function readApplication(
  api: PatientApi,
  application: ApplicationOut,
  body: Body,
): Promise<ImportRecord[]> {
  const records: ImportRecord[] = [consumerOf(application)];
  const path = `/api/v1/app/${encodeURIComponent(application.id)}/endpoint`;
  for await (const endpoints of pages<EndpointOut>(api, path, "id"))
    for await (const record of readEach(endpoints, async (endpoint) => {
      const read = await orNone(readEndpoint(api, application, endpoint, body));
      return read === null ? [] : [read];
    }))
      records.push(record);
  return records;
}

/** What publishers name an application by, mostly. */
function consumerIdOf({ id, uid }: ApplicationOut): string {
  return uid || id;
}

function consumerOf(application: ApplicationOut): ConsumerRecord {
  return { record: "consumer", id: consumerIdOf(application), name: application.name };
}

async function readEndpoint(
  api: PatientApi,
  application: ApplicationOut,
  endpoint: EndpointOut,
  body: Body,
): Promise<EndpointRecord> {
  const path = `/api/v1/app/${encodeURIComponent(application.id)}/endpoint/${encodeURIComponent(endpoint.id)}`;
  const [{ key }, { headers, sensitive }, transformation] = await Promise.all([
    api.ask<{ key: string }>(`${path}/secret`),
    api.ask<HeadersOut>(`${path}/headers`),
    transformationAt(api, path),
  ]);
  const without: string[] = [];
  const ratePerSecond = rateOf(application);
  if (ratePerSecond !== null) without.push(`the rate of its application, ${ratePerSecond} a second`);
  return {
    record: "endpoint",
    id: `${IDS}${endpoint.id}`,
    consumer_id: consumerIdOf(application),
    url: endpoint.url,
    // Who verifies by hand reads these names.
    config: { header_prefix: "svix" },
    description: endpoint.description || null,
    // A set, which the server lists in another order each time.
    event_types: (endpoint.eventTypes ?? endpoint.filterTypes)?.toSorted() ?? null,
    headers: { ...headers, ...Object.fromEntries(sensitive.toSorted().map((name) => [name, null])) },
    secret: /^wh(sec|pk)_/.test(key) ? key : `whsec_${key}`,
    transformations: transformationsFor(body),
    rate_limit_per_second: rateOf(endpoint),
    metadata: endpoint.uid ? { ...endpoint.metadata, svix_uid: endpoint.uid } : endpoint.metadata,
    disabled: endpoint.disabled ?? false,
    cannot: hindrancesOf(endpoint, key, transformation),
    without,
  };
}

function rateOf({ throttleRate, rateLimit }: EndpointOut | ApplicationOut): number | null {
  return throttleRate || rateLimit || null;
}

function hindrancesOf(
  endpoint: EndpointOut,
  key: string,
  transformation: TransformationOut | null,
): string[] {
  const cannot: string[] = [];
  if ((endpoint.channels?.length ?? 0) > 0)
    cannot.push(
      `it listens to the channels ${endpoint.channels?.join(", ")}: give it a filter in their place`,
    );
  if (key.startsWith("whpk_")) cannot.push("Svix does not hand out the private key that signs for it");
  if (transformation?.enabled) cannot.push("its transformation is JavaScript: write it anew");
  return cannot;
}

/** The server that one runs oneself has none. */
function transformationAt(api: PatientApi, path: string): Promise<TransformationOut | null> {
  return orNone(api.ask<TransformationOut>(`${path}/transformation`));
}

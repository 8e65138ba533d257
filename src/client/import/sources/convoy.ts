import { limit } from "../../../core/limits.ts";
import { type Call, CommandError, printable, UsageError } from "../../../platform/command-line.ts";
import { pagesBy } from "../../../platform/pages.ts";
import type { PatientApi } from "../../patient-api.ts";
import {
  listIn,
  orNone,
  readEach,
  runServiceImport,
  secretOf,
  serviceApi,
  type ServiceOptions,
  transformationsFor,
} from "../service.ts";
import type { EndpointRecord, EventTypeRecord, ImportRecord } from "../records.ts";

/**
 * Convoy, by its API as docs/v3/openapi3.json of frain-dev/convoy has it; what answers hide is told by
 * api/models/endpoint.go there, which events a subscription gets by worker/task/process_event_creation.go.
 */

const NAME = "Convoy";
const TOKEN = "CONVOY_API_KEY";
/** Without it a server answers in the version of its setting, and by 2024-01-01 it has other names. */
const VERSION = { "x-convoy-version": "2024-04-01" };
const PAGE = 100;

export interface ConvoyOptions extends ServiceOptions {
  project?: string;
}

interface Secret {
  value: string;
  expires_at?: string | null;
  deleted_at?: string | null;
}

interface Authentication {
  type?: string;
  api_key?: { header_name: string; header_value: string } | null;
}

interface Endpoint {
  uid: string;
  owner_id?: string;
  url: string;
  name: string;
  description?: string;
  status: string;
  secrets?: Secret[] | null;
  http_timeout?: number;
  rate_limit?: number;
  rate_limit_duration?: number;
  content_type?: string;
  authentication?: Authentication | null;
  mtls_client_cert?: object | null;
}

interface Subscription {
  uid: string;
  function?: string | null;
  endpoint_metadata?: { uid?: string } | null;
  filter_config?: { event_types?: string[] | null; filter?: Conditions | null } | null;
}

/** Each is an object; an empty one says nothing. */
type Conditions = Partial<Record<(typeof SCOPES)[number], unknown>>;

const SCOPES = ["body", "headers", "query", "path"] as const;

/** What a subscription lets through of a type; `*` is each type that has none of its own. */
interface Filter extends Conditions {
  event_type: string;
  /** Null: switched off. */
  enabled_at?: string | null;
}

interface Subscribed extends Subscription {
  /** Those that are switched on. */
  filters: Filter[];
}

interface EventType {
  name: string;
  description?: string;
  category?: string;
  deprecated_at?: string | null;
  json_schema?: object | null;
}

/** `sealpost import convoy`: endpoints as their subscriptions say, owners as consumers, event types. */
export function runImportConvoy(call: Call<ConvoyOptions>): Promise<number> {
  const { from, body, project } = call.options;
  return runServiceImport(call, NAME, () => {
    if (project === undefined) throw new UsageError("--project must be the id of a project of Convoy");
    const api = serviceApi(NAME, TOKEN, from, VERSION);
    return { api, records: readConvoy(api, project, body), idsBeginWith: idsOf(project) };
  });
}

export async function* readConvoy(
  api: PatientApi,
  project: string,
  body: ServiceOptions["body"],
): AsyncGenerator<ImportRecord> {
  const path = `/v1/projects/${encodeURIComponent(project)}`;
  await checkProject(api, path, project);
  const { data: types } = await api.ask<{ data?: unknown }>(`${path}/event-types`);
  // The type * stands for all of them.
  for (const type of listIn<EventType>(types, null, "name", NAME))
    if (type.name !== "*") yield eventTypeOf(type);
  const subscriptions = await subscriptionsOf(api, `${path}/subscriptions`);
  const owners = new Set<string>();
  for await (const endpoints of pages<Endpoint>(api, `${path}/endpoints`))
    for (const endpoint of endpoints) {
      const owner = ownerOf(endpoint);
      if (!owners.has(owner)) yield { record: "consumer", id: owner };
      owners.add(owner);
      yield endpointOf(project, endpoint, subscriptions.get(endpoint.uid) ?? [], body);
    }
}

/** A project's key answers with what that project has, whatever project is asked for. */
async function checkProject(api: PatientApi, path: string, project: string): Promise<void> {
  const { data } = await api.askOnce<{ data?: unknown }>(path);
  for (const { uid } of listIn<{ uid: string }>([data], null, "uid", NAME))
    if (uid !== project)
      throw new CommandError(`${TOKEN} is of the project ${printable(uid)}, not ${project}`);
}

/** By the ids of their endpoints. */
async function subscriptionsOf(api: PatientApi, path: string): Promise<Map<string, Subscribed[]>> {
  const byEndpoint = new Map<string, Subscribed[]>();
  for await (const rows of pages<Subscription>(api, path))
    for await (const one of readEach(rows, async (row) => [await subscribedBy(api, path, row)])) {
      const uid = one.endpoint_metadata?.uid ?? "";
      byEndpoint.set(uid, [...(byEndpoint.get(uid) ?? []), one]);
    }
  return byEndpoint;
}

/** Its filters alone decide; what it holds itself is not kept up with them. Before v25.5 there are none. */
async function subscribedBy(api: PatientApi, path: string, row: Subscription): Promise<Subscribed> {
  const found = await orNone(api.ask<{ data?: unknown }>(`${path}/${encodeURIComponent(row.uid)}/filters`));
  const { event_types: types, filter } = row.filter_config ?? {};
  const filters: Filter[] =
    found === null
      ? (types ?? ["*"]).map((type) => ({ ...filter, event_type: type }))
      : listIn<Filter>(found.data, null, "event_type", NAME);
  return { ...row, filters: filters.filter((one) => one.enabled_at !== null) };
}

interface ListOut {
  data?: { pagination?: { has_next_page?: boolean; next_page_cursor?: string } | null };
}

async function* pages<Row extends { uid: string }>(api: PatientApi, path: string): AsyncGenerator<Row[]> {
  const answers = pagesBy<ListOut>(
    (cursor) => {
      const from = cursor === null ? "" : `&next_page_cursor=${encodeURIComponent(cursor)}`;
      return api.ask(`${path}?perPage=${PAGE}&direction=next${from}`);
    },
    ({ data }) => (data?.pagination?.has_next_page === true && data.pagination.next_page_cursor) || null,
  );
  for await (const { data } of answers) yield listIn<Row>(data, "content", "uid", NAME);
}

function eventTypeOf(type: EventType): EventTypeRecord {
  return {
    record: "event_type",
    name: type.name,
    description: type.description || null,
    schema: type.json_schema && Object.keys(type.json_schema).length > 0 ? type.json_schema : null,
    group: type.category || null,
    archived: (type.deprecated_at ?? null) !== null,
  };
}

/** What the ids of a project's endpoints begin with. */
function idsOf(project: string): string {
  return `convoy:${project}:`;
}

/** Who publishes to one endpoint publishes to a consumer of its name. */
function ownerOf({ owner_id: owner, uid }: Endpoint): string {
  return owner || uid;
}

function endpointOf(
  project: string,
  endpoint: Endpoint,
  subscriptions: readonly Subscribed[],
  body: ServiceOptions["body"],
): EndpointRecord {
  const filters = subscriptions.flatMap((one) => one.filters);
  const { authentication, rate_limit: rate = 0, rate_limit_duration: seconds = 0 } = endpoint;
  const secret = endpoint.secrets?.findLast((one) => !one.deleted_at && !one.expires_at)?.value ?? "";
  const perSecond = Math.floor(rate / Math.max(1, seconds));
  const without = rate > 0 && perSecond === 0 ? [`its rate of ${rate} in ${seconds} seconds`] : [];
  return {
    record: "endpoint",
    id: `${idsOf(project)}${endpoint.uid}`,
    consumer_id: ownerOf(endpoint),
    url: endpoint.url,
    description: endpoint.description || endpoint.name || null,
    event_types: typesOf(filters),
    headers: headersOf(authentication ?? {}),
    secret: secretOf(secret),
    transformations: transformationsFor(body),
    timeout_seconds: endpoint.http_timeout
      ? Math.min(endpoint.http_timeout, limit("attemptTimeoutSecondsMax"))
      : null,
    rate_limit_per_second: perSecond > 0 ? perSecond : null,
    disabled: endpoint.status !== "active" || filters.length === 0,
    cannot: hindrancesOf(endpoint, subscriptions),
    without,
  };
}

function typesOf(filters: readonly Filter[]): string[] | null {
  const types = new Set(filters.map((one) => one.event_type));
  return types.has("*") ? null : [...types].toSorted();
}

/** The password of a user is not shown. */
function headersOf({ type, api_key: key }: Authentication): Record<string, string | null> {
  if (type === "api_key" && key) return { [key.header_name]: key.header_value };
  return type === "basic_auth" ? { authorization: null } : {};
}

function hindrancesOf(endpoint: Endpoint, subscriptions: readonly Subscribed[]): string[] {
  const cannot: string[] = [];
  if (endpoint.authentication?.type === "oauth2") cannot.push("it asks for a token by OAuth 2");
  if (endpoint.mtls_client_cert) cannot.push("it has a client certificate");
  if (!["", "application/json"].includes(endpoint.content_type ?? ""))
    cannot.push(`its bodies are ${endpoint.content_type}`);
  if (subscriptions.some((one) => one.function))
    cannot.push("a subscription's function is JavaScript: write it anew");
  if (subscriptions.some(({ filters }) => filters.some(hasConditions)))
    cannot.push("a subscription has a filter: write it anew");
  return cannot;
}

function hasConditions(filter: Filter): boolean {
  const parts = SCOPES.map((scope) => filter[scope]);
  return parts.some((part) => typeof part === "object" && part !== null && Object.keys(part).length > 0);
}

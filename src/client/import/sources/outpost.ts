import { compileFilter } from "../../../core/filter/filter.ts";
import { isObject, parseObject } from "../../../core/json/value.ts";
import { type Call, CommandError } from "../../../platform/command-line.ts";
import { pagesBy } from "../../../platform/pages.ts";
import { Refused } from "../../api.ts";
import type { PatientApi } from "../../patient-api.ts";
import {
  listIn,
  readEach,
  runServiceImport,
  secretOf,
  serviceApi,
  type ServiceOptions,
  transformationsFor,
} from "../service.ts";
import type { EndpointRecord, ImportRecord } from "../records.ts";

/** Outpost, by its API as docs/apis/openapi.yaml of hookdeck/outpost has it. */

const NAME = "Outpost";
const TOKEN = "OUTPOST_API_KEY";
const IDS = "outpost:";
const PAGE = 100;

export interface OutpostOptions extends ServiceOptions {
  tenant?: string[];
}

interface Tenant {
  id: string;
  metadata?: Record<string, string> | null;
}

interface Destination {
  id: string;
  type: string;
  topics: string | string[];
  filter?: Record<string, unknown> | null;
  config: Record<string, string>;
  credentials: Record<string, string>;
  delivery_metadata?: Record<string, string> | null;
  metadata?: Record<string, string> | null;
  disabled_at?: string | null;
}

/** `sealpost import outpost`: tenants as consumers, destinations that are webhooks, topics. */
export function runImportOutpost(call: Call<OutpostOptions>): Promise<number> {
  const { from, body, tenant } = call.options;
  return runServiceImport(call, NAME, () => {
    const api = serviceApi(NAME, TOKEN, from);
    const idsBeginWith = tenant === undefined ? IDS : null;
    return { api, records: readOutpost(api, body, tenant), idsBeginWith };
  });
}

export async function* readOutpost(
  api: PatientApi,
  body: ServiceOptions["body"],
  tenants?: readonly string[],
): AsyncGenerator<ImportRecord> {
  // Null where its settings name none: then it takes any.
  const topics = (await api.askOnce<unknown>("/topics")) ?? [];
  for (const name of listIn<string>(topics, null, null, NAME)) yield { record: "event_type", name };
  const pages = tenants === undefined ? pagesOfTenants(api) : [tenants.map((id) => ({ id }))];
  for await (const page of pages) yield* readEach(page, (tenant) => readTenant(api, tenant, body));
}

interface TenantsOut {
  pagination?: { next?: string | null };
}

async function* pagesOfTenants(api: PatientApi): AsyncGenerator<Tenant[]> {
  const answers = pagesBy(
    (next) => pageOfTenants(api, next === null ? "" : `&next=${encodeURIComponent(next)}`),
    ({ pagination }) => pagination?.next || null,
  );
  for await (const answer of answers) yield listIn<Tenant>(answer, "models", "id", NAME);
}

async function pageOfTenants(api: PatientApi, from: string): Promise<TenantsOut> {
  try {
    return await api.ask(`/tenants?limit=${PAGE}&dir=asc${from}`);
  } catch (error) {
    if (!(error instanceof Refused && error.status === 501)) throw error;
    throw new CommandError("This Outpost cannot list its tenants: name them by --tenant");
  }
}

async function readTenant(
  api: PatientApi,
  { id, metadata }: Tenant,
  body: ServiceOptions["body"],
): Promise<ImportRecord[]> {
  const answer = await api.ask(`/tenants/${encodeURIComponent(id)}/destinations`);
  const destinations = listIn<Destination>(answer, null, "id", NAME);
  return [
    { record: "consumer", id, name: metadata?.["name"] ?? null },
    ...destinations.map((destination) => endpointOf(id, destination, body)),
  ];
}

function endpointOf(
  tenantId: string,
  destination: Destination,
  body: ServiceOptions["body"],
): EndpointRecord {
  const { id, type, topics, config, credentials, metadata, disabled_at: disabledAt } = destination;
  const names = typeof topics === "string" ? [topics] : topics;
  const without = destination.delivery_metadata ? ["its delivery metadata, which were headers"] : [];
  const cannot: string[] = [];
  if (type !== "webhook") cannot.push(`it is of the type ${type}, whose credentials Outpost does not show`);
  const filter = filterOf(destination.filter ?? {});
  if (filter === undefined) cannot.push("its filter may mean something else here: write it anew");
  return {
    record: "endpoint",
    id: `${IDS}${tenantId}:${id}`,
    consumer_id: tenantId,
    ...(type === "webhook" && { url: config["url"] ?? "", secret: secretOf(credentials["secret"] ?? "") }),
    ...(type !== "webhook" && { kind: type, config }),
    event_types: names.includes("*") ? null : names,
    filter: filter ?? null,
    headers: headersOf(config["custom_headers"]),
    transformations: transformationsFor(body),
    metadata: metadata ?? {},
    disabled: (disabledAt ?? null) !== null,
    cannot,
    without,
  };
}

function headersOf(text: string | undefined): Record<string, string> {
  const headers = Object.entries(parseObject(text ?? "") ?? {});
  return Object.fromEntries(headers.map(([name, value]) => [name, String(value)]));
}

/**
 * What means the same in both languages of filters, but where the event holds a list: there these look at its
 * members here, and never match at Outpost. Others differ in what is missing too.
 */
const SAME = new Set(["$eq", "$gt", "$gte", "$lt", "$lte"]);

/** The filter as it stands; null: all; undefined where it may mean something else here. */
function filterOf(filter: Record<string, unknown>): object | null | undefined {
  if (Object.keys(filter).length === 0) return null;
  const isOfData = Object.keys(filter).every((name) => name === "data");
  return isOfData && isSame(filter) && compileFilter(filter).ok ? filter : undefined;
}

function isSame(value: unknown): boolean {
  if (isScalar(value)) return true;
  if (!isObject(value)) return false;
  return Object.entries(value).every(([name, one]) => {
    if (name === "$in") return Array.isArray(one) && one.every(isScalar);
    return name.startsWith("$") ? SAME.has(name) && isScalar(one) : isSame(one);
  });
}

function isScalar(value: unknown): boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}

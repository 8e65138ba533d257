import { isObject } from "../../core/json/value.ts";
import { keepNumber } from "./numbers.ts";

/** The neutral form of what an import brings along. Each source yields it, and one importer writes it. */

interface Held {
  /** Why it cannot come along, one sentence each: as long as one stands here it is left out. */
  cannot?: readonly string[];
  /** What it comes along without, one sentence each. */
  without?: readonly string[];
}

/** The fields beside `record` are those of the body that makes it, by the public API. */
export interface EventTypeRecord extends Held {
  record: "event_type";
  name: string;
  description?: string | null;
  schema?: object | null;
  example?: object | null;
  group?: string | null;
  archived?: boolean;
}

/** Nothing is made for a consumer: it begins with its first endpoint or event. */
export interface ConsumerRecord extends Held {
  record: "consumer";
  id: string;
  name?: string | null;
}

export interface EndpointRecord extends Held {
  record: "endpoint";
  /** By it the next run knows the endpoint that this one made. */
  id: string;
  /** The address of the service that it was read from. */
  source?: string;
  /** At the old service it gets nothing: it is left out, and that is as it should be. */
  disabled?: boolean;
  consumer_id?: string | null;
  url?: string;
  secret?: string;
  description?: string | null;
  event_types?: readonly string[] | null;
  /** A value of null is not known: whoever knows it puts it in. */
  headers?: Readonly<Record<string, string | null>> | null;
  metadata?: Readonly<Record<string, unknown>> | null;
  kind?: string;
  config?: Readonly<Record<string, unknown>>;
  private_key?: string;
  filter?: object | null;
  transformations?: readonly object[] | null;
  signature_versions?: readonly string[] | null;
  retry?: object | null;
  timeout_seconds?: number | null;
  rate_limit_per_second?: number | null;
  max_concurrency?: number | null;
  ordering?: string | null;
}

export type ImportRecord = EventTypeRecord | ConsumerRecord | EndpointRecord;

const HELD = ["record", "cannot", "without"];

/** What the body of POST /v1/event-types takes of a record. */
export const EVENT_TYPE_FIELDS = ["name", "description", "schema", "example", "group", "archived"] as const;

/** What the body of POST /v1/endpoints takes of a record, but the keys and the metadata. */
export const ENDPOINT_FIELDS = [
  ...(["kind", "config", "url", "description", "consumer_id", "event_types", "filter"] as const),
  ...(["transformations", "headers", "signature_versions", "retry", "timeout_seconds"] as const),
  ...(["rate_limit_per_second", "max_concurrency", "ordering"] as const),
] as const;

const FIELDS: Readonly<Record<string, readonly string[]>> = {
  event_type: EVENT_TYPE_FIELDS,
  consumer: ["id", "name"],
  endpoint: ["id", "source", "disabled", "secret", "private_key", "metadata", ...ENDPOINT_FIELDS],
};

/** Tests of what is read here. What else a record has is for the API to judge. */
const TESTS: Readonly<Record<string, [isRight: (value: unknown) => boolean, expected: string]>> = {
  name: [isText, "a text"],
  id: [isText, "a text"],
  url: [isText, "a text"],
  secret: [isText, "a text"],
  consumer_id: [isText, "a text"],
  source: [isText, "a text"],
  description: [isText, "a text"],
  group: [isText, "a text"],
  kind: [isText, "a text"],
  private_key: [isText, "a text"],
  archived: [(value) => typeof value === "boolean", "true or false"],
  disabled: [(value) => typeof value === "boolean", "true or false"],
  event_types: [isTexts, "a list of texts"],
  cannot: [isTexts, "a list of texts"],
  without: [isTexts, "a list of texts"],
  headers: [
    (value) => isObject(value) && Object.values(value).every((one) => one === null || isText(one)),
    "an object of texts",
  ],
  metadata: [isObject, "an object"],
  schema: [isObject, "an object"],
  config: [isObject, "an object"],
};

const REQUIRED: Readonly<Record<string, string>> = { event_type: "name", consumer: "id", endpoint: "id" };

/** The record that a line holds, or a sentence that says what is wrong with it. */
export function readRecord(line: string): ImportRecord | string {
  let value: unknown;
  try {
    value = JSON.parse(line, keepNumber);
  } catch {
    return "this is not JSON";
  }
  if (!isObject(value)) return "this is no object";
  return faultOf(value) ?? (value as unknown as ImportRecord);
}

/** What is wrong with an object that claims to be a record, as a sentence; null: nothing. */
export function faultOf(value: Readonly<Record<string, unknown>>): string | null {
  const kind = value["record"];
  const fields = typeof kind === "string" && Object.hasOwn(FIELDS, kind) ? FIELDS[kind] : undefined;
  if (typeof kind !== "string" || fields === undefined)
    return "record must be event_type, consumer or endpoint";
  const unknown = Object.keys(value).find((name) => !fields.includes(name) && !HELD.includes(name));
  if (unknown !== undefined) return `${unknown} is no field of ${kind}`;
  const required = REQUIRED[kind] ?? "";
  if (value[required] === undefined || value[required] === "") return `${required} is missing`;
  for (const [name, [isRight, expected]] of Object.entries(TESTS)) {
    const isOptional = name !== required && (value[name] === undefined || value[name] === null);
    if (!isOptional && name in value && !isRight(value[name])) return `${name} must be ${expected}`;
  }
  return null;
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every(isText);
}

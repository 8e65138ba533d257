/** What the method of each operation is made of, in any language. */
import {
  type Asked,
  type Document,
  operationsOf,
  type Parameter,
  parametersOf,
  type Schema,
  sharedOf,
  successesOf,
} from "./document.ts";
import { capitalized, type Name, nameOf } from "./names.ts";
import type { Repeats } from "../typescript/src/retries.ts";

/** The call's own key: an option of each call, and made by the client. */
const KEY = "Idempotency-Key";
/** Asks for another form of the answer than the method's type says. */
export const FORMAT = "format";

export interface Method {
  asked: Asked;
  name: Name;
  ids: Parameter[];
  query: Parameter[];
  headers: Parameter[];
  repeats: Repeats;
  isKeyed: boolean;
  isOpen: boolean;
  hasFormat: boolean;
  /** The bodies of its successes; null where one has none. */
  successes: (Schema | null)[];
  /** Of a list: what its pages hold. */
  entry: Schema | undefined;
}

/** The methods of each resource. */
export function methodsOf(document: Document): Map<string, Method[]> {
  const all = operationsOf(document).map((asked) => methodOf(document, asked));
  return Map.groupBy(all, ({ name }) => name.resource);
}

/** Apart from the names of the document's schemas, such as `Project`. */
export function classOf(resource: string): string {
  return `${capitalized(resource)}Calls`;
}

function methodOf(document: Document, asked: Asked): Method {
  const { operation, path } = asked;
  const parameters = parametersOf(document, operation);
  const within = (place: Parameter["in"]) =>
    parameters.filter((one) => one.in === place && one.name !== KEY && one.name !== FORMAT);
  const query = within("query");
  const successes = successesOf(operation);
  // A poller's cursor acknowledges what was read: it is never sent by itself.
  const isPaged = query.some(({ name }) => name === "cursor") && !path.startsWith("/poll/");
  const isKeyed = parameters.some(({ name }) => name === KEY);
  return {
    asked,
    name: nameOf(operation),
    ids: within("path"),
    query,
    headers: within("header"),
    repeats: repeatsOf(asked, isKeyed),
    isKeyed,
    isOpen: operation.security.length === 0,
    hasFormat: parameters.some(({ name }) => name === FORMAT),
    successes,
    entry: isPaged ? entryOf(document, successes) : undefined,
  };
}

function entryOf(document: Document, successes: readonly (Schema | null)[]): Schema | undefined {
  const pages = successes.map((schema) => sharedOf(document, schema ?? {}).properties ?? {});
  return pages.find((members) => "next_cursor" in members)?.["data"]?.items;
}

/** The words of the document about the operation, a line each. */
export function commentOf({ asked: { method, path, operation } }: Method): string[] {
  return [`${operation.summary}.`, "", ...(operation.description ?? "").split("\n"), "", `${method} ${path}`];
}

/** `sealpost-durability` → `durability`. */
export function optionOf(header: string): string {
  return header.replace("sealpost-", "");
}

/** Whether its body is sent as it is. */
export function isRaw({ asked }: Method): boolean {
  const { content = {} } = asked.operation.requestBody ?? {};
  return !("application/json" in content);
}

/**
 * A DELETE that answers 204 deletes what has this id, and a PATCH sets members to what it says: both leave
 * the same when they are made twice. A DELETE that answers more begins something. A name, unlike an id, may
 * mean something new by the second time.
 */
function repeatsOf({ method, path, operation }: Asked, isKeyed: boolean): Repeats {
  if (isKeyed) return "key";
  const deletesOnce = method === "DELETE" && "204" in operation.responses && path.endsWith("/{id}");
  return method === "GET" || method === "PATCH" || deletesOnce ? "idempotent" : "never";
}

/**
 * The method of each operation, as TypeScript. Its types are those that the generator makes of the document.
 */
import {
  type Asked,
  type Document,
  operationsOf,
  type Parameter,
  parametersOf,
  successesOf,
} from "./document.ts";
import { capitalized, type Name, nameOf } from "./names.ts";
import type { Repeats } from "../src/retries.ts";

/** The call's own key: an option of each call, and made by the client. */
const KEY = "Idempotency-Key";
/** Asks for another form of the answer than the method's type says. */
const FORMAT = "format";

/** What a method is made of. */
interface Parts {
  asked: Asked;
  name: Name;
  /** In front of the names that the generator gives to the operation's types. */
  types: string;
  ids: Parameter[];
  query: Parameter[];
  headers: Parameter[];
  isKeyed: boolean;
  isList: boolean;
  isEmpty: boolean;
  hasFormat: boolean;
}

/** The file with a class for each resource and the client that holds them all. */
export function writeIndex(document: Document): string {
  const all = operationsOf(document).map((asked) => partsOf(document, asked));
  const resources = Map.groupBy(all, ({ name }) => name.resource);
  const classes = [...resources].map(([resource, methods]) => writeClass(resource, methods));
  return `import { Calls, type CallOptions, type KeyedOptions, type Settings } from "./calls.ts";
import { List } from "./list.ts";
import type * as types from "./types.gen.ts";

export { ApiError, ConflictError, ConnectionError, InvalidRequestError } from "./errors.ts";
export { NotFoundError, RateLimitError, type RequestFault, SealpostError } from "./errors.ts";
export { List, type PageOf } from "./list.ts";
export type { Bounds, CallOptions, JsonFormat, KeyedOptions, Settings } from "./calls.ts";
export type * from "./types.gen.ts";

${classes.join("\n")}
/** All calls of an installation of Sealpost, by their resources. */
export class Sealpost {
${[...resources.keys()].map((name) => `  readonly ${name}: ${classOf(name)};\n`).join("")}
  constructor(settings: Settings) {
    const calls = new Calls(settings);
${[...resources.keys()].map((name) => `    this.${name} = new ${classOf(name)}(calls);\n`).join("")}  }
}
`;
}

/** Apart from the names of the document's schemas, such as `Project`. */
function classOf(resource: string): string {
  return `${capitalized(resource)}Calls`;
}

function partsOf(document: Document, asked: Asked): Parts {
  const { operation } = asked;
  const parameters = parametersOf(document, operation);
  const within = (place: Parameter["in"]) =>
    parameters.filter((one) => one.in === place && one.name !== KEY && one.name !== FORMAT);
  const query = within("query");
  const successes = successesOf(document, operation);
  const isPage = successes.some(
    ([, { properties = {} }]) => "data" in properties && "next_cursor" in properties,
  );
  return {
    asked,
    name: nameOf(operation),
    types: `types.${capitalized(operation.operationId)}`,
    ids: within("path"),
    query,
    headers: within("header"),
    isKeyed: parameters.some(({ name }) => name === KEY),
    // A poller's cursor acknowledges what was read: it is never sent by itself.
    isList: isPage && query.some(({ name }) => name === "cursor") && !asked.path.startsWith("/poll/"),
    isEmpty: successes.length === 0,
    hasFormat: parameters.some(({ name }) => name === FORMAT),
  };
}

function writeClass(resource: string, methods: readonly Parts[]): string {
  return `class ${classOf(resource)} {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }
${methods.map(writeMethod).join("")}}
`;
}

function writeMethod(parts: Parts): string {
  const { name, types, isList, isEmpty } = parts;
  const answer = isEmpty ? "void" : `${types}Response`;
  const items = `${answer}["data"][number], ${answer}`;
  const made = isList ? `List<${items}>` : `Promise<${answer}>`;
  const call = isList ? `list<${items}>` : `ask<${answer}>`;
  return `
${writeComment(parts)}
  ${name.method}(${writeParameters(parts).join(", ")}): ${made} {
    return this.#calls.${call}({ ${writeCall(parts).join(", ")} });
  }
`;
}

function writeComment({ asked: { method, path, operation } }: Parts): string {
  const lines = [
    `${operation.summary}.`,
    "",
    ...(operation.description ?? "").split("\n"),
    "",
    `${method} ${path}`,
  ];
  const text = lines.map((line) => `   * ${line.replaceAll("*/", "*\\/")}`.trimEnd());
  return ["  /**", ...text, "   */"].join("\n");
}

/** The ids, then the body, else the query, then the options. */
function writeParameters(parts: Parts): string[] {
  const { ids, types, query, hasFormat } = parts;
  const { requestBody } = parts.asked.operation;
  const written = ids.map(({ name }) => `${name}: string`);
  if (requestBody !== undefined) {
    const type = isRaw(parts) ? "string | Uint8Array | Blob" : `NonNullable<${types}Data["body"]>`;
    written.push(`body${requestBody.required === true ? "" : "?"}: ${type}`);
  } else if (query.length > 0) {
    const type = `NonNullable<${types}Data["query"]>`;
    const mark = query.some(({ required }) => required === true) ? "" : "?";
    written.push(`query${mark}: ${hasFormat ? `Omit<${type}, "${FORMAT}">` : type}`);
  }
  return [...written, `options?: ${writeOptions(parts)}`];
}

/** What stands in the query or in headers beside a body is an option. */
function writeOptions({ asked, types, query, headers, isKeyed }: Parts): string {
  const own = headers.map(
    ({ name }) => `${optionOf(name)}?: NonNullable<${types}Data["headers"]>["${name}"]`,
  );
  if (asked.operation.requestBody !== undefined)
    own.push(...query.map(({ name }) => `${name}?: NonNullable<${types}Data["query"]>["${name}"]`));
  const base = isKeyed ? "KeyedOptions" : "CallOptions";
  return own.length === 0 ? base : `${base} & { ${own.join("; ")} }`;
}

/** `sealpost-durability` → `durability`. */
function optionOf(header: string): string {
  return header.replace("sealpost-", "");
}

function isRaw({ asked }: Parts): boolean {
  const { content = {} } = asked.operation.requestBody ?? {};
  return !("application/json" in content);
}

function writeCall(parts: Parts): string[] {
  const { asked, ids, query, headers } = parts;
  const { requestBody, security } = asked.operation;
  const written = [
    `method: "${asked.method}"`,
    `path: "${asked.path}"`,
    `ids: [${ids.map(({ name }) => name).join(", ")}]`,
    `repeats: "${repeatsOf(parts)}"`,
  ];
  if (requestBody !== undefined) written.push("body");
  if (requestBody !== undefined && isRaw(parts)) written.push("isRaw: true");
  if (security.length === 0) written.push("isOpen: true");
  if (query.length > 0) {
    const own = query.map(({ name }) => `${name}: options?.${name}`).join(", ");
    written.push(requestBody === undefined ? "query" : `query: { ${own} }`);
  }
  if (headers.length > 0)
    written.push(
      `headers: { ${headers.map(({ name }) => `"${name}": options?.${optionOf(name)}`).join(", ")} }`,
    );
  return [...written, "options"];
}

/**
 * A DELETE that answers 204 deletes what has this id, and a PATCH sets members to what it says: both leave
 * the same when they are made twice. A DELETE that answers more begins something. A name, unlike an id, may
 * mean something new by the second time.
 */
function repeatsOf({ asked: { method, path, operation }, isKeyed }: Parts): Repeats {
  if (isKeyed) return "key";
  const deletesOnce = method === "DELETE" && "204" in operation.responses && path.endsWith("/{id}");
  return method === "GET" || method === "PATCH" || deletesOnce ? "idempotent" : "never";
}

/**
 * The method of each operation, as TypeScript. Its types are those that the generator makes of the document.
 */
import type { Document } from "./document.ts";
import { classOf, commentOf, FORMAT, isRaw, type Method, methodsOf, optionOf } from "./methods.ts";
import { capitalized } from "./names.ts";

/** The file with a class for each resource and the client that holds them all. */
export function writeIndex(document: Document): string {
  const resources = methodsOf(document);
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

function writeClass(resource: string, methods: readonly Method[]): string {
  return `class ${classOf(resource)} {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }
${methods.map(writeMethod).join("")}}
`;
}

function writeMethod(method: Method): string {
  const { name, entry, successes } = method;
  const answer = successes.every((schema) => schema === null) ? "void" : `${typesOf(method)}Response`;
  const items = `${answer}["data"][number], ${answer}`;
  const made = entry ? `List<${items}>` : `Promise<${answer}>`;
  const call = entry ? `list<${items}>` : `ask<${answer}>`;
  return `
${writeComment(method)}
  ${name.method}(${writeParameters(method).join(", ")}): ${made} {
    return this.#calls.${call}({ ${writeCall(method).join(", ")} });
  }
`;
}

function writeComment(method: Method): string {
  const text = commentOf(method).map((line) => `   * ${line.replaceAll("*/", "*\\/")}`.trimEnd());
  return ["  /**", ...text, "   */"].join("\n");
}

/** In front of the names that the generator gives to the operation's types. */
function typesOf({ asked }: Method): string {
  return `types.${capitalized(asked.operation.operationId)}`;
}

/** The ids, then the body, else the query, then the options. */
function writeParameters(method: Method): string[] {
  const { ids, query, hasFormat } = method;
  const types = typesOf(method);
  const { requestBody } = method.asked.operation;
  const written = ids.map(({ name }) => `${name}: string`);
  if (requestBody !== undefined) {
    const type = isRaw(method) ? "string | Uint8Array | Blob" : `NonNullable<${types}Data["body"]>`;
    written.push(`body${requestBody.required === true ? "" : "?"}: ${type}`);
  } else if (query.length > 0) {
    const type = `NonNullable<${types}Data["query"]>`;
    const mark = query.some(({ required }) => required === true) ? "" : "?";
    written.push(`query${mark}: ${hasFormat ? `Omit<${type}, "${FORMAT}">` : type}`);
  }
  return [...written, `options?: ${writeOptions(method)}`];
}

/** What stands in the query or in headers beside a body is an option. */
function writeOptions(method: Method): string {
  const { asked, query, headers, isKeyed } = method;
  const types = typesOf(method);
  const own = headers.map(
    ({ name }) => `${optionOf(name)}?: NonNullable<${types}Data["headers"]>["${name}"]`,
  );
  if (asked.operation.requestBody !== undefined)
    own.push(...query.map(({ name }) => `${name}?: NonNullable<${types}Data["query"]>["${name}"]`));
  const base = isKeyed ? "KeyedOptions" : "CallOptions";
  return own.length === 0 ? base : `${base} & { ${own.join("; ")} }`;
}

function writeCall(method: Method): string[] {
  const { asked, ids, query, headers, repeats, isOpen } = method;
  const { requestBody } = asked.operation;
  const written = [
    `method: "${asked.method}"`,
    `path: "${asked.path}"`,
    `ids: [${ids.map(({ name }) => name).join(", ")}]`,
    `repeats: "${repeats}"`,
  ];
  if (requestBody !== undefined) written.push("body");
  if (requestBody !== undefined && isRaw(method)) written.push("isRaw: true");
  if (isOpen) written.push("isOpen: true");
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

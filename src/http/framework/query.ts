import type { TObject, TSchema } from "@sinclair/typebox";
import { type Fault, FAULTS_MAX } from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";
import { hasLongQuery } from "../../core/long-query.ts";
import { compileValidator } from "./validate.ts";

interface QueryResult {
  values: Readonly<Record<string, unknown>>;
  faults: readonly Fault[];
}

/** Reads and checks the query string of a request's URL. */
export type QueryReader = (url: string) => QueryResult;

const NOTHING: QueryResult = { values: {}, faults: [] };
const LONG: Fault = {
  pointer: "",
  detail: `Expected a query of at most ${limit("queryPartsMax")} parameters and ${limit("queryLengthMax")} characters.`,
};

/** Compiles the parameters of a route; an unknown or repeated parameter is a fault. */
export function compileQuery(schema: TObject): QueryReader {
  const validate = compileValidator(schema, "parameter");
  const nothing = validate({}).length === 0 ? NOTHING : null;
  return (url) => {
    const mark = url.indexOf("?");
    if (mark === -1 && nothing) return nothing;
    if (hasLongQuery(url)) return { values: {}, faults: [LONG] };
    const { values, faults } = readParameters(mark === -1 ? "" : url.slice(mark + 1), schema);
    return { values, faults: [...faults, ...validate(values).map(namedAfterParameter)] };
  };
}

function readParameters(
  query: string,
  schema: TObject,
): { values: Record<string, unknown>; faults: Fault[] } {
  const values: Record<string, unknown> = Object.create(null);
  const faults: Fault[] = [];
  for (const part of query.split("&")) {
    if (part === "") continue;
    // No more of them are told.
    if (faults.length === FAULTS_MAX) break;
    const mark = part.indexOf("=");
    const rawName = mark === -1 ? part : part.slice(0, mark);
    const name = decode(rawName);
    const text = mark === -1 ? "" : decode(part.slice(mark + 1));
    if (name === null || text === null) {
      faults.push({ pointer: name ?? rawName, detail: "This is not valid percent-encoding of UTF-8." });
    } else if (name in values) {
      faults.push({ pointer: name, detail: "This parameter may stand once only." });
    } else {
      values[name] = decodeAs(schema.properties[name], text);
    }
  }
  return { values, faults };
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return null;
  }
}

/**
 * The value that the text spells for this schema; the text itself where it spells none, so that validation
 * says so.
 */
function decodeAs(schema: TSchema | undefined, text: string): unknown {
  if (schema?.type === "integer" && /^(0|-?[1-9]\d{0,14})$/.test(text)) return Number(text);
  if (schema?.type === "boolean" && (text === "true" || text === "false")) return text === "true";
  return text;
}

/** A fault of a parameter carries its name, not a JSON Pointer. */
function namedAfterParameter(fault: Fault): Fault {
  const pointer = fault.pointer.slice(1).replaceAll("~1", "/").replaceAll("~0", "~");
  return { pointer, detail: fault.detail };
}

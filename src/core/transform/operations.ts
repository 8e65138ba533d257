import type { Budget } from "../structures/budget.ts";
import type { Fault } from "../errors.ts";
import { childPointer, isObject, type Json, type JsonObject } from "../json/value.ts";
import { limit } from "../limits.ts";
import { parsePath, type Path, valueAt } from "./path.ts";
import { omitFrom, pickFrom, treeOf } from "./pick.ts";
import { removeAt, setAt } from "./set.ts";

/** What an attempt sends, or why it cannot be rendered: one sentence for the attempt's `malformed`. */
export type Transformed = { ok: true; body: Json } | { ok: false; reason: string };

/** One operation, ready to run. Takes what it copies from the budget, and stops where that is used up. */
export type Step = (body: Json, budget: Budget) => Transformed;

/** One operation as it was written, while it is compiled. */
interface Operation {
  source: JsonObject;
  pointer: string;
  faults: Fault[];
}

interface OperationKind {
  fields: readonly string[];
  compile(operation: Operation): Step;
}

const PATHS_MAX = limit("pathsMax");

/** The operations by name, each with the fields that it takes. */
export const OPERATIONS: ReadonlyMap<string, OperationKind> = new Map([
  ["pick", { fields: ["paths"], compile: compilePick }],
  ["omit", { fields: ["paths"], compile: compileOmit }],
  ["rename", { fields: ["from", "to"], compile: compileRename }],
  ["set", { fields: ["path", "value"], compile: compileSet }],
  ["unwrap", { fields: ["path"], compile: compileUnwrap }],
  ["wrap", { fields: ["key"], compile: compileWrap }],
]);

function compilePick(operation: Operation): Step {
  const trees = [treeOf(readPaths(operation))];
  return (body, budget) => done(pickFrom(body, trees, budget) ?? {});
}

function compileOmit(operation: Operation): Step {
  const trees = [treeOf(readPaths(operation))];
  return (body, budget) => done(omitFrom(body, trees, budget) ?? {});
}

function compileRename(operation: Operation): Step {
  const from = readPath(operation, "from");
  const to = readPath(operation, "to");
  const startsAlike = from.length > 0 && from.every((name, index) => name === to[index]);
  if (startsAlike && to.length > from.length)
    refuse(operation, ["to"], "A value cannot be moved into itself.");
  const isSame = startsAlike && to.length === from.length;
  return (body, budget) => {
    const value = isSame ? undefined : valueAt(body, from);
    return value === undefined ? done(body) : set(removeAt(body, from, budget), to, value, budget);
  };
}

function compileSet(operation: Operation): Step {
  const path = readPath(operation, "path");
  const value = operation.source.value;
  if (value === undefined) refuse(operation, ["value"], "set needs the value to set; null is a value.");
  return (body, budget) => set(body, path, value ?? null, budget);
}

function set(body: Json, path: Path, value: Json, budget: Budget): Transformed {
  const result = setAt(body, path, value, budget);
  if (result !== undefined) return done(result);
  return failed(`${path.join(".")} meets an array where it has a name or an index beyond the end`);
}

function compileUnwrap(operation: Operation): Step {
  const path = readPath(operation, "path");
  return (body) => {
    const value = valueAt(body, path);
    if (isObject(value)) return done(value);
    return failed(`the value at ${path.join(".")} is ${value === undefined ? "missing" : "not an object"}`);
  };
}

function compileWrap(operation: Operation): Step {
  const { key } = operation.source;
  if (typeof key === "string" && key !== "") return (body) => done({ [key]: body });
  refuse(operation, ["key"], "wrap needs a key, the name of the one field.");
  return done;
}

function done(body: Json): Transformed {
  return { ok: true, body };
}

function failed(reason: string): Transformed {
  return { ok: false, reason };
}

function readPaths(operation: Operation): Path[] {
  const paths = operation.source.paths;
  if (!Array.isArray(paths) || paths.length === 0 || paths.length > PATHS_MAX) {
    refuse(operation, ["paths"], `"paths" is a list of 1 to ${PATHS_MAX} paths.`);
    return [];
  }
  return paths.map((path, index) => parseAt(operation, ["paths", index], path, true));
}

function readPath(operation: Operation, field: string): Path {
  return parseAt(operation, [field], operation.source[field], false);
}

function parseAt(
  operation: Operation,
  place: (string | number)[],
  source: unknown,
  wildcards: boolean,
): Path {
  const parsed = parsePath(source, wildcards);
  if (parsed.ok) return parsed.path;
  refuse(operation, place, parsed.detail);
  return [];
}

/** Notes a fault of the operation; what is compiled on never runs. */
function refuse(operation: Operation, place: (string | number)[], detail: string): void {
  operation.faults.push({ pointer: place.reduce(childPointer, operation.pointer), detail });
}

import type { Budget } from "../structures/budget.ts";
import { isObject, type Json } from "../json/value.ts";
import { childOf, indexIn, type Path } from "./path.ts";

/** Steps for each field of an object that is copied; an element of a list costs one. */
const FIELD_STEPS = 8;

/**
 * The document with `value` at the path, making objects on the way; a scalar or null on the way is replaced.
 * What is not on the way is shared with the input. Undefined where the path meets an array by a name or by an
 * index beyond its end.
 */
export function setAt(body: Json | undefined, path: Path, value: Json, budget: Budget): Json | undefined {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  if (Array.isArray(body) && indexIn(body, name) < 0) return undefined;
  const child = setAt(childOf(body, name), rest, value, budget);
  return child === undefined ? undefined : withChild(body, name, child, budget);
}

/** The document without what stands at the path, if anything does; the elements of an array close up. */
export function removeAt(body: Json, path: Path, budget: Budget): Json {
  const [name, ...rest] = path;
  const child = name === undefined ? undefined : childOf(body, name);
  if (name === undefined || child === undefined) return body;
  if (rest.length === 0) return withoutChild(body, name, budget);
  return withChild(body, name, removeAt(child, rest, budget), budget);
}

/** Computed keys and spread define own fields, so that a field `__proto__` stays a field. */
function withChild(body: Json | undefined, name: string, child: Json, budget: Budget): Json {
  if (Array.isArray(body)) {
    budget.stepsLeft -= body.length;
    return body.with(indexIn(body, name), child);
  }
  const fields = isObject(body) ? body : {};
  budget.stepsLeft -= Object.keys(fields).length * FIELD_STEPS;
  return { ...fields, [name]: child };
}

function withoutChild(body: Json, name: string, budget: Budget): Json {
  if (Array.isArray(body)) {
    budget.stepsLeft -= body.length;
    return body.toSpliced(indexIn(body, name), 1);
  }
  if (!isObject(body)) return body;
  const fields = Object.entries(body);
  budget.stepsLeft -= fields.length * FIELD_STEPS;
  return Object.fromEntries(fields.filter(([field]) => field !== name));
}

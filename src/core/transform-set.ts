import { isJsonObject, type Json } from "./json-value.ts";
import { childOf, indexIn, type Path } from "./transform-path.ts";

/**
 * The document with `value` at the path, making objects on the way; a scalar or null on the way is replaced. What is not on
 * the way is shared with the input. Undefined where the path meets an array by a name or by an index beyond its end.
 */
export function setAt(body: Json | undefined, path: Path, value: Json): Json | undefined {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  if (Array.isArray(body) && indexIn(body, name) < 0) return undefined;
  const child = setAt(childOf(body, name), rest, value);
  return child === undefined ? undefined : withChild(body, name, child);
}

/** The document without what stands at the path, if anything does; the elements of an array close up. */
export function removeAt(body: Json, path: Path): Json {
  const [name, ...rest] = path;
  const child = name === undefined ? undefined : childOf(body, name);
  if (name === undefined || child === undefined) return body;
  return rest.length === 0 ? withoutChild(body, name) : withChild(body, name, removeAt(child, rest));
}

/** Computed keys and spread define own fields, so that a field `__proto__` stays a field. */
function withChild(body: Json | undefined, name: string, child: Json): Json {
  if (Array.isArray(body)) return body.with(indexIn(body, name), child);
  return { ...(isJsonObject(body) ? body : {}), [name]: child };
}

function withoutChild(body: Json, name: string): Json {
  if (Array.isArray(body)) return body.toSpliced(indexIn(body, name), 1);
  if (!isJsonObject(body)) return body;
  return Object.fromEntries(Object.entries(body).filter(([field]) => field !== name));
}

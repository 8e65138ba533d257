import type { Fault } from "../errors.ts";
import { COMBINATORS } from "./operators.ts";
import { childPointer, type Json, type JsonObject } from "../json/value.ts";
import { nearName } from "../near-name.ts";

/** What an envelope has at its top. */
const ENVELOPE = ["type", "timestamp", "data"];

/**
 * What is allowed in a filter and yet hardly meant: a key at the top that no envelope has. A dot in a key is
 * part of the name, so `data.amount` is such a key. Pointers are relative to the filter, which must be one
 * that compiles.
 */
export function filterWarnings(filter: JsonObject, pointer = ""): Fault[] {
  return Object.entries(filter).flatMap(([name, value]) => {
    const place = childPointer(pointer, name);
    if (COMBINATORS.has(name)) return warningsBelow(value, place);
    return ENVELOPE.includes(name) ? [] : [{ pointer: place, detail: warningOf(name) }];
  });
}

/** `$and` and `$or` hold filters, `$not` is one. */
function warningsBelow(value: Json, pointer: string): Fault[] {
  if (!Array.isArray(value)) return filterWarnings(value as JsonObject, pointer);
  return value.flatMap((one, at) => filterWarnings(one as JsonObject, childPointer(pointer, at)));
}

function warningOf(name: string): string {
  const instead = placesFor(name.split(".")).map(writePath).join(" or ");
  return `No event has ${JSON.stringify(name)} at its top, only type, timestamp and data: write ${instead}.`;
}

/**
 * Where the field may have been looked for: `data.amount` and `amount` mean the same, and `dta` may
 * be either.
 */
function placesFor(path: readonly string[]): string[][] {
  const [first = "", ...rest] = path;
  if (ENVELOPE.includes(first)) return [[...path]];
  const near = nearName(first, ENVELOPE);
  return [...(near === null ? [] : [[near, ...rest]]), ["data", ...path]];
}

/** `{"data": {"amount": …}}`. */
function writePath(path: readonly string[]): string {
  return path.reduceRight((inner, name) => `{${JSON.stringify(name)}: ${inner}}`, "…");
}

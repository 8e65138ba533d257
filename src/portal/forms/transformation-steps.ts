import { isObject, type Json } from "../../core/json/value.ts";
import { readValue, writeValue } from "./filter-rows.ts";

/**
 * Transformations as steps of an operation and its fields, and back: whatever the list is, it comes back as
 * it was. What a step cannot show holds its JSON.
 */
export const OPERATIONS = ["pick", "omit", "rename", "set", "unwrap", "wrap"] as const;
export type Operation = (typeof OPERATIONS)[number];

export interface Step {
  op: Operation | "json";
  /** As they are typed: the paths of `pick` and `omit`, and for the others what SLOTS names. */
  fields: readonly string[];
  /** Of a `json` step. */
  kept?: Json;
}

/** What an operation takes, by the names of its JSON; that of `set` is any JSON. */
export const SLOTS = {
  rename: ["from", "to"],
  set: ["path", "value"],
  unwrap: ["path"],
  wrap: ["key"],
} as const satisfies Partial<Record<Operation, readonly string[]>>;

export function isList(op: Operation): op is "pick" | "omit" {
  return op === "pick" || op === "omit";
}

export function toSteps(list: readonly Json[]): Step[] {
  return list.map((value) => {
    const step = read(value);
    const isSame = step !== null && JSON.stringify(toOperation(step)) === JSON.stringify([value]);
    return isSame ? step : { op: "json", fields: [], kept: value };
  });
}

/** Without those that are not complete yet. */
export function toTransformations(steps: readonly Step[]): Json[] {
  return steps.flatMap((step) => toOperation(step) ?? []);
}

/**
 * null: something is to be entered still. A list is wrapped, as it may be an operation that only JSON shows.
 */
export function toOperation({ op, fields, kept = null }: Step): [Json] | null {
  if (op === "json") return [kept];
  if (isList(op)) {
    const paths = fields.filter((path) => path !== "");
    return paths.length === 0 ? null : [{ op, paths }];
  }
  const slots = SLOTS[op].map((name, at) => [name, fields[at] ?? ""] as const);
  if (slots.some(([, text]) => text === "")) return null;
  const values = slots.map(([name, text]) => [name, name === "value" ? readValue(text, "is") : text]);
  return [{ op, ...(Object.fromEntries(values) as Record<string, Json>) }];
}

function read(value: Json): Step | null {
  if (!isObject(value)) return null;
  const op = OPERATIONS.find((one) => one === value["op"]);
  if (op === undefined) return null;
  if (isList(op)) return Array.isArray(value["paths"]) ? { op, fields: value["paths"].map(textOf) } : null;
  const texts = SLOTS[op].map((name) => {
    const given = value[name] ?? null;
    // Nothing typed is nothing yet: an empty text is written with its quotes.
    return name === "value" ? writeValue(given, "is") || '""' : textOf(given);
  });
  return { op, fields: texts };
}

/** What is no text stays JSON, as this does not give it back. */
function textOf(value: Json): string {
  return typeof value === "string" ? value : "";
}

/** The same step under another operation: what was typed stays, as far as there is room. */
export function turnInto({ fields }: Step, op: Operation): Step {
  if (isList(op)) return { op, fields: fields.length === 0 ? [""] : fields };
  return { op, fields: SLOTS[op].map((_name, at) => fields[at] ?? "") };
}

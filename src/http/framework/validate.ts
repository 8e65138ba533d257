import { Kind, type TProperties, type TSchema } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { type ValueError, ValueErrorType } from "@sinclair/typebox/errors";
import { type Fault, FAULTS_MAX, FIELD_NAME_MAX } from "../../core/errors.ts";
import { childPointer, isObject } from "../../core/json/value.ts";

/** What a member of the value is called where it is missing or unknown. */
type Noun = "field" | "parameter";

/**
 * Tells the faults of a value, each with its JSON Pointer: all, or only those of lists and objects that are
 * too long, and of lists that have an entry twice.
 */
export type Validator = (value: unknown) => Fault[];

/**
 * Compiles a schema once. Throws where an object of it would let unknown fields pass, or each of any number
 * of fields or entries would be asked something.
 */
export function compileValidator(schema: TSchema, noun: Noun = "field"): Validator {
  requireBounds(schema);
  const hashless = withoutUnique(schema);
  const check = TypeCompiler.Compile(hashless);
  return (value) => {
    const isRight = check.Check(value);
    if (isRight && hashless === schema) return [];
    const ofLists: Fault[] = [];
    addOfLists(schema, value, "", ofLists);
    return isRight || ofLists.length > 0 ? ofLists : collectFaults(check.Errors(value), noun);
  };
}

/**
 * The schema without the `uniqueItems` of what `addOfLists` looks at, itself where there are none: TypeBox
 * hashes each byte of each entry in BigInt.
 */
function withoutUnique(schema: TSchema): TSchema {
  const parts: Record<string, unknown> = {};
  const only = onlyVariant(schema);
  if (only !== null) {
    const loose = withoutUnique(only);
    const variants = schema.anyOf as TSchema[];
    if (loose !== only) parts["anyOf"] = variants.map((variant) => (variant === only ? loose : variant));
  }
  if (schema.type === "array") {
    const loose = withoutUnique(schema.items as TSchema);
    if (loose !== schema.items) parts["items"] = loose;
    if (schema.uniqueItems) Object.assign(parts, { uniqueItems: false, isToldApart: true });
  }
  const fields = Object.entries((schema.properties as TProperties | undefined) ?? {});
  const loose = fields.map(([name, field]) => [name, withoutUnique(field)] as const);
  if (loose.some(([, field], at) => field !== fields[at]?.[1]))
    parts["properties"] = Object.fromEntries(loose);
  return Object.keys(parts).length === 0 ? schema : { ...schema, ...parts };
}

/** The variant besides null, where there is one alone. */
function onlyVariant(schema: TSchema): TSchema | null {
  const [only, ...others] = ((schema.anyOf ?? []) as TSchema[]).filter(({ type }) => type !== "null");
  return only !== undefined && others.length === 0 ? only : null;
}

/**
 * Notes the lists and objects that are longer than they may be, before anything else is asked of them, as
 * `Errors` goes through all of such a list; and the lists that have an entry twice and may not.
 */
function addOfLists(schema: TSchema, value: unknown, pointer: string, faults: Fault[]): void {
  const only = onlyVariant(schema);
  if (only !== null) addOfLists(only, value, pointer, faults);
  if (Array.isArray(value) && schema.type === "array" && schema.maxItems !== undefined) {
    const isTooLong = value.length > schema.maxItems;
    if (isTooLong || (schema.uniqueItems && new Set(value).size < value.length))
      faults.push({ pointer, detail: `Expected ${expectation(schema, value)}.` });
    else
      for (const [at, element] of value.entries())
        addOfLists(schema.items as TSchema, element, childPointer(pointer, at), faults);
  } else if (isObject(value)) {
    if (schema.maxProperties !== undefined && Object.keys(value).length > schema.maxProperties)
      faults.push({ pointer, detail: `Expected ${expectation(schema, value)}.` });
    for (const [name, part] of Object.entries((schema.properties as TProperties | undefined) ?? {}))
      if (Object.hasOwn(value, name)) addOfLists(part, value[name], childPointer(pointer, name), faults);
  }
}

function requireBounds(schema: unknown): void {
  if (typeof schema !== "object" || schema === null) return;
  if (Kind in schema && "type" in schema) requireBound(schema);
  for (const part of Object.values(schema)) requireBounds(part);
}

/** The keywords that bound a list or an object. */
type Bounds = Partial<
  Record<"maxItems" | "maxProperties" | "additionalProperties" | "patternProperties", unknown>
>;

function requireBound(schema: { type: unknown } & Bounds): void {
  const { additionalProperties: others } = schema;
  if (schema.type === "array" && schema.maxItems === undefined)
    throw new Error("Every list of a request schema needs `maxItems`.");
  if (schema.type !== "object") return;
  if (others === undefined) throw new Error("Every object of a request schema needs `additionalProperties`.");
  const isEachAsked = typeof others === "object" || schema.patternProperties !== undefined;
  if (isEachAsked && schema.maxProperties === undefined)
    throw new Error("Every object of a request schema whose fields may have any name needs `maxProperties`.");
}

/** One fault per place, the first that was found. */
function collectFaults(errors: Iterable<ValueError>, noun: Noun): Fault[] {
  const faults = new Map<string, Fault>();
  for (const error of flattened(errors)) {
    const fault = describeError(error, noun);
    if (!faults.has(fault.pointer)) faults.set(fault.pointer, fault);
    if (faults.size === FAULTS_MAX) break;
  }
  return [...faults.values()];
}

/** Replaces the error of a union by those of the variant that was meant, where one has the right shape. */
function* flattened(errors: Iterable<ValueError>): Generator<ValueError> {
  for (const error of errors) {
    const meant = error.type === ValueErrorType.Union ? meantVariant(error) : null;
    if (meant === null) yield error;
    else yield* flattened(meant);
  }
}

function meantVariant(union: ValueError): ValueError[] | null {
  const variants = union.errors.map((errors) => Iterator.from(errors).take(FAULTS_MAX).toArray());
  const shaped = variants.filter((errors) => errors.every((error) => error.path !== union.path));
  return shaped.toSorted((a, b) => a.length - b.length)[0] ?? null;
}

function describeError(error: ValueError, noun: Noun): Fault {
  if (error.type === ValueErrorType.ObjectRequiredProperty) {
    return { pointer: error.path, detail: `This ${noun} is required.` };
  }
  if (error.type !== ValueErrorType.ObjectAdditionalProperties) {
    return { pointer: error.path, detail: `Expected ${expectation(error.schema, error.value)}.` };
  }
  const cut = error.path.lastIndexOf("/");
  if (error.path.length - cut <= FIELD_NAME_MAX)
    return { pointer: error.path, detail: `There is no such ${noun}.` };
  return { pointer: error.path.slice(0, cut), detail: `This object has a ${noun} that does not exist.` };
}

/**
 * What a schema asks for, in plain words; its own `expected` goes first ("a URL that begins with https"),
 * which may depend on the value.
 */
function expectation(schema: TSchema, value?: unknown): string {
  if (typeof schema.expected === "function") return (schema.expected as (value: unknown) => string)(value);
  if (typeof schema.expected === "string") return schema.expected;
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (Array.isArray(schema.anyOf)) return schema.anyOf.map(expectation).join(" or ");
  switch (schema.type) {
    case "string":
      return `a string${span(schema.minLength, schema.maxLength, "characters")}${matching(schema.pattern)}`;
    case "integer":
      return `a whole number${span(schema.minimum, schema.maximum)}`;
    case "number":
      return `a number${span(schema.minimum, schema.maximum)}`;
    case "boolean":
      return "true or false";
    case "array":
      return `a list${span(schema.minItems, schema.maxItems, "entries")}${schema.uniqueItems || schema["isToldApart"] ? ", none twice" : ""}`;
    case "object":
      return `an object${span(schema.minProperties, schema.maxProperties, "fields")}`;
    default:
      return schema.type === "null" ? "null" : "another value";
  }
}

function matching(pattern: unknown): string {
  return typeof pattern === "string" ? ` that matches ${pattern}` : "";
}

/** " of 1 to 5 entries", " from 1 to 5", " of at most 5 entries", or nothing. */
function span(min: number | undefined, max: number | undefined, unit?: string): string {
  const noun = unit === undefined ? "" : ` ${unit}`;
  if (min !== undefined && max !== undefined)
    return ` ${unit === undefined ? "from" : "of"} ${min} to ${max}${noun}`;
  if (min !== undefined) return ` of at least ${min}${noun}`;
  return max === undefined ? "" : ` of at most ${max}${noun}`;
}

import { excerpt, isObject, type Json, type JsonObject } from "../json/value.ts";
import { stepsToCompare } from "../structures/budget.ts";
import type { Pattern } from "./pattern.ts";
import type { SchemaPart } from "./part.ts";
import { type Check, judge, type Run, type SchemaNode, type Seen } from "./run.ts";

/** The keywords that look at objects. */

export function compileRequired(part: SchemaPart): Check | null {
  const names = part.names(part.get("required"), ["required"]);
  if (names === null) return null;
  return (value, run) => !isObject(value) || hasFields(value, names, run);
}

function hasFields(object: JsonObject, names: readonly string[], run: Run): boolean {
  run.spend(names.length);
  let holds = true;
  for (const name of names) {
    if (!Object.hasOwn(object, name)) holds = run.fail(() => "This field is required.", name);
  }
  return holds;
}

export function compileFieldCount(part: SchemaPart): Check | null {
  const min = part.count("minProperties");
  const max = part.count("maxProperties");
  if (min === null && max === null) return null;
  return (value, run) => {
    if (!isObject(value)) return true;
    const count = namesOf(value, run).length;
    if (min !== null && count < min) return run.fail(() => `The object must have at least ${min} fields.`);
    return max === null || count <= max || run.fail(() => `The object must have at most ${max} fields.`);
  };
}

/** What it takes to list a name, beside looking it up in what is known. */
const NAME_STEPS = 10;

function namesOf(object: JsonObject, run: Run): string[] {
  const names = Object.keys(object);
  for (const name of names) run.spend(NAME_STEPS + stepsToCompare(name.length));
  return names;
}

/** What `properties`, `patternProperties` and `additionalProperties` say together about one object. */
interface FieldRules {
  named: ReadonlyMap<string, SchemaNode>;
  patterned: readonly { pattern: Pattern; node: SchemaNode }[];
  additional: SchemaNode | null;
}

export function compileFields(part: SchemaPart): Check | null {
  const named = part.schemaMap("properties") ?? new Map<string, SchemaNode>();
  const patterned = compilePatternFields(part);
  const additional = part.schema("additionalProperties");
  if (named.size === 0 && patterned.length === 0 && additional === null) return null;
  const rules = { named, patterned, additional };
  return (value, run, seen) => {
    if (!isObject(value)) return true;
    let holds = true;
    for (const name of namesOf(value, run)) {
      holds = judgeField(value, name, rules, run, seen) && holds;
      if (run.isOver || (!holds && run.isQuiet)) break;
    }
    return holds;
  };
}

function compilePatternFields(part: SchemaPart): { pattern: Pattern; node: SchemaNode }[] {
  const rules: { pattern: Pattern; node: SchemaNode }[] = [];
  for (const [source, node] of part.schemaMap("patternProperties") ?? []) {
    const pattern = part.pattern(source, ["patternProperties", source]);
    if (pattern !== null) rules.push({ pattern, node });
  }
  return rules;
}

/** Judges one field by every schema that is for its name, or else by `additionalProperties`. */
function judgeField(
  object: JsonObject,
  name: string,
  rules: FieldRules,
  run: Run,
  seen: Seen | null,
): boolean {
  const value = object[name] ?? null;
  const named = rules.named.get(name);
  let isKnown = named !== undefined;
  let holds = named === undefined || run.descend(named, value, name);
  for (const { pattern, node } of rules.patterned) {
    if (!pattern.foundIn(name, run)) continue;
    isKnown = true;
    holds = run.descend(node, value, name) && holds;
  }
  if (!isKnown && rules.additional === null) return true;
  seen?.names.add(name);
  return isKnown || rules.additional === null ? holds : run.descend(rules.additional, value, name);
}

export function compileFieldNames(part: SchemaPart): Check | null {
  const node = part.schema("propertyNames");
  if (node === null) return null;
  return (value, run) => {
    if (!isObject(value)) return true;
    let holds = true;
    for (const name of namesOf(value, run)) {
      if (run.tries(node, name, null)) continue;
      holds = run.fail(() => `The name ${excerpt(name)} is not allowed here.`, name);
      if (run.isQuiet) break;
    }
    return holds;
  };
}

/** A keyword whose rules each hold where the object has a field of their name. */
function compileDependents(
  part: SchemaPart,
  keyword: string,
  compile: (name: string, rule: Json) => Check,
): Check | null {
  const operand = part.object(keyword);
  if (operand === null) return null;
  const rules = Object.entries(operand).map(([name, rule]) => ({ name, check: compile(name, rule) }));
  return (value, run, seen) => {
    if (!isObject(value)) return true;
    run.spend(rules.length);
    let holds = true;
    for (const { name, check } of rules) {
      if (Object.hasOwn(value, name)) holds = check(value, run, seen) && holds;
    }
    return holds;
  };
}

function dependentNames(part: SchemaPart, keyword: string, name: string, rule: Json): Check {
  const needed = part.names(rule, [keyword, name]) ?? [];
  return (value, run) => !isObject(value) || hasFields(value, needed, run);
}

function dependentSchema(part: SchemaPart, keyword: string, name: string, rule: Json): Check {
  const node = part.schemaAt([keyword, name], rule);
  part.joins([node]);
  return (value, run, seen) => judge(node, value, run, seen);
}

export function compileDependentRequired(part: SchemaPart): Check | null {
  const keyword = "dependentRequired";
  return compileDependents(part, keyword, (name, rule) => dependentNames(part, keyword, name, rule));
}

export function compileDependentSchemas(part: SchemaPart): Check | null {
  const keyword = "dependentSchemas";
  return compileDependents(part, keyword, (name, rule) => dependentSchema(part, keyword, name, rule));
}

/** Draft-07's `dependencies`, names or a schema; 2020-12 keeps it for compatibility. */
export function compileDependencies(part: SchemaPart): Check | null {
  const keyword = "dependencies";
  return compileDependents(part, keyword, (name, rule) => {
    return Array.isArray(rule)
      ? dependentNames(part, keyword, name, rule)
      : dependentSchema(part, keyword, name, rule);
  });
}

export function compileUnevaluatedFields(part: SchemaPart): Check | null {
  const node = part.schema("unevaluatedProperties");
  if (node === null) return null;
  part.node.collects = true;
  return (value, run, seen) => {
    if (!isObject(value) || seen === null) return true;
    let holds = true;
    for (const name of namesOf(value, run)) {
      if (seen.allNames || seen.names.has(name)) continue;
      holds = run.descend(node, value[name] ?? null, name) && holds;
      if (!holds && run.isQuiet) break;
    }
    seen.allNames = true;
    return holds;
  };
}

import type { Json } from "../json/value.ts";
import type { SchemaPart } from "./part.ts";
import { type Check, judge, type Run, type SchemaNode, Seen } from "./run.ts";

/** The keywords that combine schemas of the same value, and those that refer to other schemas. */

export function compileAllOf(part: SchemaPart): Check | null {
  const nodes = part.schemaList("allOf");
  if (nodes === null) return null;
  part.joins(nodes);
  return (value, run, seen) => {
    let holds = true;
    for (const node of nodes) {
      holds = judge(node, value, run, seen) && holds;
      if (!holds && run.isQuiet) break;
    }
    return holds;
  };
}

/** Whether the value would hold; what that evaluated counts only then. */
function triesAlternative(node: SchemaNode, value: Json, run: Run, seen: Seen | null): boolean {
  if (seen === null) return run.tries(node, value, null);
  const collected = new Seen();
  const holds = run.tries(node, value, collected);
  if (holds) seen.merge(collected, run);
  return holds;
}

export function compileAnyOf(part: SchemaPart): Check | null {
  const nodes = part.schemaList("anyOf");
  if (nodes === null) return null;
  part.joins(nodes);
  return (value, run, seen) => {
    let holds = false;
    for (const node of nodes) {
      holds = triesAlternative(node, value, run, seen) || holds;
      if (holds && seen === null) break;
    }
    return holds || run.fail(() => `The value fits none of the ${nodes.length} alternatives of "anyOf".`);
  };
}

export function compileOneOf(part: SchemaPart): Check | null {
  const nodes = part.schemaList("oneOf");
  if (nodes === null) return null;
  part.joins(nodes);
  return (value, run, seen) => {
    let fitting = 0;
    for (const node of nodes) if (triesAlternative(node, value, run, seen)) fitting++;
    return (
      fitting === 1 || run.fail(() => `The value must fit one alternative of "oneOf"; it fits ${fitting}.`)
    );
  };
}

export function compileNot(part: SchemaPart): Check | null {
  const node = part.schema("not");
  if (node === null) return null;
  part.joins([node]);
  return (value, run) =>
    !run.tries(node, value, null) || run.fail(() => 'The value fits what "not" excludes.');
}

export function compileIf(part: SchemaPart): Check | null {
  const condition = part.schema("if");
  const consequence = part.schema("then");
  const alternative = part.schema("else");
  if (condition === null) return null;
  part.joins([condition, consequence, alternative]);
  return (value, run, seen) => {
    const next = triesAlternative(condition, value, run, seen) ? consequence : alternative;
    return next === null || judge(next, value, run, seen);
  };
}

export function compileRef(part: SchemaPart): Check | null {
  const uri = part.text("$ref");
  if (uri === null) return null;
  const reference = part.host.refer(part.node, "$ref", uri);
  return (value, run, seen) => reference.target === null || judge(reference.target, value, run, seen);
}

/**
 * 2020-12: like `$ref`, but the outermost schema on the way here that has the same dynamic anchor is meant.
 */
export function compileDynamicRef(part: SchemaPart): Check | null {
  const uri = part.text("$dynamicRef");
  if (uri === null) return null;
  const reference = part.host.refer(part.node, "$dynamicRef", uri);
  const name = uri.slice(uri.indexOf("#") + 1);
  return (value, run, seen) => {
    const { target } = reference;
    const isDynamic = target?.resource.dynamicAnchors.get(name) === target;
    const outermost = isDynamic ? outermostAnchor(name, run) : null;
    const node = outermost ?? target;
    return node === null || judge(node, value, run, seen);
  };
}

function outermostAnchor(name: string, run: Run): SchemaNode | null {
  run.spend(run.scope.length);
  for (const resource of run.scope) {
    const node = resource.dynamicAnchors.get(name);
    if (node !== undefined) return node;
  }
  return null;
}

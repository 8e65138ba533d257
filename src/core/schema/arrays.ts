import { excerpt, type Json } from "../json/value.ts";
import type { SchemaPart } from "./part.ts";
import type { Check, Run, SchemaNode, Seen } from "./run.ts";
import { ValueSet } from "./value-set.ts";

/** The keywords that look at arrays. */

export function compileItemCount(part: SchemaPart): Check | null {
  const min = part.count("minItems");
  const max = part.count("maxItems");
  if (min === null && max === null) return null;
  return (value, run) => {
    if (!Array.isArray(value)) return true;
    if (min !== null && value.length < min)
      return run.fail(() => `The list must have at least ${min} elements.`);
    return (
      max === null || value.length <= max || run.fail(() => `The list must have at most ${max} elements.`)
    );
  };
}

export function compileUnique(part: SchemaPart): Check | null {
  const operand = part.get("uniqueItems");
  if (operand === undefined || operand === false) return null;
  if (operand !== true) return part.refuse(["uniqueItems"], '"uniqueItems" takes true or false.');
  return (value, run) => {
    if (!Array.isArray(value)) return true;
    const known = new ValueSet();
    for (const element of value) {
      if (run.isOver || !known.add(element, run))
        return run.fail(() => `No two elements may be equal; ${excerpt(element)} is there twice.`);
    }
    return true;
  };
}

/** The schemas of the first elements, one each, and the schema of all that follow. */
function checkElements(first: readonly SchemaNode[], rest: SchemaNode | null): Check | null {
  if (first.length === 0 && rest === null) return null;
  return (value, run, seen) => {
    if (!Array.isArray(value)) return true;
    if (seen !== null) seen.itemsBefore = Math.max(seen.itemsBefore, rest === null ? first.length : Infinity);
    let holds = true;
    // What no schema is for is not walked: that costs no step, and there may be half a million.
    const judged = rest === null ? value.slice(0, first.length) : value;
    for (const [index, element] of judged.entries()) {
      const node = first[index] ?? rest;
      if (node === null || run.descend(node, element, index)) continue;
      holds = false;
      if (run.isQuiet) break;
    }
    return holds;
  };
}

/** 2020-12: `prefixItems` and `items`. */
export function compileItems(part: SchemaPart): Check | null {
  if (Array.isArray(part.get("items"))) {
    return part.refuse(
      ["items"],
      'In 2020-12 "items" is one schema; a list of them is "prefixItems", or say draft-07 in "$schema".',
    );
  }
  return checkElements(part.schemaList("prefixItems") ?? [], part.schema("items"));
}

/** Draft-07: `items`, one schema or a list of them, and `additionalItems` after a list. */
export function compileItemsOfDraft07(part: SchemaPart): Check | null {
  const additional = part.schema("additionalItems");
  const isList = Array.isArray(part.get("items"));
  if (isList) return checkElements(part.schemaList("items") ?? [], additional);
  return checkElements([], part.schema("items"));
}

export function compileContains(part: SchemaPart): Check | null {
  const node = part.schema("contains");
  const isDraft07 = part.host.dialect === "draft-07";
  const min = isDraft07 ? 1 : (part.count("minContains") ?? 1);
  const max = isDraft07 ? null : part.count("maxContains");
  if (node === null) return null;
  return (value, run, seen) => {
    if (!Array.isArray(value)) return true;
    const found = countMatching(value, node, run, seen);
    if (found < min)
      return run.fail(() => `The list must contain at least ${min} fitting elements; it contains ${found}.`);
    return (
      max === null ||
      found <= max ||
      run.fail(() => `The list must contain at most ${max} fitting elements; it contains ${found}.`)
    );
  };
}

function countMatching(array: Json[], node: SchemaNode, run: Run, seen: Seen | null): number {
  let found = 0;
  for (const [index, element] of array.entries()) {
    if (run.isOver) break;
    if (!run.tries(node, element, null)) continue;
    found++;
    seen?.indexes.add(index);
  }
  return found;
}

export function compileUnevaluatedItems(part: SchemaPart): Check | null {
  const node = part.schema("unevaluatedItems");
  if (node === null) return null;
  part.node.collects = true;
  return (value, run, seen) => {
    if (!Array.isArray(value) || seen === null) return true;
    let holds = true;
    for (let index = seen.itemsBefore; index < value.length && !run.isOver; index++) {
      run.spend(1);
      const element = value[index];
      if (element === undefined || seen.indexes.has(index)) continue;
      holds = run.descend(node, element, index) && holds;
      if (!holds && run.isQuiet) break;
    }
    seen.itemsBefore = Infinity;
    return holds;
  };
}

import { type Budget, stepsToCompare } from "../structures/budget.ts";
import { INDEX, isObject, type Json, type JsonObject } from "../json/value.ts";
import { EVERY, type Path } from "./path.ts";

/** Trees that go on below a place. Those of one tree are made once, and not for each value that is met. */
type Trees = readonly PathTree[];

/** Paths with their common beginnings merged, so that one walk over the document serves all of them. */
export interface PathTree {
  /** True where a path ends: the whole value is meant. */
  whole: boolean;
  named: ReadonlyMap<string, Trees>;
  /** Those of `named` that an array's element may have. */
  indexed: ReadonlyMap<number, Trees>;
  /** What follows a `*`. */
  every: Trees;
}

const NO_TREES: Trees = [];
/** Most trees are leaves. */
const NO_NAMES: ReadonlyMap<string, Trees> = new Map();
const NO_INDEXES: ReadonlyMap<number, Trees> = new Map();

function emptyTree(): PathTree {
  return { whole: false, named: NO_NAMES, indexed: NO_INDEXES, every: NO_TREES };
}

/** The map with one more; the empty one is shared, and stays so. */
function withBelow<Key>(map: ReadonlyMap<Key, Trees>, key: Key, below: Trees): ReadonlyMap<Key, Trees> {
  return map.size === 0 ? new Map([[key, below]]) : (map as Map<Key, Trees>).set(key, below);
}

/** Merges the paths of a `pick` or an `omit`. */
export function treeOf(paths: readonly Path[]): PathTree {
  const root = emptyTree();
  for (const path of paths) {
    let tree = root;
    for (const name of path) tree = branch(tree, name);
    tree.whole = true;
  }
  return root;
}

function branch(tree: PathTree, name: string): PathTree {
  const known = (name === EVERY ? tree.every : tree.named.get(name))?.[0];
  if (known !== undefined) return known;
  const next = emptyTree();
  const below = [next];
  if (name === EVERY) tree.every = below;
  else tree.named = withBelow(tree.named, name, below);
  if (INDEX.test(name)) tree.indexed = withBelow(tree.indexed, Number(name), below);
  return next;
}

/**
 * Steps that a list or an object, an element, and a field cost: it is looked at, and copied where something
 * changes below.
 */
const WHOLE_STEPS = 4;
const ELEMENT_STEPS = 4;
const FIELD_STEPS = 8;

function belowAny(trees: Trees): Trees {
  const only = trees.length === 1 ? trees[0] : undefined;
  return only?.every ?? trees.flatMap((tree) => tree.every);
}

/** The trees that go on below an element: `every`, which go on below each, and those that its index names. */
function belowElement(trees: Trees, every: Trees, index: number): Trees {
  const only = trees.length === 1 ? trees[0] : undefined;
  const named = only
    ? (only.indexed.get(index) ?? NO_TREES)
    : trees.flatMap((tree) => tree.indexed.get(index) ?? NO_TREES);
  if (named.length === 0) return every;
  return every.length === 0 ? named : [...every, ...named];
}

/** Each tree looks the name of a field up. */
function stepsOf(name: string, trees: Trees): number {
  return trees.length * (FIELD_STEPS + stepsToCompare(name.length));
}

function belowField(trees: Trees, name: string): Trees {
  const only = trees.length === 1 ? trees[0] : undefined;
  if (only) return only.named.get(name) ?? NO_TREES;
  return trees.flatMap((tree) => tree.named.get(name) ?? NO_TREES);
}

/** An own field, also of the name `__proto__`: half of what it costs to make an object of pairs. */
function define(object: JsonObject, name: string, value: Json): void {
  if (name === "__proto__")
    Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
  else object[name] = value;
}

function copyOf(object: JsonObject, names: readonly string[]): JsonObject {
  const copy: JsonObject = {};
  for (const name of names) define(copy, name, object[name] ?? null);
  return copy;
}

/**
 * Only what the paths name, in its place; undefined where they name nothing. Kept elements close up, a named
 * element that lacks the rest of its path becomes `{}`, and `*` over an empty array keeps it. What comes once
 * the budget is used up means nothing.
 */
export function pickFrom(value: Json, trees: Trees, budget: Budget): Json | undefined {
  if (trees.some((tree) => tree.whole)) return value;
  if (Array.isArray(value)) return pickElements(value, trees, budget);
  return isObject(value) ? pickFields(value, trees, budget) : undefined;
}

function pickElements(array: Json[], trees: Trees, budget: Budget): Json | undefined {
  budget.stepsLeft -= WHOLE_STEPS * trees.length;
  const every = belowAny(trees);
  if (array.length === 0) return every.length > 0 ? [] : undefined;
  const kept: Json[] = [];
  for (let index = 0; index < array.length; index++) {
    budget.stepsLeft -= ELEMENT_STEPS * trees.length;
    if (budget.stepsLeft < 0) break;
    const below = belowElement(trees, every, index);
    if (below.length > 0) kept.push(pickFrom(array[index] ?? null, below, budget) ?? {});
  }
  return kept.length > 0 ? kept : undefined;
}

function pickFields(object: JsonObject, trees: Trees, budget: Budget): Json | undefined {
  let kept: JsonObject | undefined;
  budget.stepsLeft -= WHOLE_STEPS * trees.length;
  for (const name of Object.keys(object)) {
    budget.stepsLeft -= stepsOf(name, trees);
    if (budget.stepsLeft < 0) break;
    const below = belowField(trees, name);
    const part = below.length > 0 ? pickFrom(object[name] ?? null, below, budget) : undefined;
    if (part !== undefined) define((kept ??= {}), name, part);
  }
  return kept;
}

/**
 * All but what the paths name; undefined where they name the whole value. Elements close up; what is
 * untouched is shared.
 */
export function omitFrom(value: Json, trees: Trees, budget: Budget): Json | undefined {
  if (trees.some((tree) => tree.whole)) return undefined;
  if (trees.length === 0 || budget.stepsLeft < 0) return value;
  if (Array.isArray(value)) return omitElements(value, trees, budget);
  return isObject(value) ? omitFields(value, trees, budget) : value;
}

function omitElements(array: Json[], trees: Trees, budget: Budget): Json {
  budget.stepsLeft -= trees.length * (WHOLE_STEPS + ELEMENT_STEPS * array.length);
  if (array.length === 0) return array;
  const every = belowAny(trees);
  let left: Json[] | null = null;
  for (let index = 0; index < array.length; index++) {
    const element = array[index] ?? null;
    const part = omitFrom(element, belowElement(trees, every, index), budget);
    if (left === null && part === element) continue;
    left ??= array.slice(0, index);
    if (part !== undefined) left.push(part);
  }
  return left ?? array;
}

function omitFields(object: JsonObject, trees: Trees, budget: Budget): Json {
  const names = Object.keys(object);
  budget.stepsLeft -= WHOLE_STEPS * trees.length;
  for (const name of names) budget.stepsLeft -= stepsOf(name, trees);
  if (budget.stepsLeft < 0) return object;
  let left: JsonObject | null = null;
  for (let at = 0; at < names.length; at++) {
    const name = names[at] ?? "";
    const value = object[name] ?? null;
    const part = omitFrom(value, belowField(trees, name), budget);
    if (left === null && part === value) continue;
    left ??= copyOf(object, names.slice(0, at));
    if (part !== undefined) define(left, name, part);
  }
  return left ?? object;
}

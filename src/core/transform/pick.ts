import { type Budget, stepsToCompare } from "../structures/budget.ts";
import { INDEX, isObject, type Json, type JsonObject } from "../json/value.ts";
import { EVERY, type Path } from "./path.ts";

/** Paths with their common beginnings merged, so that one walk over the document serves all of them. */
export interface PathTree {
  /** True where a path ends: the whole value is meant. */
  whole: boolean;
  named: Map<string, PathTree>;
  /** Those of `named` that an array's element may have. */
  indexed: Map<number, PathTree>;
  /** What follows a `*`. */
  every: PathTree | null;
}

function emptyTree(): PathTree {
  return { whole: false, named: new Map(), indexed: new Map(), every: null };
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
  if (name === EVERY) return (tree.every ??= emptyTree());
  const next = tree.named.get(name) ?? emptyTree();
  tree.named.set(name, next);
  if (INDEX.test(name)) tree.indexed.set(Number(name), next);
  return next;
}

const NO_TREES: readonly PathTree[] = [];

/**
 * Steps that a list, each of its elements, and an object's field cost: it is looked at, and copied where
 * something changes below.
 */
const ELEMENT_STEPS = 4;
const FIELD_STEPS = 8;

/** For each index of an array the trees that go on below that element: both its index and `*` may name it. */
function belowElements(trees: readonly PathTree[]): (index: number) => readonly PathTree[] {
  const every = trees.flatMap((tree) => tree.every ?? []);
  if (trees.every((tree) => tree.indexed.size === 0)) return () => every;
  return (index) => {
    const named = trees.flatMap((tree) => tree.indexed.get(index) ?? []);
    return named.length === 0 ? every : [...every, ...named];
  };
}

/** Each tree looks the name of a field up. */
function stepsOf(name: string, trees: readonly PathTree[]): number {
  return trees.length * (FIELD_STEPS + stepsToCompare(name.length));
}

function belowField(trees: readonly PathTree[], name: string): readonly PathTree[] {
  if (trees.length > 1) return trees.flatMap((tree) => tree.named.get(name) ?? []);
  const below = trees[0]?.named.get(name);
  return below === undefined ? NO_TREES : [below];
}

/**
 * Only what the paths name, in its place; undefined where they name nothing. Kept elements close up, a named
 * element that lacks the rest of its path becomes `{}`, and `*` over an empty array keeps it. What comes once
 * the budget is used up means nothing.
 */
export function pickFrom(value: Json, trees: readonly PathTree[], budget: Budget): Json | undefined {
  if (trees.some((tree) => tree.whole)) return value;
  if (Array.isArray(value)) return pickElements(value, trees, budget);
  return isObject(value) ? pickFields(value, trees, budget) : undefined;
}

function pickElements(array: Json[], trees: readonly PathTree[], budget: Budget): Json | undefined {
  const kept: Json[] = [];
  budget.stepsLeft -= ELEMENT_STEPS * trees.length;
  const belowIndex = belowElements(trees);
  for (const [index, element] of array.entries()) {
    budget.stepsLeft -= ELEMENT_STEPS * trees.length;
    if (budget.stepsLeft < 0) break;
    const below = belowIndex(index);
    if (below.length > 0) kept.push(pickFrom(element, below, budget) ?? {});
  }
  const keepsEmpty = array.length === 0 && trees.some((tree) => tree.every !== null);
  return kept.length > 0 || keepsEmpty ? kept : undefined;
}

function pickFields(object: JsonObject, trees: readonly PathTree[], budget: Budget): Json | undefined {
  const kept: [string, Json][] = [];
  for (const [name, value] of Object.entries(object)) {
    budget.stepsLeft -= stepsOf(name, trees);
    if (budget.stepsLeft < 0) break;
    const below = belowField(trees, name);
    const part = below.length > 0 ? pickFrom(value, below, budget) : undefined;
    if (part !== undefined) kept.push([name, part]);
  }
  return kept.length > 0 ? Object.fromEntries(kept) : undefined;
}

/**
 * All but what the paths name; undefined where they name the whole value. Elements close up; what is
 * untouched is shared.
 */
export function omitFrom(value: Json, trees: readonly PathTree[], budget: Budget): Json | undefined {
  if (trees.some((tree) => tree.whole)) return undefined;
  if (trees.length === 0 || budget.stepsLeft < 0) return value;
  if (Array.isArray(value)) return omitElements(value, trees, budget);
  return isObject(value) ? omitFields(value, trees, budget) : value;
}

function omitElements(array: Json[], trees: readonly PathTree[], budget: Budget): Json {
  budget.stepsLeft -= ELEMENT_STEPS * trees.length * (1 + array.length);
  const belowIndex = belowElements(trees);
  const left = array.map((element, index) => omitFrom(element, belowIndex(index), budget));
  if (left.every((element, index) => element === array[index])) return array;
  return left.filter((element) => element !== undefined);
}

function omitFields(object: JsonObject, trees: readonly PathTree[], budget: Budget): Json {
  const names = Object.keys(object);
  for (const name of names) budget.stepsLeft -= stepsOf(name, trees);
  if (budget.stepsLeft < 0 || !names.some((name) => belowField(trees, name).length > 0)) return object;
  let changed = false;
  const left: [string, Json][] = [];
  for (const [name, value] of Object.entries(object)) {
    const part = omitFrom(value, belowField(trees, name), budget);
    changed ||= part !== value;
    if (part !== undefined) left.push([name, part]);
  }
  return changed ? Object.fromEntries(left) : object;
}

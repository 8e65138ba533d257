import { isJsonObject, type Json, type JsonObject } from "./json-value.ts";
import { EVERY, type Path } from "./transform-path.ts";

/** Paths with their common beginnings merged, so that one walk over the document serves all of them. */
export interface PathTree {
  /** True where a path ends: the whole value is meant. */
  whole: boolean;
  named: Map<string, PathTree>;
  /** What follows a `*`. */
  every: PathTree | null;
}

function emptyTree(): PathTree {
  return { whole: false, named: new Map(), every: null };
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
  return next;
}

/** For each index of an array the trees that go on below that element: both its index and `*` may name it. */
function belowElements(trees: readonly PathTree[]): (index: number) => readonly PathTree[] {
  const every = trees.flatMap((tree) => tree.every ?? []);
  const indexed = trees.filter((tree) => tree.named.size > 0);
  return indexed.length === 0 ? () => every : (index) => [...every, ...belowField(indexed, String(index))];
}

function belowField(trees: readonly PathTree[], name: string): readonly PathTree[] {
  return trees.flatMap((tree) => tree.named.get(name) ?? []);
}

/**
 * Only what the paths name, in its place; undefined where they name nothing. Kept elements close up, a named element that
 * lacks the rest of its path becomes `{}`, and `*` over an empty array keeps it.
 */
export function pickFrom(value: Json, trees: readonly PathTree[]): Json | undefined {
  if (trees.some((tree) => tree.whole)) return value;
  if (Array.isArray(value)) return pickElements(value, trees);
  return isJsonObject(value) ? pickFields(value, trees) : undefined;
}

function pickElements(array: Json[], trees: readonly PathTree[]): Json | undefined {
  const kept: Json[] = [];
  const belowIndex = belowElements(trees);
  for (const [index, element] of array.entries()) {
    const below = belowIndex(index);
    if (below.length > 0) kept.push(pickFrom(element, below) ?? {});
  }
  const keepsEmpty = array.length === 0 && trees.some((tree) => tree.every !== null);
  return kept.length > 0 || keepsEmpty ? kept : undefined;
}

function pickFields(object: JsonObject, trees: readonly PathTree[]): Json | undefined {
  const kept: [string, Json][] = [];
  for (const [name, value] of Object.entries(object)) {
    const below = belowField(trees, name);
    const part = below.length > 0 ? pickFrom(value, below) : undefined;
    if (part !== undefined) kept.push([name, part]);
  }
  return kept.length > 0 ? Object.fromEntries(kept) : undefined;
}

/** All but what the paths name; undefined where they name the whole value. Elements close up; what is untouched is shared. */
export function omitFrom(value: Json, trees: readonly PathTree[]): Json | undefined {
  if (trees.some((tree) => tree.whole)) return undefined;
  if (trees.length === 0) return value;
  if (Array.isArray(value)) return omitElements(value, trees);
  return isJsonObject(value) ? omitFields(value, trees) : value;
}

function omitElements(array: Json[], trees: readonly PathTree[]): Json {
  const belowIndex = belowElements(trees);
  const left = array.map((element, index) => omitFrom(element, belowIndex(index)));
  if (left.every((element, index) => element === array[index])) return array;
  return left.filter((element) => element !== undefined);
}

function omitFields(object: JsonObject, trees: readonly PathTree[]): Json {
  let changed = false;
  const left: [string, Json][] = [];
  for (const [name, value] of Object.entries(object)) {
    const part = omitFrom(value, belowField(trees, name));
    changed ||= part !== value;
    if (part !== undefined) left.push([name, part]);
  }
  return changed ? Object.fromEntries(left) : object;
}

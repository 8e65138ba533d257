import type { Filter } from "./filter/filter.ts";
import { type Requirement, valuesAt } from "./filter/requirements.ts";
import type { Json } from "./json/value.ts";
import type { Endpoint } from "./model.ts";

/** An endpoint with its filter, ready to be asked; null: it takes every event of its types. */
export interface Subscriber {
  readonly endpoint: Endpoint;
  readonly filter: Filter | null;
}

/** Fewer are asked one by one. */
const INDEXED_MIN = 32;

/** Subscribers whose filters require a value at one path, by that value. */
interface AtPath {
  path: readonly string[];
  byValue: Map<Json, Subscriber[]>;
  all: Subscriber[];
}

/**
 * Those who subscribe to a type, in the order of their creation, with an index over what their
 * filters require.
 */
export class Subscribers {
  readonly hasFilters: boolean;
  readonly endpoints: readonly Endpoint[];
  /** Subscribers whose filters require no field. */
  #loose: Subscriber[] = [];
  #paths: Map<string, AtPath> | null = null;

  constructor(readonly all: readonly Subscriber[]) {
    this.hasFilters = all.some(({ filter }) => filter !== null);
    this.endpoints = all.map(({ endpoint }) => endpoint);
  }

  /** Subscribers whose filter may hold, in no order: the filters of all others do not. */
  candidates(envelope: Json): readonly Subscriber[] {
    if (this.all.length < INDEXED_MIN) return this.all;
    this.#paths ??= this.#build();
    const found = [...this.#loose];
    for (const path of this.#paths.values()) for (const one of asked(path, envelope)) found.push(one);
    return found;
  }

  #build(): Map<string, AtPath> {
    const paths = new Map<string, AtPath>();
    for (const subscriber of this.all) {
      const requirement = rarestOf(subscriber.filter?.requirements ?? [], paths);
      if (requirement) put(paths, requirement, subscriber);
      else this.#loose.push(subscriber);
    }
    return paths;
  }
}

/** What the fewest require of those that have a place already: a currency says less than a customer. */
function rarestOf(requirements: readonly Requirement[], paths: Map<string, AtPath>): Requirement | null {
  let rarest: Requirement | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const requirement of requirements) {
    const count = paths.get(requirement.place)?.byValue.get(requirement.value)?.length ?? 0;
    if (count < least) [rarest, least] = [requirement, count];
  }
  return rarest;
}

function put(paths: Map<string, AtPath>, { path, place, value }: Requirement, subscriber: Subscriber): void {
  const known = paths.get(place) ?? { path, byValue: new Map<Json, Subscriber[]>(), all: [] };
  paths.set(place, known);
  known.all.push(subscriber);
  const same = known.byValue.get(value);
  if (same) same.push(subscriber);
  else known.byValue.set(value, [subscriber]);
}

function asked({ path, byValue, all }: AtPath, envelope: Json): readonly Subscriber[] {
  const values = valuesAt(envelope, path);
  if (values === null) return all;
  return [...new Set(values)].flatMap((value) => byValue.get(value) ?? []);
}

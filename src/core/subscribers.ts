import type { Filter } from "./filter/filter.ts";
import { type Requirement, valuesAt } from "./filter/requirements.ts";
import type { Json } from "./json/value.ts";
import type { Endpoint } from "./model.ts";
import { type Pieces, piecewise } from "./structures/turn-queue.ts";

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

/** An index over what filters require. */
interface FilterIndex {
  /** Subscribers whose filters require no field. */
  loose: readonly Subscriber[];
  paths: ReadonlyMap<string, AtPath>;
}

/** Those who subscribe to a type, in the order of their creation. */
export class Subscribers {
  readonly hasFilters: boolean;
  readonly endpoints: readonly Endpoint[];
  #index: FilterIndex | null = null;

  private constructor(readonly all: readonly Subscriber[]) {
    this.hasFilters = all.some(({ filter }) => filter !== null);
    this.endpoints = all.map(({ endpoint }) => endpoint);
  }

  static *of(all: readonly Subscriber[]): Pieces<Subscribers> {
    const made = new Subscribers(all);
    if (made.hasFilters && all.length >= INDEXED_MIN) made.#index = yield* indexOf(all);
    return made;
  }

  /** Subscribers whose filter may hold, in no order: the filters of all others do not. */
  *candidates(envelope: Json): Pieces<readonly Subscriber[]> {
    if (this.#index === null) return this.all;
    const found = [...this.#index.loose];
    yield* piecewise(this.#index.paths.values(), (path) => {
      for (const one of asked(path, envelope)) found.push(one);
    });
    return found;
  }
}

function* indexOf(all: readonly Subscriber[]): Pieces<FilterIndex> {
  const loose: Subscriber[] = [];
  const paths = new Map<string, AtPath>();
  yield* piecewise(all, (subscriber) => {
    const requirement = rarestOf(subscriber.filter?.requirements ?? [], paths);
    if (requirement) put(paths, requirement, subscriber);
    else loose.push(subscriber);
  });
  return { loose, paths };
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

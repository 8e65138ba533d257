import { once } from "./once.ts";
import { RecentMap } from "./recent-map.ts";

/**
 * A RecentMap by objects that it does not keep, such as versions of an endpoint, of which there may be a
 * hundred a second. A value stays for as long as it is among the newest, and must not lead to its key.
 */
export class RecentByObject<K extends object, V> {
  /** What stands for a key: the key holds it, and not the other way round. */
  readonly #placeOf = once<K, object>(() => ({}));
  readonly #kept: RecentMap<object, V>;

  constructor(max: number, weigh: (value: V) => number) {
    this.#kept = new RecentMap(max, weigh);
  }

  get weight(): number {
    return this.#kept.weight;
  }

  get size(): number {
    return this.#kept.size;
  }

  has(key: K): boolean {
    return this.#kept.has(this.#placeOf(key));
  }

  get(key: K): V | undefined {
    return this.#kept.get(this.#placeOf(key));
  }

  set(key: K, value: V): void {
    this.#kept.set(this.#placeOf(key), value);
  }

  /** What is kept, or else made now; the newest from now on. */
  getOrMake(key: K, make: () => V): V {
    return this.#kept.getOrMake(this.#placeOf(key), make);
  }
}

/**
 * A cache: of the values that were set last, as many as weigh `max` together; without `weigh` each weighs
 * one. Who sets a key again makes it the newest. What is heavier than `max` by itself is not kept.
 */
export class RecentMap<K, V> extends Map<K, V> {
  #weight = 0;

  constructor(
    private readonly max: number,
    private readonly weigh: (value: V) => number = () => 1,
  ) {
    super();
  }

  /** What all that is kept weighs. */
  get weight(): number {
    return this.#weight;
  }

  override set(key: K, value: V): this {
    this.delete(key);
    const weight = this.weigh(value);
    if (weight > this.max) return this;
    super.set(key, value);
    this.#weight += weight;
    for (const oldest of this.keys()) {
      if (this.#weight <= this.max) break;
      this.delete(oldest);
    }
    return this;
  }

  /** What is kept, or else made now; the newest from now on. */
  getOrMake(key: K, make: () => V): V {
    const value = this.get(key) ?? make();
    this.set(key, value);
    return value;
  }

  override delete(key: K): boolean {
    const value = this.get(key);
    const isKept = super.delete(key);
    if (isKept) this.#weight -= this.weigh(value as V);
    return isKept;
  }

  override clear(): void {
    super.clear();
    this.#weight = 0;
  }
}

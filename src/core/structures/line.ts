/**
 * Those that wait, in the order in which they came: what leaves from the midst costs as little as the first.
 */
export class Line<One> {
  readonly #waiting = new Set<One>();
  /** Goes on behind those that were shifted: to begin anew would pass by the places of all of them. */
  #walk = this.#waiting.values();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  add(one: One): void {
    // A walk that has come to an end sees nothing of what comes later.
    if (this.isEmpty) this.#walk = this.#waiting.values();
    this.#waiting.add(one);
  }

  delete(one: One): void {
    this.#waiting.delete(one);
  }

  shift(): One | undefined {
    if (this.isEmpty) return undefined;
    const { value } = this.#walk.next();
    if (value !== undefined) this.#waiting.delete(value);
    return value;
  }
}

interface Keyed {
  readonly id: number;
}

/**
 * The rows of one owner in the order of their keys, and what they weigh together. A walk goes on where it is,
 * whatever comes and goes meanwhile: it may take many turns of the loop.
 */
export class Shelf<Row extends Keyed> {
  readonly #rows: Row[] = [];
  readonly #weights: number[] = [];
  #weight = 0;

  get size(): number {
    return this.#rows.length;
  }

  get weight(): number {
    return this.#weight;
  }

  get(id: number): Row | undefined {
    const row = this.#rows[this.#placeOf(id)];
    return row?.id === id ? row : undefined;
  }

  /** In the place of the one with its key, where there is one. */
  set(row: Row, weight = 0): void {
    this.delete(row.id);
    const place = this.#placeOf(row.id);
    this.#rows.splice(place, 0, row);
    this.#weights.splice(place, 0, weight);
    this.#weight += weight;
  }

  delete(id: number): void {
    const place = this.#placeOf(id);
    if (this.#rows[place]?.id !== id) return;
    this.#rows.splice(place, 1);
    this.#weight -= this.#weights.splice(place, 1)[0] ?? 0;
  }

  /** Newest first, those below a key. */
  *below(before = Number.MAX_SAFE_INTEGER): Generator<Row> {
    for (let place = this.#placeOf(before) - 1; ; ) {
      const row = this.#rows[place];
      if (row === undefined) return;
      yield row;
      place = (this.#rows[place] === row ? place : this.#placeOf(row.id)) - 1;
    }
  }

  /** Of the first row that has this key or a later one. */
  #placeOf(key: number): number {
    let [from, to] = [0, this.#rows.length];
    // Most that come are the newest.
    if ((this.#rows[to - 1]?.id ?? -1) < key) return to;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((this.#rows[middle]?.id ?? 0) < key) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}

/** A shelf as those see it who put nothing on it. */
export type ReadonlyShelf<Row extends Keyed> = Pick<Shelf<Row>, "size" | "weight" | "get" | "below">;

/** A shelf for each owner that has something: an empty one is put away, and the next row begins another. */
export class Shelves<Owner, Row extends Keyed> {
  readonly #shelves = new Map<Owner, Shelf<Row>>();

  of(owner: Owner): ReadonlyShelf<Row> {
    return this.#shelves.get(owner) ?? new Shelf<Row>();
  }

  set(owner: Owner, row: Row, weight = 0): void {
    const shelf = this.#shelves.get(owner) ?? new Shelf<Row>();
    this.#shelves.set(owner, shelf);
    shelf.set(row, weight);
  }

  delete(owner: Owner, id: number): void {
    const shelf = this.#shelves.get(owner);
    shelf?.delete(id);
    if (shelf?.size === 0) this.#shelves.delete(owner);
  }
}

/** A write that waits for its transaction. */
export interface Write {
  run(): unknown;
  resolve(value: unknown): void;
  reject(error: unknown): void;
  /** Kept through a full disk: the outcome of an attempt that was already made. */
  kept: boolean;
  owner: Owner;
  value: unknown;
  /** What `run` threw; null where the write is committed. */
  error: unknown;
}

/** The project that a write is made for; null: the service itself. */
export type Owner = number | null;

interface Line {
  writes: Write[];
  /** Those before this place are taken. */
  next: number;
}

const TAKEN_MAX = 1000;

/**
 * Writes that wait, in a line for each owner. The lines take turns: who has many holds up nobody else. To
 * take one costs the same however many wait.
 */
export class WriteLines {
  readonly #lines = new Map<Owner, Line>();
  #size = 0;

  constructor(writes: readonly Write[] = []) {
    for (const write of writes) this.push(write);
  }

  get size(): number {
    return this.#size;
  }

  push(write: Write): void {
    this.#size++;
    const line = this.#lines.get(write.owner);
    if (line) line.writes.push(write);
    else this.#lines.set(write.owner, { writes: [write], next: 0 });
  }

  /** The first of the line whose turn it is. */
  shift(): Write | undefined {
    for (const [owner, line] of this.#lines) {
      const write = line.writes[line.next++];
      this.#size--;
      const isLast = line.next === line.writes.length;
      if (isLast || this.#lines.size > 1) this.#lines.delete(owner);
      if (isLast) return write;
      if (line.next === TAKEN_MAX) {
        line.writes.splice(0, TAKEN_MAX);
        line.next = 0;
      }
      this.#lines.set(owner, line);
      return write;
    }
    return undefined;
  }

  /** Takes back what `shift` has given, in that order. */
  unshift(writes: readonly Write[]): void {
    const others = this.takeAll();
    for (const write of [...writes, ...others]) this.push(write);
  }

  /** All of them, those of one owner in their order. */
  takeAll(): Write[] {
    const all = [...this.#lines.values()].flatMap(({ writes, next }) => writes.slice(next));
    this.#lines.clear();
    this.#size = 0;
    return all;
  }
}

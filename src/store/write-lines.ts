import { Debts } from "../core/structures/lines.ts";

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
 * Writes that wait, in a line for each owner. The lines take turns by the time that their writes take: who
 * has many, or long ones, holds up nobody else. By their number alone, each long write would end a
 * transaction after one write of everybody else. To take one costs the same however many wait.
 */
export class WriteLines {
  readonly #lines = new Map<Owner, Line>();
  /** Names of #lines, first the one whose turn it is. */
  #order: Owner[] = [];
  readonly #debts = new Debts<Owner>();
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
    if (line) {
      line.writes.push(write);
      return;
    }
    this.#lines.set(write.owner, { writes: [write], next: 0 });
    this.#order.push(write.owner);
  }

  /** The first of the line whose turn it is; where all owe time, of the one that owes least. */
  shift(): Write | undefined {
    this.#debts.bringNext(this.#order);
    const owner = this.#order.shift();
    const line = owner === undefined ? undefined : this.#lines.get(owner);
    if (owner === undefined || line === undefined) return undefined;
    const write = line.writes[line.next++];
    this.#size--;
    if (line.next === line.writes.length) {
      this.#lines.delete(owner);
      return write;
    }
    if (line.next === TAKEN_MAX) {
      line.writes.splice(0, TAKEN_MAX);
      line.next = 0;
    }
    this.#order.push(owner);
    return write;
  }

  /** Notes how long a write of this owner took, in milliseconds: it pays where others wait. */
  charge(owner: Owner, ms: number): void {
    this.#debts.charge(owner, ms);
  }

  /** Takes back what `shift` has given, in that order. */
  unshift(writes: readonly Write[]): void {
    const others = this.takeAll();
    for (const write of [...writes, ...others]) this.push(write);
  }

  /** All of them, those of one owner in their order. */
  takeAll(): Write[] {
    const lines = this.#order.flatMap((owner) => this.#lines.get(owner) ?? []);
    const all = lines.flatMap(({ writes, next }) => writes.slice(next));
    this.#lines.clear();
    this.#order = [];
    this.#size = 0;
    return all;
  }
}

import { randomInt } from "node:crypto";

/** Odd, and another one in each process: nobody can choose texts with the same hash beforehand. */
const BASE = randomInt(2 ** 16, 2 ** 31) | 1;

/** The hash of any part of a text, in a time that does not depend on how long the part is. */
export class Hashes {
  /** Of what stands before each place; empty until the first part is asked for. */
  #before = new Int32Array(0);
  #powers = new Int32Array(0);

  constructor(readonly text: string) {}

  of(at: number, length: number): number {
    if (this.#before.length === 0) this.#make();
    const [before, powers] = [this.#before, this.#powers];
    return ((before[at + length] as number) - Math.imul(before[at] as number, powers[length] as number)) | 0;
  }

  #make(): void {
    const { text } = this;
    const before = new Int32Array(text.length + 1);
    const powers = new Int32Array(text.length + 1);
    powers[0] = 1;
    for (let at = 0; at < text.length; at++) {
      before[at + 1] = withLetter(before[at] as number, text.charCodeAt(at));
      powers[at + 1] = Math.imul(powers[at] as number, BASE);
    }
    this.#before = before;
    this.#powers = powers;
  }
}

function withLetter(hash: number, code: number): number {
  return (Math.imul(hash, BASE) + code) | 0;
}

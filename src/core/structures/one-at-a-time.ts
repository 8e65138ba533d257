import { Lines } from "./lines.ts";

/** Works one at a time, whoever's they are: those that wait stand in lines (`Lines`), which take turns. */
export class OneAtATime {
  readonly #waiting = new Lines();
  #isTaken = false;

  /** Resolves, or rejects, as this work does. */
  async run<Made>(names: readonly string[], work: () => Promise<Made>): Promise<Made> {
    if (this.#isTaken) await new Promise<void>((resolve) => this.#waiting.push(names, resolve));
    this.#isTaken = true;
    try {
      return await work();
    } finally {
      // It stays taken where another one goes on: nobody comes in between.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#isTaken = false;
    }
  }
}

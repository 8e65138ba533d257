/** From when until when nothing ran, by the steady clock. */
type DownTime = readonly [from: number, to: number];

/** More than three years in which the service is down each night. */
const KEPT_MAX = 1200;

/**
 * The times in which the service did not run, oldest first: nobody could be sent anything then, or fetch it.
 * Where there are too many, the two oldest become one, with what lies between them: what counts days of
 * running waits for longer then, and nothing is ended too early.
 */
export class DownTimes {
  readonly #all: DownTime[];

  /** `text`: as an earlier process has left it. */
  constructor(text: string | null) {
    this.#all = JSON.parse(text ?? "[]") as DownTime[];
  }

  add(from: number, to: number): void {
    this.#all.push([from, to]);
    if (this.#all.length <= KEPT_MAX) return;
    const [first, second] = this.#all.splice(0, 2);
    if (first && second) this.#all.unshift([first[0], second[1]]);
  }

  /** How much of the time since `at` they are. */
  since(at: number): number {
    let sum = 0;
    for (let n = this.#all.length - 1; n >= 0; n--) {
      const [from, to] = this.#all[n] ?? [at, at];
      if (to <= at) break;
      sum += to - Math.max(from, at);
    }
    return sum;
  }

  toText(): string {
    return JSON.stringify(this.#all);
  }
}

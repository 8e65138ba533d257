import { limit } from "../limits.ts";
import { OneAtATime } from "./one-at-a-time.ts";

/**
 * How long work that goes on in slices steps back after one, in milliseconds: twice as long as that took, so
 * that it does so by itself where the disk or the processor is busy.
 */
export function restAfter(tookMs: number): number {
  return Math.max(Math.min(2 * tookMs, limit("sliceRestMsMax")), limit("sliceRestMsMin"));
}

export interface SlicesParts {
  monotonic(): number;
  later(ms: number, next: () => void): void;
}

/**
 * Slices of long work that is nobody's request and may come at any moment, as what waits at endpoints that
 * are deleted ends: one at a time, however many works there are. The accounts take turns, and in an account
 * its projects; and after each slice all of them rest.
 */
export class Slices {
  readonly #one = new OneAtATime();

  constructor(private readonly parts: SlicesParts) {}

  /**
   * Does a slice once it is its turn: only then it is known what there is to do. Null: there was nothing,
   * which needs no rest.
   */
  run<Made>(accountId: number, projectId: number, slice: () => Promise<Made> | null): Promise<Made | null> {
    return new Promise((resolve, reject) => {
      const work = async () => {
        const began = this.parts.monotonic();
        const made = slice();
        resolve(made);
        if (made === null) return;
        await made.catch(() => {});
        const ms = restAfter(this.parts.monotonic() - began);
        await new Promise<void>((next) => this.parts.later(ms, next));
      };
      this.#one.run([String(accountId), String(projectId)], work).catch(reject);
    });
  }
}

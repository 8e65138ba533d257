import { closeSync, openSync } from "node:fs";

const SHORTAGES = ["EMFILE", "ENFILE"];
/** Who failed in the same turn as others learns of it a moment later, when some are free again. */
const REMEMBERED_MS = 1000;

/**
 * Whether the process, or the machine, has no file left. Bun says of a socket that could not be made what it
 * says of one that was refused: so it is tried with a file.
 */
export class FileShortage {
  #seenAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly now: () => number,
    private readonly onSeen: () => void,
  ) {}

  isNow(): boolean {
    if (this.now() - this.#seenAt < REMEMBERED_MS) return true;
    try {
      closeSync(openSync("/dev/null", "r"));
      return false;
    } catch (error) {
      if (!SHORTAGES.includes((error as NodeJS.ErrnoException).code ?? "")) return false;
    }
    this.#seenAt = this.now();
    this.onSeen();
    return true;
  }
}

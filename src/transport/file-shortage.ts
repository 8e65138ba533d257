import { closeSync, openSync } from "node:fs";

const SHORTAGES = ["EMFILE", "ENFILE"];
/**
 * A shortage counts for so long: of attempts that fail together, the last ones ask when files are free again.
 */
const REMEMBERED_MS = 1000;

/**
 * Whether the process, or the machine, has no file left. Bun reports a socket that it had no file for in the
 * words of a refused connection: so opening a file is tried.
 */
export class FileShortage {
  #seenAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly monotonic: () => number,
    private readonly onSeen: () => void,
  ) {}

  isNow(): boolean {
    if (this.monotonic() - this.#seenAt < REMEMBERED_MS) return true;
    try {
      closeSync(openSync("/dev/null", "r"));
      return false;
    } catch (error) {
      if (!SHORTAGES.includes((error as NodeJS.ErrnoException).code ?? "")) return false;
    }
    this.#seenAt = this.monotonic();
    this.onSeen();
    return true;
  }
}

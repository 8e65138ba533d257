import type { StoreParts } from "../../src/store/store.ts";
import { turnParts } from "../../src/platform/turns.ts";

/**
 * What a store needs besides its database, as the process gives it; a disk that fails and work that ends
 * badly end the test.
 */
export function storeParts(own: Partial<StoreParts> = {}): StoreParts {
  return {
    ...turnParts,
    now: Date.now,
    sync: async () => {},
    later: (ms, run) => void setTimeout(run, ms).unref(),
    fail(error) {
      throw error;
    },
    report(_work, error) {
      throw error;
    },
    ...own,
  };
}

import type { Store } from "./store.ts";

/**
 * Inside a write: what `run` frees is overwritten with zeros, where otherwise its pages would only be free.
 */
export function overwriting<T>(sqlite: Store["sqlite"], run: () => T): T {
  // Not prepared once: such a statement does nothing the first time it runs.
  sqlite.exec("PRAGMA secure_delete = ON");
  try {
    return run();
  } finally {
    sqlite.exec("PRAGMA secure_delete = OFF");
  }
}

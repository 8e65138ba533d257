import { limit } from "../core/limits.ts";
import { RecentByObject } from "../core/structures/recent-by-object.ts";
import type { DestinationConfig } from "./destination.ts";

/** What an entry takes beside its texts. */
const ENTRY_BYTES = 500;

/**
 * What a token server has granted to endpoints, or what was signed to get it, by their settings: what was
 * used last, up to `grantsKeptBytesMax`. An endpoint whose own is not kept any more gets another.
 */
export class Grants<T extends { granted: readonly string[] }> extends RecentByObject<DestinationConfig, T> {
  constructor() {
    super(limit("grantsKeptBytesMax"), ({ granted }) =>
      granted.reduce((sum, { length }) => sum + length, ENTRY_BYTES),
    );
  }

  /** What is kept is the newest from now on. */
  lookUp(config: DestinationConfig): T | undefined {
    const grant = this.get(config);
    if (grant !== undefined) this.set(config, grant);
    return grant;
  }
}

/** A text that a token server grants, or null: it goes into a header, and has a bound as it is kept. */
export function readGranted(value: unknown): string | null {
  if (typeof value !== "string" || value.length > limit("grantedLengthMax")) return null;
  // A copy: a part of a text keeps the whole of it in memory.
  return /^[\x21-\x7e]+$/.test(value) ? Buffer.from(value, "latin1").toString("latin1") : null;
}

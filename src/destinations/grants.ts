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

/** How long a grant serves, in Unix milliseconds. */
export interface Lifetime {
  /** From then on the next one is asked for; the old one still serves meanwhile, should none come. */
  renewsAt: number;
  endsAt: number;
}

const RENEW_BEFORE_MS = 5 * 60_000;

/** A short one is renewed in the last quarter of its time, or every message would ask. */
export function lifetimeOf(grantedAt: number, endsAt: number): Lifetime {
  return { renewsAt: endsAt - Math.min(RENEW_BEFORE_MS, (endsAt - grantedAt) / 4), endsAt };
}

/** The destination refused it, whatever its end is: the next attempt asks for another one. */
export function endNow(grant: Lifetime | undefined): void {
  if (grant === undefined) return;
  grant.renewsAt = Number.NEGATIVE_INFINITY;
  grant.endsAt = Number.NEGATIVE_INFINITY;
}

/** A text that a token server grants, or null: it goes into a header, and has a bound as it is kept. */
export function readGranted(value: unknown): string | null {
  if (typeof value !== "string" || value.length > limit("grantedLengthMax")) return null;
  // A copy: a part of a text keeps the whole of it in memory.
  return /^[\x21-\x7e]+$/.test(value) ? Buffer.from(value, "latin1").toString("latin1") : null;
}

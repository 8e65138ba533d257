import { Problem } from "../../core/errors.ts";
import { TokenBucket } from "../../core/structures/token-bucket.ts";
import type { Budget } from "./route.ts";

/** What one taking from a budget came to. */
export interface Allowance {
  isGranted: boolean;
  remaining: number;
  /** Until the budget is whole again. */
  resetSeconds: number;
  /** Until the same cost would be granted. */
  retryAfterSeconds: number;
}

/**
 * Takes `cost` tokens, or none where there are fewer: then what the same request has `taken` before goes
 * back, so that what is refused costs nothing.
 */
export function takeFrom(
  bucket: TokenBucket,
  {
    perSecond,
    burst,
    cost,
    now,
    taken = 0,
  }: { perSecond: number; burst: number; cost: number; now: number; taken?: number },
): Allowance {
  const filled = bucket.fill(perSecond, burst, now);
  const isGranted = filled >= cost;
  const left = isGranted ? filled - cost : Math.min(burst, filled + taken);
  bucket.take(filled - left);
  return {
    isGranted,
    remaining: Math.floor(left),
    resetSeconds: Math.ceil((burst - left) / perSecond),
    retryAfterSeconds: Math.max(1, Math.ceil((cost + taken - left) / perSecond)),
  };
}

const SWEEP_MIN = 1000;

/** Token buckets of one budget, one per key; each holds one second's worth unless `burst` says otherwise. */
export class TokenBuckets {
  private readonly buckets = new Map<string, TokenBucket>();
  private sweepSize = SWEEP_MIN;

  constructor(
    readonly perSecond: number,
    private readonly burst = perSecond,
  ) {}

  /** How many keys are remembered; those at rest are forgotten. */
  get size(): number {
    return this.buckets.size;
  }

  /** As `takeFrom`; `now` in ms. */
  take(key: string, cost: number, now: number, taken = 0): Allowance {
    const { perSecond, burst } = this;
    return takeFrom(this.bucketOf(key, now), { perSecond, burst, cost, now, taken });
  }

  /** Takes `cost` tokens, also more than there are: nothing is granted until those have come back. */
  spend(key: string, cost: number, now: number): void {
    const bucket = this.bucketOf(key, now);
    bucket.fill(this.perSecond, this.burst, now);
    bucket.take(cost);
  }

  private bucketOf(key: string, now: number): TokenBucket {
    const open = this.buckets.get(key);
    if (open !== undefined) return open;
    if (this.buckets.size >= this.sweepSize) this.sweep(now);
    const bucket = new TokenBucket(this.burst, now);
    this.buckets.set(key, bucket);
    return bucket;
  }

  /** A full bucket is the same as none. */
  private sweep(now: number): void {
    for (const [key, bucket] of this.buckets) {
      if (bucket.fill(this.perSecond, this.burst, now) >= this.burst) this.buckets.delete(key);
    }
    this.sweepSize = Math.max(SWEEP_MIN, this.buckets.size * 2);
  }
}

/** The headers that tell a caller where it stands (draft-ietf-httpapi-ratelimit-headers-10). */
export function rateLimitHeaders(
  budget: Budget | "ingest" | "poll",
  perSecond: number,
  allowance: Allowance,
): Record<string, string> {
  return {
    "ratelimit-policy": `"${budget}";q=${perSecond};w=1`,
    ratelimit: `"${budget}";r=${allowance.remaining};t=${allowance.resetSeconds}`,
  };
}

/** 429. A request that costs more in all than the whole budget is told so, as no waiting would help. */
export function rateLimited(perSecond: number, cost: number, allowance: Allowance): Problem {
  const detail =
    cost > perSecond
      ? `This request counts as ${cost}, and the limit is ${perSecond} a second: split it.`
      : `The limit is ${perSecond} a second.`;
  return new Problem("rate_limited", detail, {
    headers: { "retry-after": String(allowance.retryAfterSeconds) },
  });
}

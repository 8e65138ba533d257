import type { Caller } from "../../core/caller.ts";
import { Problem } from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";
import { TokenBuckets } from "./ratelimit.ts";

const HOUR_SECONDS = 3600;

/**
 * What callers may still make the audit log keep, in bytes that come back over time: the keys of an account,
 * its links together, and of those the links of each consumer. In memory: a restart gives all of it back.
 */
export class AuditRoom {
  private readonly accounts = new TokenBuckets(
    limit("auditOfAccountBytesPerHour") / HOUR_SECONDS,
    limit("auditOfAccountBytesMax"),
  );
  private readonly consumers = new TokenBuckets(
    limit("auditOfConsumerBytesPerHour") / HOUR_SECONDS,
    limit("auditOfConsumerBytesMax"),
  );

  /** Throws 429 where the caller has used up its room, and has to wait for some. */
  require(caller: Caller, now: number): void {
    for (const [buckets, name] of this.shareOf(caller)) {
      const { isGranted, retryAfterSeconds } = buckets.take(name, 0, now);
      if (!isGranted) throw noRoom(retryAfterSeconds);
    }
  }

  /** A change that had room before weighs so much: the last one may take more than there was. */
  take(caller: Caller, bytes: number, now: number): void {
    for (const [buckets, name] of this.shareOf(caller)) buckets.spend(name, bytes, now);
  }

  private shareOf({ kind, accountId, projectId, consumerId }: Caller): [TokenBuckets, string][] {
    if (kind === "api_key") return [[this.accounts, `keys of ${accountId}`]];
    return [
      [this.consumers, JSON.stringify([projectId, consumerId])],
      [this.accounts, `links of ${accountId}`],
    ];
  }
}

function noRoom(seconds: number): Problem {
  const detail = "The changes of this caller use up their room in the audit log, which comes back over time.";
  return new Problem("rate_limited", detail, { headers: { "retry-after": String(seconds) } });
}

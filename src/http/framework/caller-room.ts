import type { Caller } from "../../core/caller.ts";
import { Problem } from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";
import { TokenBuckets } from "./ratelimit.ts";

const HOUR_SECONDS = 3600;

type Name = Parameters<typeof limit>[0];

/** The limits of a room: how much at once, and what comes back in an hour. */
interface Size {
  ofAccount: Name;
  ofAccountPerHour: Name;
  ofConsumer: Name;
  ofConsumerPerHour: Name;
  /** What a caller is told that has used it up. */
  detail: string;
}

/**
 * What callers may still make the service keep that no plan counts, as room that comes back over time: the
 * keys of an account have one, its links together another, and the links of each consumer one more. In
 * memory: a restart gives all of it back.
 */
export class CallerRoom {
  private readonly accounts: TokenBuckets;
  private readonly consumers: TokenBuckets;
  private readonly detail: string;

  constructor({ ofAccount, ofAccountPerHour, ofConsumer, ofConsumerPerHour, detail }: Size) {
    this.accounts = new TokenBuckets(limit(ofAccountPerHour) / HOUR_SECONDS, limit(ofAccount));
    this.consumers = new TokenBuckets(limit(ofConsumerPerHour) / HOUR_SECONDS, limit(ofConsumer));
    this.detail = detail;
  }

  /**
   * Takes `size`; throws 429 where the caller has no room for it, and has to wait for some. 0: throws where
   * what was spent was more than there was.
   */
  take(caller: Caller, size: number, now: number): void {
    for (const [buckets, name] of this.shareOf(caller)) {
      const { isGranted, retryAfterSeconds } = buckets.take(name, size, now);
      if (isGranted) continue;
      const headers = { "retry-after": String(retryAfterSeconds) };
      throw new Problem("rate_limited", this.detail, { headers });
    }
  }

  /** Takes `size` for what had room before: the last one may take more than there was. */
  spend(caller: Caller, size: number, now: number): void {
    for (const [buckets, name] of this.shareOf(caller)) buckets.spend(name, size, now);
  }

  /** The smaller room first: who has used up its own takes nothing of the others'. */
  private shareOf({ kind, accountId, projectId, consumerId }: Caller): [TokenBuckets, string][] {
    if (kind === "api_key") return [[this.accounts, `keys of ${accountId}`]];
    return [
      [this.consumers, JSON.stringify([projectId, consumerId])],
      [this.accounts, `links of ${accountId}`],
    ];
  }
}

/** Bytes of entries of the audit log. */
export function makeAuditRoom(): CallerRoom {
  return new CallerRoom({
    ofAccount: "auditOfAccountBytesMax",
    ofAccountPerHour: "auditOfAccountBytesPerHour",
    ofConsumer: "auditOfConsumerBytesMax",
    ofConsumerPerHour: "auditOfConsumerBytesPerHour",
    detail: "The changes of this caller use up their room in the audit log, which comes back over time.",
  });
}

/** Attempts that are asked for one by one, and that no plan counts. */
export function makeByHandRoom(): CallerRoom {
  return new CallerRoom({
    ofAccount: "byHandOfAccountMax",
    ofAccountPerHour: "byHandOfAccountPerHour",
    ofConsumer: "byHandOfConsumerMax",
    ofConsumerPerHour: "byHandOfConsumerPerHour",
    detail: "This caller has asked for very many tests and retries by hand. Some more are taken over time.",
  });
}

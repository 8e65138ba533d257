import { type Caller, memberOf } from "../../core/caller.ts";
import { Problem } from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";

const RETRY_SECONDS = 5;

/** How many of something each caller has under way; all links of a consumer are one caller. */
export class AtOnce {
  readonly #open = new Map<string, number>();

  constructor(
    private readonly max: Parameters<typeof limit>[0],
    private readonly noun: string,
  ) {}

  /**
   * Answers what ends it, which may be called twice. Throws 429 where too many are under way. `member`: an
   * empty one where all callers of a project are one.
   */
  begin(caller: Caller, member = memberOf(caller)): () => void {
    const who = `${caller.projectId} ${member}`;
    const before = this.#open.get(who) ?? 0;
    const max = limit(this.max);
    if (before >= max) {
      const headers = { "retry-after": String(RETRY_SECONDS) };
      throw new Problem("rate_limited", `${max} ${this.noun} are under way.`, { headers });
    }
    this.#open.set(who, before + 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      const left = (this.#open.get(who) ?? 1) - 1;
      if (left > 0) this.#open.set(who, left);
      else this.#open.delete(who);
    };
  }
}

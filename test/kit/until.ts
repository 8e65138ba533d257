/** What comes about in memory alone is looked for that often. */
const UNTOLD_MS = 20;
const DEADLINE_MS = 10_000;

export type Look<Found> = () => Promise<Found | false | null | undefined>;

/** Looks again after every commit that `untilCommitted` tells of, until `look` gives something. */
export async function lookAgain<Found>(
  look: Look<Found>,
  untilCommitted: () => Promise<void> | undefined,
  deadlineMs = DEADLINE_MS,
): Promise<Found> {
  const deadline = performance.now() + deadlineMs;
  while (performance.now() < deadline) {
    // Asked for before the look: what is committed during it is not missed.
    const next = untilCommitted();
    const found = await look();
    if (found) return found;
    await Promise.race([next ?? Bun.sleep(UNTOLD_MS), Bun.sleep(UNTOLD_MS)]);
  }
  throw new Error(`it did not come about within ${deadlineMs} ms: ${look.toString()}`);
}

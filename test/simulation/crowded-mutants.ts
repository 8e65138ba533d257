import type { Mutant } from "./mutants.ts";

/** Of several pollers of one endpoint, and of names that are used again while their consumer is erased. */
export const CROWDED_MUTANTS: readonly Mutant[] = [
  {
    name: "a page is empty whose messages another poller acknowledges meanwhile, although others wait",
    file: "delivery/polling/poller.ts",
    find: "const isOver = clock.now() >= (page.done ? until : lookUntil) || ask.signal.aborted;",
    put: "const isOver = clock.now() >= until || ask.signal.aborted;",
  },
  {
    name: "a poll sleeps beside what waits where another poller acknowledges its page meanwhile",
    file: "delivery/polling/poller.ts",
    find: "return { ...nothing(ask), done: rows.length === 0 };",
    put: "return nothing(ask);",
  },
  {
    name: "only the first of those who wait hears of what comes",
    file: "delivery/polling/poll-actor.ts",
    find: "first[0]();",
    put: "return first[0]();",
  },
  {
    name: "what is published is answered with an event that is being erased",
    file: "store/log/events.ts",
    find: '${leavesWithConsumer("event")} AS leaves',
    put: "0 AS leaves",
  },
  {
    name: "an event that is being erased keeps its external_id from a new one",
    file: "store/log/events.ts",
    find: "overwriting(this.#sqlite, () => this.#dropExternal.run(id));",
    put: "",
  },
  {
    name: "an answer that links keep while their consumer's erasure begins outlives that",
    file: "store/kept-answers.ts",
    find: "return this.#anyOf.get(projectId, consumerId) !== null;",
    put: "return false;",
  },
  {
    name: "an erasure takes answers that links were given after it was asked for",
    file: "maintenance/eraser.ts",
    find: "      () => this.#dropPortalLinks(erasure),\n",
    put: "      () => this.#dropSomeAnswers(erasure).then(() => false),\n      () => this.#dropPortalLinks(erasure),\n",
  },
];

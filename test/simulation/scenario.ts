import { LIMITS } from "../../src/core/limits.ts";
import { makeSecret } from "../../src/core/signing.ts";
import type { NewEndpoint } from "../../src/store/resources/endpoints.ts";
import { plainEndpoint } from "../kit/endpoint.ts";
import type { Rng } from "./world.ts";

export const TYPES = ["order.created", "order.paid", "user.deleted"];
export const CONSUMERS = [null, null, "acme", "zeta"];

/** Bounds that a run would hardly reach, in sizes that every run passes. */
const SMALL = {
  actorQueueMax: [2, 3, 5],
  actorQueueHead: [1],
  actorRefillMax: [1, 2],
  dispatchWaitingMax: [1, 4],
  dispatchBytesMax: [0, 400],
  touchedMax: [1, 10_000],
  queuedTotalMax: [2, 6, 1000],
  bodyCacheBytesMax: [0, 300, 1_000_000],
  fanoutAtOnceMax: [1, 2],
  eventRowsMax: [1, 2],
  fanoutSliceRows: [1, 2],
  sliceRows: [1, 2],
} as const;
type Bound = keyof typeof SMALL;
const USUAL = new Map((Object.keys(SMALL) as Bound[]).map((name) => [name, LIMITS[name].value]));

/** Makes the bounds small, or as they are without a generator, for the run that begins now. */
export function setBounds(rng: Rng | null): void {
  for (const [name, usual] of USUAL) {
    (LIMITS[name] as { value: number }).value = rng === null ? usual : rng.pick<number>(SMALL[name]);
  }
}

/** An endpoint by chance: every kind of schedule, order, rate and subscription occurs. */
export function newEndpoint(rng: Rng, projectId: number, n: number, now: number): NewEndpoint {
  return {
    ...plainEndpoint,
    projectId,
    consumerId: rng.pick(CONSUMERS),
    config: { url: `http://receiver.test/${n}` },
    eventTypes: rng.pick([null, ["order.*"], ["order.paid", "user.deleted"]]),
    secret: makeSecret(),
    retry: rng.pick([null, { schedule: [1, 2, 4] }, { schedule: [60, 600] }, { schedule: [] }]),
    // Some hang for longer than a delivery that is due may wait without a word.
    timeoutSeconds: rng.pick([5, 30]),
    rateLimitPerSecond: rng.pick([null, null, 2]),
    maxConcurrency: rng.pick([1, 3, 10]),
    ordering: rng.pick(["none", "none", "fifo"]),
    updatedAt: now,
  };
}

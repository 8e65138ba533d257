import { LIMITS } from "../../src/core/limits.ts";
import type { Endpoint } from "../../src/core/model.ts";
import { makeSecret } from "../../src/core/signing.ts";
import type { NewEndpoint } from "../../src/store/resources/endpoints.ts";
import { plainEndpoint } from "../kit/endpoint.ts";
import type { Rng } from "./world.ts";

export const TYPES = ["order.created", "order.paid", "user.deleted"];
export const CONSUMERS = [null, null, "acme", "zeta"];

/** Bounds that a run would hardly reach, in sizes that every run passes. */
const SMALL = {
  attemptsInFlightBytesMax: [200, 600, 1_000_000],
  actorQueueMax: [2, 3, 5],
  actorQueueHead: [1],
  actorRefillMax: [1, 2],
  dispatchWaitingMax: [1, 2],
  dispatchBytesMax: [0, 100],
  dispatchAtOnceMax: [0, 1],
  dispatchSliceMax: [1],
  dispatchSliceBytesMax: [1, 100],
  touchedMax: [1, 2],
  queuedTotalMax: [2, 6],
  bodyCacheBytesMax: [0, 200],
  fanoutAtOnceMax: [1, 1, 3],
  eventRowsMax: [1, 2, 4],
  fanoutSliceRows: [1, 4],
  sliceRows: [1, 2],
  indexSliceRows: [1, 3],
  hourSliceRows: [2, 5],
  planWaitingEventsMax: [1, 3],
  labelsCachedMax: [1, 3],
  headsCachedMax: [1, 2],
  pollersMax: [1],
  concurrencyDefault: [1, 2, 10],
} as const;
type Bound = keyof typeof SMALL;
/** Of crowded seeds, where that is another. */
const SMALL_CROWDED: Partial<Record<Bound, readonly number[]>> = { pollersMax: [1, 4, 4] };
const USUAL = new Map((Object.keys(SMALL) as Bound[]).map((name) => [name, LIMITS[name].value]));

/** These seeds run with the bounds as they are. */
export const SEEDS_WITH_USUAL_BOUNDS: ReadonlySet<number> = new Set([8, 16, 24, 10_008, 10_016]);
const ATTEMPTS_USUAL = 1000;

/**
 * From here on seeds are crowded: many endpoints are polled, by up to five pollers at once, and consumers are
 * erased whose names are used again at once. All other seeds run as if there were none of these.
 */
export const CROWDED_FROM = 1_000_000;
/** Of so many seeds one has a crowded one beside it. */
const CROWDED_EACH = 5;

/** So many seeds, and the crowded ones that stand beside them. */
export function seedsOf(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, n) => from + n).flatMap((seed) =>
    seed % CROWDED_EACH === 0 && seed < CROWDED_FROM ? [seed, CROWDED_FROM + seed] : [seed],
  );
}

/**
 * Makes the bounds small, or as they are without a generator, for the run that begins now. Answers how many
 * attempts may be in flight over all endpoints.
 */
export function setBounds(rng: Rng | null, isCrowded = false): number {
  for (const [name, usual] of USUAL) {
    const small = (isCrowded && SMALL_CROWDED[name]) || SMALL[name];
    (LIMITS[name] as { value: number }).value = rng === null ? usual : rng.pick<number>(small);
  }
  return rng === null ? ATTEMPTS_USUAL : rng.pick([1, 2, 4, ATTEMPTS_USUAL]);
}

/** What a bound keeps from happening, as it is seen from outside. */
export const MET_NAMES = [
  "queueFull",
  "allQueuesFull",
  "lineUsed",
  "lineFull",
  "lineWithoutBody",
  "bodyNotKept",
  "fanoutInSlices",
  "noSlot",
  "planQueueFull",
  "pollersFull",
  "byHandFull",
  "labelsForgotten",
  "headsForgotten",
  "erasedAgain",
  "pollersTogether",
  "namedAgain",
  "keyedAgain",
] as const;
/** How often each bound was met. */
export type Met = Record<(typeof MET_NAMES)[number], number>;

/** An endpoint by chance: every kind of schedule, order, rate and types occurs; this share is polled. */
export function newEndpoint(
  rng: Rng,
  polledShare: number,
  projectId: number,
  n: number,
  now: number,
): NewEndpoint {
  const isPolled = rng.chance(polledShare);
  return {
    ...plainEndpoint,
    projectId,
    consumerId: rng.pick(CONSUMERS),
    kind: isPolled ? "poll" : "http",
    config: isPolled ? {} : { url: `http://receiver.test/${n}` },
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

/** Whether it subscribes to the type. */
export function wantsType({ eventTypes: types }: Pick<Endpoint, "eventTypes">, type: string): boolean {
  return types === null || types.includes(type) || (types.includes("order.*") && type.startsWith("order."));
}

/** Where it is reached, as `Receivers` tell it. */
export function pathOf({ id, kind, config }: Endpoint): string {
  return kind === "poll" ? `/poll/${id}` : new URL(String(config["url"])).pathname;
}

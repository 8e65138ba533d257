import { failedTooLongSince } from "../core/delivery.ts";
import type { Endpoint, Source } from "../core/model.ts";
import { piecewise, type Turns } from "../core/structures/turn-queue.ts";
import type { Actors } from "../delivery/actors.ts";
import type { JobControl } from "../platform/job-control.ts";
import type { Data } from "../store/data.ts";
import type { Failing } from "../store/resources/health.ts";

/** Each costs some 0.5 ms, most of which drizzle takes to make its statement anew. */
const CHANGED_AT_ONCE = 50;

/** What a source's status is by the secrets that it still has (src/http/sources/material.ts). */
export type StatusOf = (source: Source, now: number) => Source["status"];

/**
 * Previous secrets whose overlap is over leave the database: nobody who reads it then can sign with them. A
 * source that had no other one waits for one from then on. Answers how many.
 */
export async function dropExpiredSecrets(
  data: Pick<Data, "store" | "endpoints" | "sources">,
  statusOf: StatusOf,
  { isStopping, rest }: JobControl,
): Promise<number> {
  const { endpoints, sources, store } = data;
  const now = store.now();
  const pastEndpoints = await keysOf(
    () => endpoints.all(),
    (endpoint) => isPast(endpoint, now),
    store.turns,
  );
  for (const some of slices(pastEndpoints)) {
    if (isStopping()) break;
    const changed = await store.write(() => some.map((id) => endpoints.update(id, withoutPrevious(now))));
    for (const endpoint of changed) if (endpoint !== null) endpoints.announce(endpoint);
    await rest();
  }
  const pastSources = await keysOf(
    () => sources.all(),
    ({ previousExpiresAt: at }) => at !== null && at <= now,
    store.turns,
  );
  for (const some of slices(pastSources)) {
    if (isStopping()) break;
    const changed = await store.write(() => some.map((id) => sources.update(id, withoutOld(now, statusOf))));
    for (const source of changed) if (source !== null) sources.remember(source);
    await rest();
  }
  return pastEndpoints.length + pastSources.length;
}

/** Keys of those that are meant, of all that there are: others have their turns meanwhile. */
async function keysOf<Row extends { id: number }>(
  all: () => Iterable<Row>,
  isMeant: (row: Row) => boolean,
  turns: Turns,
): Promise<number[]> {
  const keys = new Set<number>();
  const lookAt = (row: Row) => isMeant(row) && keys.add(row.id);
  await turns.inPieces(0, () => piecewise(all(), lookAt));
  return [...keys];
}

function isPast({ previous }: Endpoint, now: number): boolean {
  return previous !== null && previous.expiresAt <= now;
}

/** Nobody changed anything: `updated_at` stays. */
function withoutPrevious(at: number): (current: Endpoint) => Partial<Endpoint> {
  return (current) =>
    isPast(current, at) ? { previous: null, updatedAt: current.updatedAt } : { updatedAt: current.updatedAt };
}

function withoutOld(at: number, statusOf: StatusOf): (current: Source) => Partial<Source> {
  return (current) => {
    const { previousExpiresAt, updatedAt } = current;
    if (previousExpiresAt === null || previousExpiresAt > at) return { updatedAt };
    const none = { previousSecret: null, previousSigningSecret: null, previousExpiresAt: null };
    return { ...none, updatedAt, status: statusOf({ ...current, ...none }, at) };
  };
}

/**
 * Disables endpoints that have failed for five days without one success and have nothing to try any more:
 * where something waits, its attempt decides (core/delivery.ts), and while its account is suspended or its
 * plan used up, nothing new is tried. Answers those that were disabled.
 */
export async function disableFailing(
  data: Pick<Data, "store" | "tenants" | "endpoints" | "health" | "meter">,
  actors: Actors,
  { isStopping, rest }: JobControl,
): Promise<Endpoint[]> {
  const { endpoints, health, meter, store, tenants } = data;
  const now = actors.clock.now();
  const isHeldBack = ({ projectId }: Endpoint) =>
    tenants.isSuspended(projectId) || meter.remaining(projectId) === 0;
  const isDue = (id: number) => {
    const endpoint = endpoints.current(id);
    if (endpoint?.status !== "active" || isHeldBack(endpoint) || !actors.isIdle(id)) return false;
    return actors.hasFailedTooLong(endpoint, health.get(id));
  };
  const disabled: Endpoint[] = [];
  let last: Failing | null = null;
  while (!isStopping()) {
    await store.turns.giveWay();
    const failing: Failing[] = health.failing(failedTooLongSince(now), last, CHANGED_AT_ONCE);
    last = failing.at(-1) ?? null;
    if (last === null) break;
    const due = failing.map(({ id }) => id).filter(isDue);
    if (due.length === 0) continue;
    const changed = await store.write(() =>
      due
        .filter(isDue)
        .map((id) => endpoints.update(id, () => ({ status: "disabled", disabledReason: "failing" }))),
    );
    for (const endpoint of changed) {
      if (endpoint === null) continue;
      endpoints.announce(endpoint);
      disabled.push(endpoint);
    }
    await rest();
  }
  return disabled;
}

function* slices<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += CHANGED_AT_ONCE) yield all.slice(at, at + CHANGED_AT_ONCE);
}

import type { Receipt } from "../kit/recorder.ts";
import type { Books, LoggedDelivery } from "./books.ts";

/**
 * Compares what clients were told, what the service says and what the receiver got. Every
 * sentence is a broken promise; none: all are kept.
 *
 * `startsAt`: when the processes after the first one were started. Only the end of the process before excuses
 * a second request for a message that was not refused.
 */
export function audit(books: Books, startsAt: readonly number[]): string[] {
  const byId = Map.groupBy(books.receipts, ({ id }) => id);
  return [
    ...findLost(books),
    ...findOpen(books),
    ...findUndelivered(books, byId),
    ...findForged(books),
    ...findDoubled(books),
    ...findRepeated(byId, startsAt),
  ];
}

/** A 2xx names an event that the log does not have, or one that is somebody else's. */
function findLost({ acknowledged, events, deliveries, receipts }: Books): string[] {
  const known = new Set(events.map(({ id }) => id));
  const tokens = new Map(receipts.map(({ id, token }) => [id, token]));
  const messages = Map.groupBy(deliveries, (delivery) => delivery.event_id);
  const promised = acknowledged.flatMap(({ ids, tokens: sent }) =>
    ids.map((id, at) => ({ id, token: sent[at] ?? "" })),
  );
  const lost = promised.filter(({ id }) => !known.has(id));
  const mixedUp = promised.filter(({ id, token }) =>
    (messages.get(id) ?? []).some((message) => (tokens.get(message.id) ?? token) !== token),
  );
  return [
    ...say(
      "acknowledged and not in the log",
      lost.map(({ id }) => id),
    ),
    ...say(
      "acknowledged, and something else was sent",
      mixedUp.map(({ id }) => id),
    ),
  ];
}

function findOpen({ events, deliveries }: Books): string[] {
  const counts = Map.groupBy(deliveries, (delivery) => delivery.event_id);
  const incomplete = events.filter((event) => (counts.get(event.id)?.length ?? 0) !== event.delivery_count);
  const stuck = deliveries.filter(({ status }) => status !== "delivered");
  return [
    ...say(
      "events without all their deliveries",
      incomplete.map(({ id }) => id),
    ),
    ...say(
      "deliveries that are not delivered",
      stuck.map(({ id, status }) => `${id} ${status}`),
    ),
  ];
}

function findUndelivered({ deliveries }: Books, byId: ReadonlyMap<string, readonly Receipt[]>): string[] {
  const receiptsOf = (delivery: LoggedDelivery) => byId.get(delivery.id)?.length ?? 0;
  const known = new Set(deliveries.map(({ id }) => id));
  const unseen = deliveries.filter((delivery) => receiptsOf(delivery) === 0);
  const overcounted = deliveries.filter((delivery) => receiptsOf(delivery) < delivery.attempt_count);
  const strange = [...byId.keys()].filter((id) => !known.has(id));
  return [
    ...say(
      "delivered and never received",
      unseen.map(({ id }) => id),
    ),
    ...say(
      "attempts that were never received",
      overcounted.map(({ id }) => id),
    ),
    ...say("received and not in the log", strange),
  ];
}

function findForged({ receipts }: Books): string[] {
  const unsigned = receipts.filter(({ isSigned }) => !isSigned);
  return say(
    "received without a valid signature",
    unsigned.map(({ id }) => id),
  );
}

/**
 * One key made two events: two messages with the same token at the same path, or one external_id twice. A
 * message that the log does not have is told of for itself: what a lost disk took makes an event anew.
 */
function findDoubled({ receipts, events, deliveries }: Books): string[] {
  const known = new Set(deliveries.map(({ id }) => id));
  const logged = receipts.filter(({ id }) => known.has(id));
  const messages = Map.groupBy(logged, ({ path, token }) => `${path} ${token}`);
  const doubled = [...messages].filter(([, of]) => new Set(of.map(({ id }) => id)).size > 1);
  const named = events.filter(({ external_id: externalId }) => externalId !== null);
  const twice = [...Map.groupBy(named, (event) => String(event.external_id))].filter(
    ([, of]) => of.length > 1,
  );
  return [
    ...say(
      "one key, several messages",
      doubled.map(([key]) => key),
    ),
    ...say(
      "one external_id, several events",
      twice.map(([key]) => key),
    ),
  ];
}

/** What came again has the same body, and came again because it was refused or a kill cut its attempt. */
function findRepeated(byId: ReadonlyMap<string, readonly Receipt[]>, startsAt: readonly number[]): string[] {
  const groups = [...byId.values()].filter((group) => group.length > 1);
  const changed = groups.filter((group) => new Set(group.map(({ digest }) => digest)).size > 1);
  const unexcused = groups.filter((group) =>
    group.some((one, at) => !isExcused(one, group[at + 1], startsAt)),
  );
  return [
    ...say(
      "one webhook-id, several bodies",
      changed.map(([one]) => one?.id ?? ""),
    ),
    ...say(
      "sent again without a reason",
      unexcused.map(([one]) => one?.id ?? ""),
    ),
  ];
}

function isExcused(one: Receipt, next: Receipt | undefined, startsAt: readonly number[]): boolean {
  if (next === undefined || one.status === 500) return true;
  return startsAt.some((at) => one.at <= at && at <= next.at);
}

function say(what: string, which: readonly string[]): string[] {
  return which.length === 0 ? [] : [`${what}: ${which.length} (${which.slice(0, 3).join(", ")})`];
}

import type { Caller } from "../../core/caller.ts";
import { untriedDelivery } from "../../core/delivery.ts";
import { notFound, Problem } from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";
import { DELIVERY_STATUS, type Event } from "../../core/model.ts";
import { piecewise } from "../../core/structures/turn-queue.ts";
import { requirePlaces } from "../../pipeline/admission.ts";
import { everyOne, type Replay, type ReplayList } from "../../store/log/replays.ts";
import { type DeliveryAnswer, deliveryOf } from "../deliveries/shape.ts";
import { commitChange } from "../framework/commit.ts";
import { replayOf } from "../replays/shape.ts";
import { requireReplayRoom } from "../shared/room.ts";
import type { Answer, RequestContext } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";

type WideNeeds = Needs<
  | "store"
  | "ids"
  | "tenants"
  | "events"
  | "fanouts"
  | "deliveries"
  | "meter"
  | "replays"
  | "replayer"
  | "actors"
>;

/** The key of an endpoint that gets the event again, and of the newest delivery that it has of it. */
interface Receiving {
  id: number;
  known?: number | undefined;
}

export const STILL_ON_ITS_WAY = "The event is still on its way to this endpoint for the first time.";
export const STILL_SPREADING =
  "The event is still on its way to some of its endpoints for the first time. Ask again in a moment, or name those that have it.";

/** Inside a write: throws 409 where replays have added as many deliveries to the event as they may. */
export function requireFewAdded({ deliveries }: Needs<"deliveries">, { id }: Event): void {
  const max = limit("replayedOfEventMax");
  if (deliveries.countAdded(id, max) < max) return;
  const detail = `Replays have added ${max} deliveries to the event, and add no more. Without \`new_message_id\` those that it has are sent again.`;
  throw new Problem("conflict", detail);
}

/**
 * An event that goes to more endpoints again than one transaction writes. That it does so, by which
 * deliveries, and the answer are written in one transaction, before anything is sent: whoever asks again
 * with the same Idempotency-Key, also after a crash, gets that answer. The answer names the first deliveries
 * and the bulk replay, which then sends slice by slice; an endpoint that is deleted or disabled before its
 * slice gets nothing.
 */
export class WideReplay {
  constructor(
    private readonly services: WideNeeds,
    private readonly caller: Caller,
    private readonly event: Event,
    private readonly isNewMessage: boolean,
  ) {}

  async run(
    context: Pick<RequestContext, "commit" | "turns">,
    receiving: readonly Receiving[],
  ): Promise<Answer> {
    const { services, event } = this;
    // Set aside for those that have no delivery yet: they are written after what comes meanwhile.
    const firstKey = services.store.takeKey(receiving.length);
    const list: ReplayList = { endpoints: [], deliveries: [] };
    const shown: string[] = [];
    const following = services.fanouts.endpointsOf(event.id);
    const onTheirWay = new Set<number>();
    await context.turns.inPieces(0, () => piecewise(following, (id) => onTheirWay.add(id)));
    let addsSome = false;
    for (const [at, { id: endpointId, known }] of receiving.entries()) {
      await context.turns.giveWay();
      const isAdded = this.isNewMessage || known === undefined;
      if (isAdded && onTheirWay.has(endpointId)) throw new Problem("conflict", STILL_ON_ITS_WAY);
      addsSome ||= isAdded;
      const id = isAdded ? firstKey + at : known;
      list.endpoints.push(endpointId);
      list.deliveries.push(id);
      if (at < limit("replayNamedMax")) shown.push(JSON.stringify(this.#describe(endpointId, id)));
    }
    const headers = { "content-type": "application/json" };
    const bodyOf = (replay: Replay) =>
      `{"data":[${shown.join(",")}],"replay":${JSON.stringify(replayOf(services, replay))}}`;
    return commitChange(context, {
      write: () => {
        if (addsSome) this.#requireFewAdded();
        return this.#insert(list);
      },
      answer: (replay) => ({ status: 202, body: bodyOf(replay), headers }),
      remember: (replay) => services.replayer.run(replay),
    });
  }

  /** As it will be once it is opened, which its slice does. */
  #describe(endpointId: number, id: number): DeliveryAnswer {
    const { actors, deliveries } = this.services;
    const { id: eventId, projectId, type, isTest } = this.event;
    const keys = { id, eventId, endpointId, projectId };
    const origin = isTest ? "test_replay" : "replay";
    const opened = untriedDelivery({ ...keys, origin, due: actors.clock.now() });
    const attemptCount = deliveries.get(id)?.attemptCount ?? 0;
    return deliveryOf(this.services, { ...opened, attemptCount }, type);
  }

  /** Inside the write: what a replay that runs has still to add is not counted yet. */
  #requireFewAdded(): void {
    const { id, projectId } = this.event;
    requireFewAdded(this.services, this.event);
    if (this.services.replays.isRunningOf(projectId, id))
      throw new Problem("conflict", "A bulk replay of the event is running. Ask again once it has ended.");
  }

  /** Inside the write. */
  #insert(list: ReplayList): Replay {
    const { replays, store, events } = this.services;
    const { id, projectId, isTest } = this.event;
    requireReplayRoom(this.services, this.caller);
    if (!isTest) requirePlaces(this.services, this.caller);
    if (events.get(id) === null) throw notFound("event");
    const { consumerId } = this.caller;
    const filter = { ...everyOne([...DELIVERY_STATUS]), event: { id, isTest } };
    const matched = list.endpoints.length;
    const last = store.latestKey;
    return replays.insert({ projectId, consumerId, filter, list, matched, position: 0, last });
  }
}

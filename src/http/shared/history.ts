import { limit } from "../../core/limits.ts";
import type { Turns } from "../../core/structures/turn-queue.ts";
import { type EventWithData, isBodyGone } from "../../store/log/events.ts";
import type { Needs } from "../framework/services.ts";

/**
 * The newest `count` events of a list (a project, a type or a consumer), newest first, each read when it is
 * asked for; others have their turn before each. Test events are left out, as nobody subscribes to them, and
 * those whose body has left.
 */
export async function* newestEvents(
  services: Needs<"events" | "index">,
  list: number,
  count: number,
  turns: Turns,
): AsyncGenerator<EventWithData> {
  let given = 0;
  let before = Number.MAX_SAFE_INTEGER;
  for (let seen = 0; seen < limit("searchScanMax"); seen += limit("listLimitMax")) {
    const keys = services.index.below([list], before, limit("listLimitMax"));
    for (const key of keys) {
      await turns.giveWay(services.events.bytesOf(key));
      const event = services.events.getWithData(key);
      if (event === null || event.isTest || isBodyGone(event)) continue;
      yield event;
      if (++given === count) return;
    }
    const last = keys.at(-1);
    if (last === undefined) return;
    before = last;
  }
}

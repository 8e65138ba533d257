import type { RoutedEvent } from "../../pipeline/audience.ts";
import type { Json } from "../../core/json/value.ts";
import { type Endpoint, envelopeOf } from "../../core/model.ts";
import { isSubscribed } from "../../core/routes.ts";
import { writeTransformed } from "../../core/transform/transform.ts";
import type { Pieces, Turns } from "../../core/structures/turn-queue.ts";
import type { Shaping } from "./input.ts";

/** What an event went through: how far it came, why not further, and its body there, as JSON text. */
export interface Preview {
  outcome: "matched" | "unmatched" | "failed";
  explanation: string | null;
  body: string | null;
}

/**
 * As the pipeline and an attempt would do it, one after the other: types, consumer, filter, transformations.
 * `explains`: whether a filter that says no is asked why.
 */
export function tryOn(
  shaping: Shaping,
  event: RoutedEvent,
  turns: Turns,
  explains: boolean,
): Preview | Promise<Preview> {
  const { endpoint, filter, transformation } = shaping;
  if (endpoint !== null && !isSubscribed(endpoint, event))
    return unmatched(whyNotSubscribed(endpoint, event));
  const text = envelopeOf(event.type, event.timestamp, event.data);
  if (filter === null && transformation === null)
    return { outcome: "matched", explanation: null, body: text };
  return turns.inPieces(text.length, () => tryText(shaping, text, explains));
}

function* tryText({ filter, transformation }: Shaping, text: string, explains: boolean): Pieces<Preview> {
  const envelope = JSON.parse(text) as Json;
  yield;
  if (filter !== null && !filter.matches(envelope)) {
    const verdict = explains ? filter.explain(envelope) : null;
    return unmatched(verdict?.matched === false ? verdict.explanation : null);
  }
  if (transformation === null) return { outcome: "matched", explanation: null, body: text };
  const result = yield* transformation.parts(envelope);
  yield;
  const written = writeTransformed(text, result);
  if (!written.ok) return { outcome: "failed", explanation: written.reason, body: null };
  return { outcome: "matched", explanation: null, body: written.text };
}

function unmatched(explanation: string | null): Preview {
  return { outcome: "unmatched", explanation, body: null };
}

function whyNotSubscribed({ eventTypes, consumerId }: Endpoint, event: RoutedEvent): string {
  if (consumerId !== null && consumerId !== event.consumerId)
    return "The endpoint belongs to a consumer that this event was not published for.";
  return `The endpoint's types are ${eventTypes?.join(", ")}; the event is of the type ${event.type}.`;
}

import { Type } from "@sinclair/typebox";
import { notFound } from "../../core/errors.ts";
import type { Json } from "../../core/json/value.ts";
import type { Turns } from "../../core/structures/turn-queue.ts";
import { limit } from "../../core/limits.ts";
import { SchemaInference } from "../../core/schema/infer.ts";
import { LABELS } from "../../store/index/index.ts";
import { eventTypeExample } from "./shape.ts";
import { newestEvents } from "../shared/history.ts";
import { type AnyRoute, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";

const LAST_DEFAULT = 100;

/** A first schema, from what events of the type have in common. It changes nothing. */
export function inferenceRoute(services: Needs<"eventTypes" | "events" | "index">): AnyRoute {
  return route({
    method: "POST",
    path: "/v1/event-types/:name/infer-schema",
    operationId: "inferSchema",
    tag: "Event types",
    summary: "Propose a schema from stored events",
    description:
      "Looks at the newest events of this type, described or not, and proposes what they have in common: types, and which fields " +
      `were always there. Test events, and events above ${limit("inferredBytesMax")} bytes, are left out. Nothing is changed.`,
    access: "owner",
    budget: "management",
    longWork: true,
    audit: "It changes nothing.",
    body: Type.Object(
      {
        last: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: limit("historyMax"),
            default: LAST_DEFAULT,
            description: "How many events.",
          }),
        ),
      },
      { additionalProperties: false },
    ),
    bodyExample: { last: 500 },
    answers: {
      200: {
        description: "The proposal, and how many events it comes from.",
        schema: Type.Object({
          schema: Type.Object({}, { additionalProperties: true }),
          events: Type.Integer({ description: "Events that were looked at." }),
        }),
        example: { schema: eventTypeExample.schema, events: 118 },
      },
    },
    async handle({ caller, params, body, turns }) {
      const list = services.index.labels.find(caller.projectId, LABELS.type, params.name);
      const isDescribed = services.eventTypes.find(caller.projectId, params.name) !== undefined;
      if (list === null && !isDescribed) throw notFound("event type");
      const proposal = await infer(services, list, body.last ?? LAST_DEFAULT, turns);
      return { status: 200, json: proposal };
    },
  });
}

async function infer(
  services: Needs<"events" | "index">,
  list: number | null,
  last: number,
  turns: Turns,
): Promise<{ schema: Json; events: number }> {
  const inference = new SchemaInference();
  let events = 0;
  for await (const event of list === null ? [] : newestEvents(services, list, last, turns)) {
    if (event.data.length > limit("inferredBytesMax")) continue;
    await turns.giveWay(event.data.length);
    inference.add(JSON.parse(event.data) as Json);
    events++;
  }
  return { schema: inference.propose(), events };
}

import { Type } from "@sinclair/typebox";
import type { Turns } from "../../core/structures/turn-queue.ts";
import type { Caller } from "../../core/caller.ts";
import { limit } from "../../core/limits.ts";
import type { Endpoint } from "../../core/model.ts";
import { LABELS } from "../../store/index/index.ts";
import { eventExample } from "../events/shape.ts";
import { warningFields } from "../endpoints/filter-warnings.ts";
import { newestEvents } from "../shared/history.ts";
import {
  type PreviewBody,
  previewShape,
  readShaping,
  readSubject,
  requireOneSubject,
  type Shaping,
} from "./input.ts";
import { tryOn } from "./run.ts";
import { PreviewTally } from "./tally.ts";
import { type AnyRoute, type Answer, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import { nullable } from "../shared/shapes.ts";

/** Filter and transformations tried on events, before they are saved. Nothing is sent or stored. */
export function previewRoutes(
  services: Needs<"ids" | "endpoints" | "events" | "index" | "wallNow">,
): AnyRoute[] {
  return [previewRoute(services)];
}

const LONGEST_SECONDS = 60;
/** An event with filter and transformations, and their names: one turn has the parse of it all. */
const BODY_MAX_BYTES =
  limit("eventBodyBytesMax") + limit("filterBytesMax") + limit("transformationsBytesMax") + 1024;

const bodyShape = Type.Object(
  {},
  { additionalProperties: true, description: "What would be sent.", $id: "RenderedBody" },
);
const explanationShape = Type.String({ description: "Why it does not match, or cannot be rendered." });

const oneShape = Type.Object(
  {
    matched: Type.Boolean(),
    explanation: nullable(explanationShape),
    body: nullable(bodyShape),
    ...warningFields,
  },
  { $id: "PreviewOfOne" },
);

const manyShape = Type.Object(
  {
    tried: Type.Integer({ description: "Stored events that were looked at." }),
    matched: Type.Integer({ description: "Those that types, consumer and filter admit." }),
    failed: Type.Integer({ description: "Those of them that the transformations cannot render." }),
    samples: Type.Array(
      Type.Object(
        {
          event_id: Type.String(),
          matched: Type.Boolean(),
          explanation: Type.Optional(explanationShape),
          before: bodyShape,
          after: nullable(bodyShape),
        },
        { $id: "PreviewSample" },
      ),
      { description: "A few of each outcome, newest first." },
    ),
    ...warningFields,
  },
  { $id: "PreviewOfMany" },
);

const EXAMPLE = {
  type: "invoice.paid",
  timestamp: "2026-11-20T09:00:00.000Z",
  data: { id: "in_42", total: 990 },
};

function previewRoute(services: Needs<"ids" | "endpoints" | "events" | "index" | "wallNow">): AnyRoute {
  return route({
    method: "POST",
    path: "/v1/endpoints/preview",
    operationId: "previewEndpoint",
    tag: "Endpoints",
    summary: "Try a filter and transformations",
    description:
      "On an event that you paste (`event`), on a stored one (`event_id`), or on the newest stored events (`last`). Nothing is sent " +
      "and nothing is stored. A portal token tries them on its consumer's events.",
    access: "read",
    budget: "management",
    longWork: true,
    audit: "It changes nothing.",
    body: previewShape,
    bodyMaxBytes: BODY_MAX_BYTES,
    bodyExample: { last: 100, filter: { data: { total: { $gte: 100 } } } },
    waitMaxSeconds: LONGEST_SECONDS,
    answers: {
      200: {
        description: "On one event, or with `last` on many.",
        schema: Type.Union([oneShape, manyShape]),
        example: {
          tried: 100,
          matched: 1,
          failed: 0,
          samples: [{ event_id: eventExample.id, matched: true, before: EXAMPLE, after: EXAMPLE }],
        },
      },
    },
    refuses: { not_found: "There is no such event or endpoint." },
    async handle({ caller, body, bytes, turns }) {
      requireOneSubject(body);
      // What is stored may be as long to compile as what is sent.
      if (body.endpoint_id !== undefined || body.filter || body.transformations) await turns.ownTurn();
      const shaping = readShaping(services, caller, body);
      if (body.last !== undefined) return previewMany(services, caller, shaping, body.last, turns);
      return previewOne(services, caller, shaping, { body, bytes, turns });
    },
  });
}

async function previewOne(
  services: Needs<"ids" | "events" | "wallNow">,
  caller: Caller,
  shaping: Shaping,
  { body, bytes, turns }: { body: PreviewBody; bytes: Uint8Array; turns: Turns },
): Promise<Answer> {
  // Read once more, as text, after a turn that had the parse of it all.
  if (body.event !== undefined) await turns.giveWay(bytes.length);
  const event = readSubject(services, caller, body, bytes, shaping.endpoint);
  const preview = await tryOn(shaping, event, turns, true);
  const matched = preview.outcome !== "unmatched";
  const tail = tailOf(shaping);
  return jsonText(
    `{"matched":${matched},"explanation":${JSON.stringify(preview.explanation)},"body":${preview.body ?? "null"}${tail}`,
  );
}

async function previewMany(
  services: Needs<"ids" | "events" | "index">,
  caller: Caller,
  shaping: Shaping,
  last: number,
  turns: Turns,
): Promise<Answer> {
  const list = listFor(services, caller, shaping.endpoint);
  const tally = new PreviewTally(services.ids);
  for await (const event of list === null ? [] : newestEvents(services, list, last, turns)) {
    tally.add(event, await tryOn(shaping, event, turns, tally.wantsUnmatched));
  }
  return jsonText(`${tally.write().slice(0, -1)}${tailOf(shaping)}`);
}

/** How the JSON text of an answer ends: with what is hardly meant in the filter. */
function tailOf({ warnings }: Shaping): string {
  return warnings === undefined ? "}" : `,"warnings":${JSON.stringify(warnings)}}`;
}

/**
 * The events that the caller sees and the endpoint could get: those of a consumer, or of the whole project.
 */
function listFor({ index }: Needs<"index">, caller: Caller, endpoint: Endpoint | null): number | null {
  const consumerId = caller.consumerId ?? endpoint?.consumerId ?? null;
  return consumerId === null
    ? caller.projectId
    : index.labels.find(caller.projectId, LABELS.consumer, consumerId);
}

/** By hand, as a body that nothing transforms is what was published, to the spelling of its numbers. */
function jsonText(body: string): Answer {
  return { status: 200, body, headers: { "content-type": "application/json" } };
}

import { Type } from "@sinclair/typebox";
import { limit } from "../../core/limits.ts";
import { areFewHops, loopDetected, readHops } from "../../core/hops.ts";
import { isHeavy } from "../../core/structures/turn-queue.ts";
import type { Accepted, Incoming } from "../../pipeline/pipeline.ts";
import { newBatchShape, readBatch } from "./batch-input.ts";
import { durabilityOf, repeated, saying } from "./durability.ts";
import { newEventShape, readEvent, readLargeEvent } from "./input.ts";
import { requireValidForType } from "./type-check.ts";
import { LOOP_DETECTED, PLAN_LIMIT, REPLICA_UNAVAILABLE } from "../openapi/shared.ts";
import { publishedExample, publishedOf, publishedShape } from "./shape.ts";
import { type AnyRoute, type Answer, type RequestContext, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import { batchFacts, eventFacts, traced } from "../shared/traced.ts";
import type { RequestSpan } from "../../platform/tracing.ts";

type PublishNeeds = Needs<
  | "ids"
  | "tenants"
  | "eventTypes"
  | "events"
  | "pipeline"
  | "tracing"
  | "confirmations"
  | "durability"
  | "wallNow"
>;

/** Publishing. The answer leaves after the fsync, or after the replica: a crash behind it loses nothing. */
export function publishRoutes(services: PublishNeeds): AnyRoute[] {
  return [publishEvent(services), publishBatch(services)];
}

const newEventExample = {
  type: "invoice.paid",
  data: { id: "in_42", total: 990 },
  consumer_id: "cust_7",
};

const REFUSALS = {
  plan_limit_reached: PLAN_LIMIT,
  invalid_request: "Fields are wrong, or the project rejects unknown event types.",
  schema_violation: "`data` violates the schema of its type.",
  loop_detected: LOOP_DETECTED,
  replica_unavailable: REPLICA_UNAVAILABLE,
};

const DURABILITY =
  "Where `sealpost-durability` is `replica`, the answer leaves once the replica has what it acknowledges, and its deliveries start then.";

function publishEvent(services: PublishNeeds): AnyRoute {
  return route({
    method: "POST",
    path: "/v1/events",
    operationId: "publishEvent",
    tag: "Events",
    summary: "Publish an event",
    description:
      `The event is on disk before the answer leaves. ${DURABILITY} An event whose \`external_id\` is there already is not accepted again: ` +
      "the first one is answered, with 200 and `duplicate: true`, whatever type and data it comes with now.",
    access: "publish",
    budget: "publish",
    body: newEventShape,
    bodyMode: "raw",
    bodyMaxBytes: limit("eventBodyBytesMax"),
    bodyExample: newEventExample,
    answers: {
      202: { description: "Accepted.", schema: publishedShape, example: publishedExample },
      200: {
        description: "It was there before.",
        schema: publishedShape,
        example: { ...publishedExample, external_id: "order-1042", duplicate: true },
      },
    },
    refuses: REFUSALS,
    repeat: ({ request }, kept) => repeated(services, request, kept),
    handle: (context) =>
      traced(services, "/v1/events", context.request.headers, (span) => takeOne(services, context, span)),
  });
}

async function takeOne(
  services: PublishNeeds,
  context: RequestContext<"/v1/events", "publish">,
  span: RequestSpan | null,
): Promise<Answer> {
  const { projectId } = context.caller;
  const { bytes } = context;
  const durability = durabilityOf(services, context.request);
  const now = services.wallNow();
  const incoming = isHeavy(bytes.length)
    ? await readLargeEvent(bytes, now, context.turns)
    : readEvent(bytes, now);
  const events = [incoming];
  countHops(context.request, events);
  keepTrace(span, events);
  // A narrow event about which neither a schema nor a filter is asked awaits nothing but its fsync: an
  // await for nothing costs every event.
  const checking = requireValidForType(services, context, events, atRoot);
  if (checking instanceof Promise) await checking;
  const preparing = services.pipeline.prepare(projectId, events);
  const prepared = preparing instanceof Promise ? await preparing : preparing;
  // In one transaction: `write` the event and its deliveries, then make the answer, which `commit` keeps.
  const answer = await prepared.commitAndDispatch(
    (write) => context.commit(() => answerOne(services, write(), span)),
    durability,
  );
  return saying(durability, answer);
}

function answerOne(
  services: Needs<"ids">,
  [accepted]: readonly Accepted[],
  span: RequestSpan | null,
): Answer {
  if (accepted === undefined) throw new Error("one event was prepared, and none written");
  span?.say(eventFacts(services, accepted));
  const { event, duplicate } = accepted;
  return {
    status: duplicate ? 200 : 202,
    json: publishedOf(services, event, duplicate),
    repeated: duplicate ? 1 : 0,
  };
}

/** Reads how many deliveries the events came through, as the publisher says. Throws 508 for too many. */
function countHops({ headers }: Request, events: readonly Incoming[]): void {
  const hops = readHops(headers);
  if (hops === 0) return;
  if (!areFewHops(hops)) throw loopDetected(hops);
  for (const event of events) event.hops = hops;
}

function keepTrace(span: RequestSpan | null, events: readonly Incoming[]): void {
  if (span !== null) for (const event of events) event.trace = span.kept;
}

/** Where the event stands in the body. */
function atRoot(): string {
  return "";
}

function publishBatch(services: PublishNeeds): AnyRoute {
  return route({
    method: "POST",
    path: "/v1/events/batch",
    operationId: "publishBatch",
    tag: "Events",
    summary: "Publish events together",
    description:
      "All of them or none. Each one costs as much of the rate limit as if it were published alone, and may be as large. " +
      `The answer has one entry for each event, in their order; \`duplicate\` is true where its \`external_id\` was there before. ${DURABILITY}`,
    access: "publish",
    budget: "publish",
    body: newBatchShape,
    bodyMode: "raw",
    bodyMaxBytes: limit("batchBodyBytesMax"),
    bodyExample: { events: [newEventExample, { ...newEventExample, external_id: "order-1042" }] },
    answers: {
      202: {
        description: "Accepted.",
        schema: Type.Object({ data: Type.Array(publishedShape) }),
        example: { data: [publishedExample] },
      },
    },
    refuses: {
      ...REFUSALS,
      invalid_request: `${REFUSALS.invalid_request} Or the events go to very many different sets of endpoints (\`batchListRowsMax\`), or have very many deliveries (\`batchDeliveriesMax\`).`,
    },
    repeat: ({ request }, kept) => repeated(services, request, kept),
    handle: (context) =>
      traced(services, "/v1/events/batch", context.request.headers, (span) =>
        takeAll(services, context, span),
      ),
  });
}

async function takeAll(
  services: PublishNeeds,
  context: RequestContext<"/v1/events/batch", "publish">,
  span: RequestSpan | null,
): Promise<Answer> {
  const { projectId } = context.caller;
  const durability = durabilityOf(services, context.request);
  const charge = (count: number) => context.charge(count - 1);
  const incoming = await readBatch(context.bytes, services.wallNow(), context.turns, charge);
  countHops(context.request, incoming);
  keepTrace(span, incoming);
  span?.say(batchFacts(services, projectId, incoming));
  await requireValidForType(services, context, incoming, (at) => `/events/${at}`);
  const prepared = await services.pipeline.prepare(projectId, incoming);
  const answer = await prepared.commitAndDispatch(
    (write) => context.commit(() => answerAll(services, write())),
    durability,
  );
  return saying(durability, answer);
}

function answerAll(services: Needs<"ids">, accepted: readonly Accepted[]): Answer {
  return {
    status: 202,
    json: { data: accepted.map(({ event, duplicate }) => publishedOf(services, event, duplicate)) },
    repeated: accepted.filter(({ duplicate }) => duplicate).length / accepted.length,
  };
}

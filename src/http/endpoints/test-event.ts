import { Type } from "@sinclair/typebox";
import { invalid, notFound, Problem, unavailable } from "../../core/errors.ts";
import { isEventType, TRIAL_TYPE } from "../../core/event-type.ts";
import type { Caller } from "../../core/caller.ts";
import type { Endpoint } from "../../core/model.ts";
import { isPolled, isStrayTest, STRAY_TEST } from "../../destinations/destinations.ts";
import { TRIAL_DATA } from "../../delivery/trial.ts";
import type { Incoming } from "../../pipeline/pipeline.ts";
import { type AttemptAnswer, attemptExample, attemptOf, attemptShape } from "../deliveries/attempt-shape.ts";
import { type DeliveryAnswer, deliveryExample, deliveryOf, deliveryShape } from "../deliveries/shape.ts";
import { disabledConflict } from "./change.ts";
import { findEndpoint } from "../shared/lookups.ts";
import { type AnyRoute, ATTEMPT_WAIT_SECONDS, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import { typeText } from "../shared/shapes.ts";

/** A test writes an event, sends it, and answers the attempt as the store has it. */
type TestNeeds = Needs<
  | "ids"
  | "endpoints"
  | "eventTypes"
  | "events"
  | "deliveries"
  | "attempts"
  | "pipeline"
  | "actors"
  | "wallNow"
>;

/** One example event, sent to one endpoint at once. */
export function endpointTestRoutes(services: TestNeeds): AnyRoute[] {
  return [testRoute(services)];
}

const TEST_ANSWERS = {
  200: {
    description: "The attempt, also where it failed.",
    schema: attemptShape,
    example: { ...attemptExample, trigger: "test", next_attempt_at: null },
  },
  202: {
    description: "Of the kind `poll`: the delivery, which waits to be fetched.",
    schema: deliveryShape,
    example: { ...deliveryExample, status: "pending", attempt_count: 0, next_attempt_at: null },
  },
} as const;

function testRoute(services: TestNeeds): AnyRoute {
  return route({
    method: "POST",
    path: "/v1/endpoints/:id/test",
    operationId: "testEndpoint",
    tag: "Endpoints",
    summary: "Send a test event to an endpoint",
    description:
      "One event, with the example of its type where it has one, sent once and at once, also while the endpoint is paused or " +
      "backing off, whatever it subscribes to. It stands in the log with `test: true` and is not metered. The answer comes when the " +
      "attempt is over. An endpoint of the kind `poll` is sent nothing: there the event waits to be fetched like any other. " +
      "Where the type decides where the message goes (`rabbitmq` without `routing_key`, `aws_eventbridge` without `detail_type`), " +
      "a portal link names none, or one of the catalog; a test of any other type is not sent again.",
    access: "manage",
    budget: "management",
    audit: "Its event and attempt stand in the log as tests.",
    body: Type.Object(
      {
        type: Type.Optional(typeText({ description: "The type of the event.", default: TRIAL_TYPE })),
      },
      { additionalProperties: false },
    ),
    bodyExample: { type: "invoice.paid" },
    waitMaxSeconds: ATTEMPT_WAIT_SECONDS,
    answers: TEST_ANSWERS,
    refuses: { conflict: "It is disabled, or is given to another consumer at this moment." },
    async handle(context) {
      const { caller, params, body } = context;
      const type = body.type ?? TRIAL_TYPE;
      if (!isEventType(type))
        throw invalid("/type", "Expected the name of an event type, such as invoice.paid.");
      const endpoint = findEndpoint(services, caller, params.id);
      if (endpoint.status === "disabled") throw disabledConflict();
      requireOwnType(services, caller, endpoint, type);
      context.takeByHand(1);
      if (isPolled(endpoint.kind)) {
        context.beginChange();
        const waiting = await writeTest(services, caller, endpoint, type);
        return { status: 202, json: waitingTest(services, waiting, type) };
      }
      const deliveryId = await sendTest(services, caller, endpoint, type);
      context.requireCaller();
      // Kept in memory alone: its bodies leave with their event, and a test that is sent again does no harm.
      return { status: 200, json: lastAttempt(services, deliveryId) };
    },
  });
}

/**
 * Where the type decides where the message goes, the holder of a portal link does not make one up: the
 * credentials are stored for what the project publishes.
 */
function requireOwnType(
  { eventTypes }: Needs<"eventTypes">,
  { kind }: Caller,
  endpoint: Endpoint,
  type: string,
): void {
  if (kind === "portal" && isStrayTest(eventTypes, endpoint, type)) throw invalid("/type", STRAY_TEST);
}

/** What is refused before it is written leaves no event, and nothing that is sent later. */
async function sendTest(
  services: TestNeeds,
  caller: Caller,
  endpoint: Endpoint,
  type: string,
): Promise<number> {
  const giveBack = reserve(services, endpoint);
  try {
    const deliveryId = await writeTest(services, caller, endpoint, type);
    // In the turn of the attempt, so that nobody else gets it.
    giveBack();
    await attempt(services, caller, deliveryId);
    return deliveryId;
  } finally {
    giveBack();
  }
}

function reserve({ actors }: Needs<"actors">, { id }: Endpoint): () => void {
  const reserved = actors.reserveByHand(id);
  if (typeof reserved === "function") return reserved;
  if (reserved === "closed") throw disabledConflict();
  if (reserved === "stopping") throw unavailable("The service is stopping. Try again in a moment.");
  const detail = "As many attempts are in flight as may be. Ask again in a moment.";
  throw new Problem("rate_limited", detail, { headers: { "retry-after": "1" } });
}

/** The event and its delivery, on disk. */
async function writeTest(
  services: Needs<"ids" | "endpoints" | "eventTypes" | "pipeline" | "wallNow">,
  caller: Caller,
  endpoint: Endpoint,
  type: string,
): Promise<number> {
  const event: Incoming = {
    type,
    timestamp: services.wallNow(),
    data: JSON.stringify(services.eventTypes.find(endpoint.projectId, type)?.example ?? TRIAL_DATA),
    consumerId: endpoint.consumerId,
    externalId: null,
    sourceId: null,
    isTest: true,
    hops: 0,
    trace: null,
  };
  const deliveryId = await services.pipeline.commitTest(endpoint, event);
  if (deliveryId !== null) return deliveryId;
  const { status } = findEndpoint(services, caller, services.ids.encode("ep", endpoint.id));
  if (status === "disabled") throw disabledConflict();
  throw new Problem("conflict", "The endpoint was given to another consumer meanwhile. Ask again.");
}

/** The delivery that a poller gets next, once all before it are acknowledged. */
function waitingTest(
  services: Needs<"ids" | "deliveries" | "actors">,
  deliveryId: number,
  type: string,
): DeliveryAnswer {
  const delivery = services.deliveries.get(deliveryId);
  if (delivery === null) throw notFound("delivery");
  services.actors.polled(delivery.endpointId)?.enqueue();
  return deliveryOf(services, delivery, type);
}

async function attempt({ actors }: Needs<"actors">, { kind }: Caller, deliveryId: number): Promise<void> {
  const sent = await actors.attemptNow(deliveryId, "test", kind !== "portal");
  if (sent === "closed") throw disabledConflict();
  if (sent === null || typeof sent === "string")
    throw unavailable(
      "The service is stopping, or as many attempts are in flight as may be; the test is sent later.",
    );
}

/** The attempt as the store has it. */
function lastAttempt(
  services: Needs<"ids" | "endpoints" | "events" | "deliveries" | "attempts">,
  deliveryId: number,
): AttemptAnswer {
  const { attempts, deliveries, events } = services;
  const [made] = attempts.ofDelivery(deliveryId, Number.MAX_SAFE_INTEGER, 1);
  const delivery = deliveries.get(deliveryId);
  const event = delivery && events.getWithData(delivery.eventId);
  if (!made || !delivery || !event) throw notFound("attempt");
  return attemptOf(services, made, delivery, event);
}

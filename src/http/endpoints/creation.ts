import { Type } from "@sinclair/typebox";
import type { Caller } from "../../core/caller.ts";
import { invalid } from "../../core/errors.ts";
import type { NewEndpoint } from "../../store/resources/endpoints.ts";
import { commitChange } from "../framework/commit.ts";
import { requireRoom } from "./change.ts";
import { requireSafeDestination } from "./destination.ts";
import { readNewEndpoint, readRouting } from "./input.ts";
import { createdEndpointShape, endpointExample, endpointOf, newEndpointShape } from "./shape.ts";
import { warningsPart } from "./filter-warnings.ts";
import { makeTrials, requireDelivered } from "./trial.ts";
import { type AnyRoute, ATTEMPT_WAIT_SECONDS, type RequestContext, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";

const EXAMPLE_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

const creationQuery = Type.Object(
  {
    verify: Type.Optional(
      Type.Boolean({ default: false, description: "Try the destination first with a test message." }),
    ),
  },
  { additionalProperties: false },
);

type CreationContext = RequestContext<
  "/v1/endpoints",
  "create",
  typeof creationQuery,
  typeof newEndpointShape,
  "parsed"
>;

export function endpointCreationRoute(
  services: Needs<"ids" | "endpoints" | "actors" | "guard" | "sendTrial" | "wallNow">,
): AnyRoute {
  const trials = makeTrials();
  return route({
    method: "POST",
    path: "/v1/endpoints",
    operationId: "createEndpoint",
    tag: "Endpoints",
    summary: "Create an endpoint",
    description:
      "`{url}`, or `{kind, config}`. The address is checked now and again at every attempt. A portal token makes endpoints of its " +
      "consumer only. The secret stands in this answer; later, only `manage` shows it. With `verify=true` one test message is sent " +
      "before anything is stored, as deliveries will be, but without the transformations; where the destination does not take it, the " +
      "answer is 422 `invalid_request` at `/config`, with the reason in `detail`, and there is no endpoint. A receiver that verifies " +
      "signatures needs the secret before: give it as `secret`.",
    access: "create",
    budget: "management",
    audit: { action: "endpoint.created", object: "endpoint" },
    query: creationQuery,
    waitMaxSeconds: ATTEMPT_WAIT_SECONDS,
    body: newEndpointShape,
    bodyExample: {
      url: endpointExample.url,
      event_types: ["invoice.*"],
      description: "Invoices to the ledger",
    },
    answers: {
      201: {
        description: "The endpoint, with the secret that signs its deliveries.",
        schema: createdEndpointShape,
        example: { ...endpointExample, secret: EXAMPLE_SECRET },
      },
    },
    refuses: {
      invalid_request: "Fields are wrong, or the test message was not taken.",
      unsafe_destination: "The address is not allowed.",
    },
    async handle(context) {
      const fields = await readFields(context, services.wallNow());
      await requireSafeDestination(services, context.body, fields);
      if (context.query.verify) {
        requireRoom(services, fields);
        await requireDelivered(services, trials, context.caller, fields);
      }
      return insert(services, context, fields);
    },
  });
}

async function readFields(context: CreationContext, now: number): Promise<NewEndpoint> {
  const { caller, body } = context;
  const consumerId = ownConsumer(caller, body.consumer_id ?? null);
  const routing = await readRouting(body, context.turns);
  return { ...readNewEndpoint(body, routing, caller.projectId, now), consumerId };
}

/** The consumer that a new endpoint belongs to: a portal token's own, whatever it asks for. */
function ownConsumer({ consumerId }: Caller, asked: string | null): string | null {
  if (consumerId === null) return asked;
  if (asked === null || asked === consumerId) return consumerId;
  throw invalid("/consumer_id", "This portal link makes endpoints of its own consumer only.");
}

function insert(
  services: Needs<"ids" | "endpoints" | "actors">,
  context: CreationContext,
  fields: NewEndpoint,
) {
  const { endpoints } = services;
  return commitChange(context, {
    write() {
      requireRoom(services, fields);
      return endpoints.insert(fields);
    },
    answer: (made) => ({
      status: 201,
      json: {
        ...endpointOf(services, made),
        ...warningsPart(context.body.filter),
        secret: made.secret,
      },
    }),
    remember: (made) => endpoints.announce(made),
  });
}

import { Type } from "@sinclair/typebox";
import { limit } from "../../core/limits.ts";
import type { KeyCache } from "../../inbound/keys.ts";
import { type DoorNeeds, IngestDoor } from "./door.ts";
import { LOOP_DETECTED, REPLICA_UNAVAILABLE } from "../openapi/shared.ts";
import { type AnyRoute, type RequestContext, route } from "../framework/route.ts";
import type { SourceMonitor } from "../sources/monitor.ts";

/** The door for the requests of providers. The path and its query reach no log. */
export function ingestRoutes(services: DoorNeeds, monitor: SourceMonitor, keys: KeyCache): AnyRoute[] {
  const door = new IngestDoor(services, monitor, keys);
  const shared = {
    path: "/ingest/:id",
    tag: "Ingest",
    access: "none",
    budget: "none",
    ignoresQuery: true,
    takesAnyPath: true,
    logsRefusals: true,
    bodyMode: "opaque",
    handle: (context: IngestContext) => door.receive(context.params.id, context),
  } as const;
  return [
    route({
      ...shared,
      method: "POST",
      operationId: "ingest",
      summary: "Receive a provider's request",
      description:
        "The raw bytes are verified before anything else is done with them; a token is never taken from the query string. Accepted: " +
        "the event is on disk, and where the source's `durability` is `replica` in the replica too. Seen before: the same event, `duplicate: true`. A provider that demands another answer gets it.",
      body: Type.Unknown({ description: "As the provider sends it, of whatever content type." }),
      bodyMaxBytes: limit("ingestBodyBytesMax"),
      onTooLarge: ({ id = "" }) => door.refuseTooLarge(id),
      answers: INGEST_ANSWERS,
      refuses: INGEST_REFUSALS,
    }),
    route({
      ...shared,
      method: "GET",
      operationId: "answerHandshake",
      summary: "Answer a provider's handshake",
      description:
        "Challenges and probes by GET or HEAD, as the provider demands them. None becomes an event.",
      answers: { 200: CHALLENGE, 401: NO_HANDSHAKE },
    }),
    route({
      ...shared,
      method: "OPTIONS",
      operationId: "allowSender",
      summary: "Allow a sender of CloudEvents",
      description:
        "The abuse protection of CloudEvents (HTTP 1.1 Web Hooks, section 4), which Azure Event Grid demands: the sender names itself " +
        "in `webhook-request-origin`, and is allowed by `webhook-allowed-origin` and `webhook-allowed-rate`.",
      answers: { 200: { description: "The sender may send." }, 401: NO_HANDSHAKE },
    }),
  ];
}

type IngestContext = RequestContext<"/ingest/:id", "none">;

const NO_HANDSHAKE = { description: "No handshake of this source's provider. The body is empty." };

const CHALLENGE = {
  description: "As the provider demands.",
  contentType: "text/plain",
  schema: Type.String(),
  example: "challenge",
};

const INGEST_ANSWERS = {
  200: {
    description: "The event. Handshakes and some providers have answers of their own.",
    schema: Type.Object({ id: Type.String(), duplicate: Type.Optional(Type.Literal(true)) }),
    example: { id: "evt_01KAHM9Q7W00B5C1D7E9F3G6HJ" },
  },
  202: { description: "Accepted, where the provider demands this status." },
  204: { description: "Accepted, or answered, where the provider demands this status. The body is empty." },
  401: { description: "Refused, for whatever reason; an unknown source too. The body is empty." },
};

const INGEST_REFUSALS = {
  loop_detected: LOOP_DETECTED,
  payload_too_large:
    "The body is larger than 1 MiB, whatever the source; or verified, but no JSON, and longer than 2 MiB as the JSON that it becomes.",
  rate_limited:
    "Verified, but over the source's rate; or the plan is used up, and too many events wait for it already.",
  unavailable:
    "The source is paused or its account suspended, keys of the provider could not be had, too many bodies come in at once or wait for " +
    "its account, or the service is stopping.",
  replica_unavailable: REPLICA_UNAVAILABLE,
};

import { ERRORS, type ErrorCode } from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";
import { DURABILITIES } from "../../core/model.ts";
import { TRACEPARENT_HEADER } from "../../core/trace-context.ts";
import { PRINTABLE_ASCII } from "../framework/idempotency.ts";
import type { Json } from "../shared/json-schema.ts";
import type { Refusals } from "../framework/route.ts";

/** What the OpenAPI document says once for all operations. */

const EXAMPLE_REQUEST_ID = "5f3a1c9e-7d2b-4c1e-9a52-0c5d1f7f2b11";

/** Errors whose answers carry `retry-after`. */
const RETRIED: ReadonlySet<ErrorCode> = new Set(["rate_limited", "unavailable", "replica_unavailable"]);

/** The documented answer for the errors of one status: when each is answered, and an example of it. */
export function problemResponse(codes: readonly ErrorCode[], refuses: Refusals = {}): Json {
  const examples = codes.map((code) => [code, { summary: ERRORS[code].title, value: problemExample(code) }]);
  const sentences = codes.map((code) => `\`${code}\`: ${refuses[code] ?? `${ERRORS[code].title}.`}`);
  return {
    description: sentences.join(" "),
    headers: {
      "x-request-id": { $ref: "#/components/headers/x-request-id" },
      ...(codes.some((code) => RETRIED.has(code)) && {
        "retry-after": { $ref: "#/components/headers/retry-after" },
      }),
    },
    content: {
      "application/problem+json": {
        schema: { $ref: "#/components/schemas/Problem" },
        examples: Object.fromEntries(examples),
      },
    },
  };
}

function problemExample(code: ErrorCode): Json {
  const { title, status } = ERRORS[code];
  const example = { type: `urn:sealpost:error:${code}`, title, status, code, detail: `${title}.` };
  const errors = code === "invalid_request" && {
    errors: [{ pointer: "/name", detail: "This field is required." }],
  };
  return { ...example, request_id: EXAMPLE_REQUEST_ID, ...errors };
}

export const INTRODUCTION = `Sealpost delivers your events as signed webhooks and receives those of others.

All bodies are JSON in UTF-8 (of a key that stands twice in one object the last counts; a number beyond the range of a double is refused), all times RFC 3339 in UTC. Errors are RFC 9457 problem documents; their \`code\` is stable.
Every answer carries \`x-request-id\`. A path answers 405 to a method that it does not take, with \`allow\`, and any path 400 \`malformed_request\` to a request
whose target or \`Host\` cannot be read. What is no HTTP ends with the connection, or a 400, 431 or 505 without a body.

A [tour](/docs/tour) shows what there is; [behaviour](/docs/behaviour) has the words, retries, errors and idempotency; a receiver
[verifies](/docs/verifying) what it gets, as [ten of them](/docs/receivers) show. Three small languages have a page each, with examples: [filters](/docs/filters),
[transformations](/docs/transformations), and [event types and schemas](/docs/schemas). One page shows the kinds of
[destinations](/docs/destinations), with more on [queues, topics and buckets](/docs/kinds) and on [polling](/docs/polling). Each of the
[providers](/docs/providers) has one; what they send [comes in](/docs/sources) like this. Your customers have the [portal](/docs/portal), and you the [command line](/docs/command-line) and the [SDK](/docs/sdk). One page tells how to publish [from a database or a queue](/docs/bridge), one how to [move](/docs/migrating) from another service.
Whoever operates the service for [many customers](/docs/tenants) reads how to [operate](/docs/operating) and [monitor](/docs/monitoring) it, or
[a pair of machines](/docs/pair), [Kubernetes, systemd and Compose](/docs/orchestrators), [several cells](/docs/cells), what [sizes](/docs/planning) need, its [settings and limits](/docs/limits), [what is kept, and how to erase it](/docs/retention), [what is promised, and what shows it](/docs/promises),
[what it costs](/docs/measurements), and how [its code](/docs/architecture) is laid out.`;

/** What each group of operations is about. */
export const TAGS: Readonly<Record<string, string>> = {
  Events: "What happened, accepted once: published, or received from a provider.",
  Consumers: "Your own users. What is stored of one can be erased.",
  Deliveries: "One event for one endpoint, with each attempt to send it.",
  Replays: "Sending again what has died, or what an endpoint never had.",
  Endpoints: "Where events go: addresses, queues, topics and buckets, with their filters and shapes.",
  Polling: "Endpoints whose messages wait until a program of yours fetches them.",
  "Event types": "Names, schemas and examples of what is published.",
  Sources: "Addresses at which providers deliver their webhooks to you.",
  Providers: "Whose webhooks a source can verify, and how each is set up.",
  Ingest: "What providers call. It takes no key: every request is verified.",
  Project: "The project that the key belongs to.",
  "API keys": "Keys of the project.",
  Operator: "For whoever runs the service: accounts, their plans, projects and usage.",
  Portal: "Links that show a consumer its own endpoints, events and deliveries.",
  Usage: "What was delivered, against what the plan includes.",
  Audit: "Who changed what.",
  System: "Health, readiness, metrics, and this document.",
};

/** Of a 402. */
export const PLAN_LIMIT = "The plan's deliveries for this month are used up. Nothing was stored.";

export const LOOP_DETECTED =
  "`sealpost-hops` says that the event came out of as many deliveries as no chain of services has. Nothing was stored.";

/** Of a 503 of what is answered once the replica has the event. */
export const REPLICA_UNAVAILABLE =
  "The answer was to wait for the replica, and there is none, it is not reached (nothing was stored), or it has not confirmed the event within 5 seconds: `detail` says which. In the last case the event is on this machine's disk, is not acknowledged, and may be delivered later.";

export const PROBLEM_SCHEMA: Json = {
  type: "object",
  required: ["type", "title", "status", "code", "detail", "request_id"],
  properties: {
    type: { type: "string", description: "`urn:sealpost:error:` and the code." },
    title: { type: "string" },
    status: { type: "integer" },
    code: { type: "string", enum: Object.keys(ERRORS) },
    detail: { type: "string" },
    request_id: { type: "string" },
    errors: {
      type: "array",
      description: "The places of the request that are wrong.",
      items: { $ref: "#/components/schemas/Fault" },
    },
  },
};

export const FAULT_SCHEMA: Json = {
  type: "object",
  required: ["pointer", "detail"],
  properties: {
    pointer: {
      type: "string",
      description: "A JSON Pointer into the body, or the name of a query parameter.",
    },
    detail: { type: "string" },
  },
};

export const IDEMPOTENCY_KEY: Json = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description:
    "Makes it safe to send the request again: the same key, path and body get the first answer again for 24 hours, " +
    "with `idempotency-replayed: true` and without secrets. Of calls that change nothing, and of test events, 1 MiB of answers a day is kept for each caller, until a restart; more are computed anew. Of management changes 64 MiB a day; above that they are refused with 429.",
  schema: {
    type: "string",
    minLength: 1,
    maxLength: limit("idempotencyKeyLengthMax"),
    pattern: PRINTABLE_ASCII.source,
  },
};

export const DURABILITY: Json = {
  name: "sealpost-durability",
  in: "header",
  required: false,
  description:
    "What this request is answered after: `disk`, once its events are on this machine's disk, or `replica`, once they are in the replica too. Left out: as the service is set (`SEALPOST_DURABILITY`).",
  schema: { type: "string", enum: [...DURABILITIES] },
};

export const TRACEPARENT: Json = {
  name: TRACEPARENT_HEADER,
  in: "header",
  required: false,
  description:
    "The trace that this request is part of (W3C Trace Context, version 00). Where the service is [traced](/docs/monitoring#traces), the events go on with it, and a receiver by HTTP is told its place in it; else, or where it is malformed, it is ignored.",
  schema: { type: "string" },
  example: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
};

export const HEADERS: Json = {
  "x-request-id": { description: "Quote it when you ask about a request.", schema: { type: "string" } },
  ratelimit: {
    description: "What is left of the budget: `r` requests, whole again in `t` seconds.",
    schema: { type: "string" },
  },
  "ratelimit-policy": { description: "The budget: `q` requests in `w` seconds.", schema: { type: "string" } },
  "sealpost-usage-remaining": {
    description: "Deliveries that remain of the plan this month; only on a plan that stops at its limit.",
    schema: { type: "integer" },
  },
  "sealpost-durability": {
    description:
      "`replica` where the replica has what is acknowledged; left out: this machine's disk has it.",
    schema: { type: "string", enum: ["replica"] },
  },
  "retry-after": { description: "Seconds to wait before the next try.", schema: { type: "integer" } },
  "idempotency-replayed": {
    description: "`true` where this is the first answer again.",
    schema: { type: "string" },
  },
};

export const SECURITY_SCHEMES: Json = {
  api_key: { type: "http", scheme: "bearer", description: "An API key of the project." },
  portal_token: { type: "http", scheme: "bearer", description: "The token of a portal link." },
  endpoint_secret: {
    type: "http",
    scheme: "bearer",
    description: "The secret of the endpoint that is polled (`whsec_…`).",
  },
  metrics_token: {
    type: "http",
    scheme: "bearer",
    description: "The token that reads the metrics and nothing else (`SEALPOST_METRICS_TOKEN`).",
  },
  operator_token: {
    type: "http",
    scheme: "bearer",
    description: "The operator's token (`SEALPOST_OPERATOR_TOKEN`).",
  },
};

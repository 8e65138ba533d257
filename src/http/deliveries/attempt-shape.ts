import { ATTEMPT_ERROR_CODES } from "../../core/attempt-error.ts";
import { type Static, Type } from "@sinclair/typebox";
import { type Attempt, type Delivery, envelopeOf, OUTCOMES, TRIGGERS } from "../../core/model.ts";
import { isCredentialHeader, MASK } from "../../destinations/credential-headers.ts";
import { readRequestHead, varyingHeaders } from "../../destinations/request-head.ts";
import { type EventWithData, isBodyGone } from "../../store/log/events.ts";
import type { Needs } from "../framework/services.ts";
import { nullable, oneOf, timeShape, timeText } from "../shared/shapes.ts";

const headersShape = (description: string) => Type.Record(Type.String(), Type.String(), { description });

export const triggerShape = oneOf(TRIGGERS, { $id: "AttemptTrigger", description: "Why it was made." });

export const outcomeShape = oneOf(OUTCOMES, {
  $id: "AttemptOutcome",
  description:
    "`rejected`: the destination did not take the message. `unreachable`: no answer, `error_code` says why. `blocked`: the address is " +
    "not allowed. `malformed`: the message could not be rendered. `handed_out`: a poller has it and has not acknowledged it yet; " +
    "it becomes `delivered`, and `duration_ms` the time until then.",
});

export const errorCodeShape = nullable(
  oneOf(ATTEMPT_ERROR_CODES, {
    $id: "AttemptErrorCode",
    description: "What is wrong; /docs/destinations explains each.",
  }),
);

export const errorDetailShape = nullable(
  Type.String(),
  "In the words of whoever said no, where there are any: the destination's own error, the permission that is missing.",
);

/** Both, of an attempt. */
export function errorFields({ error }: Pick<Attempt, "error">) {
  return { error_code: error && error.code, error_detail: error && error.detail };
}

/** An attempt as the API answers it. */
export const attemptShape = Type.Object(
  {
    id: Type.String(),
    delivery_id: Type.String(),
    endpoint_id: Type.String(),
    number: Type.Integer({ description: "Counts the attempts of the delivery from 1." }),
    trigger: triggerShape,
    started_at: timeShape,
    duration_ms: Type.Integer(),
    outcome: outcomeShape,
    status_code: nullable(Type.Integer()),
    error_code: errorCodeShape,
    error_detail: errorDetailShape,
    url: nullable(Type.String()),
    request_headers: headersShape("As sent; credentials read `***`. Empty where nothing could be rendered."),
    request_body: nullable(
      Type.String(),
      "The bytes as sent; null where nothing could be rendered, and once the body of its event has left.",
    ),
    response_headers: headersShape("Repeated ones joined by a comma; credentials and cookies read `***`."),
    response_body: nullable(
      Type.String(),
      "What was kept of it; null where there was no answer, and once the body of its event has left.",
    ),
    response_truncated: Type.Boolean({ description: "True where the answer was longer than what is kept." }),
    next_attempt_at: nullable(timeShape),
  },
  { $id: "Attempt" },
);

export type AttemptAnswer = Static<typeof attemptShape>;

export const attemptExample: AttemptAnswer = {
  id: "att_01KAHM9QA400X3T9V0K2M8W5RZ",
  delivery_id: "msg_01KAHM9Q7W00B5C1D7E9F3G6HJ",
  endpoint_id: "ep_01KAHM8ZZZ00K1M2N3P4Q5R6S7",
  number: 1,
  trigger: "publish",
  started_at: "2026-11-20T09:00:00.012Z",
  duration_ms: 84,
  outcome: "rejected",
  status_code: 500,
  error_code: null,
  error_detail: null,
  url: "https://hooks.example.com/sealpost",
  request_headers: {
    "content-type": "application/json",
    "webhook-id": "msg_01KAHM9Q7W00B5C1D7E9F3G6HJ",
    "webhook-timestamp": "1795165200",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    authorization: "***",
  },
  request_body:
    '{"type":"invoice.paid","timestamp":"2026-11-20T09:00:00.000Z","data":{"id":"in_42","total":990}}',
  response_headers: { "content-type": "text/plain" },
  response_body: "database is down",
  response_truncated: false,
  next_attempt_at: "2026-11-20T09:00:05.131Z",
};

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** An attempt as the API answers it; `event` is the one that it sent. */
export function attemptOf(
  services: Needs<"ids" | "endpoints">,
  attempt: Attempt,
  delivery: Delivery,
  event: EventWithData,
): AttemptAnswer {
  const { ids } = services;
  return {
    id: ids.encode("att", attempt.id),
    delivery_id: ids.encode("msg", delivery.id),
    endpoint_id: ids.encode("ep", delivery.endpointId),
    number: attempt.number,
    trigger: attempt.trigger,
    started_at: timeText(attempt.startedAt),
    duration_ms: attempt.durationMs,
    outcome: attempt.outcome,
    status_code: attempt.statusCode,
    ...errorFields(attempt),
    ...requestOf(services, attempt, delivery, event),
    ...responseOf(attempt, isBodyGone(event)),
    next_attempt_at: timeText(attempt.nextAttemptAt),
  };
}

type RequestPart = Pick<AttemptAnswer, "url" | "request_headers" | "request_body">;

function requestOf(
  services: Needs<"ids" | "endpoints">,
  attempt: Attempt,
  delivery: Delivery,
  event: EventWithData,
): RequestPart {
  if (attempt.requestHead === null) {
    const url = services.endpoints.getAnyway(delivery.endpointId)?.config.url;
    return { url: typeof url === "string" ? url : null, request_headers: {}, request_body: null };
  }
  const id = services.ids.encode("msg", delivery.id);
  const { sentAt, signature, traceparent } = attempt;
  const varying = varyingHeaders(id, sentAt ?? 0, signature ?? "", traceparent ?? "");
  const { url, headers } = readRequestHead(attempt.requestHead, varying);
  if (isBodyGone(event)) return { url, request_headers: headers, request_body: null };
  const body =
    attempt.requestBody === null
      ? envelopeOf(event.type, event.timestamp, event.data)
      : decoder.decode(attempt.requestBody);
  return { url, request_headers: headers, request_body: body };
}

type ResponsePart = Pick<AttemptAnswer, "response_headers" | "response_body" | "response_truncated">;

function responseOf(
  { statusCode, responseHeaders, responseBody, truncated }: Attempt,
  isGone: boolean,
): ResponsePart {
  const body = responseBody === null ? "" : decoder.decode(responseBody);
  return {
    response_headers: readResponseHeaders(responseHeaders),
    response_body: statusCode === null || isGone ? null : body,
    response_truncated: truncated,
  };
}

/** RFC 9110 section 5.3: repeated headers mean the same as one with their values joined by commas. */
function readResponseHeaders(pairs: Attempt["responseHeaders"]): Record<string, string> {
  const headers = new Map<string, string>();
  for (const [name, value] of pairs) {
    const shown = name === "set-cookie" || isCredentialHeader(name) ? MASK : value;
    const before = headers.get(name);
    headers.set(name, before === undefined ? shown : `${before}, ${shown}`);
  }
  return Object.fromEntries(headers);
}

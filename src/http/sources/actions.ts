import { Type } from "@sinclair/typebox";
import { invalid } from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";
import type { Source } from "../../core/model.ts";
import type { KeyCache } from "../../inbound/keys.ts";
import type { Reception } from "../../inbound/provider.ts";
import { addressOf, inboundRequest, searchOf } from "./request.ts";
import { parseTime } from "../shared/paging.ts";
import { type AnyRoute, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import { nullable, shownAs, shownOnce, timeInput, timeShape, timeText } from "../shared/shapes.ts";
import { changeSource, findSource, providerOf } from "./change.ts";
import type { SourceMonitor } from "./monitor.ts";
import { readRotation } from "./input.ts";
import { receptionOf } from "./reception.ts";
import { settledStatus } from "./material.ts";
import { sourceExample, sourceOf, sourceRotationShape, sourceShape } from "./shape.ts";

/** What can be done with a source beyond reading and changing it. */
export function sourceActionRoutes(
  services: Needs<"ids" | "sources" | "baseUrl" | "wallNow" | "store" | "tenants">,
  monitor: SourceMonitor,
  keys: KeyCache,
): AnyRoute[] {
  return [
    rotateRoute(services, monitor),
    pauseRoute(services, monitor),
    resumeRoute(services, monitor),
    verifySampleRoute(services, keys),
  ];
}

function rotateRoute(
  services: Needs<"ids" | "sources" | "baseUrl" | "wallNow">,
  monitor: SourceMonitor,
): AnyRoute {
  return route({
    method: "POST",
    path: "/v1/sources/:id/rotate-secret",
    operationId: "rotateSourceSecret",
    tag: "Sources",
    summary: "Rotate the secret of a source",
    description:
      "The secret before holds until the overlap ends; a second rotation inside the overlap drops the oldest. Where the provider " +
      "issues the secret, send its new one as `signing_secret`.",
    access: "owner",
    budget: "management",
    audit: { action: "source.secret_rotated", object: "source" },
    body: sourceRotationShape,
    bodyExample: { expiry_hours: 24 },
    answers: {
      200: {
        description: "The new secret, where it is our own.",
        schema: Type.Object({
          secret: shownOnce("Where it is our own."),
          previous_secret_expires_at: nullable(timeShape, "Null where the secret before holds no longer."),
        }),
        example: {
          secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
          previous_secret_expires_at: "2026-11-21T09:00:00.000Z",
        },
      },
    },
    handle(context) {
      const { caller, params, body } = context;
      const source = findSource(services, caller, params.id);
      const provider = providerOf(source);
      const rotate = (before: Source) => readRotation(body, provider, before, services.wallNow());
      // Refused before the write, so that a wrong body costs its neighbours in the transaction nothing.
      rotate(source);
      return changeSource(services, monitor, context, source.id, rotate, (made) => ({
        status: 200,
        json: {
          ...(body.signing_secret === undefined && { secret: made.secret }),
          previous_secret_expires_at: timeText(made.previousExpiresAt),
        },
      }));
    },
  });
}

const answered = (description: string, status: "active" | "paused") => ({
  description,
  schema: sourceShape,
  example: { ...sourceExample, status },
});

function pauseRoute(
  services: Needs<"ids" | "sources" | "baseUrl" | "wallNow">,
  monitor: SourceMonitor,
): AnyRoute {
  return route({
    method: "POST",
    path: "/v1/sources/:id/pause",
    operationId: "pauseSource",
    tag: "Sources",
    summary: "Pause a source",
    description:
      "Verified requests are answered 503, so that the provider tries again; forged ones 401 as ever, and handshakes are answered.",
    access: "owner",
    budget: "management",
    audit: { action: "source.paused", object: "source" },
    answers: { 200: answered("It is paused.", "paused") },
    handle(context) {
      const source = findSource(services, context.caller, context.params.id);
      const answer = (made: Source) => ({ status: 200, json: sourceOf(services, monitor, made) });
      if (source.status === "paused") return answer(source);
      return changeSource(services, monitor, context, source.id, () => ({ status: "paused" }), answer);
    },
  });
}

function resumeRoute(
  services: Needs<"ids" | "sources" | "baseUrl" | "wallNow">,
  monitor: SourceMonitor,
): AnyRoute {
  return route({
    method: "POST",
    path: "/v1/sources/:id/resume",
    operationId: "resumeSource",
    tag: "Sources",
    summary: "Resume a source",
    access: "owner",
    budget: "management",
    audit: { action: "source.resumed", object: "source" },
    answers: { 200: answered("It is active, or awaits its secret.", "active") },
    handle(context) {
      const source = findSource(services, context.caller, context.params.id);
      const answer = (made: Source) => ({ status: 200, json: sourceOf(services, monitor, made) });
      if (source.status !== "paused") return answer(source);
      const resume = (current: Source) => ({
        status: settledStatus(providerOf(current), { ...current, status: "active" }, services.wallNow()),
      });
      return changeSource(services, monitor, context, source.id, resume, answer);
    },
  });
}

const URL_TEXT = {
  description: "The address that was called, with its query; by default the source's own.",
  maxLength: limit("sampleHeadBytesMax"),
};

/** What a header takes beside its name and value: `: ` and the end of the line. */
const HEADER_BYTES_MIN = 4;

const sampleShape = Type.Object(
  {
    method: Type.Optional(Type.String({ default: "POST", maxLength: 20 })),
    url: Type.Optional(shownAs(Type.String(URL_TEXT), Type.String({ format: "uri", ...URL_TEXT }))),
    headers: Type.Object(
      {},
      {
        additionalProperties: Type.String(),
        maxProperties: limit("sampleHeadBytesMax") / HEADER_BYTES_MIN,
        description: `With the address they have at most ${limit("sampleHeadBytesMax")} bytes.`,
      },
    ),
    body: Type.String({ description: "Exactly as it came: a changed byte makes a signature wrong." }),
    at: Type.Optional(
      timeInput({
        description:
          "When it came, for one that was captured: signed times are held against this one; by default now.",
      }),
    ),
  },
  { additionalProperties: false },
);

function verifySampleRoute(
  services: Needs<"ids" | "sources" | "baseUrl" | "wallNow" | "store" | "tenants">,
  keys: KeyCache,
): AnyRoute {
  return route({
    method: "POST",
    path: "/v1/sources/:id/verify-sample",
    operationId: "verifySample",
    tag: "Sources",
    summary: "Check a request against a source",
    description:
      "Says whether the source would accept this request. Nothing is made of it, and nothing is counted.",
    access: "owner",
    budget: "management",
    audit: "It changes nothing.",
    body: sampleShape,
    bodyExample: { headers: { "x-service-token": "whsec_…" }, body: '{"type":"order.created"}' },
    answers: {
      200: {
        description: "The verdict.",
        schema: Type.Object({
          verified: Type.Boolean(),
          reason: nullable(
            Type.String(),
            "Why it is refused. `handshake`: it would be answered at the door, and make no event. `keys_unavailable`: the provider's " +
              "keys could not be had, it would be answered 503.",
          ),
        }),
        example: { verified: false, reason: "bad_signature" },
      },
    },
    async handle(context) {
      const { caller, params, body } = context;
      const source = findSource(services, caller, params.id);
      requireShortHead(body.url ?? "", body.headers);
      const address = body.url ?? addressOf(services, source);
      if (!URL.canParse(address)) throw invalid("/url", "Expected a URL.");
      const request = inboundRequest(() => address, {
        method: body.method ?? "POST",
        headers: lowerCased(body.headers),
        search: searchOf(address),
        body: Buffer.from(body.body),
      });
      const at = body.at === undefined ? services.wallNow() : parseTime("/at", body.at);
      const json = verdictOf(await receptionOf(services, keys, source, request, context, at));
      return { status: 200, json };
    },
  });
}

/** Throws 422 where the door would not have seen it: schemes work on address and headers in one piece. */
function requireShortHead(url: string, headers: Readonly<Record<string, string>>): void {
  const max = limit("sampleHeadBytesMax");
  let bytes = Buffer.byteLength(url);
  if (bytes > max) throw invalid("/url", `Expected at most ${max} bytes.`);
  for (const [name, value] of Object.entries(headers)) bytes += Buffer.byteLength(`${name}: ${value}\r\n`);
  if (bytes > max) throw invalid("/headers", `Expected at most ${max} bytes of address and headers.`);
}

function lowerCased(headers: Readonly<Record<string, string>>): Map<string, string> {
  return new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function verdictOf(reception: Reception): { verified: boolean; reason: string | null } {
  if (reception.kind === "event") return { verified: true, reason: null };
  if (reception.kind === "answer") return { verified: true, reason: "handshake" };
  if (reception.kind === "too_large") return { verified: false, reason: "too_large" };
  return { verified: false, reason: reception.kind === "refused" ? reception.reason : "keys_unavailable" };
}

import { Type } from "@sinclair/typebox";
import { rotated } from "../../core/signing.ts";
import { changeEndpoint } from "./change.ts";
import { findEndpoint } from "../shared/lookups.ts";
import { publicKeyPart } from "./shape.ts";
import { overlapEnd, overlapShape } from "../shared/overlap.ts";
import { type AnyRoute, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import { nullable, shownOnce, timeShape, timeText } from "../shared/shapes.ts";

/** Reading and rotating the secret of an endpoint. */
export function endpointSecretRoutes(
  services: Needs<"ids" | "endpoints" | "health" | "actors" | "wallNow">,
): AnyRoute[] {
  return [rotateRoute(services), readSecretRoute(services)];
}

const expiryShape = nullable(timeShape, "Until when the previous secret holds; null where there is none.");
const EXAMPLE = {
  secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  previous_secret_expires_at: "2026-11-21T09:00:00.000Z",
};

function rotateRoute(services: Needs<"ids" | "endpoints" | "health" | "actors" | "wallNow">): AnyRoute {
  return route({
    method: "POST",
    path: "/v1/endpoints/:id/rotate-secret",
    operationId: "rotateEndpointSecret",
    tag: "Endpoints",
    summary: "Rotate the secret of an endpoint",
    description:
      "The new secret signs from the next attempt on, the previous one beside it until the overlap ends. A second rotation " +
      "inside the overlap drops the oldest secret: at most two are ever valid. The key of `v1a` is rotated with it.",
    access: "manage",
    budget: "management",
    audit: { action: "endpoint.secret_rotated", object: "endpoint" },
    body: Type.Object({ expiry_hours: overlapShape }, { additionalProperties: false }),
    bodyExample: { expiry_hours: 24 },
    answers: {
      200: {
        description: "The new secret.",
        schema: Type.Object({
          secret: shownOnce("It signs from now on."),
          public_key: Type.Optional(
            Type.String({ description: "Where `v1a` signs too: the new public key." }),
          ),
          previous_secret_expires_at: expiryShape,
        }),
        example: EXAMPLE,
      },
    },
    handle(context) {
      const { caller, params, body } = context;
      const endpoint = findEndpoint(services, caller, params.id);
      return changeEndpoint(
        services,
        context,
        endpoint.id,
        (current) => rotated(current, overlapEnd(services.wallNow(), body.expiry_hours)),
        (made) => ({
          status: 200,
          json: {
            secret: made.secret,
            ...publicKeyPart(made),
            previous_secret_expires_at: timeText(made.previous?.expiresAt ?? null),
          },
        }),
      );
    },
  });
}

function readSecretRoute(services: Needs<"ids" | "endpoints" | "wallNow">): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/endpoints/:id/secret",
    operationId: "getEndpointSecret",
    tag: "Endpoints",
    summary: "Read the secret of an endpoint",
    access: "manage",
    budget: "management",
    audit: { action: "endpoint.secret_read", object: "endpoint" },
    answers: {
      200: {
        description: "The secret that signs now.",
        schema: Type.Object({ secret: Type.String(), previous_secret_expires_at: expiryShape }),
        example: { ...EXAMPLE, previous_secret_expires_at: null },
      },
    },
    handle(context) {
      const { caller, params } = context;
      const { secret, previous } = findEndpoint(services, caller, params.id);
      const isOverlapping = previous !== null && previous.expiresAt > services.wallNow();
      const expiresAt = isOverlapping ? previous.expiresAt : null;
      const answer = { status: 200, json: { secret, previous_secret_expires_at: timeText(expiresAt) } };
      // Nobody reads a secret unseen: the answer waits for the audit log.
      return context.commit(() => answer);
    },
  });
}

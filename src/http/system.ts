import { Type } from "@sinclair/typebox";
import { unavailable } from "../core/errors.ts";
import { docsRoutes } from "./docs/docs.ts";
import { openApiDocument } from "./openapi/document.ts";
import type { HttpParts } from "./framework/parts.ts";
import { type AnyRoute, route } from "./framework/route.ts";
import { madeOnce, sharedBody } from "./shared/shared-body.ts";

const Status = Type.Object({ status: Type.String() }, { $id: "Status" });

/**
 * Health, metrics and the document: the routes that no resource owns. `resources` are the others, for
 * the document.
 */
export function systemRoutes(resources: readonly AnyRoute[], parts: HttpParts): AnyRoute[] {
  const system = [healthz, readyz(parts), metrics(parts)];
  const openApi = openApiRoute(() => openApiDocument([...resources, ...system, openApi], parts.version));
  return [...system, openApi, ...docsRoutes];
}

const healthz = route({
  method: "GET",
  path: "/healthz",
  operationId: "getHealth",
  tag: "System",
  summary: "Does the process run?",
  access: "none",
  budget: "none",
  ignoresQuery: true,
  answersWhileDraining: true,
  answers: { 200: { description: "It does.", schema: Status, example: { status: "ok" } } },
  handle: () => ({ status: 200, json: { status: "ok" } }),
});

function readyz(parts: HttpParts): AnyRoute {
  return route({
    method: "GET",
    path: "/readyz",
    operationId: "getReadiness",
    tag: "System",
    summary: "Can the service take requests?",
    description: "The database is writable and the service is not stopping.",
    access: "none",
    budget: "none",
    ignoresQuery: true,
    answers: {
      200: { description: "It can.", schema: Status, example: { status: "ready" } },
    },
    refuses: { unavailable: "It cannot; `detail` says why." },
    handle({ request }) {
      const { ready, reason } = parts.ready(request);
      if (!ready) throw unavailable(reason ?? "The service cannot take requests now.");
      return { status: 200, json: { status: "ready" } };
    },
  });
}

function metrics(parts: HttpParts): AnyRoute {
  return route({
    method: "GET",
    path: "/metrics",
    operationId: "getMetrics",
    tag: "System",
    summary: "Metrics for Prometheus",
    access: "metrics",
    budget: "none",
    ignoresQuery: true,
    answers: {
      200: {
        description: "The metrics.",
        contentType: "text/plain",
        schema: Type.String(),
        example: "# TYPE sealpost_queue_depth gauge\nsealpost_queue_depth 42\n",
      },
    },
    async handle() {
      const text = await parts.metrics();
      return {
        status: 200,
        body: text,
        headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" },
      };
    },
  });
}

function openApiRoute(makeDocument: () => Promise<string>): AnyRoute {
  const document = madeOnce(async () => sharedBody(await makeDocument()));
  return route({
    method: "GET",
    path: "/openapi.json",
    operationId: "getOpenApi",
    tag: "System",
    summary: "This document",
    access: "none",
    budget: "none",
    ignoresQuery: true,
    answers: {
      200: {
        description: "The OpenAPI document.",
        schema: Type.Object({}, { additionalProperties: true }),
        example: { openapi: "3.1.1" },
      },
    },
    async handle() {
      return { status: 200, body: await document(), headers: { "content-type": "application/json" } };
    },
  });
}

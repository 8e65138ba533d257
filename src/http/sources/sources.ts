import { Type } from "@sinclair/typebox";
import { commitChange } from "../framework/commit.ts";
import { listShape, pageOf, pagingQuery } from "../shared/paging.ts";
import { type AnyRoute, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import { changeSource, findSource, providerOf, requireRoom } from "./change.ts";
import type { SourceMonitor } from "./monitor.ts";
import { readNewSource, readSourceChange } from "./input.ts";
import {
  createdSourceShape,
  newSourceShape,
  sourceChangeShape,
  sourceExample,
  readableSource,
  sourceOf,
  sourceShape,
} from "./shape.ts";

/** Sources, for the project's own keys. */
export function sourceRoutes(
  services: Needs<"ids" | "sources" | "baseUrl" | "wallNow">,
  monitor: SourceMonitor,
): AnyRoute[] {
  return [
    createRoute(services, monitor),
    listRoute(services, monitor),
    readRoute(services, monitor),
    changeRoute(services, monitor),
    deleteRoute(services, monitor),
  ];
}

function createRoute(
  services: Needs<"ids" | "sources" | "baseUrl" | "wallNow">,
  monitor: SourceMonitor,
): AnyRoute {
  return route({
    method: "POST",
    path: "/v1/sources",
    operationId: "createSource",
    tag: "Sources",
    summary: "Create a source",
    description:
      "An address for one provider. Where the provider issues the secret, enter it as `signing_secret` (several parts: `credentials`), " +
      "now or later; where you may choose it, the source's own `secret` is used unless one is given.",
    access: "owner",
    budget: "management",
    audit: { action: "source.created", object: "source" },
    body: newSourceShape,
    bodyExample: { provider: "github", name: "GitHub, all repositories" },
    answers: {
      201: {
        description: "The source, with its own secret: shown here only.",
        schema: createdSourceShape,
        example: {
          ...sourceExample,
          provider: "github",
          provider_name: "GitHub",
          name: "GitHub, all repositories",
          hint: null,
          signing_secret: null,
          secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        },
      },
    },
    handle(context) {
      const { caller, body } = context;
      const fields = readNewSource(body, caller.projectId, services.wallNow());
      return commitChange(context, {
        write() {
          requireRoom(services, fields);
          return services.sources.insert(fields);
        },
        answer: (made) => ({
          status: 201,
          json: { ...sourceOf(services, monitor, made), secret: made.secret },
        }),
        remember: (made) => services.sources.remember(made),
      });
    },
  });
}

function listRoute(
  services: Needs<"ids" | "sources" | "baseUrl" | "wallNow">,
  monitor: SourceMonitor,
): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/sources",
    operationId: "listSources",
    tag: "Sources",
    summary: "List sources",
    description: "Newest first.",
    access: "owner_read",
    budget: "management",
    query: Type.Object(pagingQuery, { additionalProperties: false }),
    answers: { 200: { description: "A page of sources.", ...listShape(sourceShape, sourceExample) } },
    handle(context) {
      const { caller } = context;
      const sources = services.sources.ofProject(caller.projectId);
      return pageOf(services, "src", context, {
        rows: (before) => sources.below(before),
        show: (source) => readableSource(services, monitor, source, caller),
      });
    },
  });
}

function readRoute(
  services: Needs<"ids" | "sources" | "baseUrl" | "wallNow">,
  monitor: SourceMonitor,
): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/sources/:id",
    operationId: "getSource",
    tag: "Sources",
    summary: "Read a source",
    access: "owner_read",
    budget: "management",
    answers: { 200: { description: "The source.", schema: sourceShape, example: sourceExample } },
    handle: ({ caller, params }) => ({
      status: 200,
      json: readableSource(services, monitor, findSource(services, caller, params.id), caller),
    }),
  });
}

function changeRoute(
  services: Needs<"ids" | "sources" | "baseUrl" | "wallNow">,
  monitor: SourceMonitor,
): AnyRoute {
  return route({
    method: "PATCH",
    path: "/v1/sources/:id",
    operationId: "updateSource",
    tag: "Sources",
    summary: "Change a source",
    description:
      "A merge patch (RFC 7396): null resets a field; `config` is replaced whole. A new `signing_secret` takes the place of the one " +
      "before at once, unless that is sent beside it as `previous_signing_secret`. The provider stays.",
    access: "owner",
    budget: "management",
    audit: { action: "source.updated", object: "source" },
    body: sourceChangeShape,
    bodyExample: { signing_secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" },
    answers: {
      200: { description: "The source as it now is.", schema: sourceShape, example: sourceExample },
    },
    handle(context) {
      const { caller, params, body } = context;
      const source = findSource(services, caller, params.id);
      const provider = providerOf(source);
      const change = (current: typeof source) =>
        readSourceChange(body, provider, current, services.wallNow());
      // Refused before the write, so that a wrong body costs its neighbours in the transaction nothing.
      change(source);
      return changeSource(services, monitor, context, source.id, change, (made) => ({
        status: 200,
        json: sourceOf(services, monitor, made),
      }));
    },
  });
}

function deleteRoute(
  services: Needs<"ids" | "sources" | "baseUrl" | "wallNow">,
  monitor: SourceMonitor,
): AnyRoute {
  return route({
    method: "DELETE",
    path: "/v1/sources/:id",
    operationId: "deleteSource",
    tag: "Sources",
    summary: "Delete a source",
    description: "Its address refuses everything from now on; its events stay readable.",
    access: "owner",
    budget: "management",
    audit: { action: "source.deleted", object: "source" },
    answers: { 204: "It is deleted." },
    async handle(context) {
      const { id } = findSource(services, context.caller, context.params.id);
      return changeSource(
        services,
        monitor,
        context,
        id,
        () => ({ status: "deleted" }),
        () => ({ status: 204 }),
      );
    },
  });
}

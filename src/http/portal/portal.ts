import { Type } from "@sinclair/typebox";
import type { Caller } from "../../core/caller.ts";
import { notFound } from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";
import type { Project } from "../../core/model.ts";
import { RecentMap } from "../../core/structures/recent-map.ts";
import { brandingOf } from "./address.ts";
import { type AnyRoute, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import { requireHere } from "../framework/moved.ts";
import { sharedBody } from "../shared/shared-body.ts";
import { nullable, oneOf, timeShape, timeText } from "../shared/shapes.ts";

/** What the portal page begins with, and the picture that it shows. */
export function portalRoutes(
  services: Needs<"ids" | "tenants" | "portalLinks" | "logos" | "baseUrl">,
): AnyRoute[] {
  return [readRoute(services), logoRoute(services)];
}

const portalShape = Type.Object(
  {
    kind: oneOf(["portal", "api_key"], { description: "What opened it." }),
    project_id: Type.String(),
    consumer_id: nullable(Type.String(), "null: the whole project."),
    manage: Type.Boolean(),
    create: Type.Boolean(),
    expires_at: nullable(timeShape, "Of the link; null for a key."),
    mode: oneOf(["live", "test"]),
    branding: Type.Object({
      name: Type.String({ description: "The project's own where none is set." }),
      logo_url: nullable(Type.String(), "The picture, from our own origin."),
      color: nullable(Type.String()),
    }),
  },
  { $id: "Portal" },
);

function readRoute(services: Needs<"ids" | "tenants" | "portalLinks" | "logos" | "baseUrl">): AnyRoute {
  const { tenants } = services;
  return route({
    method: "GET",
    path: "/v1/portal",
    operationId: "getPortal",
    tag: "Portal",
    summary: "Read what a token may, and how its project shows itself",
    access: "read",
    budget: "management",
    answers: {
      200: {
        description: "What the portal page needs to begin.",
        schema: portalShape,
        example: {
          kind: "portal",
          project_id: "proj_01KAHM8ZZZ00K1M2N3P4Q5R6S7",
          consumer_id: "cust_7",
          manage: true,
          create: false,
          expires_at: "2026-11-21T09:00:00.000Z",
          mode: "live",
          branding: {
            name: "Acme",
            logo_url:
              "https://hooks.example.com/portal/proj_01KAHM8ZZZ00K1M2N3P4Q5R6S7/logo?v=9f86d081884c7d65",
            color: "#0f62fe",
          },
        },
      },
    },
    handle({ caller }) {
      const project = tenants.project(caller.projectId);
      if (project === undefined) throw notFound("project");
      return { status: 200, json: portalOf(services, caller, project) };
    },
  });
}

function portalOf(
  services: Needs<"ids" | "portalLinks" | "logos" | "baseUrl">,
  caller: Caller,
  project: Project,
) {
  const { kind, consumerId, manage, create, mode } = caller;
  return {
    kind,
    project_id: services.ids.encode("proj", project.id),
    consumer_id: consumerId,
    manage,
    create,
    expires_at: timeText(kind === "portal" ? services.portalLinks.expiryOf(caller.id) : null),
    mode,
    branding: brandingOf(services, project),
  };
}

const LOGO_HEADERS = {
  "content-security-policy": "default-src 'none'; sandbox",
  "cross-origin-resource-policy": "cross-origin",
  "referrer-policy": "no-referrer",
  // The logo's address changes with the picture.
  "cache-control": "public, max-age=31536000, immutable",
};

function logoRoute({ logos, ids, tenants }: Needs<"ids" | "logos" | "tenants">): AnyRoute {
  const shared = new RecentMap<string, { contentType: string; body: Blob }>(
    limit("logoCacheBytesMax"),
    ({ body }) => body.size,
  );
  const find = (projectId: number) => {
    const key = `${projectId}/${logos.versionOf(projectId)}`;
    const known = shared.get(key);
    const logo = known ? null : logos.find(projectId);
    if (logo === null) return known;
    const made = { contentType: logo.contentType, body: sharedBody(new Uint8Array(logo.bytes)) };
    shared.set(key, made);
    return made;
  };
  return route({
    method: "GET",
    path: "/portal/:project_id/logo",
    operationId: "getPortalLogo",
    tag: "Portal",
    summary: "A project's logo",
    access: "none",
    budget: "none",
    ignoresQuery: true,
    hidden: true,
    answers: { 200: "The picture." },
    handle({ params }) {
      const projectId = ids.decode("proj", params.project_id);
      if (projectId !== null) requireHere({ tenants }, projectId);
      const logo = projectId === null ? undefined : find(projectId);
      if (logo === undefined) throw notFound("logo");
      return { status: 200, body: logo.body, headers: { ...LOGO_HEADERS, "content-type": logo.contentType } };
    },
  });
}

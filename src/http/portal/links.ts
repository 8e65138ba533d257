import { type Static, Type } from "@sinclair/typebox";
import { invalid, notFound } from "../../core/errors.ts";
import { keyTime } from "../../core/ids.ts";
import { limit } from "../../core/limits.ts";
import type { Project } from "../../core/model.ts";
import type { PortalLink } from "../../store/resources/portal-links.ts";
import { listShape, pageOf, pagingQuery } from "../shared/paging.ts";
import { brandingOf, portalAddress } from "./address.ts";
import { type AnyRoute, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import { consumerText, nullable, shownOnce, timeShape, timeText } from "../shared/shapes.ts";

/** Links that open the portal. */
export function portalLinkRoutes(
  services: Needs<"ids" | "tenants" | "portalLinks" | "logos" | "baseUrl" | "wallNow">,
): AnyRoute[] {
  return [createRoute(services), listRoute(services), deleteRoute(services)];
}

const answeredFields = {
  id: Type.String(),
  consumer_id: nullable(Type.String(), "null: the whole project, read-only."),
  manage: Type.Boolean(),
  create: Type.Boolean(),
  expires_at: timeShape,
  created_at: timeShape,
};

const linkShape = Type.Object(answeredFields, { $id: "PortalLink" });
const createdLinkShape = Type.Object(
  {
    ...answeredFields,
    url: shownOnce(
      "Opens the portal. The token is its fragment, which browsers send to no server; it is the bearer too.",
    ),
    embed_html: shownOnce("With `embed`: an `<iframe>` to put into your own page."),
  },
  { $id: "CreatedPortalLink" },
);

const linkExample: Static<typeof linkShape> = {
  id: "plk_01KAHM8ZZZ00K1M2N3P4Q5R6S7",
  consumer_id: "cust_7",
  manage: true,
  create: false,
  expires_at: "2026-11-21T09:00:00.000Z",
  created_at: "2026-11-20T09:00:00.000Z",
};

const newLinkShape = Type.Object(
  {
    consumer_id: Type.Optional(
      consumerText({
        description: "Whose endpoints, events and deliveries the link shows. Default: the whole project.",
      }),
    ),
    manage: Type.Optional(
      Type.Boolean({
        default: false,
        description: "May change, pause, test and rotate endpoints, and retry, replay and cancel deliveries.",
      }),
    ),
    create: Type.Optional(Type.Boolean({ default: false, description: "May add and delete endpoints." })),
    embed: Type.Optional(Type.Boolean({ default: false, description: "True: answer `embed_html` too." })),
    expires_in_seconds: Type.Optional(
      Type.Integer({
        minimum: limit("portalLinkSecondsMin"),
        maximum: limit("portalLinkSecondsMax"),
        default: limit("portalLinkSecondsDefault"),
      }),
    ),
  },
  { additionalProperties: false },
);

function createRoute(
  services: Needs<"ids" | "tenants" | "portalLinks" | "logos" | "baseUrl" | "wallNow">,
): AnyRoute {
  const { tenants, portalLinks } = services;
  return route({
    method: "POST",
    path: "/v1/portal-links",
    operationId: "createPortalLink",
    tag: "Portal",
    summary: "Create a portal link",
    description:
      "For one consumer, or read-only for the whole project. Reading is always granted; whoever has the link has its grants until it " +
      "expires or is revoked.",
    access: "owner",
    budget: "management",
    audit: { action: "portal_link.created", object: "portal_link" },
    body: newLinkShape,
    bodyExample: { consumer_id: "cust_7", manage: true },
    secretFields: ["url"],
    answers: {
      201: {
        description: "The link.",
        schema: createdLinkShape,
        example: {
          ...linkExample,
          url: "https://hooks.example.com/portal/proj_01KAHM8ZZZ00K1M2N3P4Q5R6S7#spl_00kY3t…",
        },
      },
    },
    handle(context) {
      const { caller, body } = context;
      const fields = { projectId: caller.projectId, ...readFields(body, services.wallNow()) };
      const project = tenants.project(caller.projectId);
      if (project === undefined) throw notFound("project");
      return context.commit(() => {
        const { link, token } = portalLinks.insert(fields);
        const url = `${portalAddress(services, project.id)}#${token}`;
        const embed = body.embed ? { embed_html: embedHtml(services, project, url) } : {};
        return { status: 201, json: { ...linkOf(services, link), url, ...embed } };
      });
    },
  });
}

/** Throws 422 for grants over the whole project. */
function readFields(body: Static<typeof newLinkShape>, now: number) {
  const { consumer_id: consumerId = null, manage = false, create = false } = body;
  if (consumerId === null && (manage || create)) {
    throw invalid(
      "/consumer_id",
      "`manage` and `create` need a consumer: a link to the whole project only reads.",
    );
  }
  const seconds = body.expires_in_seconds ?? limit("portalLinkSecondsDefault");
  return { consumerId, manage, create, expiresAt: now + seconds * 1000 };
}

/**
 * The frame runs scripts and keeps its origin, as it loads them and calls the API from there; it navigates
 * nothing but itself. It never stands on a page of that same origin, which could take the sandbox off.
 */
const SANDBOX =
  "allow-scripts allow-same-origin allow-forms allow-downloads allow-popups allow-popups-to-escape-sandbox";

function embedHtml(services: Needs<"ids" | "logos" | "baseUrl">, project: Project, url: string): string {
  const { name, logo_url: logo, color } = brandingOf(services, project);
  const attributes = Object.entries({
    src: url,
    title: name,
    "data-logo": logo,
    "data-color": color,
    sandbox: SANDBOX,
    allow: "clipboard-write",
    referrerpolicy: "no-referrer",
    width: "100%",
    height: "800",
  });
  const written = attributes.flatMap(([key, value]) =>
    value === null ? [] : `${key}="${Bun.escapeHTML(value)}"`,
  );
  return `<iframe ${written.join(" ")}></iframe>`;
}

function listRoute(services: Needs<"ids" | "portalLinks">): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/portal-links",
    operationId: "listPortalLinks",
    tag: "Portal",
    summary: "List portal links",
    description: "Those that have not expired, newest first, without their tokens.",
    access: "owner_read",
    budget: "management",
    query: Type.Object(
      { consumer_id: newLinkShape.properties.consumer_id, ...pagingQuery },
      { additionalProperties: false },
    ),
    answers: { 200: { description: "A page of links.", ...listShape(linkShape, linkExample) } },
    handle(context) {
      const { caller, query } = context;
      const { portalLinks } = services;
      return pageOf(services, "plk", context, {
        rows: (before, count) => portalLinks.list(caller.projectId, query.consumer_id ?? null, before, count),
        show: (link) => linkOf(services, link),
      });
    },
  });
}

function deleteRoute(services: Needs<"ids" | "portalLinks">): AnyRoute {
  return route({
    method: "DELETE",
    path: "/v1/portal-links/:id",
    operationId: "deletePortalLink",
    tag: "Portal",
    summary: "Revoke a portal link",
    description: "At once: its next request is answered 401.",
    access: "owner",
    budget: "management",
    audit: { action: "portal_link.revoked", object: "portal_link", isNeverRefused: true },
    answers: { 204: "It is revoked." },
    handle(context) {
      const { caller, params } = context;
      const key = services.ids.decode("plk", params.id);
      if (key === null) throw notFound("portal link");
      return context.commit(() => {
        const before = services.portalLinks.delete(caller.projectId, key);
        if (before === null) throw notFound("portal link");
        return { status: 204, audited: { before: linkOf(services, before), after: null } };
      });
    },
  });
}

function linkOf({ ids }: Needs<"ids">, link: PortalLink): Static<typeof linkShape> {
  return {
    id: ids.encode("plk", link.id),
    consumer_id: link.consumerId,
    manage: link.manage,
    create: link.create,
    expires_at: timeText(link.expiresAt),
    created_at: timeText(keyTime(link.id)),
  };
}

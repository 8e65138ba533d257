import { type Static, Type } from "@sinclair/typebox";
import type { Caller } from "../../core/caller.ts";
import { type Fault, invalidAll, notFound } from "../../core/errors.ts";
import { keyTime } from "../../core/ids.ts";
import { isObject } from "../../core/json/value.ts";
import { limit } from "../../core/limits.ts";
import type { Project } from "../../core/model.ts";
import type { Logo } from "../../store/resources/logos.ts";
import { commitChange } from "../framework/commit.ts";
import { fetchLogo } from "../portal/logo-fetch.ts";
import { AtOnce } from "../shared/at-once.ts";
import { mergePatch } from "../shared/merge-patch.ts";
import { type AnyRoute, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import { nameText, nullable, oneOf, shownAs, timeShape, timeText } from "../shared/shapes.ts";

/** The caller's own project. */
export function projectRoutes(
  services: Needs<"ids" | "tenants" | "logos" | "guard" | "transport" | "actors">,
): AnyRoute[] {
  return [readRoute(services), changeRoute(services)];
}

const unknownTypesShape = oneOf(["allow", "reject"], {
  $id: "UnknownEventTypes",
  description: "Whether events of a type that is not registered may be published.",
});

const TEXTS = {
  branding: "What your users see in the portal.",
  origins: "Pages that may embed the portal, `http(s)://host[:port]`; none: any.",
} as const;

const ORIGIN_LENGTH = { maxLength: limit("portalOriginLengthMax") };
const ORIGIN = /^https?:\/\/([a-z0-9._-]+|\[[0-9a-f:]+\])(:[0-9]+)?$/;

const brandingFields = {
  name: Type.Optional(nullable(nameText(limit("nameLengthMax")))),
  logo_url: Type.Optional(nullable(Type.String({ maxLength: limit("urlLengthMax") }))),
  color: Type.Optional(
    nullable(Type.String({ pattern: "^#[0-9A-Fa-f]{6}$", expected: "a colour such as #0f62fe" })),
  ),
};

const projectShape = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    mode: oneOf(["live", "test"], { description: "Traffic of a test project is never metered." }),
    branding: Type.Object(
      {
        name: nullable(Type.String()),
        logo_url: nullable(Type.String()),
        color: nullable(Type.String()),
      },
      { description: TEXTS.branding },
    ),
    portal_origins: Type.Array(Type.String(), { description: TEXTS.origins }),
    unknown_event_types: unknownTypesShape,
    created_at: timeShape,
  },
  { $id: "Project" },
);

const changeShape = Type.Object(
  {
    name: Type.Optional(nameText(limit("nameLengthMax"))),
    branding: Type.Optional(
      nullable(
        Type.Object(brandingFields, { additionalProperties: false, $id: "BrandingChange" }),
        TEXTS.branding,
      ),
    ),
    portal_origins: Type.Optional(
      nullable(
        Type.Array(
          shownAs(Type.String(ORIGIN_LENGTH), Type.String({ pattern: ORIGIN.source, ...ORIGIN_LENGTH })),
          {
            maxItems: limit("portalOriginsMax"),
          },
        ),
        TEXTS.origins,
      ),
    ),
    unknown_event_types: Type.Optional(nullable(unknownTypesShape)),
  },
  { additionalProperties: false },
);

type ProjectAnswer = Static<typeof projectShape>;
type ProjectChangeBody = Static<typeof changeShape>;

const projectExample: ProjectAnswer = {
  id: "proj_01KAHM8ZZZ00K1M2N3P4Q5R6S7",
  name: "Shop",
  mode: "live",
  branding: { name: "Acme", logo_url: "https://acme.example.com/logo.png", color: "#0f62fe" },
  portal_origins: ["https://app.acme.example.com"],
  unknown_event_types: "allow",
  created_at: "2026-11-20T08:00:00.000Z",
};

function readRoute(services: Needs<"ids" | "tenants">): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/project",
    operationId: "getProject",
    tag: "Project",
    summary: "Read the project of the key",
    access: "owner_read",
    budget: "management",
    answers: { 200: { description: "The project.", schema: projectShape, example: projectExample } },
    handle({ caller }) {
      const project = services.tenants.project(caller.projectId);
      if (project === undefined) throw notFound("project");
      return { status: 200, json: projectOf(services, project) };
    },
  });
}

function changeRoute(
  services: Needs<"ids" | "tenants" | "logos" | "guard" | "transport" | "actors">,
): AnyRoute {
  const { tenants } = services;
  const fetches = new AtOnce("logosAtOnceMax", "fetches of a logo");
  return route({
    method: "PATCH",
    path: "/v1/project",
    operationId: "updateProject",
    tag: "Project",
    summary: "Change the project of the key",
    description:
      "A merge patch (RFC 7396), also of what stands in `branding`; `portal_origins` is replaced whole. The picture at " +
      `\`logo_url\` is fetched now, once: a PNG, JPEG, WebP or GIF of at most ${limit("logoBytesMax") / 1024} KiB.`,
    access: "owner",
    budget: "management",
    audit: { action: "project.updated", object: "project" },
    body: changeShape,
    bodyExample: { branding: { name: "Acme", color: "#0f62fe" } },
    answers: {
      200: { description: "The project as it now is.", schema: projectShape, example: projectExample },
    },
    refuses: { unsafe_destination: "The logo's address is not allowed." },
    async handle(context) {
      const { caller, body } = context;
      requireOrigins(body.portal_origins ?? []);
      const logo = await logoOf(services, fetches, caller, body);
      return commitChange(context, {
        write() {
          if (logo !== undefined) services.logos.put(caller.projectId, logo);
          let before: unknown;
          const made = tenants.updateProject(caller.projectId, (current) => {
            before = projectOf(services, current);
            return changeOf(body, current);
          });
          return { made, before };
        },
        answer: ({ made, before }) => ({
          status: 200,
          json: projectOf(services, made),
          audited: { before },
        }),
        remember: ({ made }) => tenants.rememberProject(made),
      });
    },
  });
}

/**
 * URLs let more into a host, but in the page's policy `;` would begin another rule, and `*` let a whole
 * domain in.
 */

/** Throws 422 for what no browser would send as an `origin`. */
function requireOrigins(origins: readonly string[]): void {
  const faults = origins.flatMap((text, at): Fault[] => {
    if (ORIGIN.test(text) && URL.parse(text)?.origin === text) return [];
    return [{ pointer: `/portal_origins/${at}`, detail: "Expected http(s)://host[:port], without a path." }];
  });
  if (faults.length > 0) throw invalidAll(faults);
}

/**
 * The picture that a change brings; null where it takes the present one away, undefined where it leaves it.
 * Throws 422, and 429 where the project, by whichever key, has too many fetches under way.
 */
async function logoOf(
  services: Needs<"guard" | "transport" | "actors">,
  fetches: AtOnce,
  caller: Caller,
  { branding }: ProjectChangeBody,
): Promise<Logo | null | undefined> {
  if (branding === null) return null;
  const address = branding?.logo_url;
  if (typeof address !== "string") return address;
  const end = fetches.begin(caller, "");
  return fetchLogo(services, caller.projectId, address).finally(end);
}

function changeOf(body: ProjectChangeBody, current: Project): Partial<Project> {
  const { name, branding, portal_origins: origins, unknown_event_types: unknown } = body;
  const merged = mergePatch(current.branding, branding ?? {});
  return {
    ...(name !== undefined && { name }),
    ...(branding !== undefined && { branding: branding !== null && isObject(merged) ? merged : {} }),
    ...(origins !== undefined && { portalOrigins: origins ?? [] }),
    ...(unknown !== undefined && { unknownEventTypes: unknown ?? "allow" }),
  };
}

function projectOf({ ids }: Needs<"ids">, project: Project): ProjectAnswer {
  const { name = null, logo_url = null, color = null } = project.branding;
  return {
    id: ids.encode("proj", project.id),
    name: project.name,
    mode: project.mode,
    branding: { name, logo_url, color },
    portal_origins: project.portalOrigins,
    unknown_event_types: project.unknownEventTypes,
    created_at: timeText(keyTime(project.id)),
  };
}

import { notFound } from "../core/errors.ts";
import { buildPortal, type PortalFile } from "../portal-build.ts";
import { type AnyRoute, type Answer, route } from "./route.ts";
import type { Services } from "./services.ts";

/** The portal's page and its files (contract section 9). The page knows nothing: all that it shows comes from /v1, with the token. */
export function portalPageRoutes(services: Services): AnyRoute[] {
  return [pageRoute(services), fileRoute];
}

const HIDDEN = { tag: "Portal", access: "none", budget: "none", ignoresQuery: true, hidden: true } as const;

interface ReadyFile {
  contentType: string;
  gzipped: Buffer<ArrayBuffer>;
}

let files: Promise<{ page: string; byName: ReadonlyMap<string, ReadyFile> }> | undefined;

function portalFiles() {
  files ??= buildPortal().then(({ page, files: built }) => ({ page, byName: new Map(built.map(toReady)) }));
  return files;
}

function toReady({ name, contentType, gzipped }: PortalFile): [string, ReadyFile] {
  return [name, { contentType, gzipped: Buffer.from(gzipped, "base64") }];
}

/** Nothing inline, nobody else; framed by the project's `portal_origins`, or by anyone while none is set. */
function securityPolicy(origins: readonly string[]): string {
  return [
    "default-src 'self'",
    "img-src 'self' data:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    `frame-ancestors ${origins.length === 0 ? "*" : origins.join(" ")}`,
  ].join("; ");
}

function pageRoute({ data, ids }: Services): AnyRoute {
  return route({
    ...HIDDEN,
    method: "GET",
    path: "/portal/:project_id",
    operationId: "getPortalPage",
    summary: "The portal",
    answers: { 200: "The page." },
    async handle({ params }) {
      const key = ids.decode("proj", params.project_id);
      const project = key === null ? undefined : data.tenants.project(key);
      if (project === undefined) throw notFound("portal");
      const { page } = await portalFiles();
      const headers = {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": securityPolicy(project.portalOrigins),
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "cache-control": "no-cache",
      };
      return { status: 200, body: page, headers };
    },
  });
}

const fileRoute = route({
  ...HIDDEN,
  method: "GET",
  path: "/portal/assets/:file",
  operationId: "getPortalFile",
  summary: "Scripts and style of the portal",
  answers: { 200: "The file." },
  async handle({ params, request }) {
    const file = (await portalFiles()).byName.get(params.file);
    if (file === undefined) throw notFound("file");
    return serve(file, request);
  },
});

function serve({ contentType, gzipped }: ReadyFile, request: Request): Answer {
  const headers = {
    "content-type": contentType,
    "x-content-type-options": "nosniff",
    "cache-control": "public, max-age=31536000, immutable",
    vary: "accept-encoding",
  };
  const takesGzip = /\bgzip\b/.test(request.headers.get("accept-encoding") ?? "");
  if (!takesGzip) return { status: 200, body: Bun.gunzipSync(gzipped), headers };
  return { status: 200, body: new Uint8Array(gzipped), headers: { ...headers, "content-encoding": "gzip" } };
}

import { notFound } from "../../core/errors.ts";
import { hasLongQuery } from "../../core/long-query.ts";
import { buildPortal, type PortalFile } from "../../platform/portal-build.ts";
import { type AnyRoute, type Answer, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import { acceptedCoding } from "../shared/accepted-coding.ts";
import { requireHere } from "../framework/moved.ts";
import { madeOnce, sharedBody } from "../shared/shared-body.ts";

/**
 * The portal's page and its files. The page knows nothing: all that it shows comes from /v1, with the token.
 */
export function portalPageRoutes(services: Needs<"ids" | "tenants">): AnyRoute[] {
  return [consoleRoute, pageRoute(services), fileRoute];
}

const HIDDEN = { tag: "Portal", access: "none", budget: "none", ignoresQuery: true, hidden: true } as const;

interface ReadyFile {
  contentType: string;
  br: Blob;
  gzip: Blob;
  /** For whoever takes neither; unpacked once. */
  plain(): Promise<Blob>;
}

/** The better one first. */
const ENCODINGS = ["br", "gzip"] as const;

const portalFiles = madeOnce(async () => {
  const { page, files } = await buildPortal();
  return { page, byName: new Map(files.map(toReady)) };
});

function toReady({ name, contentType, br, gzip }: PortalFile): [string, ReadyFile] {
  const zipped = Buffer.from(gzip, "base64");
  const plain = madeOnce(async () => sharedBody(Bun.gunzipSync(zipped)));
  return [name, { contentType, br: sharedBody(Buffer.from(br, "base64")), gzip: sharedBody(zipped), plain }];
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

function pageRoute({ tenants, ids }: Needs<"ids" | "tenants">): AnyRoute {
  return route({
    ...HIDDEN,
    method: "GET",
    path: "/portal/:project_id",
    operationId: "getPortalPage",
    summary: "The portal",
    answers: { 200: "The page." },
    handle({ params, request }) {
      const key = ids.decode("proj", params.project_id);
      const project = key === null ? undefined : tenants.project(key);
      if (project === undefined) throw notFound("portal");
      requireHere({ tenants }, project.id);
      return servePage(project.portalOrigins, request);
    },
  });
}

/** For whoever has a key, which says whose project it is: never within another page. */
const consoleRoute = route({
  ...HIDDEN,
  method: "GET",
  path: "/portal",
  operationId: "getConsolePage",
  summary: "The portal, to be opened with an API key",
  answers: { 200: "The page." },
  handle: ({ request }) => servePage(["'none'"], request),
});

async function servePage(origins: readonly string[], request: Request): Promise<Answer> {
  const { page } = await portalFiles();
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": securityPolicy(origins),
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
  };
  const asked = hasLongQuery(request.url) ? new URLSearchParams() : new URL(request.url).searchParams;
  return { status: 200, body: dress(page, asked), headers };
}

/** The look that the address asks for (src/portal/theme.ts) holds before the script runs. */
function dress(page: string, asked: URLSearchParams): string {
  const theme = /^(?:light|dark)$/.exec(asked.get("theme") ?? "");
  const look = `${theme ? ` data-theme="${theme[0]}"` : ""}${asked.get("dir") === "rtl" ? ' dir="rtl"' : ""}`;
  return page.replace("<html", `<html${look}`);
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

async function serve(file: ReadyFile, request: Request): Promise<Answer> {
  const headers = {
    "content-type": file.contentType,
    "cache-control": "public, max-age=31536000, immutable",
    vary: "accept-encoding",
  };
  const encoding = acceptedCoding(request, ENCODINGS);
  if (encoding === undefined) return { status: 200, body: await file.plain(), headers };
  return { status: 200, body: file[encoding], headers: { ...headers, "content-encoding": encoding } };
}

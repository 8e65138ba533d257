import swaggerScript from "./assets/swagger-ui-bundle.js.gz" with { type: "file" };
import swaggerStyle from "./assets/swagger-ui.css.gz" with { type: "file" };
import bodyCurve from "../../docs/curve-body.svg" with { type: "file" };
import endpointsCurve from "../../docs/curve-endpoints.svg" with { type: "file" };
import fanoutCurve from "../../docs/curve-fanout.svg" with { type: "file" };
import memoryCurve from "../../docs/curve-memory.svg" with { type: "file" };
import rateCurve from "../../docs/curve-rate.svg" with { type: "file" };
import receiverCurve from "../../docs/curve-receiver.svg" with { type: "file" };
import storedCurve from "../../docs/curve-stored.svg" with { type: "file" };
import deliveryPicture from "../../docs/portal-delivery.png" with { type: "file" };
import endpointPicture from "../../docs/portal-endpoint.png" with { type: "file" };
import overviewPicture from "../../docs/portal-overview.png" with { type: "file" };
import shapePicture from "../../docs/portal-shape.png" with { type: "file" };
import sourcePicture from "../../docs/portal-source.png" with { type: "file" };
import pagesStyle from "../../docs/pages.css" with { type: "text" };
import searchScript from "../../docs/search.js" with { type: "text" };
import { notFound } from "../../core/errors.ts";
import { docPageRoutes } from "./page-routes.ts";
import { searchIndex } from "./search-index.ts";
import { PAGE_ROUTE } from "./shell.ts";
import { type AnyRoute, type Answer, route } from "../framework/route.ts";
import { acceptedCoding } from "../shared/accepted-coding.ts";
import { madeOnce, sharedBody } from "../shared/shared-body.ts";

/**
 * The interactive page of the API, whole without internet: Swagger UI's one bundle, kept compressed beside
 * this file (assets/swagger-ui.NOTICE.txt) and embedded in the executable. The swagger plugin's own pages
 * cannot be that: its Swagger UI comes from a CDN, and its Scalar page needs a bundle of 4.4 MB.
 */
const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sealpost API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/assets/swagger-ui.css">
</head>
<body>
<noscript>This page needs JavaScript. The document itself is at <a href="/openapi.json">/openapi.json</a>.</noscript>
<main id="api"></main>
<script src="/docs/assets/swagger-ui-bundle.js"></script>
<script src="/docs/assets/start.js"></script>
</body>
</html>
`;

const START_SCRIPT = `SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#api",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
});
`;

/**
 * Swagger UI sets style attributes, hence 'unsafe-inline' for styles; nothing may come from, or go to,
 * another host.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const PAGE_HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "referrer-policy": "no-referrer",
  "cache-control": "no-cache",
};

interface Asset {
  contentType: string;
  bodies: () => Promise<Bodies>;
}

interface Bodies {
  plain: Blob;
  gzip?: Blob;
}

const JAVASCRIPT = "text/javascript; charset=utf-8";
const STYLE = "text/css; charset=utf-8";
const SVG = "image/svg+xml";

/** A gzipped file, unpacked once for all who do not take it as it is. */
function packed(contentType: string, path: string): Asset {
  const bodies = madeOnce(async () => {
    const gzipped = await Bun.file(path).bytes();
    return { plain: sharedBody(Bun.gunzipSync(gzipped)), gzip: sharedBody(gzipped) };
  });
  return { contentType, bodies };
}

function text(contentType: string, content: string): Asset {
  const bodies = { plain: sharedBody(content) };
  return { contentType, bodies: async () => bodies };
}

/** Made and packed when search first asks for it. */
function index(): Asset {
  const bodies = madeOnce(async () => {
    const plain = JSON.stringify(searchIndex());
    return { plain: sharedBody(plain), gzip: sharedBody(Bun.gzipSync(plain, { level: 9 })) };
  });
  return { contentType: "application/json", bodies };
}

function picture(path: string, contentType = "image/png"): Asset {
  const bodies = madeOnce(async () => ({ plain: sharedBody(await Bun.file(path).bytes()) }));
  return { contentType, bodies };
}

const ASSETS: ReadonlyMap<string, Asset> = new Map([
  ["swagger-ui-bundle.js", packed(JAVASCRIPT, swaggerScript)],
  ["swagger-ui.css", packed(STYLE, swaggerStyle)],
  ["pages.css", text(STYLE, pagesStyle)],
  ["start.js", text(JAVASCRIPT, START_SCRIPT)],
  ["search.js", text(JAVASCRIPT, searchScript)],
  ["search.json", index()],
  ["curve-body.svg", picture(bodyCurve, SVG)],
  ["curve-endpoints.svg", picture(endpointsCurve, SVG)],
  ["curve-fanout.svg", picture(fanoutCurve, SVG)],
  ["curve-memory.svg", picture(memoryCurve, SVG)],
  ["curve-rate.svg", picture(rateCurve, SVG)],
  ["curve-receiver.svg", picture(receiverCurve, SVG)],
  ["curve-stored.svg", picture(storedCurve, SVG)],
  ["portal-delivery.png", picture(deliveryPicture)],
  ["portal-endpoint.png", picture(endpointPicture)],
  ["portal-overview.png", picture(overviewPicture)],
  ["portal-shape.png", picture(shapePicture)],
  ["portal-source.png", picture(sourcePicture)],
]);

export const docsRoutes: readonly AnyRoute[] = [
  route({
    ...PAGE_ROUTE,
    path: "/",
    operationId: "getRoot",
    summary: "Leads to the documentation",
    answers: { 302: "To /docs." },
    handle: () => ({ status: 302, headers: { location: "/docs" } }),
  }),
  route({
    ...PAGE_ROUTE,
    path: "/docs",
    operationId: "getDocs",
    summary: "The API as an interactive page",
    answers: { 200: "The page." },
    handle: () => ({ status: 200, body: PAGE, headers: PAGE_HEADERS }),
  }),
  route({
    ...PAGE_ROUTE,
    path: "/docs/assets/:file",
    operationId: "getDocsAsset",
    summary: "Scripts, styles and pictures of the pages",
    answers: { 200: "The file." },
    handle({ params, request }) {
      const asset = ASSETS.get(params.file);
      if (asset === undefined) throw notFound("file");
      return serveAsset(asset, request);
    },
  }),
  ...docPageRoutes,
];

async function serveAsset({ contentType, bodies }: Asset, request: Request): Promise<Answer> {
  const headers = {
    "content-type": contentType,
    "cache-control": "public, max-age=3600",
    vary: "accept-encoding",
  };
  const { plain, gzip } = await bodies();
  if (gzip !== undefined && acceptedCoding(request, ["gzip"]) !== undefined) {
    return { status: 200, body: gzip, headers: { ...headers, "content-encoding": "gzip" } };
  }
  return { status: 200, body: plain, headers };
}

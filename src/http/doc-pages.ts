import filters from "../docs/filters.md" with { type: "text" };
import schemas from "../docs/schemas.md" with { type: "text" };
import transformations from "../docs/transformations.md" with { type: "text" };
import { notFound } from "../core/errors.ts";
import { type AnyRoute, route } from "./route.ts";

/** The pages that explain a language each, in the order of their links; test/docs runs every example in them. */
export const DOC_PAGES: ReadonlyMap<string, string> = new Map([
  ["filters", filters],
  ["transformations", transformations],
  ["schemas", schemas],
]);

/** Text and one stylesheet: nothing else may load, run or frame it. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "cache-control": "no-cache",
};

const rendered = new Map([...DOC_PAGES].map(([name, text]) => [name, render(text)]));

export const docPageRoute: AnyRoute = route({
  method: "GET",
  path: "/docs/:page",
  operationId: "getDocPage",
  tag: "Docs",
  summary: "A page that explains a language",
  access: "none",
  budget: "none",
  ignoresQuery: true,
  hidden: true,
  answers: { 200: "The page." },
  handle({ params }) {
    const body = rendered.get(params.page);
    if (body === undefined) throw notFound("page");
    return { status: 200, body, headers: HEADERS };
  },
});

/** What a fence says beside the language stands above its block. */
function withCaptions(text: string): string {
  return text.replaceAll(/^```(\w+) (.+)$/gm, "*$2:*\n\n```$1");
}

function render(text: string): string {
  const title = text.slice(text.indexOf("# ") + 2, text.indexOf("\n"));
  const links = [...DOC_PAGES.keys()].map((name) => `<a href="/docs/${name}">${name}</a>`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Sealpost</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/assets/pages.css">
</head>
<body>
<nav><a href="/docs">API</a> ${links.join(" ")}</nav>
<main>
${Bun.markdown.html(withCaptions(text), { headings: { ids: true } })}
</main>
</body>
</html>
`;
}

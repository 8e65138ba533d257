import { Html, html } from "./html.ts";

/** What all pages below /docs have in common. */

/** Text and one stylesheet: nothing else may load, run or frame it. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

export const DOC_HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "referrer-policy": "no-referrer",
  "cache-control": "no-cache",
};

/** A page for people, open to everybody. */
export const PAGE_ROUTE = {
  method: "GET",
  tag: "Docs",
  access: "none",
  budget: "none",
  ignoresQuery: true,
  hidden: true,
} as const;

/** What may be wider than a phone scrolls by itself, by touch and by keyboard. */
function scrolling({ text }: Html): Html {
  const focusable = text.replaceAll("<pre>", '<pre tabindex="0">');
  const framed = focusable.replaceAll("<table>", '<div class="wide" tabindex="0"><table>');
  return new Html(framed.replaceAll("</table>", "</table></div>"));
}

/** A whole page; `pages` are the names below /docs that it leads to. */
export function docPage(title: string, pages: readonly string[], content: Html): string {
  const links = pages.map((name) => html` <a href="/docs/${name}">${name}</a>`);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Sealpost</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/assets/pages.css">
</head>
<body>
<nav><a href="/docs">API</a>${links}</nav>
<main>
${scrolling(content)}
</main>
</body>
</html>
`.text;
}

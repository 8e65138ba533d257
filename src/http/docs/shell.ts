import { Html, html } from "./html.ts";
import { PAGE_GROUPS } from "./pages.ts";

/** What all pages below /docs have in common. */

/** Text, one stylesheet, and the search with its index: nothing else may load, run or frame it. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "connect-src 'self'",
  "require-trusted-types-for 'script'",
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
  vary: "accept",
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

/** What differs between pages; without a path it is no page of its own. */
interface PageParts {
  path: string | null;
  title: string;
  content: Html;
}

/**
 * A whole page. Without JavaScript only the search is missing. On a phone the list of pages opens over the
 * page; where there is room it stands beside it.
 */
export function docPage({ path, title, content }: PageParts): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Sealpost</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/assets/pages.css">
${path === null ? "" : html`<link rel="alternate" type="text/markdown" href="/docs/${path}.md">`}
<script type="module" src="/docs/assets/search.js"></script>
</head>
<body>
<a class="skip" href="#text">Skip to the text</a>
<header>
<strong>Sealpost</strong>
<button type="button" popovertarget="pages">Pages</button>
<search>
<input type="search" aria-label="Search all pages" placeholder="Search (/)" aria-keyshortcuts="/" autocomplete="off" spellcheck="false">
<div id="found" hidden><p role="status"></p><ol></ol></div>
</search>
</header>
<nav id="pages" popover aria-label="Pages">
<ul><li><a href="/docs">API reference</a></li></ul>
${PAGE_GROUPS.map(([group, pages]) =>
  groupOf(
    group,
    pages.map(([name]) => linkTo(name, path)),
  ),
)}</nav>
<main id="text" tabindex="-1">
${scrolling(content)}
${path === null ? "" : html`<p class="form"><a href="/docs/${path}.md">This page as Markdown</a></p>`}
</main>
</body>
</html>
`.text;
}

function groupOf(title: string, links: readonly Html[]): Html {
  return html`<p>${title}</p>
<ul>${links}</ul>
`;
}

function linkTo(name: string, path: string | null): Html {
  const current = name === path ? html` aria-current="page"` : "";
  return html`<li><a href="/docs/${name}"${current}>${name}</a></li>`;
}

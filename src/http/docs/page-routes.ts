import { notFound } from "../../core/errors.ts";
import { findPage, PAGE_GROUPS } from "./pages.ts";
import { DOC_HEADERS, docPage, PAGE_ROUTE } from "./shell.ts";
import { Html } from "./html.ts";
import { markup, titleOf } from "./markdown.ts";
import { type AnyRoute, type Answer, route } from "../framework/route.ts";
import { sharedBody } from "../shared/shared-body.ts";

const MARKDOWN_HEADERS = {
  "content-type": "text/markdown; charset=utf-8",
  "referrer-policy": "no-referrer",
  "cache-control": "no-cache",
  vary: "accept",
};

interface Forms {
  html: Blob;
  markdown: Blob;
}

/** By its path; each is made when it is first asked for. */
const made = new Map<string, Forms>();

function formsOf(path: string): Forms | undefined {
  const known = made.get(path);
  if (known !== undefined) return known;
  const page = findPage(path);
  if (page === undefined) return undefined;
  const forms = { html: sharedBody(render(page.path, page.text)), markdown: sharedBody(page.text) };
  made.set(path, forms);
  return forms;
}

export const docPageRoutes: readonly AnyRoute[] = [
  route({
    ...PAGE_ROUTE,
    answers: { 200: "The page." },
    path: "/docs/:page",
    operationId: "getDocPage",
    summary: "A page that explains a language, or lists the destinations or the providers",
    handle: ({ params, request }) => serve(params.page, request),
  }),
  route({
    ...PAGE_ROUTE,
    answers: { 200: "The page." },
    path: "/docs/providers/:key",
    operationId: "getProviderPage",
    summary: "How a provider is set up, and what is verified",
    handle: ({ params, request }) => serve(`providers/${params.key}`, request),
  }),
  route({
    ...PAGE_ROUTE,
    answers: { 200: "The list." },
    path: "/llms.txt",
    operationId: "getLlmsTxt",
    summary: "All pages for programs that read them, as llmstxt.org has it",
    handle: () => ({ status: 200, body: LLMS_TXT, headers: MARKDOWN_HEADERS }),
  }),
];

/** As Markdown where the path ends so, or the request asks for it. */
function serve(path: string, request: Request): Answer {
  const isMarkdown = path.endsWith(".md");
  const forms = formsOf(isMarkdown ? path.slice(0, -".md".length) : path);
  if (forms === undefined) return noSuchPage(request);
  return isMarkdown || request.headers.get("accept")?.includes("text/markdown")
    ? { status: 200, body: forms.markdown, headers: MARKDOWN_HEADERS }
    : { status: 200, body: forms.html, headers: DOC_HEADERS };
}

/** A browser is led back; whoever else asks gets the problem that every unknown address is. */
function noSuchPage(request: Request): Answer {
  if (!request.headers.get("accept")?.includes("text/html")) throw notFound("page");
  const text = `# There is no such page

The list of pages leads to all of them: the [API](/docs), and what explains it. Each provider has its page in
[the list of providers](providers.md).`;
  return { status: 404, body: render(null, text), headers: DOC_HEADERS };
}

/** What a fence says beside the language stands above its block. */
function withCaptions(text: string): string {
  return text.replaceAll(/^```(\w+) (.+)$/gm, "*$2:*\n\n```$1");
}

/** Links lead from a page to a page of the same form. */
function asPages(content: string): string {
  return content.replaceAll(/href="((?:providers\/)?[\w-]+)\.md(#[\w-]*)?"/g, 'href="/docs/$1$2"');
}

/** Without a path it is no page of its own. */
function render(path: string | null, text: string): string {
  const content = asPages(markup(withCaptions(text)));
  return docPage({ path, title: titleOf(text), content: new Html(content) });
}

/** A title, a summary, and a list of links for each group: https://llmstxt.org */
const LLMS_TXT = `# Sealpost

> Sealpost delivers your events to your customers as signed webhooks, and takes in the webhooks that others send to you. It is one process with one SQLite file.

Every page below is Markdown; without \`.md\` it is the same for people. [The API as an OpenAPI document](/openapi.json) has every call with all its fields.
${PAGE_GROUPS.map(
  ([title, pages]) =>
    `\n## ${title}\n\n${pages.map(([name, , about]) => `- [${name}](/docs/${name}.md): ${about}\n`).join("")}`,
).join("")}`;

import architecture from "../../docs/architecture.md" with { type: "text" };
import behaviour from "../../docs/behaviour.md" with { type: "text" };
import cells from "../../docs/cells.md" with { type: "text" };
import commandLine from "../../docs/command-line.md" with { type: "text" };
import filters from "../../docs/filters.md" with { type: "text" };
import kinds from "../../docs/kinds.md" with { type: "text" };
import limits from "../../docs/limits.md" with { type: "text" };
import measurements from "../../docs/measurements.md" with { type: "text" };
import migrating from "../../docs/migrating.md" with { type: "text" };
import monitoring from "../../docs/monitoring.md" with { type: "text" };
import operating from "../../docs/operating.md" with { type: "text" };
import orchestrators from "../../docs/orchestrators.md" with { type: "text" };
import pair from "../../docs/pair.md" with { type: "text" };
import planning from "../../docs/planning.md" with { type: "text" };
import polling from "../../docs/polling.md" with { type: "text" };
import portal from "../../docs/portal.md" with { type: "text" };
import promises from "../../docs/promises.md" with { type: "text" };
import receivers from "../../docs/receivers.md" with { type: "text" };
import retention from "../../docs/retention.md" with { type: "text" };
import schemas from "../../docs/schemas.md" with { type: "text" };
import sdk from "../../docs/sdk.md" with { type: "text" };
import sources from "../../docs/sources.md" with { type: "text" };
import tenants from "../../docs/tenants.md" with { type: "text" };
import tour from "../../docs/tour.md" with { type: "text" };
import transformations from "../../docs/transformations.md" with { type: "text" };
import verifying from "../../docs/verifying.md" with { type: "text" };
import { notFound } from "../../core/errors.ts";
import type { Provider } from "../../inbound/provider.ts";
import { findProvider } from "../../inbound/providers.ts";
import { destinationPage } from "./destination-page.ts";
import { DOC_HEADERS, docPage, PAGE_ROUTE } from "./shell.ts";
import { Html, html } from "./html.ts";
import { providerIndex } from "./provider-index.ts";
import { providerPage } from "./provider-page.ts";
import { type AnyRoute, type Answer, route } from "../framework/route.ts";
import { sharedBody } from "../shared/shared-body.ts";

/**
 * The pages below /docs, in the order of their links. Their examples are run by test/docs, with the
 * README by test/readme, and by slow suites.
 */
export const DOC_PAGES: ReadonlyMap<string, string> = new Map([
  ["tour", tour],
  ["behaviour", behaviour],
  ["verifying", verifying],
  ["receivers", receivers],
  ["portal", portal],
  ["sources", sources],
  ["kinds", kinds],
  ["polling", polling],
  ["filters", filters],
  ["transformations", transformations],
  ["schemas", schemas],
  ["tenants", tenants],
  ["sdk", sdk],
  ["command-line", commandLine],
  ["migrating", migrating],
  ["operating", operating],
  ["monitoring", monitoring],
  ["pair", pair],
  ["orchestrators", orchestrators],
  ["cells", cells],
  ["planning", planning],
  ["limits", limits],
  ["retention", retention],
  ["promises", promises],
  ["measurements", measurements],
  ["architecture", architecture],
]);

const DESTINATIONS = "destinations";
const PROVIDERS = "providers";
const NAMES = [...DOC_PAGES.keys(), DESTINATIONS, PROVIDERS];

const rendered = new Map([...DOC_PAGES].map(([name, text]) => [name, sharedBody(render(text))]));
rendered.set(DESTINATIONS, sharedBody(docPage("Destinations", NAMES, destinationPage())));
rendered.set(PROVIDERS, sharedBody(docPage("Providers", NAMES, providerIndex())));

/** By the provider's key; each is made when it is first asked for. */
const providerPages = new Map<string, Blob>();

function pageOf(provider: Provider): Blob {
  const known = providerPages.get(provider.key);
  if (known !== undefined) return known;
  const page = sharedBody(docPage(provider.name, NAMES, providerPage(provider)));
  providerPages.set(provider.key, page);
  return page;
}

export const docPageRoutes: readonly AnyRoute[] = [
  route({
    ...PAGE_ROUTE,
    answers: { 200: "The page." },
    path: "/docs/:page",
    operationId: "getDocPage",
    summary: "A page that explains a language, or lists the destinations or the providers",
    handle({ params, request }) {
      const body = rendered.get(params.page);
      return body === undefined ? noSuchPage(request) : { status: 200, body, headers: DOC_HEADERS };
    },
  }),
  route({
    ...PAGE_ROUTE,
    answers: { 200: "The page." },
    path: `/docs/${PROVIDERS}/:key`,
    operationId: "getProviderPage",
    summary: "How a provider is set up, and what is verified",
    handle({ params, request }) {
      const provider = findProvider(params.key);
      if (provider === undefined) return noSuchPage(request);
      return { status: 200, body: pageOf(provider), headers: DOC_HEADERS };
    },
  }),
];

/** A browser is led back; whoever else asks gets the problem that every unknown address is. */
function noSuchPage(request: Request): Answer {
  if (!request.headers.get("accept")?.includes("text/html")) throw notFound("page");
  const content = html`<h1>There is no such page</h1>
<p>All pages stand in the line above: <a href="/docs">the API</a>, and what explains it. Each provider has its page in
<a href="/docs/${PROVIDERS}">the list of providers</a>.</p>`;
  return { status: 404, body: docPage("No such page", NAMES, content), headers: DOC_HEADERS };
}

/** What a fence says beside the language stands above its block. */
function withCaptions(text: string): string {
  return text.replaceAll(/^```(\w+) (.+)$/gm, "*$2:*\n\n```$1");
}

/** Links and pictures stand beside the page in the repository; here they have addresses. */
function asServed(content: string): string {
  return content
    .replaceAll(/href="([\w-]+)\.md(#[\w-]*)?"/g, 'href="/docs/$1$2"')
    .replaceAll(/src="([\w-]+\.(?:png|svg))"/g, 'src="/docs/assets/$1"');
}

function render(text: string): string {
  const title = text.slice(text.indexOf("# ") + 2, text.indexOf("\n"));
  const content = Bun.markdown.html(withCaptions(text), { headings: { ids: true } });
  return docPage(title, NAMES, new Html(asServed(content)));
}

import architecture from "../../docs/architecture.md" with { type: "text" };
import behaviour from "../../docs/behaviour.md" with { type: "text" };
import bridge from "../../docs/bridge.md" with { type: "text" };
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
import { findProvider, listProviders } from "../../inbound/providers.ts";
import { destinationPage } from "./destination-page.ts";
import { providerIndex } from "./provider-index.ts";
import { providerPage } from "./provider-page.ts";

/** A page below /docs: its name there, its Markdown or what makes it, and what is in it, in one line. */
export type Page = readonly [name: string, text: string | (() => string), about: string];

const FIRST: readonly Page[] = [
  ["tour", tour, "The log of an event, rotation of secrets, queues: what there is, typed in a terminal"],
  ["behaviour", behaviour, "The words; retries, errors, idempotency, and when an answer comes"],
  ["command-line", commandLine, "Deliveries to a laptop, events by hand, tables of what is stored, keys"],
  ["sdk", sdk, "The API's calls as methods in TypeScript and Python, and verifiers"],
  [
    "bridge",
    bridge,
    "Events out of an outbox in PostgreSQL, or a queue of RabbitMQ or SQS, each of them once",
  ],
  ["migrating", migrating, "Coming from Svix, Convoy, Outpost or a file, without touching a receiver"],
];

const RECEIVING: readonly Page[] = [
  ["verifying", verifying, "How a receiver tells that a delivery is genuine"],
  ["receivers", receivers, "A whole receiver for each of ten frameworks"],
  ["sources", sources, "Addresses for webhooks that come in, and how each is verified"],
  [
    "providers",
    providerIndex,
    "Every sender that is verified, each with a page that leads through its set-up",
  ],
];

const SENDING: readonly Page[] = [
  ["destinations", destinationPage, "Every kind of destination, its fields, and the codes of its errors"],
  ["kinds", kinds, "Queues, topics and buckets as endpoints, by examples"],
  ["polling", polling, "Deliveries that wait until a program of yours fetches them"],
  ["filters", filters, "Which events an endpoint gets, by what they hold"],
  ["transformations", transformations, "Another shape for the body of an endpoint's deliveries"],
  ["schemas", schemas, "Event types that are described, and schemas that events must satisfy"],
];

const CUSTOMERS: readonly Page[] = [
  ["portal", portal, "The page for your customers, and your own console"],
  ["tenants", tenants, "Accounts, plans and metering, for whoever runs Sealpost for others"],
];

const OPERATING: readonly Page[] = [
  ["operating", operating, "The replica and the way back, keys, health, upgrades"],
  ["monitoring", monitoring, "Metrics, dashboards, and what to do when an alert comes"],
  ["pair", pair, "Two machines, of which one takes over within ten seconds"],
  ["orchestrators", orchestrators, "A Helm chart and manifests, a unit, a file for Compose"],
  ["cells", cells, "Several installations behind one router"],
  ["planning", planning, "What so many deliveries a month need, and what they cost"],
  ["limits", limits, "Every setting and every limit, with its unit and its reason"],
  ["retention", retention, "What is kept for how long, and how to erase it"],
];

const BEHIND: readonly Page[] = [
  ["promises", promises, "Each bar that Sealpost is held to, with its test and its last figure"],
  ["measurements", measurements, "Rates, delays and memory, and how they were measured"],
  ["architecture", architecture, "The way of an event and of a request through the code"],
];

/** All pages but those of the providers, in the order of their links. */
export const PAGE_GROUPS: readonly (readonly [title: string, pages: readonly Page[]])[] = [
  ["First steps", FIRST],
  ["Receiving", RECEIVING],
  ["Sending", SENDING],
  ["Your customers", CUSTOMERS],
  ["Operating", OPERATING],
  ["Behind it", BEHIND],
];

const all = PAGE_GROUPS.flatMap(([, pages]) => pages);
const texts = new Map(all.map(([name, text]) => [name, text]));
const PROVIDERS = "providers/";

/**
 * The pages that are written by hand. Their examples are run by test/docs, with the README by test/readme,
 * and by slow suites.
 */
export const DOC_PAGES: ReadonlyMap<string, string> = new Map(
  all.flatMap(([name, text]) => (typeof text === "string" ? [[name, text] as const] : [])),
);

/** The paths of all pages below /docs. */
export function listPaths(): string[] {
  return [...texts.keys(), ...listProviders().map(({ key }) => PROVIDERS + key)];
}

/** The page at this path below /docs, without `.md`, and its Markdown; undefined where there is none. */
export function findPage(path: string): { path: string; text: string } | undefined {
  if (path.startsWith(PROVIDERS)) {
    const provider = findProvider(path.slice(PROVIDERS.length));
    return provider && { path: PROVIDERS + provider.key, text: providerPage(provider) };
  }
  const text = texts.get(path);
  return text === undefined ? undefined : { path, text: typeof text === "string" ? asServed(text) : text() };
}

/** Pictures stand beside the page in the repository; here they have a folder. */
function asServed(text: string): string {
  return text.replaceAll(/\]\(([\w-]+\.(?:png|svg))\)/g, "](/docs/assets/$1)");
}

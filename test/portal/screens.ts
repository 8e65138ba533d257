import type { Page } from "playwright-core";
import { CONSUMER, type World } from "./world.ts";

/**
 * THE table of screens: each is opened, checked by axe in both themes, tried at phone width,
 * and photographed.
 */
export interface Screen {
  name: string;
  address: (world: World) => Promise<string>;
  /** Resolves once it shows what it is for. */
  ready: (page: Page) => Promise<void>;
}

const ALL = { consumer_id: CONSUMER, manage: true, create: true };

/** The screen at `path`, with all grants; ready once this text stands there. */
function screen(
  name: string,
  path: (world: World) => string,
  text: string | RegExp,
  grants: object = ALL,
): Screen {
  return {
    name,
    address: async (world) => `${await world.link({ ...grants })}${path(world)}`,
    ready: (page) => page.getByText(text).filter({ visible: true }).first().waitFor(),
  };
}

/** The newest delivery to an endpoint; ready once its attempts stand there. */
function detail(name: string, of: (endpoints: World["endpoints"]) => string, status?: string): Screen {
  return {
    name,
    address: async (world) => {
      const narrowed = status === undefined ? "" : `&status=${status}`;
      const path = `/v1/deliveries?limit=1&endpoint_id=${of(world.endpoints)}${narrowed}`;
      const { json } = await world.app.live.get(path);
      const [{ id } = { id: "" }] = json["data"] as { id: string }[];
      return `${await world.link({ ...ALL })}/deliveries/${id}`;
    },
    ready: (page) => page.locator(".attempts, .delivery .empty").first().waitFor(),
  };
}

/** The screen at `path`, opened with the full key; ready once this text stands there. */
function ofConsole(name: string, path: (world: World) => string, text: string | RegExp): Screen {
  return { ...screen(name, path, text), address: async (world) => world.console(path(world)) };
}

/** The same with a key that only reads. */
function ofReader(name: string, path: (world: World) => string, text: string | RegExp): Screen {
  const address = async (world: World) => {
    const { key = "" } = await world.app.live.create("/v1/api-keys", { name: "reader", scopes: ["read"] });
    return world.console(path(world), key);
  };
  return { ...screen(name, path, text), address };
}

export const SCREENS: readonly Screen[] = [
  screen("overview", () => "/", "Data warehouse"),
  screen("overview-week", () => "/?window=week", "Deliveries of the last 7 days"),
  screen("endpoints", () => "/endpoints", "Data warehouse"),
  screen("endpoint", ({ endpoints }) => `/endpoints/${endpoints.fails}`, "Last 24 hours"),
  screen("endpoint-settings", ({ endpoints }) => `/endpoints/${endpoints.works}/settings`, "Sent along with"),
  screen("endpoint-read", ({ endpoints }) => `/endpoints/${endpoints.works}/settings`, "How it is sent", {
    consumer_id: CONSUMER,
  }),
  screen("endpoint-shape", ({ endpoints }) => `/endpoints/${endpoints.works}/shape`, /events match/),
  screen("endpoint-shape-read", ({ endpoints }) => `/endpoints/${endpoints.works}/shape`, /events match/, {
    consumer_id: CONSUMER,
  }),
  screen("endpoint-secret", ({ endpoints }) => `/endpoints/${endpoints.works}/secret`, "Reveal secret"),
  screen("endpoint-test", ({ endpoints }) => `/endpoints/${endpoints.works}/test`, "Send test event"),
  screen("endpoint-new", () => "/endpoints/new", "Amazon SQS"),
  screen("deliveries", () => "/deliveries", "customer.deleted"),
  screen("deliveries-read", () => "/deliveries?status=dead", "customer.deleted", { consumer_id: CONSUMER }),
  detail("delivery-retrying", ({ fails }) => fails, "retrying"),
  detail("delivery-dead", ({ gone }) => gone),
  detail("delivery-delivered", ({ works }) => works),
  detail("delivery-waiting", ({ paused }) => paused, "pending"),
  screen("event-types", () => "/event-types", "An invoice was paid in full."),
  screen("event-type", () => "/event-types/invoice.paid", "Of the smallest unit, such as cents."),
  screen("verify", ({ endpoints }) => `/verify?endpoint=${endpoints.works}`, "Does yours not verify?"),
  ofConsole("console", () => "/", "Data warehouse"),
  ofConsole("sources", () => "/sources", "Refusing"),
  ofReader("sources-read", () => "/sources", "Refusing"),
  ofConsole("source", ({ sources }) => `/sources/${sources.works}`, "github.push"),
  ofConsole("source-refusing", ({ sources }) => `/sources/${sources.refuses}`, "Why requests were refused"),
  ofConsole("source-awaiting", ({ sources }) => `/sources/${sources.awaits}`, "Everything is refused until"),
  ofConsole("source-paused", ({ sources }) => `/sources/${sources.paused}`, "answered 503 meanwhile"),
  ofConsole("source-setup", ({ sources }) => `/sources/${sources.awaits}/setup`, "Good to know"),
  ofReader("source-setup-read", ({ sources }) => `/sources/${sources.works}/setup`, "Good to know"),
  ofConsole("source-secret", ({ sources }) => `/sources/${sources.works}/secret`, "A new one of ours"),
  ofConsole("source-secret-issued", ({ sources }) => `/sources/${sources.refuses}/secret`, "stays valid for"),
  ofConsole("source-check", ({ sources }) => `/sources/${sources.works}/check`, "Waiting for a request"),
  ofConsole("source-settings", ({ sources }) => `/sources/${sources.hmac}/settings`, "Signature header"),
  ofReader("source-settings-read", ({ sources }) => `/sources/${sources.hmac}/settings`, "Signature header"),
  ofConsole("source-new", () => "/sources/new", "Any other service"),
  {
    name: "console-closed",
    address: async (world) => `${world.app.url}/portal`,
    ready: (page) => page.getByText("For those who run a project").waitFor(),
  },
  {
    name: "closed",
    address: async (world) => (await world.link()).replace(/#.*/, ""),
    ready: (page) => page.getByText("Open your link again").waitFor(),
  },
];

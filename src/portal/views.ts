import type { Key } from "./i18n.ts";
import { may } from "./session.ts";
import type { View } from "./view.ts";
import { Overview } from "./views/overview.tsx";

interface ViewRow {
  /**
   * `:name` is one part of the address; the first row that fits answers. Addresses of one row are one view,
   * which stays while one goes about between them, as from a list to a detail beside it.
   */
  path: string | readonly string[];
  /** Under which tab it stands. */
  tab: Tab;
  /** The view itself where it is in the first load, or how it is loaded once it is opened. */
  view: View | (() => Promise<View>);
  isLazy?: boolean;
}

type Tab = "overview" | "endpoints" | "deliveries" | "types" | "verify" | "sources";

/** THE table of views. A new screen is a file in views/, and a row here. */
const VIEWS: readonly ViewRow[] = [
  { path: "/", tab: "overview", view: Overview },
  lazy("/endpoints/new", "endpoints", async () => (await import("./views/endpoint-views.ts")).NewEndpoint),
  lazy(
    ["/endpoints", "/endpoints/:id", "/endpoints/:id/:tab"],
    "endpoints",
    async () => (await import("./views/endpoint-views.ts")).Endpoints,
  ),
  lazy(
    ["/deliveries", "/deliveries/:id"],
    "deliveries",
    async () => (await import("./views/deliveries.tsx")).Deliveries,
  ),
  lazy(
    ["/event-types", "/event-types/:name"],
    "types",
    async () => (await import("./views/reference.ts")).EventTypes,
  ),
  lazy("/verify", "verify", async () => (await import("./views/reference.ts")).Verify),
  lazy("/sources/new", "sources", async () => (await import("./views/sources.ts")).NewSource),
  lazy(
    ["/sources", "/sources/:id", "/sources/:id/:tab"],
    "sources",
    async () => (await import("./views/sources.ts")).Sources,
  ),
];

function lazy(path: ViewRow["path"], tab: Tab, view: () => Promise<View>): ViewRow {
  return { path, tab, view, isLazy: true };
}

const TABS: readonly { tab: Tab; path: string; title: Key; isOpen: () => boolean }[] = [
  { tab: "overview", path: "/", title: "tab.overview", isOpen: () => true },
  { tab: "endpoints", path: "/endpoints", title: "tab.endpoints", isOpen: () => true },
  { tab: "deliveries", path: "/deliveries", title: "tab.deliveries", isOpen: () => true },
  { tab: "types", path: "/event-types", title: "tab.types", isOpen: () => true },
  { tab: "verify", path: "/verify", title: "tab.verify", isOpen: () => true },
  { tab: "sources", path: "/sources", title: "tab.sources", isOpen: () => may.seeSources },
];

/** Tabs that this reader has, in their order: those with a view in the table. */
export function tabsNow(): typeof TABS {
  return TABS.filter(({ tab, isOpen }) => isOpen() && VIEWS.some((row) => row.tab === tab));
}

export interface Match {
  row: ViewRow;
  params: Readonly<Record<string, string>>;
}

export function matchView(path: string): Match | null {
  const tabs = new Set(tabsNow().map(({ tab }) => tab));
  for (const row of VIEWS.filter(({ tab }) => tabs.has(tab))) {
    const patterns = typeof row.path === "string" ? [row.path] : row.path;
    for (const pattern of patterns) {
      const params = fit(pattern, path);
      if (params !== null) return { row, params };
    }
  }
  return null;
}

function fit(pattern: string, path: string): Record<string, string> | null {
  const [wanted, given] = [pattern.split("/"), path.split("/")];
  if (wanted.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [at, part] of wanted.entries()) {
    const value = given[at] ?? "";
    if (part.startsWith(":") && value !== "") params[part.slice(1)] = decodeURIComponent(value);
    else if (part !== value) return null;
  }
  return params;
}

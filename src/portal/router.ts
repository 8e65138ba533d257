import { signal } from "@preact/signals";

/**
 * Every view has an address in the fragment, `#/deliveries?status=dead`: going back, reloading and copying
 * it work.
 */
export interface Location {
  path: string;
  query: Readonly<Record<string, string>>;
}

export const here = signal<Location>({ path: "/", query: {} });

const scrolls = new Map<string, number>();

function parse(fragment: string): Location {
  const [path = "", query = ""] = fragment.replace(/^#/, "").split("?");
  return { path: path === "" ? "/" : path, query: Object.fromEntries(new URLSearchParams(query)) };
}

/** The address of a view, for `href`. Parameters without a value are left out. */
export function to(path: string, query: Readonly<Record<string, string | null | undefined>> = {}): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => Boolean(pair[1]));
  return `#${path}${given.length === 0 ? "" : `?${new URLSearchParams(given)}`}`;
}

/** Goes there; `replaces`: without a step of its own to go back to, as for a filter. */
export function go(address: string, { replaces = false } = {}): void {
  scrolls.set(addressNow(), window.scrollY);
  if (replaces) {
    history.replaceState(null, "", address);
    read();
  } else {
    window.location.hash = address;
  }
}

/** Changes parameters of the view that is open. */
export function setQuery(change: Readonly<Record<string, string | null>>): void {
  const { path, query } = here.value;
  go(to(path, { ...query, ...change }), { replaces: true });
}

/** Asked before a view with something unsaved is left; null: nothing is. */
let mayLeave: (() => Promise<boolean>) | null = null;

export function guardLeaving(ask: () => Promise<boolean>): () => void {
  mayLeave = ask;
  const onUnload = (event: Event) => event.preventDefault();
  window.addEventListener("beforeunload", onUnload);
  return () => {
    mayLeave = null;
    window.removeEventListener("beforeunload", onUnload);
  };
}

/** The address stays what it was while the question stands. */
async function askToLeave(ask: () => Promise<boolean>): Promise<void> {
  const wanted = window.location.hash;
  history.replaceState(null, "", addressNow());
  if (!(await ask())) return;
  mayLeave = null;
  window.location.hash = wanted;
}

function addressNow(): string {
  return to(here.value.path, here.value.query);
}

function read(): void {
  here.value = parse(window.location.hash);
}

/** Reads the address now and whenever it changes; `first` may take something out of it before. */
export function startRouter(first: (fragment: string) => void): void {
  const listen = () => {
    if (mayLeave) {
      void askToLeave(mayLeave);
      return;
    }
    scrolls.set(addressNow(), window.scrollY);
    first(window.location.hash);
    read();
  };
  window.addEventListener("hashchange", listen);
  history.scrollRestoration = "manual";
  first(window.location.hash);
  read();
}

/** Where this address was scrolled to when it was left. */
export function scrollOf(address: Location): number {
  return scrolls.get(to(address.path, address.query)) ?? 0;
}

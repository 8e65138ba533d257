import { signal } from "@preact/signals";
import type { Portal } from "./types.ts";

/**
 * Who is here. The token comes in the fragment, is taken out of the address at once, and lives in this
 * variable only: a reload forgets it, and the page that embeds us is asked for a fresh link.
 */
export type Closed = "start" | "missing" | "mangled" | "expired" | "unknown" | "foreign" | "refused" | "left";

/** null: nobody yet. */
export const token = signal<string | null>(null);
export const portal = signal<Portal | null>(null);
/** Why there is nothing to show; null while there is. */
export const closed = signal<Closed | null>(null);

const TOKEN = /^(?:spl_|sp_live_|sp_test_)[0-9A-Za-z]{51}$/;

/** The token that a fragment begins with, and what follows it: `spl_…/deliveries/msg_…`. */
export function readFragment(fragment: string): { token: string | null; rest: string } {
  const text = fragment.replace(/^#/, "");
  const [head = ""] = text.split("/");
  return TOKEN.test(head) ? { token: head, rest: text.slice(head.length) } : { token: null, rest: text };
}

/** True where somebody meant a token, and a part of it is missing or wrong. */
export function isMangled(fragment: string): boolean {
  return /^#?(?:spl|sp_live|sp_test)_/.test(fragment) && readFragment(fragment).token === null;
}

export function open(value: string): void {
  // The same link once more, in the same tab: it is open, and leads to another view at most.
  if (value === token.value && portal.value !== null) return;
  portal.value = null;
  closed.value = null;
  token.value = value;
}

/** Ends the session, for the first reason that there is; whoever embeds us may put in a fresh link. */
export function close(reason: Closed): void {
  if (closed.value !== null) return;
  // A key does not come from a link that one could open again.
  const why = reason === "expired" && token.value?.startsWith("sp_") ? "unknown" : reason;
  token.value = null;
  portal.value = null;
  closed.value = why;
  if (window.parent !== window) window.parent.postMessage({ type: "sealpost:expired" }, "*");
}

export const may = {
  get manage(): boolean {
    return portal.value?.manage === true;
  },
  get create(): boolean {
    return portal.value?.create === true;
  },
  /** A key of the project stored the credentials of an endpoint: they stay, wherever its address leads. */
  get moveCredentials(): boolean {
    return portal.value?.kind === "api_key";
  },
  /** Opened with a key of the project, not with a link: a full one may `manage` them too. */
  get seeSources(): boolean {
    return portal.value?.kind === "api_key";
  },
};

/**
 * The project whose page this is: a link of another one is not shown under its address. null: the page of
 * whoever has a key.
 */
export function projectOfPage(): string | null {
  return /^\/portal\/([^/]+)/.exec(location.pathname)?.[1] ?? null;
}

import { once } from "../core/structures/once.ts";
import type { DestinationConfig, Message, OutgoingRequest } from "./destination.ts";
import { type UrlParts, urlParts } from "../transport/url-parts.ts";
import { USER_AGENT } from "../transport/user-agent.ts";

/** What builders of requests have in common. */

type Headers = OutgoingRequest["headers"];

const encoder = new TextEncoder();

/** Computes something of an endpoint's settings once for each of their versions. */
export function perConfig<T extends {} | null>(
  make: (config: DestinationConfig) => T,
): (config: DestinationConfig) => T {
  return once(make);
}

/** A field's text; null where it is not given. */
export function textOf(config: DestinationConfig, name: string): string | null {
  const value = config[name];
  return typeof value === "string" ? value : null;
}

/** A path to which another one can be added. */
export function withoutLastSlashes(path: string): string {
  return path.replace(/(?<!\/)\/+$/, "");
}

/** `path` and `search`, encoded already, below a server's address, which may have a path of its own. */
export function urlBelow(base: string, path: string, search = ""): UrlParts {
  const url = new URL(base);
  url.pathname = withoutLastSlashes(url.pathname) + path;
  url.search = search;
  url.hash = "";
  return urlParts(url);
}

/** The kind's own headers, then those of the endpoint that the kind does not set. */
export function headersWith(own: Headers, message: Message): Headers {
  if (message.headers.length === 0) return [["user-agent", USER_AGENT], ...own];
  const names = new Set(own.map(([name]) => name.toLowerCase()));
  const others = message.headers.filter(([name]) => !names.has(name.toLowerCase()));
  return [["user-agent", USER_AGENT], ...own, ...others];
}

/** The three headers of Standard Webhooks. */
export const WEBHOOK_HEADERS = ["webhook-id", "webhook-timestamp", "webhook-signature"] as const;

export function webhookHeadersOf(message: Message): [name: string, value: string][] {
  const [id, timestamp, signature] = WEBHOOK_HEADERS;
  return [
    [id, message.id],
    [timestamp, String(message.timestampSeconds)],
    [signature, message.signature],
  ];
}

/**
 * What travels beside the body where a destination has attributes: the three headers, and the event's type.
 */
export function attributesOf(message: Message): Record<string, string> {
  return { ...Object.fromEntries(webhookHeadersOf(message)), type: message.type };
}

export function base64(value: string | Uint8Array): string {
  return Buffer.from(value as Uint8Array).toString("base64");
}

export function jsonBytes(value: unknown): Uint8Array {
  return encoder.encode(JSON.stringify(value));
}

import type { Endpoint } from "../../types.ts";

/** What an endpoint is called: its description, or where it leads. */
export function nameOf(endpoint: Pick<Endpoint, "description" | "url" | "config" | "kind">): string {
  return endpoint.description || addressOf(endpoint);
}

/** Where it leads: the address without its scheme, or what the kind calls its place. */
export function addressOf({ url, config, kind }: Pick<Endpoint, "url" | "config" | "kind">): string {
  if (url !== null) return url.replace(/^https?:\/\//, "").replace(/\/$/, "");
  const place = Object.values(config).find((value) => typeof value === "string" && value !== "***");
  return typeof place === "string" ? place : kind;
}

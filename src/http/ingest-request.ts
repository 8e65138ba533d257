import type { Source } from "../core/model.ts";
import type { InboundRequest } from "../inbound/provider.ts";
import type { Services } from "./services.ts";

/** A request to the door in the words of the inbound side. */

interface Arrived {
  method: string;
  headers: Iterable<[string, string]>;
  /** With its question mark, empty where there is none. */
  search: string;
  body: Uint8Array;
}

/** The query string of an address, with its question mark. */
export function searchOf(url: string): string {
  const mark = url.indexOf("?");
  return mark < 0 ? "" : url.slice(mark);
}

/** The address that was entered at the provider, and signed by some: `config.public_url`, or the source's own. */
export function addressOf({ ids, baseUrl }: Services, { id, config }: Pick<Source, "id" | "config">): string {
  const { public_url: publicUrl } = config;
  return typeof publicUrl === "string" ? publicUrl : `${baseUrl}/ingest/${ids.encode("src", id)}`;
}

/** `address` is what the provider was given; the query that came with the request takes the place of its own. */
export function inboundRequest(address: string, { method, headers, search, body }: Arrived): InboundRequest {
  const url = search === "" ? address : address.split("?")[0] + search;
  const lower = [...headers].map(([name, value]) => [name.toLowerCase(), value] as const);
  return { method, url, headers: new Map(lower), query: new URLSearchParams(search), body };
}

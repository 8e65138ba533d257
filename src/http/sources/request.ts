import { HTTP_TOKEN } from "../../core/http-token.ts";
import type { Source } from "../../core/model.ts";
import type { HeaderReader, InboundRequest } from "../../inbound/provider.ts";
import type { Needs } from "../framework/services.ts";

/** A request to the door in the words of the inbound side. */

interface Arrived {
  method: string;
  headers: HeaderReader;
  /** With its question mark, empty where there is none. */
  search: string;
  body: Uint8Array;
}

/** The query string of an address, with its question mark. */
export function searchOf(url: string): string {
  const mark = url.indexOf("?");
  return mark < 0 ? "" : url.slice(mark);
}

/**
 * The address that was entered at the provider, and signed by some: `config.public_url`, or the source's own.
 */
export function addressOf(
  { ids, baseUrl }: Needs<"ids" | "baseUrl">,
  { id, config }: Pick<Source, "id" | "config">,
): string {
  const { public_url: publicUrl } = config;
  return typeof publicUrl === "string" ? publicUrl : `${baseUrl}/ingest/${ids.encode("src", id)}`;
}

const NO_QUERY = new URLSearchParams();

/**
 * Reads headers where they came: of most requests two or three are asked for. `Headers` throws where a name
 * is none, and some senders say which headers they signed.
 */
export function readerOf(headers: Headers): HeaderReader {
  const get = (name: string) => (HTTP_TOKEN.test(name) ? (headers.get(name) ?? undefined) : undefined);
  return { get, has: (name) => get(name) !== undefined };
}

/**
 * `address` says what the provider was given; the query that came with the request takes the place of its
 * own. Most schemes ask for neither.
 */
export function inboundRequest(
  address: () => string,
  { method, headers, search, body }: Arrived,
): InboundRequest {
  let query: URLSearchParams | null = null;
  return {
    method,
    headers,
    body,
    get url() {
      return search === "" ? address() : address().split("?")[0] + search;
    },
    get query() {
      return (query ??= search === "" ? NO_QUERY : new URLSearchParams(search));
    },
  };
}

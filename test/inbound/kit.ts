import type { InboundRequest, KeyReader, SourceMaterial } from "../../src/inbound/provider.ts";

/** Builders for the suite that walks the provider table. */

/** The address that every source of the suite was given. */
export const SOURCE_URL = "https://hooks.example.com/ingest/src_00000000000000000000000000";
/** The instant at which the suite verifies: a full second, so that every unit can say it. */
export const NOW_MS = 1_800_000_000_000;
export const NOW_SECONDS = NOW_MS / 1000;

export interface RequestParts {
  method?: string;
  url?: string;
  headers?: Readonly<Record<string, string>>;
  body?: string | Uint8Array;
}

export function requestOf({
  method = "POST",
  url = SOURCE_URL,
  headers = {},
  body = "",
}: RequestParts): InboundRequest {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return { method, url, headers: new Map(lower), query: new URL(url).searchParams, body: bytes };
}

/** A POST of JSON. */
export function jsonRequest(body: string, headers: Readonly<Record<string, string>>): InboundRequest {
  return requestOf({ body, headers: { "content-type": "application/json", ...headers } });
}

export function materialOf(secrets: readonly string[], rest: Partial<SourceMaterial> = {}): SourceMaterial {
  return { secrets, credentials: {}, config: {}, ...rest };
}

/** The headers of a request of the suite, which holds them all. */
export function headersIn({ headers }: InboundRequest): Map<string, string> {
  if (!(headers instanceof Map)) throw new Error("These headers cannot be listed.");
  return headers as Map<string, string>;
}

export function withHeader(request: InboundRequest, name: string, value: string): InboundRequest {
  return { ...request, headers: new Map([...headersIn(request), [name, value]]) };
}

export function withoutHeader(request: InboundRequest, name: string): InboundRequest {
  return { ...request, headers: new Map([...headersIn(request)].filter(([key]) => key !== name)) };
}

export function withBody(request: InboundRequest, body: string | Uint8Array): InboundRequest {
  return { ...request, body: typeof body === "string" ? new TextEncoder().encode(body) : body };
}

export function withUrl(request: InboundRequest, url: string): InboundRequest {
  return { ...request, url, query: new URL(url).searchParams };
}

export function textOf(request: InboundRequest): string {
  return new TextDecoder().decode(request.body);
}

export function headersOf(request: InboundRequest): Record<string, string> {
  return Object.fromEntries(headersIn(request));
}

/** Keys that are what the text says, whatever is asked for; null: they cannot be had. */
export function keysOf(text: string | null): KeyReader {
  return {
    read: () => Promise.resolve(text === null ? { kind: "unavailable" } : { kind: "document", text }),
  };
}

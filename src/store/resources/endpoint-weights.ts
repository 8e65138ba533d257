import type { Endpoint } from "../../core/model.ts";
import { weightOf } from "../../core/json/weight.ts";

type Settings = Omit<Endpoint, "id" | "updatedAt">;

/** A compiled filter stands beside its source. */
const FILTER_FACTOR = 4;

/**
 * Once an attempt was made, headers stand in its rendered head too, and of credentials among them the parts
 * that are hidden.
 */
const HEADERS_FACTOR = 3;

/** Once an attempt was made, credentials stand in what was read of them and in what answers hide, beside. */
const CREDENTIALS_COPIES = 3;

/** What is hidden stands in UTF-8 too where that differs, with the white space around it and without. */
const NOT_ASCII_FACTOR = 3;

/** Each pattern of event types that no other endpoint has is a place of its own in the routes. */
const PATTERN_BYTES = 400;

/** What an endpoint's settings take in memory, about, also at rest. */
export function endpointWeight(endpoint: Settings): number {
  const { config, credentials, headers, description, eventTypes, transformations, metadata } = endpoint;
  const parts = [config, credentials, description, eventTypes, transformations, metadata];
  const filter = endpoint.filter === null ? 0 : FILTER_FACTOR * weightOf(endpoint.filter);
  const places = PATTERN_BYTES * (eventTypes?.length ?? 0);
  const copies = CREDENTIALS_COPIES * hiddenWeight(Object.values(credentials).join("\n"));
  const hidden = HEADERS_FACTOR * hiddenWeight(headers) + copies;
  return parts.reduce<number>((sum, part) => sum + weightOf(part), filter + places + hidden);
}

function hiddenWeight(value: Settings["headers"] | string): number {
  const isAscii = !/[\u0080-\uffff]/.test(JSON.stringify(value));
  return (isAscii ? 1 : NOT_ASCII_FACTOR) * weightOf(value);
}

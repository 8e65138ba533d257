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

/** Each pattern of event types that no other endpoint has is a place of its own in the routes. */
const PATTERN_BYTES = 400;

/** What an endpoint's settings take in memory, about, also at rest. */
export function endpointWeight(endpoint: Settings): number {
  const { config, credentials, headers, description, eventTypes, transformations, metadata } = endpoint;
  const parts = [config, credentials, description, eventTypes, transformations, metadata];
  const filter = endpoint.filter === null ? 0 : FILTER_FACTOR * weightOf(endpoint.filter);
  const places = PATTERN_BYTES * (eventTypes?.length ?? 0);
  const heads = HEADERS_FACTOR * weightOf(headers);
  return parts.reduce<number>((sum, part) => sum + weightOf(part), filter + places + heads);
}

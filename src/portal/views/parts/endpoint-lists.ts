import { useEffect, useRef, useState } from "preact/hooks";
import { useResource } from "../../resource.ts";
import type { Endpoint, Page } from "../../types.ts";
import { nameOf } from "./endpoint-name.ts";

/** As the API takes them. */
const IDS_MAX = 100;

const NEWEST = "/v1/endpoints?limit=250";
const named = (ids: readonly string[]) => `/v1/endpoints?limit=${IDS_MAX}&endpoint_ids=${ids.join(",")}`;

/** Endpoints to choose from: the newest, and the one that is chosen, however old it is. */
export function useEndpoints(chosen: string | null): { data: Endpoint[] | undefined; error: Error | null } {
  const { data, error } = useResource<Page<Endpoint>>(NEWEST, { polls: false });
  const newest = data?.data;
  const isThere = chosen === null || newest === undefined || newest.some(({ id }) => id === chosen);
  const own = useResource<Page<Endpoint>>(isThere ? null : named([chosen]), { polls: false });
  if (isThere) return { data: newest, error };
  return { data: own.data && [...own.data.data, ...newest], error: own.error };
}

/**
 * What the endpoints of some rows are called: null for one that was deleted, nothing for one that was not
 * asked for yet.
 */
export function useEndpointNames(ids: readonly string[]): ReadonlyMap<string, string | null> {
  const known = useRef(new Map<string, string | null>());
  const [, drawAgain] = useState({});
  const all = [...new Set(ids)].toSorted();
  const unknown = all.filter((id) => !known.current.has(id));
  const asked = (unknown.length > 0 ? unknown : all).slice(0, IDS_MAX);
  const { data } = useResource<Page<Endpoint>>(asked.length === 0 ? null : named(asked));
  const names = new Map(data?.data.map((endpoint) => [endpoint.id, nameOf(endpoint)]));
  if (data) for (const id of asked) known.current.set(id, names.get(id) ?? null);
  const isPart = data !== undefined && unknown.length > IDS_MAX;
  useEffect(() => (isPart ? drawAgain({}) : undefined), [isPart, asked.join()]);
  return known.current;
}

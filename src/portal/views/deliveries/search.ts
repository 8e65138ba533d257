import { useResource } from "../../resource.ts";
import type { Page } from "../../types.ts";
import type { Search } from "./filter.ts";

const DELIVERY_ID = /^msg_[0-9A-HJKMNP-TV-Z]{26}$/;
const EVENT_ID = /^evt_[0-9A-HJKMNP-TV-Z]{26}$/;

/**
 * What is searched for: an id is known by its form, an `external_id` is looked up, the rest is text in
 * bodies. undefined: not known yet.
 */
export function useSearch(q: string | null): Search | undefined {
  const text = q?.trim() ?? "";
  const isText = text !== "" && !DELIVERY_ID.test(text) && !EVENT_ID.test(text);
  const { data, error } = useResource<Page<{ id: string }>>(
    isText ? `/v1/events?limit=1&external_id=${encodeURIComponent(text)}` : null,
    { polls: false },
  );
  if (text === "") return { kind: "none" };
  if (DELIVERY_ID.test(text)) return { kind: "delivery", id: text };
  if (EVENT_ID.test(text)) return { kind: "event", id: text, isExternal: false };
  if (data === undefined && error === null) return undefined;
  const [event] = data?.data ?? [];
  return event ? { kind: "event", id: event.id, isExternal: true } : { kind: "text", text };
}

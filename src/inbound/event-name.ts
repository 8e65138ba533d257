import { limit } from "../core/limits.ts";

/** What follows is cut off in any case, unless nearly all before it is dropped. */
const READ_LENGTH_MAX = 10 * limit("eventTypeLengthMax");

/**
 * `<provider_key>.<type>`: `/` and `:` become `.`, other characters outside the set `_`, empty segments
 * are dropped, the whole is cut to 128. Without a type: `<provider_key>.unknown`.
 */
export function eventName(providerKey: string, type: string | null): string {
  const segments = (type ?? "")
    .slice(0, READ_LENGTH_MAX)
    .replace(/[/:]/g, ".")
    .replace(/[^A-Za-z0-9_.-]/gu, "_")
    .split(".")
    .filter((segment) => segment !== "");
  const name = [providerKey, ...(segments.length > 0 ? segments : ["unknown"])].join(".");
  return name.slice(0, limit("eventTypeLengthMax")).replace(/\.$/, "");
}

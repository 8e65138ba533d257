import { limit } from "../core/limits.ts";

/**
 * `<provider_key>.<type>`: `/` and `:` become `.`, other characters outside the set `_`, empty segments
 * are dropped, the whole is cut to 128. Without a type: `<provider_key>.unknown`.
 */
export function eventName(providerKey: string, type: string | null): string {
  const segments = (type ?? "")
    .replace(/[/:]/g, ".")
    .replace(/[^A-Za-z0-9_.-]/gu, "_")
    .split(".")
    .filter((segment) => segment !== "");
  const name = [providerKey, ...(segments.length > 0 ? segments : ["unknown"])].join(".");
  return name.slice(0, limit("eventTypeLengthMax")).replace(/\.$/, "");
}

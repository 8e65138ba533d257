import { limit } from "./limits.ts";

/**
 * True where the query of an address is longer, or has more parts, than any that is sent in earnest: asked
 * before the query is read, as every part is work, and nobody is known yet.
 */
export function hasLongQuery(url: string): boolean {
  const mark = url.indexOf("?");
  if (mark === -1) return false;
  if (url.length - mark - 1 > limit("queryLengthMax")) return true;
  let parts = 1;
  for (let at = url.indexOf("&", mark); at !== -1; at = url.indexOf("&", at + 1))
    if (++parts > limit("queryPartsMax")) return true;
  return false;
}

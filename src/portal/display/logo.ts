/** The logo by its path alone: the page may have been reached by another name than the service's own. */
export function ownAddress(url: string | null): string | null {
  return url === null ? null : new URL(url).pathname + new URL(url).search;
}

/** What `sealpost cells config` writes for the router, and the machines behind it go by. */

/** On every request and every check of the router's, whatever its clients say. */
export const ROUTER_HEADER = "sealpost-router";

/** How both machines of a pair are asked which one is the primary, in seconds. */
export const CHECK = { path: "/readyz", everySeconds: 1, timeoutSeconds: 1, failures: 2 } as const;

/** A machine that says that it is not ready is sent nothing by the router after so long. */
export const ROUTER_SEES_MS = 1000 * (CHECK.everySeconds * CHECK.failures + CHECK.timeoutSeconds);

/** Whoever writes the header is taken for it: a machine that hands over answers them a little longer. */
export function isOfRouter({ headers }: Pick<Request, "headers">): boolean {
  return headers.has(ROUTER_HEADER);
}

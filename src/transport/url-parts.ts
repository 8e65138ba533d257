/** The parts of a URL that a request needs; a `URL` has them too. */
export type UrlParts = Readonly<
  Pick<URL, "href" | "origin" | "protocol" | "hostname" | "port" | "host" | "pathname" | "search">
>;

/**
 * A URL as plain strings. Whatever keeps one for each of ten thousand endpoints keeps it so: the getters of a
 * `URL` cost more than all else that is done with it, and the garbage collector visits every `URL` that is
 * alive while the program is halted.
 */
export function urlParts(url: URL): UrlParts {
  const { href, origin, protocol, hostname, port, host, pathname, search } = url;
  return { href, origin, protocol, hostname, port, host, pathname, search };
}

/** What the transport asks of a URL, read once: the getters of a URL cost more than all else that is done with it. */
export interface Target {
  /** Scheme, host and port: what tells the connections of a pool apart. */
  readonly key: string;
  readonly protocol: string;
  readonly hostname: string;
  readonly port: number;
  /** Of the request line: path and query. */
  readonly path: string;
  /** Of the `host` header. */
  readonly host: string;
}

const known = new WeakMap<URL, Target>();

/** A URL that was handed to the transport never changes. */
export function targetOf(url: URL): Target {
  const before = known.get(url);
  if (before !== undefined) return before;
  const { origin: key, protocol, hostname, host } = url;
  const defaultPort = protocol === "https:" ? 443 : 80;
  const port = url.port === "" ? defaultPort : Number(url.port);
  const target = { key, protocol, hostname, port, host, path: url.pathname + url.search };
  known.set(url, target);
  return target;
}

/**
 * Asks name servers for the addresses of a name.
 *
 * Bun's c-ares reads `/etc/resolv.conf` once, and keeps the answer that a name has no record for an hour,
 * whatever its zone says. So the servers are read and named to it again: a changed list empties its cache.
 */
import { getServers, setServers } from "node:dns";
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { dns } from "bun";
import { limit } from "../core/limits.ts";

/** Finds all A and AAAA addresses of a name; rejects with an error that has a `code` (`ENOTFOUND`, …). */
export interface Resolver {
  resolve(host: string): Promise<string[]>;
}

export interface SystemResolverOptions {
  /** The addresses of the name servers, as they are now; none leaves those in use. */
  readServers: () => string[];
  monotonic: () => number;
}

/** Is never asked: the list with it differs from the list without it. */
const NO_SERVER = "127.0.0.1:1";

/**
 * Asks after `/etc/hosts`, without a thread of its own. In the small thread pool in which `node:dns`'s
 * `lookup` waits, 300 names whose servers hang delay a good one by 20 s.
 *
 * Takes no time-out (Bun 1.4): of a server that does not answer it asks four times in 25 s, then fails.
 */
export function createSystemResolver({ readServers, monotonic }: SystemResolverOptions): Resolver {
  let readAt = -Infinity;
  let known = "";
  let isMissed = false;

  /** Questions under way go on, at the new servers where the old ones are gone. */
  function renew(): void {
    if (monotonic() - readAt < limit("nameServersReadEveryMs")) return;
    readAt = monotonic();
    const found = readServers();
    const servers = found.length > 0 ? found : getServers().filter((server) => !isLinkLocal(server));
    if (servers.length === 0 || (servers.join() === known && !isMissed)) return;
    setServers([...servers, NO_SERVER]);
    setServers(servers);
    known = servers.join();
    isMissed = false;
  }

  async function resolve(host: string): Promise<string[]> {
    renew();
    try {
      // c-ares sorts with a socket for each: 1,000 take 10 ms of this turn, 4,000 (one answer) 45 to 75. No
      // option leaves it out. BIND brings at most 100 of a kind, PowerDNS 256; others may bring all.
      const found = await dns.lookup(host, { backend: "c-ares" });
      // The cache holds either kind of address by itself.
      isMissed ||= found.every(({ family }) => family === 6);
      return found.map(({ address }) => address);
    } catch (error) {
      isMissed ||= isNotFound(error);
      throw error;
    }
  }

  return { resolve };
}

export const systemResolver = createSystemResolver({
  readServers: readResolvConf,
  monotonic: () => performance.now(),
});

/** True where the name servers know the name not, or no address of it; false where they did not say. */
export function isNotFound(error: unknown): boolean {
  // Bun writes `DNS_ENOTFOUND` where node has `ENOTFOUND`.
  const code = error instanceof Error && "code" in error ? String(error.code).replace(/^DNS_/, "") : "";
  return code === "ENOTFOUND" || code === "ENODATA";
}

/** The name servers that a `resolv.conf` names, as far as `setServers` can take them. */
export function nameServersOf(text: string): string[] {
  const named = [...text.matchAll(/^nameserver[ \t]+(\S+)/gm)].map(([, server = ""]) => server);
  return named.filter((server) => isIP(server) !== 0 && !isLinkLocal(server));
}

/** Reached by an interface, which `setServers` forgets. */
function isLinkLocal(server: string): boolean {
  return /^\[?fe80:/i.test(server);
}

/** Where no file can be opened, nothing is known of them. */
function readResolvConf(): string[] {
  try {
    return nameServersOf(readFileSync("/etc/resolv.conf", "utf8"));
  } catch {
    return [];
  }
}

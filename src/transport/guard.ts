/**
 * The address guard: which destinations Sealpost may connect to.
 *
 * A name is resolved, every address that it has is vetted, and the caller connects to exactly the address
 * that was vetted ("resolve, vet all, pin one"), so that a name which changes its mind between the check and
 * the connection gains nothing.
 */
import type { NoAnswerCode } from "../core/attempt-error.ts";
import { networkInterfaces } from "node:os";
import { isIPv6 } from "node:net";
import { posix } from "node:path";
import { limit } from "../core/limits.ts";
import { type Address, isInside, isPublicAddress, parseAddress, requireCidr, unmapped } from "./addresses.ts";
import { isNotFound, type Resolver, systemResolver } from "./resolver.ts";

/** `reason` is one sentence for a person; it never tells what a name resolved to. */
export type UrlVerdict = { ok: true; url: URL } | { ok: false; reason: string };

/**
 * `code` is `dns_not_found` or `dns_failed`.
 * `others` are further vetted addresses of the same name, for when the first one refuses the connection. Of
 * more than an attempt connects to they are drawn.
 */
export type AddressVerdict =
  | { kind: "pinned"; address: string; others?: readonly string[] }
  | { kind: "blocked" }
  | { kind: "unresolved"; code: NoAnswerCode };

export interface Guard {
  /** Judges the text of a URL: syntax, scheme, user info, port, and the host as far as it can be read. */
  checkUrl(text: string): UrlVerdict;
  /**
   * Resolves and vets the host; one address that is not public, or that leads to this service by the URL's
   * port, blocks them all.
   */
  pin(url: Origin): Promise<AddressVerdict>;
  /**
   * True where the URL leads to this service, as far as it can be read: what is sent there comes back as an
   * event. Asked at every attempt, too.
   */
  isSelf(url: Target): boolean;
  /**
   * Judges a URL that is saved: `checkUrl`, then `pin`. A name that does not resolve in time is accepted, and
   * one for whose question there is no slot: every attempt asks again. An address needs none.
   */
  checkDestination(text: string, inSlot: InSlot): Promise<UrlVerdict>;
}

/** Runs it in a slot that is held until `socketGone`; null where there is none. */
export type InSlot = (ask: () => Promise<NameAnswer>) => Promise<NameAnswer | null>;

/** `verdict` is null where the question takes too long: it goes on until `socketGone` resolves. */
export interface NameAnswer {
  verdict: AddressVerdict | null;
  socketGone?: Promise<void>;
}

/** A URL, or as much of one as tells where it leads. */
type Target = Pick<URL, "protocol" | "hostname" | "port" | "pathname">;

/** What of a URL tells where a connection leads. */
type Origin = Omit<Target, "pathname">;

/** Where this service is reached. */
interface Self {
  baseUrl: string;
  /** Where it listens; null until it does. */
  port(): number | null;
}

export interface GuardOptions {
  /** CIDRs that lift addresses, never names (`SEALPOST_ALLOW_PRIVATE_DESTINATIONS`). */
  allow: readonly string[];
  /** Default: `systemResolver`. */
  resolver?: Resolver;
  /** Default: nothing is taken for this service. */
  self?: Self;
  /** Draws among the addresses of a name. Default: `Math.random`. */
  random?: () => number;
  /**
   * Addresses of this host, refused unless allowed, public ones included. Default: those of its interfaces.
   */
  ownAddresses?: readonly string[];
}

/** One text for every refused host, so that it tells nobody what stands behind a name. */
export const UNSAFE_DESTINATION =
  "The destination must be a public address, or a name that leads to public addresses only. The operator may allow " +
  "private address ranges with SEALPOST_ALLOW_PRIVATE_DESTINATIONS; names such as localhost stay refused: " +
  "write the address, as in http://127.0.0.1:9000/.";

const SELF_DESTINATION =
  "This address is this service's own: what is sent there would come back as an event, again and again.";

/** Names that lead into the sender's own network, refused also as the end of a longer name. */
const PRIVATE_SUFFIXES = ["localhost", "local", "internal"];

const NAME_LENGTH_MAX = 253;

/** RFC 1123 labels, and the underscore that real host names have. */
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

/** Throws a TypeError where `allow` holds something that is not a CIDR: the settings refuse it before. */
export function createGuard(options: GuardOptions): Guard {
  const allowed = options.allow.map(requireCidr);
  const { resolver = systemResolver, random = Math.random } = options;
  const own = new Set((options.ownAddresses ?? interfaceAddresses()).map(canonical));
  const { isSelf, isListener } = selfJudge(options.self, own);

  function isAllowed(address: Address): boolean {
    if (allowed.some((cidr) => isInside(address, cidr))) return true;
    return isPublicAddress(address) && !own.has(address.toString());
  }

  function checkUrl(text: string): UrlVerdict {
    const url = URL.parse(text);
    if (url === null) return { ok: false, reason: "The URL cannot be read." };
    const problem = findProblem(url, text);
    if (problem !== null) return { ok: false, reason: problem };
    if (isSelf(url)) return { ok: false, reason: SELF_DESTINATION };
    const host = readHost(url.hostname);
    url.hash = "";
    if (url.hostname.endsWith(".")) url.hostname = url.hostname.slice(0, -1);
    const isFine = host.kind === "address" ? isAllowed(host.address) : host.kind === "name";
    return isFine ? { ok: true, url } : { ok: false, reason: UNSAFE_DESTINATION };
  }

  /** What stands behind the first so many is neither looked at nor used. */
  function vet(resolved: readonly string[], port: number): AddressVerdict {
    const texts = resolved.slice(0, limit("addressesOfNameMax"));
    const areFine = texts.every((text) => {
      const address = parseAddress(text);
      return address !== null && isAllowed(address) && !isListener(address, port);
    });
    if (!areFine) return { kind: "blocked" };
    const [first, ...others] = drawn(texts, limit("addressesDialledMax"), random);
    if (first === undefined) return { kind: "unresolved", code: "dns_not_found" };
    return { kind: "pinned", address: first, others };
  }

  async function pin(url: Origin): Promise<AddressVerdict> {
    const host = readHost(url.hostname);
    const port = portOf(url);
    if (host.kind === "refused") return { kind: "blocked" };
    if (host.kind === "address") return vet([host.address.toString()], port);
    try {
      return vet(await resolver.resolve(host.name), port);
    } catch (error) {
      return { kind: "unresolved", code: isNotFound(error) ? "dns_not_found" : "dns_failed" };
    }
  }

  async function checkDestination(text: string, inSlot: InSlot): Promise<UrlVerdict> {
    const verdict = checkUrl(text);
    return verdict.ok ? judgeHost(verdict.url, () => inTime(pin(verdict.url)), inSlot) : verdict;
  }

  return { checkUrl, pin, isSelf, checkDestination };
}

/**
 * So many of the addresses at most: all as they stand, or some of either family by turns, beginning with that
 * of the first.
 */
function drawn(texts: readonly string[], most: number, random: () => number): readonly string[] {
  if (texts.length <= most) return texts;
  const isV6First = isIPv6(texts[0] ?? "");
  const preferred = texts.filter((text) => isIPv6(text) === isV6First);
  const families = [preferred, texts.filter((text) => isIPv6(text) !== isV6First)];
  const found: string[] = [];
  for (let turn = 0; found.length < most; turn++) {
    const family = families[turn % 2] ?? [];
    found.push(...family.splice(Math.floor(random() * family.length), 1));
  }
  return found;
}

/** What leads to this service: a URL below its base URL, and an address with the port that it listens on. */
function selfJudge(self: Self | undefined, own: ReadonlySet<string>) {
  if (!self) return { isSelf: () => false, isListener: () => false };
  const base = new URL(self.baseUrl);
  const [baseName, basePath] = [nameOf(base.hostname), plainPath(base.pathname)];
  const basePort = portOf(base);

  /** Behind a router both of the usual ports lead to it; beside a router the one that it listens on may. */
  function isSamePort(port: number): boolean {
    return port === basePort || port === self?.port() || (USUAL_PORTS.has(port) && USUAL_PORTS.has(basePort));
  }

  function isListener(address: Address, port: number): boolean {
    if (port !== self?.port()) return false;
    const plain = unmapped(address);
    return own.has(plain.toString()) || ["loopback", "unspecified"].includes(plain.range());
  }

  function isSelf(url: Target): boolean {
    const port = portOf(url);
    const isBase = isSamePort(port) && nameOf(url.hostname) === baseName;
    if (isBase && isBelow(plainPath(url.pathname), basePath)) return true;
    // Each attempt asks this, and to read an address takes longer than to compare a port.
    if (port !== self?.port()) return false;
    const address = addressOf(url.hostname);
    return address !== null && isListener(address, port);
  }

  return { isSelf, isListener };
}

const USUAL_PORTS = new Set([80, 443]);

/** `/hooks/in` is below `/hooks`, and `/hooks2` is not. */
function isBelow(path: string, base: string): boolean {
  return path === base || path.startsWith(base.endsWith("/") ? base : `${base}/`);
}

/** As a router in front may read it: percent-encodings and dot segments resolved, slashes forward, single. */
function plainPath(path: string): string {
  const resolved = path.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return posix.normalize(resolved.replaceAll("\\", "/"));
}

function portOf({ protocol, port }: Omit<Origin, "hostname">): number {
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}

/** A host as one spelling: in lower case, and without the dot of the root. */
function nameOf(hostname: string): string {
  return hostname.toLowerCase().replace(/\.$/, "");
}

/** The address that a host is, an IPv6 one in its brackets; null where it is a name. */
function addressOf(hostname: string): Address | null {
  return parseAddress(hostname.replace(/^\[(.*)\]$/, "$1"));
}

type Host = { kind: "address"; address: Address } | { kind: "name"; name: string } | { kind: "refused" };

/** Reads a host as `URL.hostname` spells it: WHATWG parsing has folded every spelling of an IPv4 address. */
function readHost(hostname: string): Host {
  const address = addressOf(hostname);
  if (address !== null) return { kind: "address", address };
  const name = nameOf(hostname);
  return isPublicName(name) ? { kind: "name", name } : { kind: "refused" };
}

function isPublicName(name: string): boolean {
  const labels = name.split(".");
  if (labels.length < 2 || name.length > NAME_LENGTH_MAX) return false;
  if (!labels.every((label) => LABEL.test(label))) return false;
  return !PRIVATE_SUFFIXES.includes(labels.at(-1) ?? "");
}

/** Before the host of a URL with these schemes, also where it is empty: then `url.username` says nothing. */
const USER_INFO = /^[^:]*:[\\/]*[^\\/?#]*@/;

/** What is wrong with a URL apart from its host, as one sentence; null where nothing is. */
function findProblem(url: URL, text: string): string | null {
  if (url.protocol !== "https:" && url.protocol !== "http:")
    return "The URL must start with https:// or http://.";
  if (USER_INFO.test(text.replace(/[\t\r\n]/g, "")))
    return "The URL must not contain a user name or password.";
  if (url.port === "0") return "The port must be between 1 and 65535.";
  return null;
}

/** `ask` takes a slot where it is a question. */
async function judgeHost(url: URL, ask: () => Promise<NameAnswer>, inSlot: InSlot): Promise<UrlVerdict> {
  const answer = await (addressOf(url.hostname) === null ? inSlot(ask) : ask());
  return answer?.verdict?.kind === "blocked" ? { ok: false, reason: UNSAFE_DESTINATION } : { ok: true, url };
}

/** Waits no longer than a person would. */
function inTime(question: Promise<AddressVerdict>): Promise<NameAnswer> {
  const { promise, resolve } = Promise.withResolvers<NameAnswer>();
  const socketGone = question.then((verdict) => resolve({ verdict }));
  const timer = setTimeout(resolve, limit("nameOfSavedMs"), { verdict: null, socketGone });
  return promise.finally(() => clearTimeout(timer));
}

function interfaceAddresses(): string[] {
  const entries = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return entries.map((entry) => entry.address);
}

function canonical(text: string): string {
  return parseAddress(text)?.toString() ?? text;
}

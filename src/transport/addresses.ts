/**
 * IP addresses: reading them, and telling the public ones from the special ones.
 *
 * Sources: the IANA special-purpose registries for IPv4 and IPv6 (RFC 6890 and the RFC named in each row),
 * Stripe smokescreen's and Svix's tables, and cloud metadata addresses that no registry lists.
 */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** A block of addresses in CIDR notation, read once and matched often. */
export interface Cidr {
  readonly network: Address;
  readonly prefixLength: number;
}

/** One row of the tables below: what the block is for, and who says so. */
export interface SpecialRange {
  readonly cidr: string;
  readonly use: string;
}

/** IPv4 is public unless one of these holds. */
export const SPECIAL_IPV4_RANGES: readonly SpecialRange[] = [
  { cidr: "0.0.0.0/8", use: "this network (RFC 791); 0.0.0.0 connects to the host itself" },
  { cidr: "10.0.0.0/8", use: "private (RFC 1918)" },
  { cidr: "100.64.0.0/10", use: "carrier-grade NAT (RFC 6598); Alibaba metadata 100.100.100.200" },
  { cidr: "127.0.0.0/8", use: "loopback (RFC 1122)" },
  { cidr: "168.63.129.16/32", use: "Azure WireServer, a platform address inside a public range" },
  { cidr: "169.254.0.0/16", use: "link local (RFC 3927); cloud metadata 169.254.169.254" },
  { cidr: "172.16.0.0/12", use: "private (RFC 1918)" },
  { cidr: "192.0.0.0/24", use: "IETF protocol assignments (RFC 6890); Oracle metadata 192.0.0.192" },
  { cidr: "192.0.2.0/24", use: "documentation (RFC 5737)" },
  { cidr: "192.88.99.0/24", use: "6to4 relay anycast (RFC 7526)" },
  { cidr: "192.168.0.0/16", use: "private (RFC 1918)" },
  { cidr: "198.18.0.0/15", use: "benchmarking (RFC 2544)" },
  { cidr: "198.51.100.0/24", use: "documentation (RFC 5737)" },
  { cidr: "203.0.113.0/24", use: "documentation (RFC 5737)" },
  { cidr: "224.0.0.0/4", use: "multicast (RFC 5771)" },
  { cidr: "240.0.0.0/4", use: "reserved (RFC 1112), broadcast" },
];

/**
 * IPv6 is public only inside this block: everything else, IPv4-mapped, NAT64, unique local, link local and
 * multicast addresses included, falls out without being named.
 */
export const GLOBAL_IPV6_RANGE = "2000::/3";

/** The exceptions inside the global block. */
export const SPECIAL_IPV6_RANGES: readonly SpecialRange[] = [
  { cidr: "2001::/23", use: "IETF protocol assignments (RFC 2928), Teredo and ORCHID included" },
  { cidr: "2001:db8::/32", use: "documentation (RFC 3849)" },
  { cidr: "2002::/16", use: "6to4 (RFC 3056), which embeds an IPv4 address" },
  { cidr: "3fff::/20", use: "documentation (RFC 9637)" },
];

const specialIpv4 = SPECIAL_IPV4_RANGES.map(({ cidr }) => requireCidr(cidr));
const specialIpv6 = SPECIAL_IPV6_RANGES.map(({ cidr }) => requireCidr(cidr));
const globalIpv6 = requireCidr(GLOBAL_IPV6_RANGE);

/** Reads a canonical IPv4 or IPv6 address; null for anything else, an address with a zone id included. */
export function parseAddress(text: string): Address | null {
  if (isIP(text) === 0 || text.includes("%")) return null;
  return ipaddr.parse(text);
}

/** Reads `address/length`, such as `127.0.0.0/8` or `fd00::/8`; null for anything else. */
export function parseCidr(text: string): Cidr | null {
  const match = /^([0-9a-fA-F.:]+)\/(\d{1,3})$/.exec(text);
  const network = parseAddress(match?.[1] ?? "");
  if (network === null) return null;
  const prefixLength = Number(match?.[2]);
  const lengthMax = network.kind() === "ipv4" ? 32 : 128;
  return prefixLength <= lengthMax ? { network, prefixLength } : null;
}

/** Reads what must be a CIDR: throws a TypeError for anything else. */
export function requireCidr(text: string): Cidr {
  const cidr = parseCidr(text);
  if (cidr === null) throw new TypeError(`not a CIDR: ${text}`);
  return cidr;
}

/** Whether the block holds the address. An IPv4 block never holds an IPv4-mapped IPv6 address. */
export function isInside(address: Address, cidr: Cidr): boolean {
  return address.kind() === cidr.network.kind() && address.match(cidr.network, cidr.prefixLength);
}

/** Whether the address is public unicast: reachable on the internet, and nobody's own network. */
export function isPublicAddress(address: Address): boolean {
  if (address.kind() === "ipv4") return !specialIpv4.some((range) => isInside(address, range));
  return isInside(address, globalIpv6) && !specialIpv6.some((range) => isInside(address, range));
}

/** The IPv4 address that an IPv4-mapped IPv6 address connects to; any other as it is. */
export function unmapped(address: Address): Address {
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

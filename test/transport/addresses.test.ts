import { describe, expect, test } from "bun:test";
import {
  GLOBAL_IPV6_RANGE,
  isInside,
  isPublicAddress,
  parseAddress,
  parseCidr,
  SPECIAL_IPV4_RANGES,
  SPECIAL_IPV6_RANGES,
} from "../../src/transport/addresses.ts";
import { ALLOWED_IPV4, ALLOWED_IPV6, DENIED_IPV4, DENIED_IPV6 } from "./address-table.ts";

function isPublic(text: string): boolean {
  const address = parseAddress(text);
  if (address === null) throw new Error(`not an address: ${text}`);
  return isPublicAddress(address);
}

describe("public addresses", () => {
  test("the tables are as large as the bar asks", () => {
    expect(DENIED_IPV4.length + DENIED_IPV6.length).toBeGreaterThanOrEqual(55);
    expect(ALLOWED_IPV4.length + ALLOWED_IPV6.length).toBeGreaterThanOrEqual(13);
  });

  for (const text of [...DENIED_IPV4, ...DENIED_IPV6]) {
    test(`${text} is not public`, () => expect(isPublic(text)).toBe(false));
  }

  for (const text of [...ALLOWED_IPV4, ...ALLOWED_IPV6]) {
    test(`${text} is public`, () => expect(isPublic(text)).toBe(true));
  }

  test("every row of the tables is needed: it holds a denied address that no other row holds", () => {
    const rows = [...SPECIAL_IPV4_RANGES, ...SPECIAL_IPV6_RANGES];
    for (const { cidr } of rows) {
      const holders = (text: string) => rows.filter((row) => holds(row.cidr, text)).map((row) => row.cidr);
      const alone = [...DENIED_IPV4, ...DENIED_IPV6].filter((text) => holders(text).join() === cidr);
      expect(alone, cidr).not.toEqual([]);
    }
    expect(holds(GLOBAL_IPV6_RANGE, "2000::1")).toBe(true);
  });
});

function holds(cidrText: string, addressText: string): boolean {
  const cidr = parseCidr(cidrText);
  const address = parseAddress(addressText);
  return cidr !== null && address !== null && isInside(address, cidr);
}

describe("reading addresses", () => {
  for (const text of ["127.1", "0177.0.0.1", "0x7f.0.0.1", "2130706433", "1.2.3", "1.2.3.4.5", "256.1.1.1"]) {
    test(`${text} is no canonical address`, () => expect(parseAddress(text)).toBeNull());
  }

  for (const text of [
    "",
    " 127.0.0.1",
    "example.com",
    "fe80::1%eth0",
    "[::1]",
    ":::",
    "1::2::3",
    "127.0.0.1:80",
  ]) {
    test(`"${text}" is no address`, () => expect(parseAddress(text)).toBeNull());
  }
});

describe("CIDRs", () => {
  test.each([
    ["127.0.0.0/8", "127.9.9.9", true],
    ["127.0.0.1/8", "127.9.9.9", true],
    ["127.0.0.1/32", "127.0.0.2", false],
    ["0.0.0.0/0", "8.8.8.8", true],
    ["fd00::/8", "fd12::1", true],
    ["fd00::/8", "fe00::1", false],
    ["127.0.0.0/8", "::ffff:7f00:1", false],
    ["::/0", "127.0.0.1", false],
  ])("%s holds %s: %p", (cidr, address, expected) => expect(holds(cidr, address)).toBe(expected));

  for (const text of [
    "",
    "127.0.0.1",
    "127.0.0.0/",
    "/8",
    "127.0.0.0/33",
    "::/129",
    "127.0.0.0/-1",
    "127.0.0.0/8/8",
    "127.0.0.0/ 8",
    "127/8",
    "0177.0.0.0/8",
    "example.com/8",
    "fe80::1%eth0/64",
    "127.0.0.0/8.0",
  ]) {
    test(`"${text}" is none`, () => expect(parseCidr(text)).toBeNull());
  }
});

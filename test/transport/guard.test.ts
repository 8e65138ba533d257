import { describe, expect, test } from "bun:test";
import { LIMITS } from "../../src/core/limits.ts";
import { createGuard, type InSlot, UNSAFE_DESTINATION } from "../../src/transport/guard.ts";
import type { Resolver } from "../../src/transport/resolver.ts";
import { fakeResolver } from "./kit.ts";
import { ALLOWED_IPV4, ALLOWED_IPV6, DENIED_IPV4, DENIED_IPV6 } from "./address-table.ts";

function failingResolver(code: string): Resolver {
  return { resolve: () => Promise.reject(Object.assign(new Error("resolver failed"), { code })) };
}

function guardWith(table: Record<string, string[]> = {}, allow: string[] = []) {
  return createGuard({ allow, resolver: fakeResolver(table), ownAddresses: [] });
}

function originOf(hostname: string) {
  return { protocol: "https:", hostname, port: "" };
}

/** The ways in which a person, a browser or an attacker writes one IPv4 address into a URL. */
function spellIpv4(text: string): string[] {
  const octets = text.split(".").map(Number);
  const [a = 0, b = 0, c = 0, d = 0] = octets;
  const number = ((a * 256 + b) * 256 + c) * 256 + d;
  const hex = number.toString(16);
  const octal = number.toString(8);
  const wide = text.replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit)));
  const hosts = [
    text,
    `${text}.`,
    String(number),
    `0x${hex}`,
    `0X${hex.toUpperCase()}`,
    `0x00${hex}`,
    `0${octal}`,
    `000${octal}`,
    octets.map((octet) => `0x${octet.toString(16)}`).join("."),
    octets.map((octet) => `0${octet.toString(8)}`).join("."),
    octets.map((octet) => `000${octet.toString(8)}`).join("."),
    `0x${a.toString(16)}.${b}.0${c.toString(8)}.${d}`,
    `${a}.${(b * 256 + c) * 256 + d}`,
    `${a}.${b}.${c * 256 + d}`,
    `0x${a.toString(16)}.${(b * 256 + c) * 256 + d}.`,
    wide,
    text.replaceAll(".", "\u3002"),
    text.replaceAll(".", "\uff0e"),
    text.replaceAll(".", "\uff61"),
    text.replace(/\d/g, (digit) => `%3${digit}`),
    text.replaceAll(".", "%2e"),
    `${text.slice(0, 2)}\u00ad${text.slice(2)}`,
    `${text.slice(0, 2)}\t${text.slice(2)}`,
  ];
  return [...hosts.map((host) => `https://${host}/`), ...wrap(text)];
}

/** IPv6 forms that carry an IPv4 address: refused even around a public one. */
function embedIpv4(text: string): string[] {
  const [a = 0, b = 0, c = 0, d = 0] = text.split(".").map(Number);
  const high = (a * 256 + b).toString(16);
  const low = (c * 256 + d).toString(16);
  const hosts = [
    `::ffff:${text}`,
    `::ffff:${high}:${low}`,
    `0:0:0:0:0:FFFF:${text}`,
    `::${text}`,
    `64:ff9b::${text}`,
    `64:ff9b:1::${text}`,
    `2002:${high}:${low}::1`,
    `::ffff:0:${text}`,
  ];
  return hosts.map((host) => `https://[${host}]/`);
}

function spellIpv6(text: string): string[] {
  const [head = "", tail = ""] = text.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => "0");
  const groups = text.includes("::") ? [...left, ...zeros, ...right] : text.split(":");
  const last = groups.slice(6).map((group) => Number.parseInt(group, 16));
  const dotted = last.flatMap((group) => [group >> 8, group & 255]).join(".");
  const forms = [
    text,
    groups.join(":"),
    groups.map((group) => group.padStart(4, "0")).join(":"),
    `${groups.slice(0, 6).join(":")}:${dotted}`,
  ];
  return forms.flatMap((form) => [...wrap(`[${form}]`), `https://[${form.toUpperCase()}]/`]);
}

function wrap(host: string): string[] {
  return [
    `http://${host}:8080/path?query#fragment`,
    `HTTPS://${host}`,
    `https:/${host}/`,
    `https:\\\\${host}\\`,
    ` https://${host}:00443/ `,
  ];
}

describe("IP literals in URLs", () => {
  const guard = guardWith();

  for (const address of DENIED_IPV4) {
    test(`${address} is refused in every spelling, with one text`, async () => {
      const spellings = [...spellIpv4(address), ...embedIpv4(address)];
      expect(spellings.length).toBeGreaterThanOrEqual(20);
      for (const text of spellings) {
        expect(guard.checkUrl(text), text).toEqual({ ok: false, reason: UNSAFE_DESTINATION });
        expect(await guard.pin(new URL(text)), text).toEqual({ kind: "blocked" });
      }
    });
  }

  for (const address of DENIED_IPV6) {
    test(`[${address}] is refused in every spelling, with one text`, async () => {
      const spellings = spellIpv6(address);
      expect(spellings.length).toBeGreaterThanOrEqual(20);
      for (const text of spellings) {
        expect(guard.checkUrl(text), text).toEqual({ ok: false, reason: UNSAFE_DESTINATION });
        expect(await guard.pin(new URL(text)), text).toEqual({ kind: "blocked" });
      }
    });
  }

  for (const address of ALLOWED_IPV4) {
    test(`${address} is accepted and pinned in every spelling, but not inside IPv6`, async () => {
      for (const text of spellIpv4(address)) {
        expect(guard.checkUrl(text).ok, text).toBe(true);
        expect(await guard.pin(new URL(text)), text).toMatchObject({ kind: "pinned", address });
      }
      for (const text of embedIpv4(address)) expect(guard.checkUrl(text).ok, text).toBe(false);
    });
  }

  for (const address of ALLOWED_IPV6) {
    test(`[${address}] is accepted and pinned in every spelling`, async () => {
      for (const text of spellIpv6(address)) {
        expect(guard.checkUrl(text).ok, text).toBe(true);
        expect(await guard.pin(new URL(text)), text).toMatchObject({ kind: "pinned", address });
      }
    });
  }
});

describe("URLs", () => {
  const guard = guardWith();

  test.each([
    ["https://example.com/hook", "https://example.com/hook"],
    ["http://example.com:8080/a?b=c#fragment", "http://example.com:8080/a?b=c"],
    ["HTTPS://Hooks.EXAMPLE.com./A", "https://hooks.example.com/A"],
    ["https://example.com:65535/", "https://example.com:65535/"],
    ["https://example.com:1/", "https://example.com:1/"],
    ["https://bücher.example/", "https://xn--bcher-kva.example/"],
    ["https://my_host.example.com/", "https://my_host.example.com/"],
    ["https://localhost.example.com/", "https://localhost.example.com/"],
    ["https://notlocal.com/", "https://notlocal.com/"],
    ["https://example.com\\@127.0.0.1/", "https://example.com/@127.0.0.1/"],
    ["https://example.com/@team", "https://example.com/@team"],
    ["https://example.com?to=a@b", "https://example.com/?to=a@b"],
    ["https:example.com/?a:b@c", "https://example.com/?a:b@c"],
    ["https://example.com#a:b@c", "https://example.com/"],
  ])("%s is accepted as %s", (text, href) => {
    const verdict = guard.checkUrl(text);
    expect(verdict.ok && verdict.url.href).toBe(href);
  });

  test.each([
    ["", "The URL cannot be read."],
    ["example.com", "The URL cannot be read."],
    ["https://", "The URL cannot be read."],
    ["https://ex ample.com/", "The URL cannot be read."],
    ["https://example.com:65536/", "The URL cannot be read."],
    ["https://1.2.3.4.5/", "The URL cannot be read."],
    ["https://[fe80::1%25eth0]/", "The URL cannot be read."],
    ["https://example.com:0/", "The port must be between 1 and 65535."],
    ["https://user@example.com/", "The URL must not contain a user name or password."],
    ["https://:password@example.com/", "The URL must not contain a user name or password."],
    ...[
      "http://@example.com/",
      "https://:@example.com/",
      "https:/@example.com/",
      "https:@example.com/",
      "https:\\\\@example.com\\",
      "https:///\\@example.com",
      " HTTPS://@example.com/",
      "https://\t@\nexample.com/",
      "ht\ntps://@example.com/",
      "https://@@example.com/",
      "https://%@example.com/",
      "https://a:b@c:d@example.com/",
    ].map((text) => [text, "The URL must not contain a user name or password."]),
    ["file:///etc/passwd", "The URL must start with https:// or http://."],
    ["data:text/plain,x", "The URL must start with https:// or http://."],
    ["s3://bucket/key", "The URL must start with https:// or http://."],
    ["ftp://example.com/", "The URL must start with https:// or http://."],
    ["javascript:alert(1)", "The URL must start with https:// or http://."],
    ["blob:https://example.com/x", "The URL must start with https:// or http://."],
  ])("%s is refused: %s", (text, reason) => expect(guard.checkUrl(text)).toEqual({ ok: false, reason }));

  for (const host of [
    "localhost",
    "LOCALHOST.",
    "ｌｏｃａｌｈｏｓｔ",
    "a.localhost",
    "a.b.localhost.",
    "printer.local",
    "metadata.google.internal",
    "vault.service.internal.",
    "intranet",
    "com",
    "a..example.com",
    ".example.com",
    "example.com..",
    "-a.example.com",
    "a-.example.com",
    "ex*mple.com",
    `${"a".repeat(64)}.example.com`,
    `${"a.".repeat(126)}com`,
  ]) {
    test(`the name ${host.slice(0, 40)} is refused, also when loopback is allowed`, async () => {
      const lenient = guardWith({ localhost: ["127.0.0.1"], "a.localhost": ["127.0.0.1"] }, [
        "127.0.0.0/8",
        "::/0",
      ]);
      expect(lenient.checkUrl(`https://${host}/`)).toEqual({ ok: false, reason: UNSAFE_DESTINATION });
      expect(await lenient.pin(originOf(host))).toEqual({ kind: "blocked" });
    });
  }

  test("the refusal names the setting", () => {
    expect(UNSAFE_DESTINATION).toContain("SEALPOST_ALLOW_PRIVATE_DESTINATIONS");
  });
});

describe("names", () => {
  test("all addresses are vetted, the first one is pinned, the others stand by", async () => {
    const guard = guardWith({ "a.example.com": ["93.184.216.34", "2606:4700::1", "8.8.8.8"] });
    expect(await guard.pin(originOf("a.example.com"))).toEqual({
      kind: "pinned",
      address: "93.184.216.34",
      others: ["2606:4700::1", "8.8.8.8"],
    });
  });

  for (const bad of [
    "169.254.169.254",
    "127.0.0.1",
    "::1",
    "::ffff:8.8.8.8",
    "fe80::1%eth0",
    "not an address",
    "",
  ]) {
    test(`one answer of "${bad}" blocks the whole set, wherever it stands`, async () => {
      const guard = guardWith({
        "first.example.com": [bad, "8.8.8.8"],
        "last.example.com": ["8.8.8.8", "1.1.1.1", bad],
        "only.example.com": [bad],
      });
      for (const name of ["first", "last", "only"]) {
        expect(await guard.pin(originOf(`${name}.example.com`))).toEqual({ kind: "blocked" });
      }
    });
  }

  test("of very many addresses the first ones are looked at, and each attempt draws six of them", async () => {
    const few = Array.from({ length: 64 }, (_, at) => `8.8.8.${at}`);
    const guard = guardWith({ "many.example.com": [...few, "not an address", "127.0.0.1"] });
    const drawn = new Set<string>();
    while (drawn.size < few.length) {
      const verdict = await guard.pin(originOf("many.example.com"));
      const { address, others = [] } = verdict.kind === "pinned" ? verdict : { address: "" };
      const six = new Set([address, ...others]);
      expect(six.size).toBe(6);
      for (const one of six) drawn.add(one);
    }
    expect([...drawn].toSorted()).toEqual(few.toSorted());
  });

  test("of many addresses of two families, both are drawn by turns, that of the first before", async () => {
    const v4 = Array.from({ length: 20 }, (_, at) => `8.8.8.${at}`);
    const v6 = Array.from({ length: 20 }, (_, at) => `2606:4700::${at + 1}`);
    const guard = guardWith({
      "six.example.com": [...v6, ...v4],
      "one.example.com": [...v4, "2606:4700::1"],
    });
    const familiesOf = async (name: string) => {
      const verdict = await guard.pin(originOf(name));
      if (verdict.kind !== "pinned") throw new Error(verdict.kind);
      return [verdict.address, ...(verdict.others ?? [])].map((one) => (one.includes(":") ? 6 : 4)).join("");
    };
    expect(await familiesOf("six.example.com")).toBe("646464");
    expect(await familiesOf("one.example.com")).toBe("464444");
  });

  test("a trailing dot and capitals ask for the same name", async () => {
    const resolver = fakeResolver({ "a.example.com": ["8.8.8.8"] });
    const guard = createGuard({ allow: [], resolver, ownAddresses: [] });
    expect(await guard.pin(originOf("A.Example.com."))).toMatchObject({ kind: "pinned", address: "8.8.8.8" });
    expect(resolver.asked).toEqual(["a.example.com"]);
  });

  test("an IP literal asks nobody", async () => {
    const resolver = fakeResolver({});
    const guard = createGuard({ allow: [], resolver, ownAddresses: [] });
    expect(await guard.pin(originOf("8.8.8.8"))).toEqual({ kind: "pinned", address: "8.8.8.8", others: [] });
    expect(await guard.pin(originOf("[2606:4700::1]"))).toEqual({
      kind: "pinned",
      address: "2606:4700::1",
      others: [],
    });
    expect(resolver.asked).toEqual([]);
  });

  test.each([
    ["ENOTFOUND", "dns_not_found"],
    ["ENODATA", "dns_not_found"],
    ["DNS_ENOTFOUND", "dns_not_found"],
    ["DNS_ETIMEOUT", "dns_failed"],
    ["EAI_AGAIN", "dns_failed"],
    ["ETIMEOUT", "dns_failed"],
  ] as const)("a resolver that fails with %s leaves the name unresolved: %s", async (code, expected) => {
    const guard = createGuard({ allow: [], resolver: failingResolver(code), ownAddresses: [] });
    expect(await guard.pin(originOf("a.example.com"))).toEqual({ kind: "unresolved", code: expected });
  });

  test("a name without any address does not exist", async () => {
    expect(await guardWith({ "a.example.com": [] }).pin(originOf("a.example.com"))).toEqual({
      kind: "unresolved",
      code: "dns_not_found",
    });
  });
});

describe("what is allowed", () => {
  test("a CIDR lifts its addresses, as literals and behind names, and no others", async () => {
    const guard = guardWith({ "a.example.com": ["127.0.0.1"], "b.example.com": ["127.0.0.1", "10.0.0.1"] }, [
      "127.0.0.0/8",
    ]);
    expect(guard.checkUrl("http://127.0.0.1:9000/").ok).toBe(true);
    expect(guard.checkUrl("http://10.0.0.1/").ok).toBe(false);
    expect(guard.checkUrl("http://[::ffff:127.0.0.1]/").ok).toBe(false);
    expect(await guard.pin(originOf("a.example.com"))).toMatchObject({ kind: "pinned" });
    expect(await guard.pin(originOf("b.example.com"))).toEqual({ kind: "blocked" });
  });

  test("the host's own public addresses are refused, unless they are allowed", async () => {
    const ownAddresses = ["8.8.8.8", "2606:4700:0::1"];
    const guard = createGuard({ allow: [], ownAddresses });
    expect(await guard.pin(originOf("8.8.8.8"))).toEqual({ kind: "blocked" });
    expect(await guard.pin(originOf("[2606:4700::1]"))).toEqual({ kind: "blocked" });
    expect(guard.checkUrl("https://8.8.8.8/").ok).toBe(false);
    expect(guard.checkUrl("https://8.8.4.4/").ok).toBe(true);
    const lenient = createGuard({ allow: ["8.8.8.8/32"], ownAddresses });
    expect(lenient.checkUrl("https://8.8.8.8/").ok).toBe(true);
  });

  test("something that is not a CIDR is a programming error", () => {
    expect(() => createGuard({ allow: ["127.0.0.1"] })).toThrow(TypeError);
  });
});

const always: InSlot = (ask) => ask();

describe("a destination that is saved", () => {
  const guard = guardWith({
    "good.example.com": ["93.184.216.34"],
    "evil.example.com": ["169.254.169.254"],
    "mixed.example.com": ["93.184.216.34", "10.0.0.1"],
  });

  test("is accepted when its name leads to public addresses, or nowhere yet", async () => {
    for (const name of ["good", "unknown"]) {
      const verdict = await guard.checkDestination(`https://${name}.example.com/x#y`, always);
      expect(verdict?.ok && verdict.url.href).toBe(`https://${name}.example.com/x`);
    }
  });

  test("is accepted when nobody answers for its name in time", async () => {
    const patience = LIMITS.nameOfSavedMs as { value: number };
    const usual = patience.value;
    patience.value = 1;
    const silent = createGuard({ allow: [], resolver: { resolve: () => new Promise(() => {}) } });
    expect(await silent.checkDestination("https://silent.example.com/", always)).toMatchObject({ ok: true });
    patience.value = usual;
  });

  test("is refused with the same text whatever stands behind the name", async () => {
    const texts = [
      "https://evil.example.com/",
      "https://mixed.example.com/",
      "https://localhost/",
      "https://127.1/",
    ];
    for (const text of texts) {
      expect(await guard.checkDestination(text, always)).toEqual({ ok: false, reason: UNSAFE_DESTINATION });
    }
  });

  test("is refused for its syntax before anything is resolved", async () => {
    const resolver = fakeResolver({});
    const strict = createGuard({ allow: [], resolver, ownAddresses: [] });
    expect((await strict.checkDestination("https://user@good.example.com/", always))?.ok).toBe(false);
    expect(resolver.asked).toEqual([]);
  });

  test("asks for its name in a slot or not at all; an address needs none", async () => {
    const resolver = fakeResolver({});
    const strict = createGuard({ allow: [], resolver, ownAddresses: [] });
    const never: InSlot = () => Promise.resolve(null);
    expect(await strict.checkDestination("https://good.example.com/", never)).toMatchObject({ ok: true });
    expect(resolver.asked).toEqual([]);
    expect(await strict.checkDestination("https://8.8.8.8/", never)).toMatchObject({ ok: true });
    expect(await strict.checkDestination("https://[2606:4700::1]/", never)).toMatchObject({ ok: true });
    expect(await strict.checkDestination("https://10.0.0.1/", never)).toMatchObject({ ok: false });
  });
});

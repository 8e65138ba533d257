import { expect, test } from "bun:test";
import { haproxyConfig } from "../../src/cells/haproxy.ts";
import { parseCellList } from "../../src/cells/list.ts";

const ALPHABET = [..."0123456789ABCDEFGHJKMNPQRSTVWXYZ"];

const configOf = (machines: readonly string[], router = {}) =>
  haproxyConfig(parseCellList(JSON.stringify({ cells: [{ cell: "7K", machines }], router }), "cells.json"));

test("a machine of IPv6 has a name without brackets, and one with a name is looked up again", () => {
  const config = configOf(["[fd00::1]:8080", "sealpost-0:8080"]);
  expect(config).toContain("  server fd00::1:8080 [fd00::1]:8080 check\n");
  expect(config).toContain(
    "  server sealpost-0:8080 sealpost-0:8080 check resolvers system resolve-prefer ipv4 init-addr",
  );
  expect(config).toContain("resolvers system\n  parse-resolv-conf");
  expect(configOf(["10.0.0.1:8080"])).not.toContain("resolvers");
});

test("requests wait for a pair, and for nobody who is alone", () => {
  expect(configOf(["10.0.0.1:8080", "10.0.0.2:8080"])).toMatch(/retries 20\n[^]*server nobody .* backup\n/);
  expect(configOf(["10.0.0.1:8080"])).not.toMatch(/retries 20|nobody/);
});

test("what a client says of the router is overwritten, and the checks say the same", () => {
  const config = configOf(["10.0.0.1:8080"]);
  expect(config).toContain("  http-request set-header sealpost-router haproxy\n");
  expect(config.match(/ hdr sealpost-router haproxy$/gm)).toHaveLength(3);
});

test("nobody's word about an address is taken unless the list names them", () => {
  expect(configOf(["10.0.0.1:8080"])).not.toContain("set-src");
  const config = configOf(["10.0.0.1:8080"], { trusted_proxies: ["10.9.0.0/16", "fd00::/8"] });
  expect(config).toContain("  acl is_named src 10.9.0.0/16 fd00::/8\n");
  expect(config).toContain("set-src req.hdr(x-forwarded-for,-1) if is_named {");
});

test("1,024 cells and 100 ranges stand in lines that HAProxy takes", () => {
  const names = ALPHABET.flatMap((first) => ALPHABET.map((second) => first + second));
  const cells = names.map((cell, at) => ({ cell, machines: [`10.0.${at >> 8}.${at & 255}:8080`] }));
  const trusted_proxies = Array.from({ length: 100 }, (_, at) => `10.9.${at}.0/24`);
  const config = haproxyConfig(
    parseCellList(JSON.stringify({ cells, router: { trusted_proxies } }), "cells.json"),
  );
  const conditions = config.split("\n").filter((line) => line.startsWith("  acl "));
  expect(Math.max(...conditions.map((line) => line.trim().split(" ").length))).toBeLessThanOrEqual(64);
  const words = new Set(conditions.flatMap((line) => line.split(" ")));
  expect([...names, ...trusted_proxies].filter((word) => !words.has(word))).toEqual([]);
});

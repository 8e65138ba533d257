import { expect, test } from "bun:test";
import { haproxyConfig } from "../../src/cells/haproxy.ts";
import { parseCellList } from "../../src/cells/list.ts";

const configOf = (machines: readonly string[], router = {}) =>
  haproxyConfig(parseCellList(JSON.stringify({ cells: [{ cell: "7K", machines }], router }), "cells.json"));

test("a machine of IPv6 has a name without brackets, and one with a name is looked up again", () => {
  const config = configOf(["[fd00::1]:8080", "sealpost-0:8080"]);
  expect(config).toContain("  server fd00::1:8080 [fd00::1]:8080 check\n");
  expect(config).toContain("  server sealpost-0:8080 sealpost-0:8080 check resolvers system init-addr");
  expect(config).toContain("resolvers system\n  parse-resolv-conf");
  expect(configOf(["10.0.0.1:8080"])).not.toContain("resolvers");
});

test("nobody's word about an address is taken unless the list names them", () => {
  expect(configOf(["10.0.0.1:8080"])).not.toContain("set-src");
  const config = configOf(["10.0.0.1:8080"], { trusted_proxies: ["10.9.0.0/16", "fd00::/8"] });
  expect(config).toContain("set-src req.hdr(x-forwarded-for,-1) if { src 10.9.0.0/16 fd00::/8 }");
});

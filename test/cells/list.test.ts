import { describe, expect, test } from "bun:test";
import { parseCellList } from "../../src/cells/list.ts";
import { envoyConfig } from "../../src/cells/envoy.ts";
import { SettingsError } from "../../src/platform/start-error.ts";

const CELL = { cell: "00", machines: ["10.0.0.1:8080"] };

function problemsOf(list: unknown): readonly string[] {
  const text = typeof list === "string" ? list : JSON.stringify(list);
  try {
    parseCellList(text, "cells.json");
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
}

describe("a list of cells", () => {
  test("has all that the router does by default", () => {
    const { cells, router } = parseCellList(JSON.stringify({ cells: [CELL] }), "cells.json");
    expect(cells).toEqual([CELL]);
    expect(router).toEqual({
      listen: "0.0.0.0:80",
      certificate: null,
      trustedProxies: [],
      proxyProtocol: false,
      requestsPerAddress: 200,
    });
  });

  test("takes names, addresses of IPv6, and a certificate", () => {
    const machines = ["sealpost-0.sealpost:8080", "[fd00::1]:8080"];
    const list = { cells: [{ ...CELL, machines }], router: { certificate: "/etc/haproxy/hooks.pem" } };
    expect(parseCellList(JSON.stringify(list), "cells.json").router.listen).toBe("0.0.0.0:443");
  });

  test.each<[string, unknown, string]>([
    ["no JSON", "{", "cells.json is not JSON"],
    ["no cells", { cells: [] }, "cells.json: /cells: "],
    ["a field that nobody knows", { cells: [CELL], routers: {} }, "cells.json: /routers: "],
    ["no cell's name", { cells: [{ ...CELL, cell: "0I" }] }, "cells.json: /cells/0/cell: "],
    [
      "a URL",
      { cells: [{ ...CELL, machines: ["http://10.0.0.1:80"] }] },
      "cells.json: /cells/0/machines/0: ",
    ],
    ["no port", { cells: [{ ...CELL, machines: ["10.0.0.1:0"] }] }, "10.0.0.1:0 must end with a port"],
    ["two of one name", { cells: [CELL, { ...CELL, machines: ["a:1"] }] }, "two cells are called 00"],
    ["one machine twice", { cells: [CELL, { ...CELL, cell: "01" }] }, "machines are at 10.0.0.1:8080"],
    ["no range", { cells: [CELL], router: { trusted_proxies: ["10.0.0.1"] } }, "10.0.0.1 is no CIDR range"],
    ["nobody's word", { cells: [CELL], router: { proxy_protocol: true } }, "needs /router/trusted_proxies"],
    ["a quote", { cells: [CELL], router: { certificate: "/a'b" } }, "cells.json: /router/certificate: "],
    [
      "a line",
      { cells: [CELL], router: { listen: "0.0.0.0:80\nuser root" } },
      "cells.json: /router/listen: ",
    ],
  ])("is refused with %s", (_what, list, problem) => {
    expect(problemsOf(list).join("\n")).toContain(problem);
  });

  test("that asks for the PROXY protocol is none for Envoy", () => {
    const router = { trusted_proxies: ["10.0.0.0/8"], proxy_protocol: true };
    const list = parseCellList(JSON.stringify({ cells: [CELL], router }), "cells.json");
    expect(() => envoyConfig(list)).toThrow(SettingsError);
  });
});

import { expect, test } from "bun:test";
import { CHECK, isOfRouter, ROUTER_HEADER, ROUTER_SEES_MS } from "../../src/core/router.ts";

test("a request is the router's by its header", () => {
  expect(isOfRouter(new Request("http://a.test/", { headers: { [ROUTER_HEADER]: "haproxy" } }))).toBe(true);
  expect(isOfRouter(new Request("http://a.test/", { headers: { "x-forwarded-for": "192.0.2.1" } }))).toBe(
    false,
  );
});

test("a machine that leaves waits for longer than the router asks until it sends nothing more", () => {
  expect(ROUTER_SEES_MS).toBeGreaterThan(1000 * CHECK.everySeconds * CHECK.failures);
});

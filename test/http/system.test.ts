/** The routes that no resource owns: health, metrics and the page of the API. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  expectProblem,
  METRICS_TOKEN,
  OPERATOR_TOKEN,
  sendRaw,
  startServer,
  TestParts,
  type TestServer,
} from "./kit.ts";
import { testRoutes } from "./routes.ts";

let server: TestServer;

beforeAll(() => {
  server = startServer([]);
});

afterAll(() => server.stop(0));

const get = (path: string) => server.send("GET", path, { token: null });

describe("health", () => {
  test("/healthz says that the process runs, whatever a probe puts behind it", async () => {
    expect((await get("/healthz")).json).toEqual({ status: "ok" });
    expect((await get("/healthz?probe=1")).status).toBe(200);
  });

  test("/readyz says whether requests can be taken, and why not", async () => {
    expect((await get("/readyz")).json).toEqual({ status: "ready" });
    await using full = startServer([]);
    full.parts.readiness = { ready: false, reason: "The disk is full." };
    const reply = await full.send("GET", "/readyz", { token: null });
    expectProblem(reply, 503, "unavailable");
    expect(reply.json.detail).toBe("The disk is full.");
    full.parts.readiness = { ready: false };
    expectProblem(await full.send("GET", "/readyz", { token: null }), 503, "unavailable");
  });

  test("/metrics have a token of their own, which opens nothing else", async () => {
    const reply = await server.send("GET", "/metrics", { token: METRICS_TOKEN });
    expect([reply.status, reply.text]).toEqual([200, "# TYPE up gauge\nup 1\n"]);
    await using own = startServer(testRoutes);
    for (const { method, path, access } of testRoutes) {
      if (access === "none" || access === "endpoint" || access === "metrics") continue;
      const refused = await own.send(method, path.replaceAll(/:\w+/g, "x"), { token: METRICS_TOKEN });
      expect([method, path, refused.status]).toEqual([method, path, 401]);
    }
    const without = new TestParts();
    without.metricsToken = null;
    await using off = startServer([], without);
    expectProblem(await off.send("GET", "/metrics", { token: METRICS_TOKEN }), 401, "unauthenticated");
  });

  test("/metrics are the operator's", async () => {
    const reply = await server.send("GET", "/metrics", { token: OPERATOR_TOKEN });
    expect([reply.status, reply.text]).toEqual([200, "# TYPE up gauge\nup 1\n"]);
    expect(reply.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expectProblem(await server.send("GET", "/metrics"), 401, "unauthenticated");
    expectProblem(await get("/metrics"), 401, "unauthenticated");
  });
});

describe("/docs", () => {
  const links = (html: string) => [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link ?? "");

  test("is a page that loads from this server only, and may not do otherwise", async () => {
    const page = await get("/docs");
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.headers.get("content-security-policy")).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(links(page.text).filter((link) => !link.startsWith("/") && link !== "data:,")).toEqual([]);
    expect(page.text).not.toMatch(/<script(?![^>]*src=)|<style|style=| on\w+=/);
  });

  test("finds all that it loads", async () => {
    const own = links((await get("/docs")).text).filter((link) => link.startsWith("/"));
    expect(own).toHaveLength(4);
    for (const link of own) expect((await get(link)).status).toBe(200);
    expect((await get("/docs/assets/start.js")).text).toContain('url: "/openapi.json"');
    expectProblem(await get("/docs/assets/other.js"), 404, "not_found");
  });

  test.each(["swagger-ui-bundle.js", "swagger-ui.css"])(
    "serves %s as its NOTICE states it, compressed or not",
    async (name) => {
      const notice = await Bun.file(
        `${import.meta.dir}/../../src/http/docs/assets/swagger-ui.NOTICE.txt`,
      ).text();
      const url = `${server.url}/docs/assets/${name}`;
      for (const encoding of ["gzip", "GZip;q=0.5", "identity", "gzip;q=0"]) {
        const response = await fetch(url, { headers: { "accept-encoding": encoding } });
        expect(response.headers.get("content-encoding")).toBe(
          /^gzip(?!;q=0$)/i.test(encoding) ? "gzip" : null,
        );
        expect(response.headers.get("content-type")).toMatch(/^text\/(javascript|css); charset=utf-8$/);
        const sum = new Bun.CryptoHasher("sha256").update(await response.bytes()).digest("hex");
        expect(notice).toContain(`${sum}  ${name}\n`);
      }
    },
  );

  test("answers HEAD for pages, files and texts", async () => {
    for (const path of ["/docs", "/docs/assets/swagger-ui.css", "/docs/assets/start.js", "/metrics"]) {
      const key = `Authorization: Bearer ${OPERATOR_TOKEN}\r\n`;
      const head = await sendRaw(
        server.port,
        `HEAD ${path} HTTP/1.1\r\nHost: a\r\n${key}Connection: close\r\n\r\n`,
      );
      expect(head).toStartWith("HTTP/1.1 200 ");
      expect(head).toMatch(/content-length: [1-9]/i);
      expect(head).toEndWith("\r\n\r\n");
    }
  });
});

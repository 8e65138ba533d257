/** The way of every request, over real sockets: path, method, key, access, draining, log. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Access } from "../../../src/http/framework/access.ts";
import { expectProblem, OPERATOR_TOKEN, sendRaw, startServer, TestParts, type TestServer } from "../kit.ts";
import { testRoutes } from "../routes.ts";

let server: TestServer;

beforeAll(() => {
  server = startServer(testRoutes);
});

afterAll(() => server.stop(0));

describe("every answer", () => {
  test("carries a request id of its own", async () => {
    const [first, second] = [await server.send("GET", "/v1/things/a"), await server.send("GET", "/nowhere")];
    expect(first.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    expect(second.headers.get("x-request-id")).not.toBe(first.headers.get("x-request-id"));
  });

  test("is JSON that no cache keeps", async () => {
    const reply = await server.send("GET", "/v1/things/a");
    expect(reply.status).toBe(200);
    expect(reply.headers.get("content-type")).toBe("application/json");
    expect(reply.headers.get("cache-control")).toBe("no-store");
  });

  test("has the status and headers that the handler gave, and no body where it gave none", async () => {
    const reply = await server.send("DELETE", "/v1/things/a");
    expect([reply.status, reply.text, reply.headers.get("content-type")]).toEqual([204, "", null]);
    expect(reply.headers.get("x-own")).toBe("yes");
  });
});

describe("the path", () => {
  const unknown = [
    "/v1",
    "/v1/things",
    "/v1/things/a/",
    "/v1/things//",
    "/v1//things/a",
    "/V1/things/a",
    "/v1/%74hings/a",
  ];

  test("/ leads to the documentation", async () => {
    const { status, headers } = await server.send("GET", "/");
    expect(status).toBe(302);
    expect(headers.get("location")).toBe("/docs");
  });

  test.each(unknown)("%s is 404, strictly", async (path) => {
    expectProblem(await server.send("GET", path), 404, "not_found");
  });

  test.each(["%zz", "%ff", "%", "%c3%28"])("with the broken percent-encoding %s is 404", async (id) => {
    const head = await sendRaw(
      server.port,
      `GET /v1/things/${id} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer full\r\nConnection: close\r\n\r\n`,
    );
    expect(head).toStartWith("HTTP/1.1 404 ");
  });

  test("is decoded for the handler", async () => {
    const reply = await server.send("GET", "/v1/things/a%20%C3%A4%2Fb");
    expect(reply.json.id).toBe("a ä/b");
  });

  test("does not shift under a short Host", async () => {
    const answer = await sendRaw(
      server.port,
      "GET /v1/things/a HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer full\r\nConnection: close\r\n\r\n",
    );
    expect(answer).toStartWith("HTTP/1.1 200 ");
  });
});

describe("the method", () => {
  test("that a path does not take is 405 and names the others, before any key is asked for", async () => {
    for (const method of ["PUT", "OPTIONS", "TRACE"]) {
      const raw = await sendRaw(
        server.port,
        `${method} /v1/things/a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
      );
      expect(raw).toStartWith("HTTP/1.1 405 ");
      expect(raw.toLowerCase()).toContain("allow: delete, get, head, patch, post\r\n");
    }
    expectProblem(await server.send("DELETE", "/healthz", { token: null }), 405, "method_not_allowed");
  });

  test("HEAD answers what GET does, without the body", async () => {
    const get = await server.send("GET", "/v1/things/a");
    const head = await sendRaw(
      server.port,
      "HEAD /v1/things/a HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer full\r\nConnection: close\r\n\r\n",
    );
    expect(head).toStartWith("HTTP/1.1 200 ");
    expect(head.toLowerCase()).toContain(`content-length: ${get.text.length}\r\n`);
    expect(head.toLowerCase()).toContain("content-type: application/json\r\n");
    expect(head).toEndWith("\r\n\r\n");
  });
});

describe("authentication", () => {
  const refusals: [string, Record<string, string>][] = [
    ["no key", {}],
    ["an unknown key", { authorization: "Bearer nobody" }],
    ["another scheme", { authorization: "Basic full" }],
    ["an empty key", { authorization: "Bearer " }],
    ["a key with more behind it", { authorization: "Bearer full full" }],
    ["a suspended account's key", { authorization: "Bearer suspended" }],
  ];

  test.each(refusals)("with %s is 401", async (_name, headers) => {
    const reply = await server.send("GET", "/v1/things/a", { token: null, headers });
    expectProblem(reply, 401, "unauthenticated");
    expect(reply.headers.get("www-authenticate")).toBe("Bearer");
  });

  test("names the suspension", async () => {
    const reply = await server.send("GET", "/v1/things/a", { token: "suspended" });
    expect(reply.json.detail).toBe("The account is suspended.");
  });

  test("takes the scheme in any case", async () => {
    const reply = await server.send("GET", "/v1/things/a", {
      token: null,
      headers: { authorization: "bearer full" },
    });
    expect(reply.status).toBe(200);
  });
});

describe("who may call", () => {
  const everyone = ["full", "publish", "read", "portalRead", "portalManage", "portalCreate"];
  const allowed: [Access, "GET" | "POST", string[]][] = [
    ["read", "GET", ["full", "read", "portalRead", "portalManage", "portalCreate"]],
    ["read", "POST", ["full", "portalRead", "portalManage", "portalCreate"]],
    ["manage", "GET", ["full", "portalManage"]],
    ["create", "POST", ["full", "portalCreate"]],
    ["owner_read", "GET", ["full", "read"]],
    ["owner", "GET", ["full"]],
    ["publish", "POST", ["full", "publish"]],
    ["none", "POST", everyone],
    ["operator", "POST", []],
  ];

  test.each(allowed)("a route with access %s by %s", async (access, method, tokens) => {
    const options = method === "POST" ? { json: {} } : {};
    const replies = await Promise.all(
      everyone.map((token) => server.send(method, `/v1/access/${access}`, { ...options, token })),
    );
    expect(everyone.filter((_token, at) => replies[at]?.status === 200)).toEqual(tokens);
    const refused = access === "operator" ? [401, "unauthenticated"] : [403, "forbidden"];
    for (const reply of replies.filter(({ status }) => status !== 200)) {
      expect([reply.status, reply.json.code]).toEqual(refused);
    }
  });

  test("the operator's token opens the operator's routes and no others", async () => {
    expect(
      (await server.send("POST", "/v1/access/operator", { token: OPERATOR_TOKEN, json: {} })).status,
    ).toBe(200);
    expectProblem(
      await server.send("GET", "/v1/things/a", { token: OPERATOR_TOKEN }),
      401,
      "unauthenticated",
    );
  });

  test("without an operator token set, operator calls are off", async () => {
    const parts = new TestParts();
    parts.operatorToken = null;
    await using off = startServer(testRoutes, parts);
    expectProblem(
      await off.send("POST", "/v1/access/operator", { token: OPERATOR_TOKEN, json: {} }),
      401,
      "unauthenticated",
    );
    expectProblem(await off.send("GET", "/metrics", { token: OPERATOR_TOKEN }), 401, "unauthenticated");
  });
});

describe("while draining", () => {
  test("everything but /healthz is 503 with retry-after, before path, method and key", async () => {
    await using stopping = startServer(testRoutes);
    stopping.parts.isStopping = true;
    for (const [method, path] of [
      ["GET", "/v1/things/a"],
      ["GET", "/nowhere"],
      ["PUT", "/healthz"],
      ["GET", "/readyz"],
    ] as const) {
      const reply = await stopping.send(method, path, { token: null });
      expectProblem(reply, 503, "unavailable");
      expect(Number(reply.headers.get("retry-after"))).toBeGreaterThan(0);
    }
    expect((await stopping.send("GET", "/healthz", { token: null })).status).toBe(200);
  });
});

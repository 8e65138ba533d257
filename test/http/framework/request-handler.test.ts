/**
 * What becomes of a handler's answer or failure, what is logged (bar B19), and how a server starts and stops.
 */
import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { connect } from "node:net";
import { Type } from "@sinclair/typebox";
import type { RequestLine } from "../../../src/platform/log.ts";
import { type AnyRoute, route } from "../../../src/http/framework/route.ts";
import { createServer } from "../../../src/http/framework/server.ts";
import { expectProblem, sendRaw, startServer, TestParts, type TestServer } from "../kit.ts";
import { conflict, MARKER, testRoutes } from "../routes.ts";

let server: TestServer;

beforeAll(() => {
  server = startServer(testRoutes);
});

afterAll(() => server.stop(0));

describe("a handler", () => {
  test("that parses raw bytes gets them as they came", async () => {
    const body = '{ "a" : 1.0 }';
    const reply = await server.send("POST", "/v1/raw", {
      body,
      headers: { "content-type": "application/json" },
    });
    expect(reply.json).toEqual({ text: body });
  });

  test("that refuses is answered with its problem and headers", async () => {
    const reply = await server.send("GET", "/v1/refuses");
    expectProblem(reply, 409, "conflict");
    expect([reply.json.detail, reply.headers.get("x-reason")]).toEqual([conflict.detail, "busy"]);
  });

  test.each([
    "throws",
    "rejects",
    "rejectsWithText",
    "rejectsWithNothing",
    "badJson",
    "badHeader",
    "inCommit",
  ])("that fails (%s) is 500; its words stay in the log, under the request's id", async (way) => {
    await using failing = startServer(testRoutes);
    const reply = await failing.send("GET", `/v1/fails/${way}`);
    expectProblem(reply, 500, "internal");
    expect(reply.text + JSON.stringify([...reply.headers])).not.toContain(MARKER);
    expect(failing.parts.failures).toEqual([
      {
        requestId: String(reply.json.request_id),
        route: "/v1/fails/:way",
        error: expect.any(String),
      },
    ]);
  });

  test("whose log fails is 500 all the same", async () => {
    await using mute = startServer(testRoutes);
    const { parts } = mute;
    const log = parts.logRequest.bind(parts);
    parts.logRequest = () => {
      parts.logRequest = log;
      throw new Error(MARKER);
    };
    const reply = await mute.send("GET", "/v1/things/a");
    expectProblem(reply, 500, "internal");
    expect(reply.text).not.toContain(MARKER);
  });
});

test("a request has its turns in the line of its account, and in that with its key, or with all links of its consumer", async () => {
  const long = route({
    method: "GET",
    path: "/v1/long",
    operationId: "long",
    tag: "Test",
    summary: "Test",
    access: "read",
    budget: "none",
    answers: { 204: "Done." },
    async handle({ turns }) {
      await turns.next();
      return { status: 204 };
    },
  });
  await using own = startServer([long]);
  const turnsOf = spyOn(own.parts.turns, "of");
  const tokens = ["full", "otherKey", "otherProject", "portalRead", "portalManage"];
  for (const token of tokens) expect((await own.send("GET", "/v1/long", { token })).status).toBe(204);
  expect(turnsOf.mock.calls.map(([account, , member]) => [account, member])).toEqual([
    ["account:3", "key:1"],
    ["account:3", "key:4"],
    ["account:3", "key:5"],
    ["account:3", "consumer:acme"],
    ["account:3", "consumer:acme"],
  ]);
});

describe("the log", () => {
  test("has one line per request with the pattern of the path, and nothing that the caller sent", async () => {
    await using quiet = startServer(testRoutes);
    const secret = "MARKER-8";
    await quiet.send("POST", `/v1/things/${secret}?${secret}=1`, { json: { [secret]: secret } });
    await quiet.send("GET", `/${secret}`, { token: secret });
    expect(quiet.parts.lines.map(({ durationMs: _ms, requestId: _id, ...line }) => line)).toEqual([
      { method: "POST", route: "/v1/things/:id", status: 422, refusal: "invalid_request", projectId: 7 },
      { method: "GET", route: "unmatched", status: 404, refusal: "not_found", projectId: null },
    ]);
    expect(JSON.stringify(quiet.parts.lines)).not.toContain(secret);
    expect(quiet.parts.lines.every(({ durationMs }) => Number.isFinite(durationMs))).toBe(true);
  });

  test("calls a client that left in the middle of its body no failure of ours", async () => {
    const parts = new TestParts();
    const logged = Promise.withResolvers<RequestLine>();
    parts.logRequest = (line) => logged.resolve(line);
    await using left = startServer(testRoutes, parts);
    const socket = connect(left.port, "127.0.0.1", () => {
      const head =
        "POST /v1/checked HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer full\r\nContent-Type: application/json\r\n";
      socket.write(`${head}Content-Length: 100\r\n\r\n{`, () => setImmediate(() => socket.destroy()));
    });
    expect((await logged.promise).status).toBe(499);
  });
});

describe("the server", () => {
  test("answers without a socket too", async () => {
    const detached = createServer(testRoutes, new TestParts());
    const headers = { authorization: "Bearer full", "content-type": "application/json" };
    const request = new Request("http://localhost/v1/things/a", {
      method: "POST",
      headers,
      body: '{"name":"x"}',
    });
    expect((await detached.handle(request)).status).toBe(201);
  });

  test("that stops lets an answer under way finish, and takes no new connection", async () => {
    const gate = Promise.withResolvers<void>();
    const entered = Promise.withResolvers<void>();
    const slow = gatedRoute(entered.resolve, gate.promise);
    const stopping = startServer([slow]);
    const answer = stopping.send("GET", "/slow");
    await entered.promise;
    const stopped = stopping.stop(10_000);
    expect(
      await sendRaw(stopping.port, "GET / HTTP/1.1\r\n\r\n").catch((error: Error) => error.message),
    ).toContain("ECONNREFUSED");
    gate.resolve();
    expect((await answer).status).toBe(200);
    await stopped;
  });

  test("that stops cuts what does not finish in time", async () => {
    const entered = Promise.withResolvers<void>();
    const stopping = startServer([gatedRoute(entered.resolve, new Promise(() => {}))]);
    const answer = stopping.send("GET", "/slow").catch((error: Error) => error);
    await entered.promise;
    await stopping.stop(0);
    expect(await answer).toBeInstanceOf(Error);
  });

  test("refuses a port that is taken", () => {
    const second = createServer([], new TestParts());
    expect(() => second.listen({ port: server.port, hostname: "127.0.0.1" })).toThrow();
  });

  test("refuses a table in which two routes share a name or a place", () => {
    const [first] = testRoutes;
    if (first === undefined) throw new Error("the table is empty");
    const build = (other: AnyRoute) => () => createServer([first, other], new TestParts());
    expect(build({ ...first, path: "/elsewhere" })).toThrow(first.operationId);
    expect(build({ ...first, operationId: "other" })).toThrow(first.path);
  });

  test("refuses a schema that lets unknown fields pass, at any depth", () => {
    const open = Type.Object(
      { inner: Type.Array(Type.Object({ x: Type.String() }), { maxItems: 1 }) },
      { additionalProperties: false },
    );
    const entry = route({
      method: "POST",
      path: "/v1/open",
      operationId: "open",
      tag: "Test",
      summary: "Open",
      access: "none",
      budget: "none",
      body: open,
      answers: { 200: "Done." },
      handle: () => ({ status: 200 }),
    });
    expect(() => createServer([entry], new TestParts())).toThrow("additionalProperties");
  });
});

function gatedRoute(enter: () => void, gate: Promise<void>): AnyRoute {
  return route({
    method: "GET",
    path: "/slow",
    operationId: "slow",
    tag: "Test",
    summary: "Slow",
    access: "none",
    budget: "none",
    waitMaxSeconds: 30,
    answers: { 200: "Done." },
    async handle() {
      enter();
      await gate;
      return { status: 200, json: {} };
    },
  });
}

/** Rate limits: token buckets, what draws from them, and how callers are told. */
import { describe, expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import fc from "fast-check";
import { TokenBuckets } from "../../../src/http/framework/ratelimit.ts";
import { type AnyRoute, route } from "../../../src/http/framework/route.ts";
import { expectProblem, type Reply, startServer, TestParts, type TestServer } from "../kit.ts";

const closed = { additionalProperties: false };
const shared = { tag: "Test", summary: "Test", answers: { 200: "Done." } } as const;

const routes: readonly AnyRoute[] = [
  route({
    ...shared,
    method: "POST",
    path: "/v1/batch",
    operationId: "batch",
    access: "publish",
    budget: "publish",
    body: Type.Object({ events: Type.Integer() }, closed),
    handle(context) {
      context.charge(context.body.events - 1);
      return { status: 200, json: {} };
    },
  }),
  route({
    ...shared,
    method: "GET",
    path: "/v1/list",
    operationId: "list",
    access: "read",
    budget: "management",
    handle: () => ({ status: 200, json: {} }),
  }),
  route({
    ...shared,
    method: "GET",
    path: "/v1/free",
    operationId: "free",
    access: "read",
    budget: "none",
    handle: () => ({ status: 200, json: {} }),
  }),
];

function startLimited(publish: number, management: number): TestServer {
  const parts = new TestParts();
  parts.rateLimits = { publish, management };
  return startServer(routes, parts);
}

const headersOf = (reply: Reply) => [reply.headers.get("ratelimit"), reply.headers.get("ratelimit-policy")];
const publish = (server: TestServer, events: number, token = "full") =>
  server.send("POST", "/v1/batch", { token, json: { events } });

describe("a budget", () => {
  test("is told with every answer that draws from it, refusals included", async () => {
    await using server = startLimited(100, 3);
    const policy = '"management";q=3;w=1';
    expect(headersOf(await server.send("GET", "/v1/list"))).toEqual(['"management";r=2;t=1', policy]);
    expect(headersOf(await server.send("GET", "/v1/list?x=1"))).toEqual(['"management";r=1;t=1', policy]);
    expect(headersOf(await server.send("GET", "/v1/list"))).toEqual(['"management";r=0;t=1', policy]);
    expect(headersOf(await server.send("GET", "/v1/list"))).toEqual(['"management";r=0;t=1', policy]);
  });

  test("that is used up is 429 until time brings the next one", async () => {
    await using server = startLimited(100, 2);
    await server.send("GET", "/v1/list");
    await server.send("GET", "/v1/list");
    const refused = await server.send("GET", "/v1/list");
    expectProblem(refused, 429, "rate_limited");
    expect(refused.headers.get("retry-after")).toBe("1");
    server.parts.time += 499;
    expect((await server.send("GET", "/v1/list")).status).toBe(429);
    server.parts.time += 1;
    expect((await server.send("GET", "/v1/list")).status).toBe(200);
    expect((await server.send("GET", "/v1/list")).status).toBe(429);
  });

  test("holds no more than one second's worth after a long rest", async () => {
    await using server = startLimited(100, 2);
    server.parts.time += 3_600_000;
    const statuses = [];
    for (let n = 0; n < 3; n++) statuses.push((await server.send("GET", "/v1/list")).status);
    expect(statuses).toEqual([200, 200, 429]);
  });

  test("is not touched by requests without a valid key or without the scope", async () => {
    await using server = startLimited(2, 100);
    for (const token of ["nobody", "read", "portalRead", null]) {
      const reply = await server.send("POST", "/v1/batch", { token, json: { events: 1 } });
      expect(headersOf(reply)).toEqual([null, null]);
    }
    expect(headersOf(await publish(server, 1))[0]).toBe('"publish";r=1;t=1');
  });

  test("of 0 means no limit and no headers", async () => {
    await using server = startLimited(0, 0);
    for (let n = 0; n < 5; n++) {
      const reply = await publish(server, 1_000_000);
      expect([reply.status, ...headersOf(reply)]).toEqual([200, null, null]);
    }
  });

  test("does not exist for a route that draws from none", async () => {
    await using server = startLimited(1, 1);
    for (let n = 0; n < 3; n++) expect(headersOf(await server.send("GET", "/v1/free"))).toEqual([null, null]);
  });
});

describe("who shares a budget", () => {
  test("publish: all keys of a project, and no other project", async () => {
    await using server = startLimited(2, 100);
    await publish(server, 1, "full");
    await publish(server, 1, "publish");
    expect((await publish(server, 1, "otherKey")).status).toBe(429);
    expect((await publish(server, 1, "otherProject")).status).toBe(200);
  });

  test("management: one key, or one portal token", async () => {
    await using server = startLimited(100, 1);
    for (const token of ["full", "otherKey", "portalRead", "portalManage"]) {
      expect((await server.send("GET", "/v1/list", { token })).status).toBe(200);
      expect((await server.send("GET", "/v1/list", { token })).status).toBe(429);
    }
  });

  test("publishing leaves management alone", async () => {
    await using server = startLimited(1, 1);
    await publish(server, 1);
    expect((await publish(server, 1)).status).toBe(429);
    expect((await server.send("GET", "/v1/list")).status).toBe(200);
  });
});

describe("a batch", () => {
  test("costs one for each event", async () => {
    await using server = startLimited(100, 1);
    expect(headersOf(await publish(server, 60))[0]).toBe('"publish";r=40;t=1');
    const refused = await publish(server, 60);
    expectProblem(refused, 429, "rate_limited");
    expect(refused.headers.get("ratelimit")).toBe('"publish";r=40;t=1');
    expect((await publish(server, 40)).status).toBe(200);
  });

  test("that is refused costs nothing, however often it is sent", async () => {
    await using server = startLimited(100, 1);
    await publish(server, 60);
    for (let n = 0; n < 50; n++) expect((await publish(server, 60)).status).toBe(429);
    expect((await publish(server, 40)).status).toBe(200);
  });

  test("above the whole budget is told to split itself", async () => {
    await using server = startLimited(10, 1);
    const refused = await publish(server, 25);
    expectProblem(refused, 429, "rate_limited");
    expect(refused.json.detail).toBe("This request counts as 25, and the limit is 10 a second: split it.");
  });
});

describe("token buckets", () => {
  test("never grant more than the burst and the rate allow, whatever the clock does", () => {
    const steps = fc.array(fc.tuple(fc.integer({ min: -500, max: 3000 }), fc.integer({ min: 1, max: 20 })), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 15 }), steps, (perSecond, taken) => {
        const buckets = new TokenBuckets(perSecond);
        let now = 0;
        let forwardMs = 0;
        let granted = 0;
        for (const [stepMs, cost] of taken) {
          now += stepMs;
          forwardMs += Math.max(0, stepMs);
          const allowance = buckets.take("k", cost, now);
          if (allowance.isGranted) granted += cost;
          expect(allowance.remaining).toBeGreaterThanOrEqual(0);
        }
        expect(granted).toBeLessThanOrEqual(perSecond + (forwardMs * perSecond) / 1000 + 1e-6);
      }),
    );
  });

  test("grant what was refused once retry-after has passed", () => {
    const buckets = new TokenBuckets(5);
    buckets.take("k", 5, 0);
    const refused = buckets.take("k", 5, 0);
    expect([refused.isGranted, refused.retryAfterSeconds]).toEqual([false, 1]);
    expect(buckets.take("k", 5, refused.retryAfterSeconds * 1000).isGranted).toBe(true);
  });

  test("forget those at rest, so that a million keys do not stay", () => {
    const buckets = new TokenBuckets(5);
    for (let n = 0; n < 5000; n++) buckets.take(`k${n}`, 1, n * 10);
    expect(buckets.size).toBeLessThanOrEqual(1000);
    expect(buckets.take("k4999", 5, 49_990).isGranted).toBe(false);
  });
});

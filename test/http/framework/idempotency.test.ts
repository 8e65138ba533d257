/** Idempotency-Key on POST: replays, refusals, concurrency and crashes. */
import { beforeEach, describe, expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import { Problem } from "../../../src/core/errors.ts";
import { IDEMPOTENCY_KEY } from "../../../src/http/openapi/shared.ts";
import { type AnyRoute, route } from "../../../src/http/framework/route.ts";
import { callers, expectProblem, OPERATOR_TOKEN, owner, type SendOptions, startServer } from "../kit.ts";

/** How often each handler ran. */
let runs = 0;
/** What the next handlers wait for. */
let gate: Promise<void> = Promise.resolve();
let entered = Promise.withResolvers<void>();

beforeEach(() => {
  runs = 0;
  gate = Promise.resolve();
  entered = Promise.withResolvers();
});

const shared = {
  method: "POST",
  tag: "Test",
  summary: "Test",
  budget: "none",
  answers: { 201: "Done." },
} as const;
const body = Type.Object({ n: Type.Optional(Type.Integer()) }, { additionalProperties: false });

const committing = route({
  ...shared,
  path: "/v1/commits",
  operationId: "commits",
  access: "read",
  body,
  async handle(context) {
    entered.resolve();
    await gate;
    return context.commit(() => ({ status: 201, json: { run: ++runs } }));
  },
});

const plain = route({
  ...shared,
  path: "/v1/plain/:status",
  operationId: "plain",
  access: "owner",
  body,
  query: Type.Object({ q: Type.Optional(Type.String()) }, { additionalProperties: false }),
  handle({ params }) {
    runs++;
    const status = Number(params.status);
    if (status === 409) throw new Problem("conflict", "Not now.");
    return status === 204 ? { status } : { status, json: { run: runs } };
  },
});

/** Changes something and answers, as where one transaction cannot hold both. */
const changing = route({
  ...shared,
  path: "/v1/changes",
  operationId: "changes",
  access: "manage",
  body,
  async handle(context) {
    context.beginChange();
    entered.resolve();
    await gate;
    return { status: 201, json: { run: ++runs } };
  },
});

const SECRETS = {
  secret: "whsec_1",
  key: "sp_live_1",
  api_key: "sp_live_2",
  private_key: "whsk_1",
  embed_html: "<iframe src=x#spl_1>",
  url: "/portal#spl_1",
  projects: [
    { id: "a", api_key: "sp_live_3" },
    { id: "b", api_key: "sp_live_4" },
  ],
  config: { key: "kept" },
};

const revealing = route({
  ...shared,
  path: "/v1/reveals",
  operationId: "reveals",
  access: "operator",
  secretFields: ["url", "projects.api_key", "nothing.here"],
  handle: (context) => context.commit(() => ({ status: 201, json: { id: "x", ...SECRETS } })),
});

const unkept = route({
  ...shared,
  path: "/open",
  operationId: "open",
  access: "none",
  handle: () => ({ status: 201, json: { run: ++runs } }),
});

const routes: readonly AnyRoute[] = [committing, plain, changing, revealing, unkept];

const withKey = (key: string, options: SendOptions = {}): SendOptions => ({
  json: {},
  ...options,
  headers: { "idempotency-key": key },
});

describe("the same request under the same key", () => {
  test.each(["/v1/commits", "/v1/plain/201"])("gets the first answer again (%s)", async (path) => {
    await using server = startServer(routes);
    const first = await server.send("POST", path, withKey("k1", { json: { n: 1 } }));
    const second = await server.send("POST", path, withKey("k1", { json: { n: 1 } }));
    expect([first.status, first.text, first.headers.get("idempotency-replayed")]).toEqual([
      201,
      '{"run":1}',
      null,
    ]);
    expect([second.status, second.text, second.headers.get("idempotency-replayed")]).toEqual([
      201,
      '{"run":1}',
      "true",
    ]);
    expect(second.headers.get("content-type")).toBe("application/json");
    expect(second.headers.get("x-request-id")).not.toBe(first.headers.get("x-request-id"));
    expect(runs).toBe(1);
  });

  test("gets no answer from a primary that has not renewed its lease, until it has", async () => {
    await using server = startServer(routes);
    await server.send("POST", "/v1/commits", withKey("k1"));
    const { promise, resolve } = Promise.withResolvers<void>();
    server.parts.held = promise;
    const again = server.send("POST", "/v1/commits", withKey("k1"));
    expect(await Promise.race([again, Bun.sleep(200).then(() => "no answer")])).toBe("no answer");
    resolve();
    expect((await again).headers.get("idempotency-replayed")).toBe("true");
  });

  test("by a link that was refused meanwhile leaves no answer, as its consumer may be erased", async () => {
    await using server = startServer(routes);
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    callers["refused"] = { ...owner, kind: "portal", consumerId: "ada", manage: true };
    const sent = server.send("POST", "/v1/changes", withKey("k1", { token: "refused" }));
    await entered.promise;
    delete callers["refused"];
    resolve();
    expectProblem(await sent, 401, "unauthenticated");
    expect([runs, server.parts.kept.size]).toEqual([1, 0]);
  });

  test("gets an answer without a body again as well", async () => {
    await using server = startServer(routes);
    await server.send("POST", "/v1/plain/204", withKey("k1"));
    const second = await server.send("POST", "/v1/plain/204", withKey("k1"));
    expect([second.status, second.text, second.headers.get("content-type")]).toEqual([204, "", null]);
    expect(runs).toBe(1);
  });

  test("runs again where the first was refused or failed: only 2xx are kept", async () => {
    await using server = startServer(routes);
    for (const status of [409, 409]) {
      expect((await server.send("POST", `/v1/plain/${status}`, withKey("k1"))).status).toBe(status);
    }
    expect((await server.send("POST", "/v1/plain/302", withKey("k2"))).status).toBe(302);
    expect((await server.send("POST", "/v1/plain/302", withKey("k2"))).status).toBe(302);
    expect([runs, server.parts.kept.size]).toEqual([4, 0]);
  });

  test("keeps nothing of what was refused before the handler", async () => {
    await using server = startServer(routes);
    expectProblem(
      await server.send("POST", "/v1/commits", withKey("k1", { json: { n: "x" } })),
      422,
      "invalid_request",
    );
    expect((await server.send("POST", "/v1/commits", withKey("k1"))).status).toBe(201);
  });
});

describe("another request under the same key", () => {
  const others: [string, string, SendOptions][] = [
    ["another body", "/v1/plain/201", { json: { n: 2 } }],
    [
      "the same JSON, written differently",
      "/v1/plain/201",
      { body: '{ "n":1}', headers: { "content-type": "application/json" } },
    ],
    ["another path", "/v1/plain/200", { json: { n: 1 } }],
    ["another query", "/v1/plain/201?q=1", { json: { n: 1 } }],
    ["another route", "/v1/commits", { json: { n: 1 } }],
  ];

  test.each(others)("is 422: %s", async (_name, path, options) => {
    await using server = startServer(routes);
    await server.send("POST", "/v1/plain/201", withKey("k1", { json: { n: 1 } }));
    const headers = { ...options.headers, "idempotency-key": "k1" };
    const { json: _json, ...rest } = options;
    const second = await server.send(
      "POST",
      path,
      "json" in options ? { ...options, headers } : { ...rest, headers },
    );
    expectProblem(second, 422, "idempotency_key_reused");
    expect(runs).toBe(1);
  });
});

describe("keys of different owners never meet", () => {
  test("two keys of a project share them; projects and consumers do not", async () => {
    await using server = startServer(routes);
    const runOf = async (token: string) =>
      (await server.send("POST", "/v1/commits", withKey("k1", { token }))).json.run;
    expect(await runOf("full")).toBe(1);
    expect(await runOf("otherKey")).toBe(1);
    expect(await runOf("otherProject")).toBe(2);
    expect(await runOf("portalRead")).toBe(3);
    expect(await runOf("portalManage")).toBe(3);
  });
});

describe("while the first is running", () => {
  test("every other one with its key is 409, and gets its answer afterwards", async () => {
    await using server = startServer(routes);
    const hold = Promise.withResolvers<void>();
    gate = hold.promise;
    const first = server.send("POST", "/v1/commits", withKey("k1"));
    await entered.promise;
    const during = await Promise.all(
      Array.from({ length: 20 }, () => server.send("POST", "/v1/commits", withKey("k1"))),
    );
    for (const reply of during) expectProblem(reply, 409, "idempotency_in_progress");
    hold.resolve();
    expect((await first).json.run).toBe(1);
    expect(
      (await server.send("POST", "/v1/commits", withKey("k1"))).headers.get("idempotency-replayed"),
    ).toBe("true");
    expect(runs).toBe(1);
  });

  test("a hundred at once run the handler once", async () => {
    await using server = startServer(routes);
    const replies = await Promise.all(
      Array.from({ length: 100 }, () => server.send("POST", "/v1/commits", withKey("k1"))),
    );
    expect(runs).toBe(1);
    expect(new Set(replies.filter(({ status }) => status === 201).map(({ text }) => text))).toEqual(
      new Set(['{"run":1}']),
    );
    expect(replies.every(({ status }) => status === 201 || status === 409)).toBe(true);
  });

  test("other keys, other consumers and requests without a key go on", async () => {
    await using server = startServer(routes);
    const hold = Promise.withResolvers<void>();
    gate = hold.promise;
    const first = server.send("POST", "/v1/commits", withKey("k1"));
    await entered.promise;
    gate = Promise.resolve();
    const others = [withKey("k2"), withKey("k1", { token: "portalRead" }), { json: {} }];
    for (const options of others)
      expect((await server.send("POST", "/v1/commits", options)).status).toBe(201);
    hold.resolve();
    await first;
  });
});

describe("a crash or rollback", () => {
  test("before the commit leaves the key free", async () => {
    await using server = startServer(routes);
    server.parts.beforeCommit = () => {
      throw new Error("the disk is gone");
    };
    expectProblem(await server.send("POST", "/v1/commits", withKey("k1")), 500, "internal");
    expect(server.parts.kept.size).toBe(0);
    server.parts.beforeCommit = () => {};
    const again = await server.send("POST", "/v1/commits", withKey("k1"));
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([201, null]);
  });

  test("after the commit, before the answer, leaves the committed answer for the next process", async () => {
    await using server = startServer(routes);
    await server.send("POST", "/v1/commits", withKey("k1"));
    await using next = startServer(routes);
    next.parts.kept = server.parts.kept;
    const again = await next.send("POST", "/v1/commits", withKey("k1"));
    expect([again.text, again.headers.get("idempotency-replayed")]).toEqual(['{"run":1}', "true"]);
  });

  test("that runs the write a second time keeps the answer of the run that was committed", async () => {
    await using server = startServer(routes);
    const write = server.parts.writeFor.bind(server.parts);
    server.parts.writeFor = async (projectId, run) => {
      run();
      server.parts.kept.clear();
      return write(projectId, run);
    };
    expect((await server.send("POST", "/v1/commits", withKey("k1"))).text).toBe('{"run":2}');
    expect((await server.send("POST", "/v1/commits", withKey("k1"))).text).toBe('{"run":2}');
  });

  test("keeps the answer in the very transaction of the handler's writes", async () => {
    await using server = startServer(routes);
    let transactions = 0;
    server.parts.beforeCommit = () => {
      transactions++;
      expect(server.parts.kept.size).toBe(1);
    };
    expect((await server.send("POST", "/v1/commits", withKey("k1"))).status).toBe(201);
    expect(transactions).toBe(1);
  });
});

describe("secrets", () => {
  test("are in the first answer, and neither in the kept copy nor in its replay", async () => {
    await using server = startServer(routes);
    const options = withKey("k1", { token: OPERATOR_TOKEN });
    const first = await server.send("POST", "/v1/reveals", options);
    expect(first.json).toEqual({ id: "x", ...SECRETS });
    const second = await server.send("POST", "/v1/reveals", options);
    expect(second.json).toEqual({ id: "x", projects: [{ id: "a" }, { id: "b" }], config: { key: "kept" } });
    expect(JSON.stringify([...server.parts.kept])).not.toMatch(/whsec_|whsk_|sp_live_|spl_/);
  });
});

describe("the key itself", () => {
  test.each(["", " ", "a\tb", "ä", "x".repeat(256)])("%p is refused", async (key) => {
    await using server = startServer(routes);
    const reply = await server.send("POST", "/v1/commits", withKey(key));
    expectProblem(reply, 422, "invalid_request");
    expect(reply.json.errors?.map(({ pointer }) => pointer)).toEqual(["Idempotency-Key"]);
    expect(runs).toBe(0);
  });

  test.each(["a", "a b", "x".repeat(255), '"quoted"', "!~"])("%p is taken, as documented", async (key) => {
    await using server = startServer(routes);
    expect(key).toMatch(new RegExp((IDEMPOTENCY_KEY["schema"] as { pattern: string }).pattern));
    expect((await server.send("POST", "/v1/commits", withKey(key))).status).toBe(201);
  });

  test("is ignored outside /v1", async () => {
    await using server = startServer(routes);
    for (const _ of [1, 2]) expect((await server.send("POST", "/open", withKey("k1"))).status).toBe(201);
    expect([runs, server.parts.kept.size]).toEqual([2, 0]);
  });
});

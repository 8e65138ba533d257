/** Calls over real connections, to servers that fail as servers do. */
import { afterEach, describe, expect, test } from "bun:test";
import { createServer, type Socket } from "node:net";
import { type Call, Calls, DEFAULTS, type Settings } from "../../sdk/typescript/src/calls.ts";
import { ApiError, ConnectionError, NotFoundError } from "../../sdk/typescript/src/errors.ts";
import { LIMITS } from "../../src/core/limits.ts";
import { countListeners } from "./listeners.ts";

const READ: Call = {
  method: "GET",
  path: "/v1/events/{id}",
  ids: ["evt_1"],
  repeats: "idempotent",
  options: {},
};
const POST: Call = {
  method: "POST",
  path: "/v1/events",
  ids: [],
  repeats: "key",
  body: { a: 1 },
  options: {},
};

type Answer = (request: Request, nth: number) => Response | Promise<Response>;
const open: { stop(): unknown }[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.stop()));
});

/** A server of answers, and what it was asked. */
function serve(answer: Answer, settings: Partial<Settings> = {}) {
  const asked: { url: string; headers: Headers; body: string }[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      asked.push({ url: request.url, headers: request.headers, body: await request.text() });
      return answer(request, asked.length);
    },
  });
  open.push({ stop: () => server.stop(true) });
  const url = `http://127.0.0.1:${server.port}`;
  return { url, asked, calls: new Calls({ key: "sp_test_x", url: `${url}/`, ...settings }) };
}

/** The error of a call that must fail. */
async function failureOf(call: Promise<unknown>): Promise<ApiError> {
  return call.then(
    () => Promise.reject(new Error("it did not fail")),
    (error: ApiError) => error,
  );
}

const json = (value: unknown, status = 200, headers: Record<string, string> = {}) =>
  Response.json(value, { status, headers });

describe("a request", () => {
  test("carries the key, its ids, its query without what is undefined, and its headers", async () => {
    const { calls, asked, url } = serve(() => json({ ok: true }));
    const query = { limit: 2, type: "a b", cursor: undefined };
    const headers = { "sealpost-durability": "disk", "x-none": undefined };
    const options = { headers: { "x-mine": "1" } };
    expect(await calls.ask<object>({ ...READ, ids: ["a/b?c"], query, headers, options })).toEqual({
      ok: true,
    });
    expect(asked[0]?.url).toBe(`${url}/v1/events/a%2Fb%3Fc?limit=2&type=a+b`);
    const sent = ["authorization", "sealpost-durability", "x-none", "x-mine", "idempotency-key"];
    expect(sent.map((name) => asked[0]?.headers.get(name))).toEqual([
      ...["Bearer sp_test_x", "disk", null, "1", null],
    ]);
  });

  test("of an open operation goes without the key, and a raw body as it is", async () => {
    const { calls, asked } = serve(() => new Response(null, { status: 204 }));
    const body = new Uint8Array([104, 105]);
    const sent = { ...POST, isOpen: true, isRaw: true, body, repeats: "never" as const };
    expect(await calls.ask<undefined>(sent)).toBeUndefined();
    expect(asked[0]?.body).toBe("hi");
    expect(asked[0]?.headers.get("authorization")).toBeNull();
  });

  test.each(["", ".", ".."])("with the id %j leads nowhere else: it is not made", (id) => {
    expect(new Calls({ key: "k", url: "https://a.example.com" }).ask({ ...READ, ids: [id] })).rejects.toThrow(
      "is no id",
    );
  });

  test("needs an address and a key", () => {
    expect(() => new Calls({ key: "k", url: "localhost:8080" })).toThrow("url must be an address");
    expect(() => new Calls({ key: "k", url: "https://a b" })).toThrow("url must be an address");
    expect(() => new Calls({ key: "", url: "https://a.example.com" })).toThrow("key is empty");
  });

  test("has the key of the call, and none of its headers", async () => {
    const { calls, asked } = serve(() => json({}));
    const headers = { "Idempotency-Key": "fixed" };
    await calls.ask({ ...POST, options: { headers, idempotencyKey: "own" } });
    await calls.ask({ ...POST, options: { headers } });
    const [first, second] = asked.map((one) => one.headers.get("idempotency-key"));
    expect(first).toBe("own");
    expect(second).toHaveLength(36);
  });

  const kept = ["SECRET\n", "SECRET\r\n", "SEC\nRET", "SECRET…", " SECRET", "SECRET\0", "SECRET\udcff"];

  test.each(kept)("is not made by a key as %j, which no error shows", (key) => {
    const make = () => new Calls({ key, url: "https://a.example.com" });
    expect(make).toThrow(/^key has a space, a line end or [^]*: give it without$/);
  });

  test.each(["SECRET\n", "SEC\r\n RET", "SECRET…", "SECRET\0"])(
    "with a header as %j is not made, and no error shows it",
    async (value) => {
      const { calls, asked } = serve(() => json({}));
      const must = /^The header [\w-]+ must be a text without line ends, and of Latin-1 alone$/;
      const calling: Call[] = [
        { ...READ, options: { headers: { "x-mine": value } } },
        { ...READ, headers: { "sealpost-durability": value } },
        { ...POST, options: { idempotencyKey: value } },
      ];
      for (const call of calling) expect((await failureOf(calls.ask(call))).message).toMatch(must);
      expect(asked).toEqual([]);
    },
  );
});

describe("an answer", () => {
  const big = '{"data":12345678901234567890}';

  test("that is no JSON is its text", async () => {
    const { calls } = serve(() => new Response("up 1\n", { headers: { "content-type": "text/plain" } }));
    expect(await calls.ask<string>(READ)).toBe("up 1\n");
  });

  test("keeps its numbers by a parser that does, and a body by its writer", async () => {
    const exact = {
      parse: (text: string) => text.replace(/[0-9]{17,}/, '"$&"'),
      stringify: (value: unknown) => String(value),
    };
    const answer = () =>
      new Response(big, { headers: { "content-type": "application/json; charset=utf-8" } });
    const { calls, asked } = serve(answer, { json: exact });
    expect(await calls.ask<string>({ ...POST, body: big })).toBe('{"data":"12345678901234567890"}');
    expect(asked[0]?.body).toBe(big);
  });

  test("that should be JSON and is none is an error of the connection", async () => {
    const answer = () => new Response('{"id":', { headers: { "content-type": "application/json" } });
    const { calls, url } = serve(answer, { retries: 0 });
    const error = await failureOf(calls.ask(READ));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error.message).toStartWith(`GET ${url}/v1/events/evt_1: the answer is no JSON: `);
  });

  test("that leads elsewhere is not followed, as that would make a POST a GET", async () => {
    const { calls, asked } = serve((request) => Response.redirect(new URL("/other", request.url).href, 301));
    expect(calls.ask(POST)).rejects.toThrow("It leads to");
    await failureOf(calls.ask(POST));
    expect(asked.every(({ url }) => url.endsWith("/v1/events"))).toBe(true);
  });
});

describe("a call that fails", () => {
  test("is made again under one key", async () => {
    const { calls, asked } = serve((_request, nth) =>
      nth < 3 ? json({ code: "unavailable", detail: "Later." }, 503) : json({ id: 1 }, 202),
    );
    expect(await calls.ask<object>(POST)).toEqual({ id: 1 });
    const keys = asked.map(({ headers }) => headers.get("idempotency-key"));
    expect(keys).toEqual([keys[0] ?? null, keys[0] ?? null, keys[0] ?? null]);
    expect(keys[0]).toMatch(/^[\w-]{36}$/);
    await calls.ask<object>(POST);
    expect(asked[3]?.headers.get("idempotency-key")).not.toBe(keys[0] ?? null);
  });

  test("is made again under the caller's own key", async () => {
    const { calls, asked } = serve((_request, nth) => json({}, nth === 1 ? 502 : 200));
    await calls.ask({ ...POST, options: { idempotencyKey: "order-7" } });
    expect(asked.map(({ headers }) => headers.get("idempotency-key"))).toEqual(["order-7", "order-7"]);
  });

  test("without a key is not made again, but after a 429", async () => {
    const failing = serve(() => json({}, 503));
    expect(failing.calls.ask({ ...POST, repeats: "never" })).rejects.toBeInstanceOf(ApiError);
    const busy = serve((_request, nth) => json({}, nth === 1 ? 429 : 200));
    await busy.calls.ask({ ...POST, repeats: "never" });
    expect([failing.asked.length, busy.asked.length]).toEqual([1, 2]);
  });

  test("ends after its retries, with the last error", async () => {
    const { calls, asked } = serve((_request, nth) => json({ code: `c${nth}`, detail: "No." }, 503), {
      retries: 1,
    });
    const error = await failureOf(calls.ask(READ));
    expect([error.code, asked.length]).toEqual(["c2", 2]);
    await failureOf(calls.ask({ ...READ, options: { retries: 0 } }));
    expect(asked.length).toBe(3);
  });

  test("ends at once where the next attempt would come too late", async () => {
    const { calls, asked } = serve(() => json({}, 429, { "retry-after": "3600" }));
    const error = await failureOf(calls.ask(READ));
    expect([error.retryAfter, asked.length]).toEqual([3600, 1]);
  });

  test("ends by its signal, also while it waits for the next attempt", async () => {
    const aborting = new AbortController();
    const { calls, asked } = serve(() => {
      setTimeout(() => aborting.abort(new Error("enough")), 10);
      return json({}, 503, { "retry-after": "30" });
    });
    expect(calls.ask({ ...READ, options: { signal: aborting.signal } })).rejects.toThrow("enough");
    await failureOf(calls.ask({ ...READ, options: { signal: aborting.signal } }));
    const hanging = serve(() => new Promise<never>(() => {}));
    const sooner = AbortSignal.timeout(20);
    const error = await failureOf(hanging.calls.ask({ ...READ, options: { signal: sooner } }));
    expect([error.name, asked.length, hanging.asked.length]).toEqual(["TimeoutError", 1, 1]);
  });

  test("leaves no listener on its signal, after any of its attempts", async () => {
    const { signal } = new AbortController();
    const listeners = countListeners(signal);
    let listening = 0;
    const { calls } = serve((_request, nth) => {
      listening = listeners();
      return json({}, nth === 1 ? 503 : 200);
    });
    await calls.ask({ ...READ, options: { signal } });
    expect([listening, listeners()]).toEqual([1, 0]);
  });

  test("has a time for each attempt", async () => {
    const { calls, asked } = serve((_request, nth) =>
      nth === 1 ? new Promise<never>(() => {}) : json({ nth }),
    );
    expect(await calls.ask<object>({ ...READ, options: { timeoutMs: 100 } })).toEqual({ nth: 2 });
    const hanging = serve(() => new Promise<never>(() => {}), { timeoutMs: 20, retries: 0 });
    const error = await failureOf(hanging.calls.ask(READ));
    expect(error).toBeInstanceOf(ConnectionError);
    expect([error.message.includes("no answer within 20 ms"), asked.length]).toEqual([true, 2]);
  });

  test("is made again where the connection is cut, in front of the answer or within it", async () => {
    const first = ["", "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 20\r\n\r\n{"];
    const whole =
      "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
    let nth = 0;
    const server = createServer((socket: Socket) => {
      socket.once("data", () => socket.end(first[nth++] ?? whole));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    open.push({ stop: () => server.close() });
    const address = server.address() as { port: number };
    const calls = new Calls({ key: "k", url: `http://127.0.0.1:${address.port}` });
    expect(await calls.ask<object>(POST)).toEqual({});
    expect(nth).toBe(3);
  });

  test("says what failed where there is nobody", async () => {
    const { calls, url } = serve(() => json({}), { retries: 0 });
    await Promise.all(open.splice(0).map((server) => server.stop()));
    const error = await failureOf(calls.ask(READ));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error.message).toStartWith(`GET ${url}/v1/events/evt_1: `);
  });
});

test("an attempt may take longer than a poller's page may wait, and is made again where it did", () => {
  expect(DEFAULTS.timeoutMs).toBeGreaterThan(LIMITS.pollWaitSecondsMax.value * 1000);
  expect(DEFAULTS.retryForMs).toBeGreaterThan(DEFAULTS.timeoutMs);
});

describe("a deletion", () => {
  const deletion: Call = { ...READ, method: "DELETE" };

  test("whose first answer was lost is done when the second finds nothing", async () => {
    const { calls } = serve((_request, nth) =>
      json({ code: "not_found", detail: "No." }, nth === 1 ? 504 : 404),
    );
    expect(await calls.ask<undefined>(deletion)).toBeUndefined();
  });

  test("of what was never there is an error, also behind a 429", async () => {
    const problem = { code: "not_found", detail: "No." };
    const { calls } = serve((_request, nth) => json(problem, nth === 1 ? 429 : 404));
    expect(await failureOf(calls.ask(deletion))).toBeInstanceOf(NotFoundError);
    expect(await failureOf(calls.ask(deletion))).toBeInstanceOf(NotFoundError);
  });
});

test("a list asks for its pages by their cursors, beside what was asked for", async () => {
  const { calls, asked } = serve((_request, nth) =>
    json({ data: [nth], next_cursor: nth === 1 ? "n/2" : null }),
  );
  const list = calls.list<number, { data: number[]; next_cursor: string | null }>({
    ...READ,
    query: { limit: 1 },
  });
  expect(await Array.fromAsync(list)).toEqual([1, 2]);
  expect(asked.map(({ url }) => new URL(url).search)).toEqual(["?limit=1", "?limit=1&cursor=n%2F2"]);
});

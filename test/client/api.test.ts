import { afterAll, expect, test } from "bun:test";
import { Api, Refused, Unreachable } from "../../src/client/api.ts";
import { CommandError } from "../../src/platform/command-line.ts";

const seen: string[] = [];
const answers: Record<string, () => Response> = {
  "/moved": () => Response.redirect("/elsewhere", 302),
  "/busy": () =>
    new Response('{"detail":"later","code":"rate_limited"}', {
      status: 429,
      headers: { "retry-after": "3" },
    }),
  "/hostile": () =>
    new Response('{"detail":"\\u001b[2Ja","errors":[{"pointer":"/a","detail":"b"},7]}', { status: 422 }),
  "/page": () => new Response("<html>", { status: 200 }),
  "/list": () => new Response("[1]", { status: 500 }),
};
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: (request) => {
    seen.push(`${new URL(request.url).pathname} ${request.headers.get("authorization")}`);
    return answers[new URL(request.url).pathname]?.() ?? new Response('{"a":1}');
  },
});
afterAll(() => server.stop(true));

const api = new Api({ url: `http://127.0.0.1:${server.port}`, key: "sp_test_1" });

test("an answer is read as JSON", async () => {
  expect(await api.ask<{ a: number }>("/")).toEqual({ a: 1 });
  await expect(api.ask("/page")).rejects.toBeInstanceOf(CommandError);
});

test("the key goes nowhere else", async () => {
  await expect(api.ask("/moved")).rejects.toThrow("answered 302");
  expect(seen).not.toContain("/elsewhere Bearer sp_test_1");
});

test("a refusal says what, which fields, and when to ask again; nothing of it steers a terminal", async () => {
  const busy = await api.ask("/busy").catch((error: unknown) => error);
  expect(busy).toBeInstanceOf(Refused);
  expect(busy).toMatchObject({ status: 429, code: "rate_limited", retryAfterSeconds: 3 });
  const hostile = await api.ask("/hostile").catch((error: unknown) => error);
  expect((hostile as Error).message).toEndWith("/hostile is answered 422: ?[2Ja\n  /a: b");
  await expect(api.ask("/list")).rejects.toThrow("is answered 500: no reason");
});

test("an address where nobody answers is told", async () => {
  await expect(new Api({ url: "http://127.0.0.1:9", key: "k" }).ask("/")).rejects.toBeInstanceOf(Unreachable);
});

test("an answer that is longer than may be is not read to its end", async () => {
  const url = `http://127.0.0.1:${server.port}`;
  const long = new Api({ url, key: "k" }, { answerBytesMax: 6 }).ask("/");
  await expect(long).rejects.toThrow(`${url}/ answers more than 6 bytes`);
  await expect(long).rejects.not.toBeInstanceOf(Unreachable);
  expect(await new Api({ url, key: "k" }, { answerBytesMax: 7 }).ask<object>("/")).toEqual({ a: 1 });
});

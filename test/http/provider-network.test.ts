/** What the inbound side fetches from providers: through the guard, bounded, cached. */
import { expect, test } from "bun:test";
import { createKeyReader, visit } from "../../src/http/provider-network.ts";
import { createGuard } from "../../src/outbound/guard.ts";
import { createTransport } from "../../src/outbound/transport.ts";
import { startReceiver } from "../kit/receiver.ts";

function network(allow: readonly string[] = ["127.0.0.0/8"]) {
  const guard = createGuard({ allow });
  const transport = createTransport({ guard, now: () => performance.now() });
  return { guard, transport, now: () => Date.UTC(2026, 10, 21), [Symbol.dispose]: () => transport.close() };
}

test("a key document is fetched once, by GET or with its body by POST", async () => {
  await using receiver = startReceiver();
  using parts = network();
  const keys = createKeyReader(parts);
  const url = receiver.at("keys", ({ method }) => Response.json({ method }));
  expect(await keys.read({ url })).toBe('{"method":"GET"}');
  expect(await keys.read({ url })).toBe('{"method":"GET"}');
  expect(await keys.read({ url, post: '{"key_id":"1"}' })).toBe('{"method":"POST"}');
  const requests = receiver.requests("keys");
  expect(requests.map(({ method, body }) => [method, body.toString()])).toEqual([
    ["GET", ""],
    ["POST", '{"key_id":"1"}'],
  ]);
  expect(requests.map(({ headers }) => headers["content-type"])).toEqual([undefined, "application/json"]);
});

test.each([
  ["a failure", () => new Response("no", { status: 500 })],
  ["a redirect", () => new Response(null, { status: 302, headers: { location: "/elsewhere" } })],
  ["a document without end", () => new Response(new Uint8Array(300 * 1024))],
])("%s is no document, and the next request tries again", async (_name, answer) => {
  await using receiver = startReceiver();
  using parts = network();
  const keys = createKeyReader(parts);
  const url = receiver.at("keys", answer);
  expect(await keys.read({ url })).toBeNull();
  receiver.at("keys", () => new Response("fine"));
  expect(await keys.read({ url })).toBe("fine");
});

test("an address that the guard refuses is not called", async () => {
  await using receiver = startReceiver();
  using parts = network([]);
  const url = receiver.url("keys");
  expect(await createKeyReader(parts).read({ url })).toBeNull();
  expect(await visit(parts, url)).toBe(false);
  expect(await visit(parts, "file:///etc/passwd")).toBe(false);
  expect(receiver.requests("keys")).toHaveLength(0);
});

test("a visit says whether the address answered", async () => {
  await using receiver = startReceiver();
  using parts = network();
  expect(await visit(parts, receiver.url("confirm?token=1"))).toBe(true);
  expect(receiver.requests("confirm")).toHaveLength(1);
  expect(
    await visit(
      parts,
      receiver.at("broken", () => new Response(null, { status: 503 })),
    ),
  ).toBe(false);
});

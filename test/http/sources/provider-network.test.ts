/** What the inbound side fetches from providers: through the guard, bounded, cached. */
import { expect, test } from "bun:test";
import { TurnQueue } from "../../../src/core/structures/turn-queue.ts";
import { openKeys, visit } from "../../../src/http/sources/provider-network.ts";
import { turnParts } from "../../../src/platform/turns.ts";
import { createGuard } from "../../../src/transport/guard.ts";
import { createTransport } from "../../../src/transport/transport.ts";
import { hash } from "../../../src/inbound/digest.ts";
import type { KeyReader } from "../../../src/inbound/provider.ts";
import { findProvider } from "../../../src/inbound/providers.ts";
import { jsonRequest, materialOf } from "../../inbound/kit.ts";
import { startReceiver } from "../../kit/receiver.ts";

const TURNS = new TurnQueue(turnParts);

function network(allow: readonly string[] = ["127.0.0.0/8"]) {
  const guard = createGuard({ allow });
  const transport = createTransport({ guard, monotonic: () => performance.now() });
  const time = { wall: Date.UTC(2026, 10, 21), monotonic: 0 };
  return {
    guard,
    transport,
    time,
    now: () => time.wall,
    monotonic: () => time.monotonic,
    [Symbol.dispose]: () => transport.close(),
  };
}

function found(text: string) {
  return { kind: "document", text } as const;
}

test("a key document is fetched once, by GET or with its body by POST", async () => {
  await using receiver = startReceiver();
  using parts = network();
  const keys = openKeys(parts).readerFor(1, TURNS);
  const url = receiver.at("keys", ({ method }) => Response.json({ method }));
  expect(await keys.read({ url })).toEqual(found('{"method":"GET"}'));
  expect(await keys.read({ url })).toEqual(found('{"method":"GET"}'));
  expect(await keys.read({ url, post: '{"key_id":"1"}' })).toEqual(found('{"method":"POST"}'));
  const requests = receiver.requests("keys");
  expect(requests.map(({ method, body }) => [method, body.toString()])).toEqual([
    ["GET", ""],
    ["POST", '{"key_id":"1"}'],
  ]);
  expect(requests.map(({ headers }) => headers["content-type"])).toEqual([undefined, "application/json"]);
});

test("what was unknown, or too often asked for, while the clock was a day ahead is asked for again a minute later", async () => {
  await using receiver = startReceiver();
  using parts = network();
  const keys = openKeys(parts).readerFor(1, TURNS);
  let status = 404;
  const url = receiver.at("keys", () => new Response("keys", { status }));
  const documentOf = (index: number) => ({ url: `${url}?${index}`, isNamedBySender: true }) as const;
  for (let index = 0; index < 31; index++) await keys.read(documentOf(index));
  const [known, above] = [documentOf(0), documentOf(30)];
  status = 200;
  expect(await keys.read(known)).toEqual({ kind: "unknown" });
  expect(await keys.read(above)).toEqual({ kind: "unavailable" });
  parts.time.wall -= 86_400_000;
  parts.time.monotonic += 60_000;
  expect(await keys.read(known)).toEqual(found("keys"));
  expect(await keys.read(above)).toEqual(found("keys"));
});

test.each([
  ["a failure", () => new Response("no", { status: 500 })],
  ["a redirect", () => new Response(null, { status: 302, headers: { location: "/elsewhere" } })],
  ["a document without end", () => new Response(new Uint8Array(300 * 1024))],
])("%s is no document, and the next request tries again", async (_name, answer) => {
  await using receiver = startReceiver();
  using parts = network();
  const keys = openKeys(parts).readerFor(1, TURNS);
  const url = receiver.at("keys", answer);
  expect(await keys.read({ url })).toEqual({ kind: "unavailable" });
  receiver.at("keys", () => new Response("fine"));
  expect(await keys.read({ url })).toEqual(found("fine"));
});

test("a document that a request names and its provider does not know is asked for once, and that request is forged", async () => {
  await using receiver = startReceiver();
  using parts = network();
  const keys = openKeys(parts).readerFor(1, TURNS);
  const unknown = { url: receiver.at("keys", () => new Response("no such key", { status: 400 })) };
  expect(await keys.read({ ...unknown, isNamedBySender: true })).toEqual({ kind: "unknown" });
  expect(await keys.read({ ...unknown, isNamedBySender: true })).toEqual({ kind: "unknown" });
  expect(receiver.requests("keys")).toHaveLength(1);
});

test("what the provider says of its own address, or of our haste, is an outage", async () => {
  await using receiver = startReceiver();
  using parts = network();
  const keys = openKeys(parts).readerFor(1, TURNS);
  const gone = receiver.at("gone", () => new Response(null, { status: 404 }));
  expect(await keys.read({ url: gone })).toEqual({ kind: "unavailable" });
  const busy = receiver.at("busy", () => new Response(null, { status: 429 }));
  expect(await keys.read({ url: busy, isNamedBySender: true })).toEqual({ kind: "unavailable" });
});

test("a forged key id of Plaid costs one call to Plaid and is refused, an outage of Plaid is not the sender's fault", async () => {
  await using receiver = startReceiver();
  using parts = network();
  const reader = openKeys(parts).readerFor(1, TURNS);
  const plaid = findProvider("plaid");
  let status = 400;
  receiver.at("plaid", () =>
    Response.json({ error_code: "INVALID_WEBHOOK_VERIFICATION_KEY_ID" }, { status }),
  );
  const keys: KeyReader = {
    read: (document, isRenewal) => reader.read({ ...document, url: receiver.url("plaid") }, isRenewal),
  };
  const credentials = { client_id: "c", secret: "s", environment: "production" };
  const send = (keyId: string) => {
    const claims = {
      iat: Math.floor(Date.now() / 1000),
      request_body_sha256: hash("sha256", ["{}"], "hex"),
    };
    const written = [{ alg: "ES256", kid: keyId }, claims].map((part) =>
      Buffer.from(JSON.stringify(part)).toString("base64url"),
    );
    const token = `${written.join(".")}.AAAA`;
    const request = jsonRequest("{}", { "plaid-verification": token });
    return plaid?.receive(request, materialOf([], { credentials }), Date.now(), keys);
  };
  for (let copy = 0; copy < 5; copy++) {
    expect(await send("forged")).toEqual({ kind: "refused", reason: "wrong_key_id" });
  }
  expect(receiver.requests("plaid")).toHaveLength(1);
  status = 502;
  expect(await send("another")).toMatchObject({ kind: "unavailable" });
  status = 400;
  expect(await send("another")).toEqual({ kind: "refused", reason: "wrong_key_id" });
});

test("an address that the guard refuses is not called", async () => {
  await using receiver = startReceiver();
  using parts = network([]);
  const url = receiver.url("keys");
  expect(await openKeys(parts).readerFor(1, TURNS).read({ url })).toEqual({ kind: "unavailable" });
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

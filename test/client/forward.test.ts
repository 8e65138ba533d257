import { expect, test } from "bun:test";
import { forward, signedAnew } from "../../src/client/forward.ts";
import { makeSecret, readSecret, signatureHeader } from "../../src/core/signing.ts";
import { startReceiver, verifyDelivery } from "../kit/receiver.ts";

const SECRET = makeSecret();

function messageAt(seconds: number, body: string) {
  const keys = [{ hmac: readSecret(SECRET) ?? new Uint8Array(), ed25519: null }];
  const signature = signatureHeader(keys, ["v1"], "msg_1", seconds, Buffer.from(body));
  const headers = {
    "webhook-id": "msg_1",
    "webhook-timestamp": String(seconds),
    "webhook-signature": signature,
  };
  return { headers, body };
}

const now = () => Math.floor(Date.now() / 1000);

test("a message arrives as its bytes, and a receiver finds it genuine", async () => {
  await using receiver = startReceiver();
  receiver.at("hook", () => new Response("thank you", { status: 201 }));
  const message = messageAt(now(), '\ufeff{"a":"ü😀\\u0000"}');
  expect(await forward(receiver.url("hook"), message)).toEqual({
    status: 201,
    durationMs: expect.any(Number),
    text: "thank you",
  });
  const [request] = receiver.requests("hook");
  expect(request?.body.toString("hex")).toBe(Buffer.from(message.body).toString("hex"));
  expect(request && request.headers).toMatchObject(message.headers);
});

test("an old message is refused as it is, and taken when it is signed anew", async () => {
  await using receiver = startReceiver();
  const old = messageAt(now() - 3600, '{"a":1}');
  await forward(receiver.url("hook"), old);
  await forward(receiver.url("hook"), signedAnew(old, SECRET, Date.now()));
  const [first, second] = receiver.requests("hook");
  if (first === undefined || second === undefined) throw new Error("two were forwarded");
  expect(() => verifyDelivery(first, SECRET)).toThrow("too old");
  expect(verifyDelivery(second, SECRET)).toEqual({ a: 1 });
  expect(second.headers["webhook-id"]).toBe("msg_1");
});

test("a redirect is an answer, and is not followed", async () => {
  await using receiver = startReceiver();
  receiver.at("hook", () => Response.redirect(receiver.url("other"), 307));
  expect(await forward(receiver.url("hook"), messageAt(now(), "{}"))).toMatchObject({ status: 307 });
  expect(receiver.requests("other")).toEqual([]);
});

test("an answer without an end is cut, and one that never comes is told", async () => {
  await using receiver = startReceiver();
  receiver.at("endless", () => {
    const pull = (controller: ReadableStreamDefaultController) => controller.enqueue(Buffer.alloc(9999, "a"));
    return new Response(new ReadableStream({ pull }));
  });
  const { text } = await forward(receiver.url("endless"), messageAt(now(), "{}"));
  expect(text.length).toBe(64 * 1024 + 1);
  const none = await forward("http://127.0.0.1:9/", messageAt(now(), "{}"));
  expect([none.status, none.text.length > 5]).toEqual([null, true]);
});

import { expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { hang, isSignedByKey, type ReceivedRequest, startReceiver, verifyDelivery } from "./receiver.ts";

test("a receiver keeps the raw bytes, headers, method and target of a request", async () => {
  await using receiver = startReceiver();
  const bytes = new Uint8Array([0, 255, 10, 13]);
  await fetch(`${receiver.url("orders")}?a=1`, { method: "PUT", body: bytes, headers: { "x-mark": "m" } });
  const [request] = await receiver.arrived("orders");
  expect(request).toMatchObject({ method: "PUT", target: "/orders?a=1" });
  expect(request?.headers["x-mark"]).toBe("m");
  expect(new Uint8Array(request?.body ?? [])).toEqual(bytes);
});

test("each path answers by its own behaviour, which sees how many requests came before", async () => {
  await using receiver = startReceiver();
  const url = receiver.at("flaky", (_, nth) => new Response(null, { status: nth === 1 ? 500 : 200 }));
  const statuses = [await fetch(url), await fetch(url), await fetch(receiver.url("other"))].map(
    (r) => r.status,
  );
  expect(statuses).toEqual([500, 200, 204]);
});

test("waiting ends with the request that completes the count", async () => {
  await using receiver = startReceiver();
  const arrived = receiver.arrived("orders", 2);
  await fetch(receiver.url("orders"));
  await fetch(receiver.url("orders"));
  expect(await arrived).toHaveLength(2);
});

test("waiting in vain is rejected with what did arrive", async () => {
  await using receiver = startReceiver();
  await fetch(receiver.url("other"));
  await expect(receiver.arrived("orders", 1, 1)).rejects.toThrow(
    "/orders got 0 of 1 requests in 1 ms (all: /other: 1)",
  );
});

test("closing cuts a request that hangs", async () => {
  const receiver = startReceiver();
  const answer = fetch(receiver.at("stuck", hang));
  await receiver.arrived("stuck");
  await receiver.close();
  await expect(answer).rejects.toThrow();
});

const delivery = (headers: Record<string, string>, body: string): ReceivedRequest => ({
  method: "POST",
  target: "/",
  headers,
  body: Buffer.from(body),
  arrivedAt: 0,
});

test("a delivery is verified by the published library, and a changed byte is found", () => {
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const at = new Date();
  const signature = new Webhook(secret).sign("msg_1", at, '{"a":1}');
  const headers = {
    "webhook-id": "msg_1",
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": signature,
  };
  expect(verifyDelivery(delivery(headers, '{"a":1}'), secret)).toEqual({ a: 1 });
  expect(() => verifyDelivery(delivery(headers, '{"a":2}'), secret)).toThrow();
});

test("the published v1a vector holds, and no other body does", () => {
  const publicKey = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=";
  const headers = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature":
      "v1,AAAA v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==",
  };
  expect(isSignedByKey(delivery(headers, '{"test": 2432232314}'), publicKey)).toBe(true);
  expect(isSignedByKey(delivery(headers, '{"test": 2432232315}'), publicKey)).toBe(false);
});

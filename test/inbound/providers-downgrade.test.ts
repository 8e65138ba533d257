/**
 * Proofs that prove less than they seem to: a weaker one beside a better one, which is not read at all where
 * the source says so, and what a key signs that is no webhook.
 */
import { describe, expect, test } from "bun:test";
import type { InboundRequest } from "../../src/inbound/provider.ts";
import { jsonRequest, materialOf, NOW_MS, requestOf, withHeader, withoutHeader } from "./kit.ts";
import { genuine, materialFor, outcome, receive } from "./outcome.ts";
import { base64Mac, hashOf, hexMac, macOf } from "./recompute.ts";

describe("Segment", () => {
  const first = '{"type":"track","event":"A","messageId":"1"}';
  const spaced = '{ "type": "track", "event": "A", "messageId": "1" }';
  const signature = { "x-signature": macOf("sha1", "s", "hex", first) };
  const refusing = materialOf(["s"], { config: { batches: "refused" } });
  const taking = materialOf(["s"], { config: { batches: "taken" } });

  test("refuses a batch of several where the source refuses batches", async () => {
    for (const body of [`[${first},{"messageId":"forged"}]`, `[${first},1]`, "[]"])
      expect(await outcome("segment", jsonRequest(body, signature), refusing)).toBe("malformed");
    expect(await outcome("segment", jsonRequest("[]", signature), taking)).toBe("malformed");
    for (const body of [first, `[${first}]`])
      expect(await receive("segment", jsonRequest(body, signature), refusing)).toMatchObject({
        deliveryId: expect.stringMatching(/^1\|[0-9a-f]{64}$/),
      });
  });

  test("an event in which a name stands twice proves nothing: a reader may take another than was signed", async () => {
    const twice = '{"type":"track","event":"B","event":"A","messageId":"1"}';
    for (const material of [refusing, taking])
      expect(await outcome("segment", jsonRequest(`[${twice}]`, signature), material)).toBe("bad_signature");
  });

  test("where it takes them, the first event is signed, as it stands or written anew, and that once", async () => {
    for (const element of [first, spaced]) {
      const request = jsonRequest(`[${element},{"messageId":"2"}]`, signature);
      expect(await receive("segment", request, taking)).toMatchObject({
        type: "segment.track.A",
        deliveryId: expect.stringMatching(/^1,2\|[0-9a-f]{64}$/),
        proof: { id: signature["x-signature"], keptSeconds: 2_592_000 },
      });
    }
  });
});

describe("HubSpot", () => {
  const without = (request: InboundRequest, ...names: string[]) =>
    names.reduce((rest, name) => withoutHeader(rest, name), request);

  test("v1 beside a wrong v3, or where v3 was taken out, does not save the request", async () => {
    const request = await genuine("hubspot");
    const wrong = withHeader(request, "x-hubspot-signature-v3", "d3Jvbmc=");
    const cut = without(request, "x-hubspot-signature-v3");
    const bare = without(cut, "x-hubspot-request-timestamp");
    const material = materialFor("hubspot");
    const strict = { ...material, config: { signature_versions: "v3" } };
    const outcomes = (each: typeof material) =>
      Promise.all([wrong, cut, bare].map((one) => outcome("hubspot", one, each)));
    expect(await outcomes(material)).toEqual(["bad_signature", "missing_header", "event"]);
    expect(await outcomes(strict)).toEqual(["bad_signature", "missing_header", "missing_header"]);
  });
});

/** What the key of a source signs beside its webhooks, as others than the receiver see it. */
const OTHER_TEXTS: Readonly<Record<string, (secret: string) => InboundRequest>> = {
  // https://cloudinary.com/documentation/authentication_signatures: of an upload from a browser.
  cloudinary: (secret) => {
    const signature = hashOf("sha1", "hex", `folder=user-uploads&timestamp=${NOW_MS / 1000}`, secret);
    const headers = { "x-cld-timestamp": String(NOW_MS / 1000), "x-cld-signature": signature };
    return requestOf({ body: "folder=user-uploads&timestamp=", headers });
  },
  // https://developers.facebook.com/docs/reference/login/signed-request
  meta: (secret) => {
    const payload = Buffer.from('{"algorithm":"HMAC-SHA256","user_id":"1"}').toString("base64url");
    return requestOf({
      body: payload,
      headers: { "x-hub-signature-256": `sha256=${hexMac(secret, payload)}` },
    });
  },
  // https://pusher.com/docs/channels/library_auth_reference/auth-signatures
  pusher: (secret) => {
    const text = "1234.1234:private-foobar";
    const headers = { "x-pusher-key": "app-key", "x-pusher-signature": hexMac(secret, text) };
    return requestOf({ body: text, headers });
  },
  // https://shopify.dev/docs/apps/build/authentication-authorization/access-tokens/authorization-code-grant
  shopify: (secret) => {
    const query =
      "code=0907a61c0c8d55e99db179b68161bc00&shop=some-shop.myshopify.com&state=0.6&timestamp=1337178173";
    const headers = { "x-shopify-hmac-sha256": base64Mac(secret, query), "x-shopify-topic": "orders/create" };
    return requestOf({ body: query, headers: { ...headers, "x-shopify-webhook-id": "w" } });
  },
  // https://getstream.io/chat/docs/node/tokens_and_authentication/
  stream: (secret) => {
    const parts = [{ alg: "HS256", typ: "JWT" }, { user_id: "john" }];
    const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
    return requestOf({ body: text, headers: { "x-signature": hexMac(secret, text) } });
  },
};

test.each(Object.entries(OTHER_TEXTS))(
  "a text that %s's key signs elsewhere is no event",
  async (key, sign) => {
    const material = materialFor(key);
    expect((await receive(key, await genuine(key), material)).kind).toBe("event");
    expect(await outcome(key, sign(material.secrets[0] ?? ""), material)).toBe("malformed");
  },
);

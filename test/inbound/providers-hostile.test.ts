/** What anyone could have signed, and what would make a forged request cost much. */
import { expect, test } from "bun:test";
import { jsonRequest, materialOf, requestOf, SOURCE_URL, withHeader } from "./kit.ts";
import { genuine, materialFor, outcome, receive } from "./outcome.ts";
import { hashOf, macOf } from "./recompute.ts";

const FORM = { "content-type": "application/x-www-form-urlencoded" };

test("X: no text is answered as a challenge and taken as an event as well", async () => {
  const material = materialOf(["s"]);
  const challenge = (token: string) =>
    requestOf({ method: "GET", url: `${SOURCE_URL}?crc_token=${encodeURIComponent(token)}` });
  const forged = '{"tweet_create_events":[]}';
  expect(await outcome("x", challenge(forged), material)).toBe("malformed");
  for (const token of ["MTQ4NjY5", "a.b~c", "true"]) {
    const answer = await receive("x", challenge(token), material);
    const { response_token: signature } = JSON.parse(answer.kind === "answer" ? answer.body : "{}") as {
      response_token: string;
    };
    const event = jsonRequest(token, { "x-twitter-webhooks-signature": signature });
    expect(await outcome("x", event, material)).toBe("malformed");
  }
});

test("HubSpot: a hash that is lengthened by anything but JSON is refused", async () => {
  const body = `{"a":1}\u0080`;
  const signature = hashOf("sha256", "hex", `s${body}`);
  const request = jsonRequest(body, {
    "x-hubspot-signature": signature,
    "x-hubspot-signature-version": "v1",
  });
  const material = materialOf(["s"]);
  expect(await outcome("hubspot", request, material)).toBe("malformed");
});

test("public keys: of many signatures in one header only the first eight are checked", async () => {
  const request = await genuine("standard_webhooks_v1a");
  const right = request.headers.get("webhook-signature") ?? "";
  const wrong = `v1a,${Buffer.alloc(64).toString("base64")} `;
  const after = (count: number) =>
    outcome(
      "standard_webhooks_v1a",
      withHeader(request, "webhook-signature", wrong.repeat(count) + right),
      materialFor("standard_webhooks_v1a"),
    );
  expect([await after(7), await after(8)]).toEqual(["event", "bad_signature"]);
});

test("a form of more fields than any provider sends is not worked through", async () => {
  const material = materialOf(["s"]);
  const signed = (fields: number) => {
    const content = `${SOURCE_URL}${"a".repeat(fields === 0 ? 0 : 1)}`;
    const signature = macOf("sha1", "s", "base64", content);
    return requestOf({
      body: Array.from({ length: fields }, () => "a=").join("&"),
      headers: { ...FORM, "x-twilio-signature": signature },
    });
  };
  expect(await outcome("twilio", signed(2000), material)).toBe("event");
  expect(await outcome("twilio", signed(2001), material)).toBe("malformed");
  const long = requestOf({ body: "a=&".repeat(500_000), headers: FORM });
  const read = await receive("mailchimp", long, materialOf([]));
  expect(read.kind === "event" && read.data).toStartWith('{"raw":');
  for (const [key, header] of Object.entries({
    plivo: "x-plivo-signature-v3",
    mandrill: "x-mandrill-signature",
  })) {
    const request = withHeader(withHeader(long, header, "x"), "x-plivo-signature-v3-nonce", "n");
    expect(await outcome(key, request, material)).toBe("malformed");
  }
});

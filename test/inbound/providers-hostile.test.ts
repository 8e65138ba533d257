/** What anyone could have signed, and what would make a forged request cost much. */
import { expect, spyOn, test } from "bun:test";
import { limit } from "../../src/core/limits.ts";
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

/** The bytes that are hashed meanwhile. */
async function hashedBy(work: () => Promise<unknown>): Promise<number> {
  const parts = spyOn(Bun.CryptoHasher.prototype, "update");
  const wholes = spyOn(Bun.CryptoHasher, "hash");
  try {
    await work();
    const hashed = [
      ...parts.mock.calls.map(([part]) => part),
      ...wholes.mock.calls.map(([, whole]) => whole),
    ];
    return hashed.reduce((bytes, data) => bytes + Buffer.byteLength(data as string), 0);
  } finally {
    parts.mockRestore();
    wholes.mockRestore();
  }
}

test("hmac: a template that repeats what a stranger sends is not worked through where that is long", async () => {
  const config = { header: "x-sig", algorithm: "sha256", encoding: "hex", id_header: "x-id" };
  const verdictOn = (signed_content: string, body: string, id = "1") => {
    const text = signed_content.replaceAll("{body}", body).replaceAll("{id}", id);
    const headers = { "x-sig": macOf("sha256", "s", "hex", text), "x-id": id };
    const material = materialOf(["s"], { config: { ...config, signed_content } });
    return outcome("hmac", requestOf({ body, headers }), material);
  };
  // A source that was stored before {body} could stand only once goes on, while its bodies are small.
  const often = "{body}".repeat(166);
  expect(await verdictOn(often, '{"a":1}')).toBe("event");
  expect(await verdictOn("{body}", "x".repeat(limit("ingestBodyBytesMax")))).toBe("event");

  const body = "x".repeat(limit("ingestBodyBytesMax"));
  const headers = { "x-sig": "ab".repeat(32) };
  const forged = requestOf({ body, headers });
  const material = materialOf(["s", "t"], { config: { ...config, signed_content: often } });
  expect(await hashedBy(() => outcome("hmac", forged, material))).toBeLessThan(body.length);
  expect(await outcome("hmac", forged, material)).toBe("too_large");
  expect(await verdictOn("{body}" + "|{id}".repeat(190), "{}", "i".repeat(15_000))).toBe("too_large");
});

test("Microsoft Graph: a secret is compared once, however many notifications a stranger sends", async () => {
  const secret = "s".repeat(8192);
  const sent = (states: string[]) =>
    jsonRequest(JSON.stringify({ value: states.map((clientState) => ({ clientState })) }), {});
  const material = materialOf([secret]);
  const forged = sent(Array.from({ length: 10_000 }, () => ""));
  expect(await hashedBy(() => outcome("microsoft_graph", forged, material))).toBeLessThan(1_000_000);
  expect(await outcome("microsoft_graph", sent([secret, secret]), material)).toBe("event");
  for (const states of [[secret, "t"], ["t", secret], [""]])
    expect(await outcome("microsoft_graph", sent(states), material)).toBe("bad_signature");
});

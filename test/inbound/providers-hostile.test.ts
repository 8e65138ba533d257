/** What anyone could have signed, and what would make a forged request cost much. */
import { expect, spyOn, test } from "bun:test";
import { limit } from "../../src/core/limits.ts";
import type { InboundRequest } from "../../src/inbound/provider.ts";
import { INHERITED } from "../kit/respelled.ts";
import { CASES } from "./cases.ts";
import {
  jsonRequest,
  keysOf,
  materialOf,
  NOW_MS,
  NOW_SECONDS,
  requestOf,
  SOURCE_URL,
  textOf,
  withBody,
  withHeader,
  withUrl,
} from "./kit.ts";
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

test("AWS SNS: a version that no table has is refused by itself, also by a name that every object has", async () => {
  const [pem = ""] = Object.values(CASES["aws_sns"]?.keyDocuments ?? {});
  const request = await genuine("aws_sns");
  for (const SignatureVersion of ["3", ...INHERITED]) {
    const body = { ...(JSON.parse(textOf(request)) as object), SignatureVersion };
    const other = withBody(request, JSON.stringify(body));
    expect(await outcome("aws_sns", other, materialFor("aws_sns"), keysOf(pem))).toBe("wrong_key_id");
  }
});

test.each([
  ["us-east-1", null],
  ["us-gov-west-1", null],
  ["eu-isoe-west-1", null],
  // Objects of a bucket that is called sns.
  ["s3-us-west-2", "wrong_key_id"],
  ["s3-external-1", "wrong_key_id"],
  ["s3-accelerate", "wrong_key_id"],
])("AWS SNS: a certificate at sns.%s.amazonaws.com", async (region, refusal) => {
  const [pem = ""] = Object.values(CASES["aws_sns"]?.keyDocuments ?? {});
  const request = await genuine("aws_sns");
  const other = withBody(request, textOf(request).replaceAll("//sns.us-east-1.", `//sns.${region}.`));
  const found = await outcome("aws_sns", other, materialFor("aws_sns"), keysOf(pem));
  expect(found === "wrong_key_id" ? found : null).toBe(refusal);
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
  const most = limit("formFieldsMax");
  expect(await outcome("twilio", signed(most), material)).toBe("event");
  expect(await outcome("twilio", signed(most + 1), material)).toBe("malformed");
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

test("the widest forms that are genuine are read: a mail with 150 headers and 50 files, an audience with 60 groups", async () => {
  const [timestamp, token] = [String(NOW_SECONDS), "t".repeat(50)];
  const proof = { timestamp, token, signature: macOf("sha256", "s", "hex", timestamp, token) };
  const headers = Array.from({ length: 150 }, (_, at) => [`X-Header-${at}`, "a"] as const);
  const files = Array.from({ length: 50 }, (_, at) => [`attachment-${at + 1}`, "a"] as const);
  const mail = { recipient: "a@b.example", ...Object.fromEntries([...headers, ...files]), ...proof };
  const merges = Array.from({ length: 80 }, (_, at) => [`data[merges][M${at}]`, "a"] as const);
  const groups = Array.from({ length: 60 }, (_, at) =>
    ["id", "unique_id", "name", "groups"].map(
      (name) => [`data[merges][GROUPINGS][${at}][${name}]`, "a"] as const,
    ),
  );
  const member = { type: "profile", ...Object.fromEntries([...merges, ...groups.flat()]) };
  for (const [key, fields] of [
    ["mailgun", mail],
    ["mailchimp", member],
  ] as const) {
    const body = new URLSearchParams(fields).toString();
    const read = await receive(key, requestOf({ body, headers: FORM }), materialOf(["s"]));
    const data: unknown = read.kind === "event" ? JSON.parse(read.data) : read;
    expect(data).toMatchObject(key === "mailgun" ? { ...fields, signature: "***" } : fields);
  }
});

test("a form is decoded once before it is verified, and once more as what might be JSON", async () => {
  const decodedFor = async (key: string, request: InboundRequest) => {
    using decode = spyOn(TextDecoder.prototype, "decode");
    return [await outcome(key, request, materialFor(key)), decode.mock.calls.length];
  };
  const proof = { timestamp: String(NOW_SECONDS), token: "t" };
  const fields = { mandrill_events: "[]", bt_signature: "a|b", bt_payload: "a", ...proof, signature: "x" };
  const body = new URLSearchParams(fields).toString();
  for (const key of ["twilio", "plivo", "mandrill", "braintree", "mailgun"]) {
    const names = ["x-twilio-signature", "x-plivo-signature-v3", "x-mandrill-signature"];
    const headers = Object.fromEntries([...names, "x-plivo-signature-v3-nonce"].map((name) => [name, "x"]));
    const forged = await decodedFor(key, requestOf({ body, headers: { ...FORM, ...headers } }));
    expect(forged, key).toEqual([key === "braintree" ? "unknown_key" : "bad_signature", 1]);
  }
  for (const key of ["twilio", "plivo", "mandrill"])
    expect(await decodedFor(key, await genuine(key)), key).toEqual(["event", 2]);
});

test("a token of very many parts, or a header of many pairs, is taken apart as far as one has them", async () => {
  const worked = async (key: string, header: string, value: string) => {
    const request = withHeader(await genuine(key), header, value);
    using from = spyOn(Buffer, "from");
    using startsWith = spyOn(String.prototype, "startsWith");
    expect(await outcome(key, request, materialFor(key)), key).not.toBe("event");
    return from.mock.calls.length + startsWith.mock.calls.length;
  };
  const dots = ".".repeat(15_000);
  for (const [key, header, value] of [
    ["monday", "authorization", dots],
    ["google_pubsub", "authorization", `Bearer ${dots}`],
    ["plaid", "plaid-verification", dots],
    ["fireblocks", "fireblocks-webhook-signature", dots],
    ["coinbase_cdp", "x-hook0-signature", `t=${NOW_SECONDS},${"v1=a,".repeat(3000)}`],
  ] as const)
    expect(await worked(key, header, value), key).toBeLessThan(500);
});

test("HubSpot: each escape that it decodes before it signs is decoded, none by itself", async () => {
  const escapes = "%3A%2F%3F%40%21%24%27%28%29%2A%2C%3B%3a%2f%3f%2a%2c%3b";
  const signed = (query: string, meant: string) => {
    const at = String(NOW_MS);
    const text = `POST${SOURCE_URL}?a=${meant}{}${at}`;
    const headers = {
      "x-hubspot-signature-v3": macOf("sha256", "s", "base64", text),
      "x-hubspot-request-timestamp": at,
    };
    return withUrl(jsonRequest("{}", headers), `${SOURCE_URL}?a=${query}`);
  };
  const material = materialOf(["s", "t"]);
  const genuinely = signed(`%25${escapes}%20`, `%25${decodeURIComponent(escapes)}%20`);
  expect(await outcome("hubspot", genuinely, material)).toBe("event");
  const forged = signed("%3A".repeat(2500), "");
  using decode = spyOn(globalThis, "decodeURIComponent");
  expect(await outcome("hubspot", forged, material)).toBe("bad_signature");
  expect(decode).not.toHaveBeenCalled();
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
});

test("hmac: a template that was stored and repeats id or time makes little more of a request's head", async () => {
  const base = { header: "x-sig", algorithm: "sha512", encoding: "hex" };
  for (const [name, often] of [
    ["id", 139],
    ["timestamp", 85],
  ] as const) {
    const signed_content = `${`{${name}}`.repeat(often)}{body}`;
    const config = { ...base, [`${name}_header`]: "x-v", signed_content };
    const material = materialOf(["s", "t"], { config });
    const sent = (value: string, body: string) => {
      const signature = macOf("sha512", "s", "hex", value.repeat(often) + body);
      return jsonRequest(body, { "x-sig": signature, "x-v": value });
    };
    const large = JSON.stringify({ a: "x".repeat(limit("ingestBodyBytesMax") - 100) });
    for (const body of ['{"a":1}', large])
      expect(await outcome("hmac", sent(String(NOW_SECONDS), body), material)).toBe("event");
    const forged = sent("1".repeat(15_000), "{}");
    expect(await hashedBy(() => outcome("hmac", forged, material))).toBeLessThan(3 * forged.body.length + 64);
    expect(await outcome("hmac", forged, material)).toBe("too_large");
  }
  // As long as any head, and its Latin-1 letters are two bytes each.
  const config = { ...base, id_header: "x-v", signed_content: "{id}.{body}" };
  const id = "é".repeat(15_000);
  const once = jsonRequest("{}", { "x-sig": macOf("sha512", "s", "hex", `${id}.{}`), "x-v": id });
  expect(await outcome("hmac", once, materialOf(["s"], { config }))).toBe("event");
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

/** Its proof stands in the body, and is genuine; what stands beside it no proof covers. */
test.each([
  ["adyen", '"live":'],
  ["aws_sns", '"Type":'],
  ["dropbox_sign", '"signature_request":'],
  ["mailgun", '"event-data":'],
  ["microsoft_graph", '"clientState":'],
])("%s: what is no JSON beside its proof is refused, and a name that stands twice", async (key, before) => {
  const request = await genuine(key);
  const [document = null] = Object.values(CASES[key]?.keyDocuments ?? {});
  const beside = (text: string) => {
    const body = textOf(request).replace(before, () => text + before);
    return outcome(key, withBody(request, body), materialFor(key), keysOf(document));
  };
  expect(await beside('"beside":1,')).toBe("event");
  for (const text of ['"beside":x,', '"beside":,', "x", ",", '"a":1,"\\u0061":1,'])
    expect(await beside(text)).toBeOneOf(["malformed", "missing_header", "bad_signature"]);
});

test("Microsoft Graph: each of its notifications has to hold the secret", async () => {
  const [secret = ""] = CASES["microsoft_graph"]?.secrets ?? [];
  const send = (...states: unknown[]) =>
    outcome(
      "microsoft_graph",
      jsonRequest(JSON.stringify({ value: states.map((clientState) => ({ clientState })) }), {}),
      materialOf([secret]),
    );
  expect(await send(secret, secret)).toBe("event");
  for (const other of ["another", null, undefined, 1, [secret]]) {
    expect(await send(secret, secret, other)).toBe("bad_signature");
    expect(await send(other, secret)).not.toBe("event");
  }
});

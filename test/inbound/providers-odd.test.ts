import { describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import twilio from "twilio";
import { CASES } from "./cases.ts";
import { control } from "./cases/certified.ts";
import {
  jsonRequest,
  keysOf,
  materialOf,
  NOW_MS,
  requestOf,
  SOURCE_URL,
  withBody,
  withHeader,
  withUrl,
} from "./kit.ts";
import { genuine, materialFor, outcome, receive } from "./outcome.ts";
import { hashOf, hexMac, macOf } from "./recompute.ts";

/** What single providers do beside the walk over the table. */

const FORM = { "content-type": "application/x-www-form-urlencoded" };

test("Coinbase's signed headers are the same event wherever their joined values are cut", async () => {
  const request = await genuine("coinbase_cdp");
  const cut = withHeader(
    withHeader(request, "x-event-id", "e-1.onchain.activity"),
    "x-event-type",
    "detected",
  );
  const material = materialFor("coinbase_cdp");
  const [one, other] = [
    await receive("coinbase_cdp", request, material),
    await receive("coinbase_cdp", cut, material),
  ];
  expect(one).toMatchObject({ kind: "event" });
  expect(other).toEqual(one);
});

describe("handshakes that come unsigned", () => {
  test("Asana's secret comes by POST, and is no longer than one that an owner enters", async () => {
    const asking = (secret: string, method = "POST") =>
      outcome("asana", { ...jsonRequest("{}", { "x-hook-secret": secret }), method }, materialOf([]));
    expect(await asking("a".repeat(8192))).toBe("answer");
    for (const secret of ["a".repeat(8193), "a b"]) expect(await asking(secret)).toBe("malformed");
    for (const method of ["GET", "HEAD", "OPTIONS"]) expect(await asking("a", method)).toBe("wrong_method");
  });

  test("Asana's secret is taken once; a later one replaces nothing", async () => {
    const request = jsonRequest("{}", { "x-hook-secret": "an attacker's" });
    expect(await outcome("asana", request, materialOf(["learned"]))).toBe("unknown_key");
    expect(await outcome("asana", jsonRequest("{}", { "x-hook-secret": "" }), materialOf([]))).toBe(
      "missing_header",
    );
  });

  test("Notion's token is taken once, and only from a body that is nothing else", async () => {
    const token = jsonRequest('{"verification_token":"secret_2"}', {});
    expect(await outcome("notion", token, materialOf(["secret_1"]))).toBe("missing_header");
    const more = jsonRequest('{"verification_token":"secret_2","id":"x"}', {});
    expect(await outcome("notion", more, materialOf([]))).toBe("missing_header");
  });

  test("Meta's challenge needs the right verify token, and the token never stands in for a signature", async () => {
    const ask = (token: string, method = "GET") =>
      requestOf({
        method,
        url: `${SOURCE_URL}?hub.mode=subscribe&hub.challenge=1&hub.verify_token=${token}`,
      });
    const material = materialOf(["app secret"], { credentials: { verify_token: "ours" } });
    expect(await outcome("meta", ask("ours"), material)).toBe("answer");
    expect(await outcome("meta", ask("theirs"), material)).toBe("bad_signature");
    expect(await outcome("meta", ask("ours"), materialOf(["app secret"]))).toBe("awaiting_secret");
    expect(await outcome("meta", ask("ours", "POST"), material)).toBe("missing_header");
  });

  test("X's CRC and Braintree's challenge are refused while there is nothing to sign with", async () => {
    const crc = requestOf({ method: "GET", url: `${SOURCE_URL}?crc_token=foo` });
    expect(await outcome("x", crc, materialOf([]))).toBe("awaiting_secret");
    const challenge = (text: string) =>
      requestOf({ method: "GET", url: `${SOURCE_URL}?bt_challenge=${text}` });
    expect(await outcome("braintree", challenge("20f9f8ed05f77439fe955c977e4c8a53"), materialOf([]))).toBe(
      "awaiting_secret",
    );
    expect(await outcome("braintree", challenge("not-hex"), materialFor("braintree"))).toBe("malformed");
  });

  test("Mandrill's published test key opens nothing but an empty batch", async () => {
    const signed = (events: string) => {
      const signature = macOf("sha1", "test-webhook", "base64", `${SOURCE_URL}mandrill_events${events}`);
      const body = new URLSearchParams({ mandrill_events: events }).toString();
      return requestOf({ body, headers: { ...FORM, "x-mandrill-signature": signature } });
    };
    expect(await outcome("mandrill", signed("[]"), materialOf(["key"]))).toBe("answer");
    expect(await outcome("mandrill", signed('[{"event":"send"}]'), materialOf(["key"]))).toBe(
      "bad_signature",
    );
    const unsigned = requestOf({ body: "mandrill_events=%5B%5D", headers: FORM });
    expect(await outcome("mandrill", unsigned, materialOf(["key"]))).toBe("missing_header");
  });

  test("WooCommerce's ping is nothing but a number, and has no signature", async () => {
    for (const body of ["webhook_id=7&x=1", "webhook_id=", "webhook_id=7 "]) {
      expect(await outcome("woocommerce", requestOf({ body, headers: FORM }), materialOf(["s"]))).toBe(
        "missing_header",
      );
    }
    const signed = requestOf({ body: "webhook_id=7", headers: { ...FORM, "x-wc-webhook-signature": "x" } });
    expect(await outcome("woocommerce", signed, materialOf(["s"]))).toBe("bad_signature");
  });

  test("monday's challenge is no event that happens to have a challenge", async () => {
    const body = '{"challenge":"x","event":{"type":"create_pulse"}}';
    expect(await outcome("monday", jsonRequest(body, {}), materialOf(["s"]))).toBe("missing_header");
  });

  test("Microsoft Graph's token is echoed as plain text that no browser takes for a page", async () => {
    const request = requestOf({ url: `${SOURCE_URL}?validationToken=%3Cscript%3E` });
    const headers = { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" };
    expect(await receive("microsoft_graph", request, materialOf([]))).toEqual({
      kind: "answer",
      status: 200,
      headers,
      body: "<script>",
    });
  });
});

describe("what the provider is told", () => {
  test.each([
    ["supabase", 204, ""],
    ["xero", 200, ""],
    ["telegram", 200, ""],
    ["discord", 204, ""],
    ["microsoft_graph", 202, ""],
    ["adyen", 200, "[accepted]"],
    ["dropbox_sign", 200, "Hello API Event Received"],
    ["twilio", 200, "<Response/>"],
    ["github", 200, '{"id":"evt_1"}'],
  ])("%s: %d", async (key, status, body) => {
    const reception = await receive(key, await genuine(key), materialFor(key));
    expect(reception.kind === "event" && reception.answer("evt_1", false)).toMatchObject({ status, body });
  });

  test("a Slack command is answered with nothing, for Slack shows the answer to its user", async () => {
    const body = "command=%2Fdeploy&text=now&trigger_id=t-1";
    const at = String(NOW_MS / 1000);
    const signature = `v0=${hexMac("s", `v0:${at}:${body}`)}`;
    const headers = { ...FORM, "x-slack-request-timestamp": at, "x-slack-signature": signature };
    const reception = await receive("slack", requestOf({ body, headers }), materialOf(["s"]));
    expect(reception).toMatchObject({ kind: "event", type: "slack.deploy", deliveryId: "t-1" });
    expect(reception.kind === "event" && reception.answer("evt_1", false).body).toBe("");
  });
});

test("Slack's verification token is masked in an event, a command and an interaction; without one all is as it came", async () => {
  const token = "xyzz0WbapA4vBCDEFasx0q6G";
  const at = String(NOW_MS / 1000);
  const dataOf = async (body: string) => {
    const signature = `v0=${hexMac("s", `v0:${at}:${body}`)}`;
    const headers = { "x-slack-request-timestamp": at, "x-slack-signature": signature };
    const reception = await receive("slack", requestOf({ body, headers }), materialOf(["s"]));
    return reception.kind === "event" ? reception.data : reception.kind;
  };
  const event = { event: { type: "message", text: token }, event_id: "Ev1" };
  expect(await dataOf(JSON.stringify({ token, ...event }))).toBe(JSON.stringify({ token: "***", ...event }));
  expect(await dataOf(JSON.stringify(event))).toBe(JSON.stringify(event));
  const command = (value: string) => ({ token: value, command: "/deploy", trigger_id: "t" });
  expect(await dataOf(new URLSearchParams(command(token)).toString())).toBe(JSON.stringify(command("***")));
  const action = (value: string) => ({ type: "block_actions", token: value, trigger_id: "t" });
  const payload = new URLSearchParams({ payload: JSON.stringify(action(token)) }).toString();
  expect(await dataOf(payload)).toBe(JSON.stringify({ payload: action("***") }));
  expect(await dataOf(`{"token":"${token}","token":"another","event_id":"Ev1"}`)).toBe("refused");
});

describe("Twilio", () => {
  test("signs a JSON body by its hash in the address", async () => {
    const body = '{"a":1}';
    const url = `${SOURCE_URL}?bodySHA256=${hashOf("sha256", "hex", body)}`;
    const signature = twilio.getExpectedTwilioSignature("token", url, {});
    const headers = { "content-type": "application/json", "x-twilio-signature": signature };
    expect(await outcome("twilio", requestOf({ url, body, headers }), materialOf(["token"]))).toBe("event");
    expect(await outcome("twilio", requestOf({ url, body: '{"a":2}', headers }), materialOf(["token"]))).toBe(
      "body_altered",
    );
    expect(await outcome("twilio", requestOf({ body, headers }), materialOf(["token"]))).toBe("malformed");
  });

  test("may sign the address with its default port; equal values of a name count once", async () => {
    const withPort = SOURCE_URL.replace("example.com", "example.com:443");
    const signature = twilio.getExpectedTwilioSignature("token", withPort, { b: "2", a: ["1", "1", "0"] });
    const request = requestOf({
      body: "b=2&a=1&a=1&a=0",
      headers: { ...FORM, "x-twilio-signature": signature },
    });
    expect(await outcome("twilio", request, materialOf(["token"]))).toBe("event");
  });
});

describe("RevenueCat", () => {
  const withToken = (value: string) => jsonRequest('{"event":{"id":"1"}}', { authorization: value });

  test("without a signature the Authorization value is compared whole", async () => {
    const material = materialOf([], { credentials: { authorization: "Bearer typed" } });
    expect(await outcome("revenuecat", withToken("Bearer typed"), material)).toBe("event");
    expect(await outcome("revenuecat", withToken("typed"), material)).toBe("bad_signature");
    expect(await outcome("revenuecat", jsonRequest("{}", {}), material)).toBe("missing_header");
    const inBoth = withUrl(withToken("Bearer typed"), `${SOURCE_URL}?authorization=Bearer+typed`);
    expect(await outcome("revenuecat", inBoth, material)).toBe("token_in_query");
  });

  test("where a signing secret was entered, the Authorization value alone is not enough", async () => {
    const material = materialOf(["signing"], { credentials: { authorization: "Bearer typed" } });
    expect(await outcome("revenuecat", withToken("Bearer typed"), material)).toBe("bad_signature");
  });

  test("where both come, both must be right", async () => {
    const material = materialOf(materialFor("revenuecat").secrets, {
      credentials: { authorization: "typed" },
    });
    const request = await genuine("revenuecat");
    expect(await outcome("revenuecat", request, material)).toBe("bad_signature");
    expect(await outcome("revenuecat", withHeader(request, "authorization", "typed"), material)).toBe(
      "event",
    );
  });
});

describe("Upstash QStash", () => {
  test("accepts the next signing key beside the current one", async () => {
    const [secret = ""] = materialFor("qstash").secrets;
    const material = materialOf(["the current one"], { credentials: { next_signing_key: secret } });
    expect(await outcome("qstash", await genuine("qstash"), material)).toBe("event");
  });
});

describe("Pusher", () => {
  test("refuses the key of another app", async () => {
    const request = withHeader(await genuine("pusher"), "x-pusher-key", "another-app");
    expect(await outcome("pusher", request, materialFor("pusher"))).toBe("wrong_key_id");
  });
});

describe("AWS SNS", () => {
  test("confirms a subscription at AWS's own address only, however well the message is signed", async () => {
    const [pem = ""] = Object.values(CASES["aws_sns"]?.keyDocuments ?? {});
    const keys = keysOf(pem);
    const confirm = (url: string) =>
      outcome("aws_sns", control("SubscriptionConfirmation", NOW_MS, url), materialFor("aws_sns"), keys);
    expect(await confirm("https://sns.eu-central-1.amazonaws.com/?Action=ConfirmSubscription")).toBe(
      "answer",
    );
    expect(await confirm("https://example.com/?Action=ConfirmSubscription")).toBe("malformed");
    expect(await confirm("https://sns.eu-central-1.amazonaws.com@example.com/?x")).toBe("malformed");
    expect(await confirm("http://sns.eu-central-1.amazonaws.com/?x")).toBe("malformed");
  });
});

describe("Stream", () => {
  test("reads a plain body too, and refuses a compressed one that bursts the limit", async () => {
    const body = '{"type":"x"}';
    const plain = jsonRequest(body, { "x-signature": hexMac("s", body) });
    expect(await outcome("stream", plain, materialOf(["s"]))).toBe("event");
    const bomb = gzipSync(new Uint8Array(64 * 1024 * 1024));
    const packed = withHeader(withBody(plain, bomb), "content-encoding", "gzip");
    expect(await outcome("stream", packed, materialOf(["s"]))).toBe("malformed");
    expect(await outcome("stream", withHeader(plain, "content-encoding", "gzip"), materialOf(["s"]))).toBe(
      "malformed",
    );
  });
});

describe("Microsoft Graph", () => {
  test("masks clientState wherever a notification has it, and nothing else", async () => {
    const body =
      '{"value":[{"id":"1","clientState":"tök\\"en"},{"clientState" : "tök\\"en","id":"2"}],"clientState":"mine"}';
    const reception = await receive("microsoft_graph", jsonRequest(body, {}), materialOf(['tök"en']));
    expect(reception.kind === "event" && reception.data).toBe(
      '{"value":[{"id":"1","clientState":"***"},{"clientState" : "***","id":"2"}],"clientState":"mine"}',
    );
  });
});

describe("Contentful", () => {
  test("refuses a list of signed headers that leaves out the time, or itself", async () => {
    const { secrets } = materialFor("contentful");
    const at = String(NOW_MS);
    for (const list of ["x-contentful-signed-headers", "x-contentful-timestamp", "x-contentful-topic"]) {
      const headers: Record<string, string> = {
        "x-contentful-timestamp": at,
        "x-contentful-signed-headers": list,
      };
      const content = `POST\n${new URL(SOURCE_URL).pathname}\n${list}:${headers[list] ?? ""}\n{}`;
      const signed = { ...headers, "x-contentful-signature": hexMac(secrets[0] ?? "", content) };
      expect(await outcome("contentful", jsonRequest("{}", signed), materialOf(secrets))).toBe("malformed");
    }
  });
});

describe("Meta", () => {
  test("knows a message of Messenger or Instagram again by its id, and from its being taken back", async () => {
    const told = async (message: object) => {
      const entry = [{ id: "1", time: 1, messaging: [{ sender: { id: "2" }, message }] }];
      const body = JSON.stringify({ object: "instagram", entry });
      const request = jsonRequest(body, { "x-hub-signature-256": `sha256=${hexMac("s", body)}` });
      const reception = await receive("instagram", request, materialOf(["s"]));
      return reception.kind === "event" ? reception : null;
    };
    const [sent, again] = [await told({ mid: "m_1", text: "hi" }), await told({ mid: "m_1", text: "hi" })];
    const takenBack = await told({ mid: "m_1", is_deleted: true });
    expect(sent?.deliveryId).toStartWith("m_1|");
    expect(again?.deliveryId).toBe(sent?.deliveryId ?? null);
    expect(takenBack?.deliveryId).toStartWith("m_1|");
    expect(takenBack?.deliveryId).not.toBe(sent?.deliveryId ?? null);
    expect(sent?.dedupSeconds).toBeGreaterThan(86_400);
  });

  test("tells the states of one message apart", async () => {
    const state = async (status: string) => {
      const value = { statuses: [{ id: "wamid.A", status }] };
      const body = JSON.stringify({
        object: "whatsapp_business_account",
        entry: [{ changes: [{ field: "messages", value }] }],
      });
      const request = jsonRequest(body, { "x-hub-signature-256": `sha256=${hexMac("s", body)}` });
      const reception = await receive("meta", request, materialOf(["s"]));
      return reception.kind === "event" ? reception.deliveryId : null;
    };
    expect(await state("sent")).toStartWith("wamid.A|sent|");
    expect(await state("read")).toStartWith("wamid.A|read|");
  });
});

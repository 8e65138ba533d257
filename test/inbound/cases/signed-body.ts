import { EventCallbackHelper, EventCallbackRequest } from "@dropbox/sign";
import type { InboundRequest } from "../../../src/inbound/provider.ts";
import type { ProviderCase } from "../case.ts";
import { jsonRequest, materialOf, NOW_MS, requestOf, SOURCE_URL, textOf, withBody } from "../kit.ts";
import { form, inParts, json } from "../near.ts";
import { base64Mac, hashOf, hexMac } from "../recompute.ts";
import { load, passes } from "../sdk.ts";

type Accepts = NonNullable<ProviderCase["accepts"]>;

/** Providers whose signature stands in the body. */

const SECRETS: [string, string] = ["a-webhook-secret", "another-webhook-secret"];
const FORM = { "content-type": "application/x-www-form-urlencoded" };

function replacing(from: string, to: string): (request: InboundRequest) => InboundRequest {
  return (request) => withBody(request, textOf(request).replace(from, to));
}

const ADYEN_KEYS: [string, string] = [
  "DFB1EB5485895CFA84146406857104ABB4CBCABDC8AAF103A624C8F6A3EAAB00",
  "00112233445566778899AABBCCDDEEFF00112233445566778899AABBCCDDEEFF",
];
const ADYEN_ITEM = {
  pspReference: "9914073381342284",
  merchantAccountCode: "TestMerchant",
  merchantReference: "TestPayment:1407325143704",
  amount: { value: 1130, currency: "EUR" },
  eventCode: "AUTHORISATION",
  success: "true",
};

function signAdyen(secret: string): InboundRequest {
  const content = "9914073381342284::TestMerchant:TestPayment:1407325143704:1130:EUR:AUTHORISATION:true";
  const hmacSignature = base64Mac(Buffer.from(secret, "hex"), content);
  const item = { ...ADYEN_ITEM, additionalData: { hmacSignature } };
  return jsonRequest(
    JSON.stringify({ live: "false", notificationItems: [{ NotificationRequestItem: item }] }),
    {},
  );
}

/** The colon of the merchant's reference parts others; the item comes twice, and beside none; a number. */
function recutAdyen(request: InboundRequest): InboundRequest[] {
  const shifted = {
    pspReference: "9914073381342284:",
    originalReference: "TestMerchant",
    merchantAccountCode: "TestPayment",
    merchantReference: "1407325143704",
  };
  const text = textOf(request);
  const { live, notificationItems } = JSON.parse(text) as {
    live: string;
    notificationItems: { NotificationRequestItem: object }[];
  };
  const [item] = notificationItems.map((entry) => entry.NotificationRequestItem);
  const lists = [
    [{ NotificationRequestItem: { ...item, ...shifted } }],
    [...notificationItems, ...notificationItems],
    [...notificationItems, "none"],
  ];
  return [
    ...lists.map((list) => withBody(request, JSON.stringify({ live, notificationItems: list }))),
    ...["9914073381342284", "9914073381342284.0", "99140733813422840e-1"].map((number) =>
      withBody(request, text.replace('"9914073381342284"', number)),
    ),
  ];
}

const ADYEN_VECTOR = {
  source: "Adyen/adyen-node-api-library src/__tests__/hmacValidator.spec.ts",
  request: jsonRequest(
    JSON.stringify({
      notificationItems: [
        {
          NotificationRequestItem: {
            pspReference: "pspReference",
            originalReference: "originalReference",
            merchantAccountCode: "merchantAccount",
            merchantReference: "reference",
            amount: { currency: "EUR", value: 1000 },
            eventCode: "CAPTURE",
            success: "true",
            additionalData: { hmacSignature: "xhpHvYq2u2Np0rstbZ6QjLGu7JWhvf7Iwaa6EviJSX0=" },
          },
        },
      ],
    }),
    {},
  ),
  material: materialOf([ADYEN_KEYS[0]]),
  nowMs: NOW_MS,
};

interface Gateway {
  webhookTesting: {
    sampleNotification(kind: string, id: string): { bt_signature: string; bt_payload: string };
  };
  webhookNotification: {
    parse(signature: string, payload: string): Promise<unknown>;
    verify(challenge: string): string;
  };
}
const braintree = load("braintree") as {
  BraintreeGateway: new (config: object) => Gateway;
  Environment: { Sandbox: unknown };
  WebhookNotification: { Kind: Readonly<Record<string, string>> };
};
const gateway = new braintree.BraintreeGateway({
  environment: braintree.Environment.Sandbox,
  merchantId: "merchant",
  publicKey: "integration_public_key",
  privateKey: "integration_private_key",
});
const BRAINTREE_CREDENTIALS = {
  public_key: "integration_public_key",
  private_key: "integration_private_key",
};

export const BRAINTREE_KINDS = Object.values(braintree.WebhookNotification.Kind);

export function signBraintree(kind: string, id = "my_id"): InboundRequest {
  const fields = new URLSearchParams({ ...gateway.webhookTesting.sampleNotification(kind, id) });
  return requestOf({ body: fields.toString(), headers: FORM });
}

const byBraintree: Accepts = (request) => {
  const fields = new URLSearchParams(textOf(request));
  return passes(() =>
    gateway.webhookNotification.parse(fields.get("bt_signature") ?? "", fields.get("bt_payload") ?? ""),
  );
};

const BRAINTREE_SAMPLE = signBraintree("subscription_went_past_due");
const BRAINTREE_XML = Buffer.from(
  new URLSearchParams(textOf(BRAINTREE_SAMPLE)).get("bt_payload") ?? "",
  "base64",
).toString();

/** Of the primary account; the source is one of its subaccounts'. */
const MAILGUN_PRIMARY = "the-primary-account-s-signing-key";

function signMailgun(secret: string, nowMs: number): InboundRequest {
  const timestamp = String(nowMs / 1000);
  const token = "8a1e1d3a9d8f5a3f5b7c0d6a1e2f3b4c5d6e7f8091a2b3c4d5";
  const signature = hexMac(secret, timestamp, token);
  const body = {
    signature: { timestamp, token, signature, "parent-signature": hexMac(MAILGUN_PRIMARY, timestamp, token) },
    "event-data": { id: "Ase7i2zsRYeDXztHGENqRA", event: "opened" },
  };
  return jsonRequest(JSON.stringify(body), {});
}

const SIGN_TYPE = "signature_request_sent";

function multipart(text: string): InboundRequest {
  const body = `--b0\r\nContent-Disposition: form-data; name="json"\r\n\r\n${text}\r\n--b0--\r\n`;
  return requestOf({ body, headers: { "content-type": "multipart/form-data; boundary=b0" } });
}

function signDropboxSign(secret: string, nowMs: number, event_type = SIGN_TYPE): InboundRequest {
  const event = { event_time: String(nowMs / 1000), event_type };
  const event_hash = hexMac(secret, event.event_time, event.event_type);
  return multipart(
    JSON.stringify({
      event: { ...event, event_hash },
      signature_request: { signature_request_id: "fa5c8a0b" },
    }),
  );
}

const byDropboxSign: Accepts = (request, secret) => {
  const text = /\r\n\r\n(.*)\r\n--b0--/.exec(textOf(request))?.[1] ?? "{}";
  return EventCallbackHelper.isValid(secret, EventCallbackRequest.init(JSON.parse(text)));
};

const signed = (signer: string, boundary?: string) =>
  inParts(
    "json",
    JSON.stringify({
      event: {
        event_time: "1",
        event_type: "signature_request_signed",
        event_metadata: { related_signature_id: signer },
      },
      signature_request: { signature_request_id: "r" },
    }),
    boundary ?? "a",
  );

const mailOf = (recipient: string, token: string, event?: string) => ({
  ...form({
    "Message-Id": "<1@example.com>",
    recipient,
    ...(event && { event }),
    token,
    timestamp: "1",
    signature: "s",
  }),
  proven: token,
});

/** Some with an id, some without. */
const BRAINTREE_NEAR = ["subscription_canceled", "oauth_access_revoked"].flatMap((kind) =>
  ["1", "2"].map((id) => ({ body: textOf(signBraintree(kind, id)), contentType: FORM["content-type"] })),
);

export const SIGNED_BODY_CASES: Readonly<Record<string, ProviderCase>> = {
  adyen: {
    secrets: ADYEN_KEYS,
    sign: signAdyen,
    vectors: [ADYEN_VECTOR],
    recut: recutAdyen,
    requiredHeaders: [],
    isBodySigned: false,
    alterations: [
      replacing("9914073381342284", "9914073381342285"),
      replacing('"value":1130', '"value":1131'),
      replacing("EUR", "USD"),
      replacing("AUTHORISATION", "CANCELLATION"),
      replacing('"success":"true"', '"success":"false"'),
      replacing("TestMerchant", "BestMerchant"),
      replacing("TestPayment", "BestPayment"),
      replacing('"pspReference"', '"originalReference":"x","pspReference"'),
      replacing("hmacSignature", "hmacSignatura"),
    ],
    expected: {
      type: "adyen.AUTHORISATION",
      deliveryId: "AUTHORISATION|9914073381342284|true",
    },
    near: {
      happenings: ["AUTHORISATION", "CAPTURE"].map((eventCode) =>
        json({
          notificationItems: [{ NotificationRequestItem: { eventCode, pspReference: "p", success: "true" } }],
        }),
      ),
      again: [
        json({
          live: "true",
          notificationItems: [
            { NotificationRequestItem: { eventCode: "AUTHORISATION", pspReference: "p", success: "true" } },
          ],
        }),
      ],
    },
  },
  braintree: {
    secrets: [],
    credentials: BRAINTREE_CREDENTIALS,
    isSignedBySdk: true,
    sign: () => BRAINTREE_SAMPLE,
    accepts: byBraintree,
    requiredHeaders: [],
    isBodySigned: false,
    alterations: [
      (request) => withBody(request, textOf(request).replace(/bt_payload=./, "bt_payload=0")),
      replacing("integration_public_key", "integration_other_key"),
      replacing("bt_signature", "bt_signatura"),
    ],
    wrong: { credentials: { ...BRAINTREE_CREDENTIALS, private_key: "another" } },
    expected: {
      type: "braintree.subscription_went_past_due",
      deliveryId: hashOf("sha256", "hex", BRAINTREE_XML),
    },
    handshakes: [
      {
        name: "bt_challenge",
        request: () =>
          requestOf({ method: "GET", url: `${SOURCE_URL}?bt_challenge=20f9f8ed05f77439fe955c977e4c8a53` }),
        answer: { status: 200, body: gateway.webhookNotification.verify("20f9f8ed05f77439fe955c977e4c8a53") },
      },
      { name: "check", request: () => signBraintree("check"), answer: { status: 200, body: "" } },
    ],
    near: {
      happenings: BRAINTREE_NEAR,
      again: BRAINTREE_NEAR.slice(0, 1),
    },
  },
  mailgun: {
    secrets: SECRETS,
    otherSecrets: [MAILGUN_PRIMARY],
    sign: signMailgun,
    requiredHeaders: [],
    isBodySigned: false,
    alterations: [replacing('"token":"8', '"token":"9'), replacing('"timestamp":"18', '"timestamp":"17')],
    window: { past: 900, future: 900 },
    expected: { type: "mailgun.opened", deliveryId: "Ase7i2zsRYeDXztHGENqRA" },
    near: {
      happenings: [
        ...["delivered", "complained", "dropped", "bounced"].map((event) => mailOf("a@x.com", "t1", event)),
        mailOf("b@x.com", "t1", "delivered"),
        mailOf("a@x.com", "t1"),
        mailOf("b@x.com", "t1"),
        // The same reader, twice: only the token differs.
        ...["opened", "clicked", "unsubscribed"].flatMap((event) =>
          ["1", "2"].map((token) => mailOf("a@x.com", `${event}-${token}`, event)),
        ),
      ],
      again: [mailOf("a@x.com", "t2", "delivered"), mailOf("a@x.com", "t3", "Delivered")],
    },
  },
  dropbox_sign: {
    secrets: SECRETS,
    sign: signDropboxSign,
    accepts: byDropboxSign,
    requiredHeaders: [],
    isBodySigned: false,
    alterations: [replacing("1800000000", "1800000001"), replacing("request_sent", "request_sign")],
    window: { past: 4 * 86_400, future: 300 },
    expected: {
      type: "dropbox_sign.signature_request_sent",
      deliveryId: "1800000000|signature_request_sent|fa5c8a0b",
    },
    signsTimeOfEvent: true,
    handshakes: [
      {
        name: "callback_test",
        request: (secret, nowMs) => signDropboxSign(secret, nowMs, "callback_test"),
        answer: { status: 200, body: "Hello API Event Received" },
      },
    ],
    near: { happenings: [signed("ann"), signed("bob")], again: [signed("ann", "other-boundary")] },
  },
};

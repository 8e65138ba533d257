import { signRequest, verifyRequest } from "@contentful/node-apps-toolkit";
import twilio from "twilio";
import type { InboundRequest } from "../../../src/inbound/provider.ts";
import type { ProviderCase } from "../case.ts";
import {
  headersOf,
  jsonRequest,
  materialOf,
  NOW_MS,
  requestOf,
  SOURCE_URL,
  textOf,
  withBody,
  withHeader,
  withUrl,
} from "../kit.ts";
import { form, json } from "../near.ts";
import { base64Mac, hashOf, macOf } from "../recompute.ts";
import { load, passes } from "../sdk.ts";
import { FIVE_MINUTES } from "./generic.ts";

type Accepts = NonNullable<ProviderCase["accepts"]>;

const SECRETS: [string, string] = ["a-webhook-secret", "another-webhook-secret"];
const FORM = { "content-type": "application/x-www-form-urlencoded" };
const HEAD = {
  name: "HEAD",
  request: () => requestOf({ method: "HEAD" }),
  answer: { status: 200, body: "" },
};

function otherAddress(request: InboundRequest): InboundRequest {
  return withUrl(request, request.url.replace("example", "exampel"));
}

/** Fields of a form as an object, as the SDKs take them. */
function fieldsOf(request: InboundRequest): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(textOf(request)));
}

function signatureOf(request: InboundRequest, header: string): string {
  return request.headers.get(header) ?? "";
}

function squareVector(key: string, url: string, body: string, signature: string) {
  const headers = { "content-type": "application/json", "x-square-hmacsha256-signature": signature };
  const source = "square/square-nodejs-sdk tests/integration/webhooks.test.ts";
  return { source, request: requestOf({ url, body, headers }), material: materialOf([key]), nowMs: NOW_MS };
}

const SQUARE_VECTORS = [
  squareVector(
    "Ibxx_5AKakO-3qeNVR61Dw",
    "https://webhook.site/679a4f3a-dcfa-49ee-bac5-9d0edad886b9",
    '{"merchant_id":"MLEFBHHSJGVHD","type":"webhooks.test_notification","event_id":"ac3ac95b-f97d-458c-a6e6-18981597e05f","created_at":"2022-07-13T20:30:59.037339943Z","data":{"type":"webhooks","id":"bc368e64-01aa-407e-b46e-3231809b1129"}}',
    "GF4YkrJgGBDZ9NIYbNXBnMzqb2HoL4RW/S6vkZ9/2N4=",
  ),
  squareVector(
    "signature-key",
    "https://webhook.site/webhooks",
    '{"data":{"type":"webhooks","id":">id<"}}',
    "Cxt7+aTi4rKgcA0bC4g9EHdVtLSDWdqccmL5MvihU4U=",
  ),
];

const SQUARE_BODY = JSON.stringify({ event_id: "e-1", type: "payment.created" });
const TRELLO_BODY = JSON.stringify({ action: { id: "a-1", type: "updateCard" }, model: {} });

/** A letter that was lost on its way to the provider: bytes that are no UTF-8 must not be taken for it. */
const LOST = "J\uFFFDrg";

/** Twilio's parameters, one value empty. */
const TWILIO_FIELDS = {
  MessageSid: "SM1",
  MessageStatus: "delivered",
  From: "+14158675309",
  Empty: "",
  Body: LOST,
};
const TWILIO_BODY = new URLSearchParams(TWILIO_FIELDS).toString();

const byTwilio: Accepts = (request, secret) =>
  twilio.validateRequest(secret, signatureOf(request, "x-twilio-signature"), request.url, fieldsOf(request));

const plivo = load("plivo") as {
  validateV3Signature(
    method: string,
    url: string,
    nonce: string,
    token: string,
    signature: string,
    form: object,
  ): boolean;
};
const PLIVO_URL = `${SOURCE_URL}?b=2&a=1`;
const PLIVO_BODY = `MessageUUID=m-1&Status=delivered&From=1415.5&Text=${encodeURIComponent(LOST)}`;

const byPlivo: Accepts = (request, secret) => {
  const [nonce, signature] = ["x-plivo-signature-v3-nonce", "x-plivo-signature-v3"].map((name) =>
    signatureOf(request, name),
  );
  return plivo.validateV3Signature(
    "POST",
    request.url,
    nonce ?? "",
    secret,
    signature ?? "",
    fieldsOf(request),
  );
};

const MANDRILL_EVENTS = JSON.stringify([{ event: "send", _id: "m-1", ts: 1, msg: { subject: LOST } }]);

function signMandrill(secret: string, events: string): InboundRequest {
  const signature = macOf("sha1", secret, "base64", `${SOURCE_URL}mandrill_events${events}`);
  const body = new URLSearchParams({ mandrill_events: events }).toString();
  return requestOf({ body, headers: { ...FORM, "x-mandrill-signature": signature } });
}

const HUBSPOT_BODY = JSON.stringify([
  { eventId: 1, subscriptionId: 3, subscriptionType: "contact.creation", occurredAt: 5 },
  { eventId: 2, subscriptionId: 4, subscriptionType: "deal.creation", occurredAt: 6 },
]);
const HUBSPOT_SECRET = "yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy";
const HUBSPOT_SOURCE = "HubSpot/hubspot-api-nodejs test/unit/signature.spec.ts";

const HUBSPOT_V1_VECTOR = {
  source: HUBSPOT_SOURCE,
  request: jsonRequest(
    '[{"eventId":1,"subscriptionId":12345,"portalId":62515,"occurredAt":1564113600000,"subscriptionType":"contact.creation","attemptNumber":0,"objectId":123,"changeSource":"CRM","changeFlag":"NEW","appId":54321}]',
    {
      "x-hubspot-signature-version": "v1",
      "x-hubspot-signature": "232db2615f3d666fe21a8ec971ac7b5402d33b9a925784df3ca654d05f4817de",
    },
  ),
  material: materialOf([HUBSPOT_SECRET]),
  nowMs: NOW_MS,
};
const HUBSPOT_V2_VECTOR = {
  source: HUBSPOT_SOURCE,
  request: requestOf({
    url: "https://www.example.com/webhook_uri",
    body: '{"example_field":"example_value"}',
    headers: {
      "x-hubspot-signature-version": "v2",
      "x-hubspot-signature": "9569219f8ba981ffa6f6f16aa0f48637d35d728c7e4d93d0d52efaa512af7900",
    },
  }),
  material: materialOf([HUBSPOT_SECRET]),
  nowMs: NOW_MS,
};

function signHubspot(secret: string, nowMs: number): InboundRequest {
  return jsonRequest(HUBSPOT_BODY, {
    "x-hubspot-request-timestamp": String(nowMs),
    "x-hubspot-signature-v3": base64Mac(secret, "POST", SOURCE_URL, HUBSPOT_BODY, String(nowMs)),
    "x-hubspot-signature-version": "v1",
    "x-hubspot-signature": hashOf("sha256", "hex", secret, HUBSPOT_BODY),
  });
}

const CONTENTFUL_SECRETS: [string, string] = ["a".repeat(64), "b".repeat(64)];
const CONTENTFUL_URL = `${SOURCE_URL}?space=a b&x=ü`;
const CONTENTFUL_BODY = JSON.stringify({ sys: { id: "entry-1", revision: 3 } });

function canonical(url: string, headers: Record<string, string>) {
  const path = url.slice("https://hooks.example.com".length);
  return { method: "POST" as const, path, headers, body: CONTENTFUL_BODY };
}

function signContentful(secret: string, nowMs: number): InboundRequest {
  const headers = {
    "x-contentful-topic": "ContentManagement.Entry.publish",
    "content-type": "application/json",
  };
  const signed = signRequest(secret, canonical(CONTENTFUL_URL, headers), nowMs);
  const all = { ...headers, ...signed } as Record<string, string>;
  return requestOf({ url: CONTENTFUL_URL, body: CONTENTFUL_BODY, headers: all });
}

const byContentful: Accepts = (request, secret) =>
  passes(() =>
    verifyRequest(secret, { ...canonical(request.url, headersOf(request)), body: textOf(request) }),
  );

export const URL_HMAC_CASES: Readonly<Record<string, ProviderCase>> = {
  square: {
    secrets: SECRETS,
    sign: (secret) =>
      jsonRequest(SQUARE_BODY, {
        "x-square-hmacsha256-signature": base64Mac(secret, SOURCE_URL, SQUARE_BODY),
      }),
    vectors: SQUARE_VECTORS,
    requiredHeaders: ["x-square-hmacsha256-signature"],
    alterations: [otherAddress],
    expected: { type: "square.payment.created", deliveryId: "e-1" },
  },
  trello: {
    secrets: SECRETS,
    sign: (secret) =>
      jsonRequest(TRELLO_BODY, {
        "x-trello-webhook": macOf("sha1", secret, "base64", TRELLO_BODY, SOURCE_URL),
      }),
    requiredHeaders: ["x-trello-webhook"],
    alterations: [otherAddress],
    expected: { type: "trello.updateCard", deliveryId: "a-1" },
    handshakes: [HEAD],
  },
  twilio: {
    secrets: SECRETS,
    isSignedBySdk: true,
    sign: (secret) => {
      const signature = twilio.getExpectedTwilioSignature(secret, SOURCE_URL, TWILIO_FIELDS);
      return requestOf({ body: TWILIO_BODY, headers: { ...FORM, "x-twilio-signature": signature } });
    },
    accepts: byTwilio,
    requiredHeaders: ["x-twilio-signature"],
    alterations: [otherAddress],
    expected: { type: "twilio.delivered", deliveryId: "SM1|delivered" },
    near: {
      happenings: ["queued", "sent"].map((status) => form({ MessageSid: "m", MessageStatus: status })),
      again: [
        {
          ...form({ MessageSid: "m", MessageStatus: "queued", RawDlrDoneDate: "1" }),
          headers: { "i-twilio-idempotency-token": "t" },
        },
      ],
    },
  },
  plivo: {
    secrets: SECRETS,
    sign: (secret) => {
      const content = `${SOURCE_URL}?a=1&b=2.From1415.5MessageUUIDm-1StatusdeliveredText${LOST}.n-1`;
      const signature = {
        "x-plivo-signature-v3": base64Mac(secret, content),
        "x-plivo-signature-v3-nonce": "n-1",
      };
      return requestOf({ url: PLIVO_URL, body: PLIVO_BODY, headers: { ...FORM, ...signature } });
    },
    accepts: byPlivo,
    requiredHeaders: ["x-plivo-signature-v3", "x-plivo-signature-v3-nonce"],
    alterations: [otherAddress],
    recut: (request) => [
      withHeader(
        withBody(request, "From=1415"),
        "x-plivo-signature-v3-nonce",
        "5MessageUUIDm-1Statusdelivered.n-1",
      ),
    ],
    expected: { type: "plivo.delivered", deliveryId: "m-1|delivered" },
    near: {
      happenings: ["1", "2"].map((Digits) => form({ CallUUID: "c", Event: "Redirect", Digits })),
      again: [
        {
          ...form({ CallUUID: "c", Event: "Redirect", Digits: "1" }),
          headers: { "x-plivo-signature-v3-nonce": "n" },
        },
      ],
    },
  },
  mandrill: {
    secrets: SECRETS,
    sign: (secret) => signMandrill(secret, MANDRILL_EVENTS),
    requiredHeaders: ["x-mandrill-signature"],
    alterations: [otherAddress],
    expected: {
      type: "mandrill.send",
      deliveryId: `m-1|send|1|${hashOf("sha256", "hex", `${SOURCE_URL}mandrill_events${MANDRILL_EVENTS}`)}`,
    },
    handshakes: [
      HEAD,
      {
        name: "test-webhook",
        request: () => signMandrill("test-webhook", "[]"),
        answer: { status: 200, body: "" },
      },
      {
        name: "empty batch",
        request: (secret) => signMandrill(secret, "[]"),
        answer: { status: 200, body: "" },
      },
    ],
    near: {
      happenings: ["1.2.3.4", "5.6.7.8"].map((ip) =>
        form({ mandrill_events: JSON.stringify([{ _id: "m", event: "open", ts: 1, ip }]) }),
      ),
      again: [form({ mandrill_events: JSON.stringify([{ _id: "m", event: "open", ts: 1, ip: "1.2.3.4" }]) })],
    },
  },
  hubspot: {
    secrets: SECRETS,
    sign: signHubspot,
    vectors: [HUBSPOT_V1_VECTOR],
    requiredHeaders: ["x-hubspot-request-timestamp", "x-hubspot-signature-v3"],
    alterations: [otherAddress],
    window: FIVE_MINUTES,
    expected: { type: "hubspot.contact.creation", deliveryId: "1,2|3,4|5,6" },
    near: {
      happenings: [1, 2].map((occurredAt) => json([{ eventId: 1, subscriptionId: 2, occurredAt }])),
      again: [json([{ eventId: 1, subscriptionId: 2, occurredAt: 1, attemptNumber: 1 }])],
    },
  },
  hubspot_v2: {
    secrets: SECRETS,
    sign: (secret) => {
      const signature = hashOf("sha256", "hex", secret, "POST", SOURCE_URL, "{}");
      return jsonRequest("{}", { "x-hubspot-signature": signature, "x-hubspot-signature-version": "v2" });
    },
    vectors: [HUBSPOT_V2_VECTOR],
    requiredHeaders: ["x-hubspot-signature"],
    alterations: [otherAddress],
    expected: { type: "hubspot_v2.unknown", deliveryId: null },
    near: {
      happenings: [
        json({ callbackId: "c1", object: { objectId: 1 } }),
        json({ callbackId: "c2", object: { objectId: 1 } }),
      ],
      again: [json({ callbackId: "c1", object: { objectId: 1 }, attempt: 2 })],
    },
  },
  contentful: {
    secrets: CONTENTFUL_SECRETS,
    isSignedBySdk: true,
    sign: signContentful,
    accepts: byContentful,
    requiredHeaders: ["x-contentful-signature", "x-contentful-timestamp", "x-contentful-signed-headers"],
    alterations: [(request) => withUrl(request, request.url.replace("space", "spice"))],
    window: { past: 30, future: 30 },
    expected: {
      type: "contentful.ContentManagement.Entry.publish",
      deliveryId: "ContentManagement.Entry.publish|entry-1|3|#",
    },
    near: {
      happenings: ["09:00:00", "09:00:01"].map((time) =>
        json(
          { sys: { id: "e", revision: 1, updatedAt: time } },
          { "x-contentful-topic": "ContentManagement.Entry.auto_save" },
        ),
      ),
      again: [
        json(
          { sys: { id: "e", revision: 1, updatedAt: "09:00:00" } },
          { "x-contentful-topic": "ContentManagement.Entry.auto_save", "x-contentful-timestamp": "2" },
        ),
      ],
    },
  },
};

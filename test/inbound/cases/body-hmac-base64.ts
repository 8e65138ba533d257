import { ApiVersion, LogSeverity, shopifyApi } from "@shopify/shopify-api";
import type { InboundRequest } from "../../../src/inbound/provider.ts";
import type { HandshakeCase, ProviderCase } from "../case.ts";
import { headersOf, jsonRequest, materialOf, NOW_MS, textOf, withHeader, withoutHeader } from "../kit.ts";
import { json } from "../near.ts";
import { base64Mac } from "../recompute.ts";
import { bodyCase } from "./body-hmac.ts";

/** Says what the package's crypto and requests are; without it, it refuses to work. */
await import("@shopify/shopify-api/adapters/web-api");

type Accepts = NonNullable<ProviderCase["accepts"]>;

const base64 = (secret: string, body: string) => base64Mac(secret, body);
const HEX_KEYS: [string, string] = [
  "DFB1EB5485895CFA84146406857104ABB4CBCABDC8AAF103A624C8F6A3EAAB00",
  "00112233445566778899AABBCCDDEEFF00112233445566778899AABBCCDDEEFF",
];

function emptyBatch(name: string, header: string, body: string): HandshakeCase {
  return {
    name,
    request: (secret) => jsonRequest(body, { [header]: base64Mac(secret, body) }),
    answer: { status: 200, body: "" },
  };
}

const LINE_VECTOR = {
  source: "line/line-bot-sdk-nodejs test/validate-signature.spec.ts",
  request: jsonRequest('{"hello":"world"}', {
    "x-line-signature": "t7Hn4ZDHqs6e+wdvI5TyQIvzie0DmMUmuXEBqyyE/tM=",
  }),
  material: materialOf(["test_secret"]),
  nowMs: NOW_MS,
};

/** With the headers that Shopify's newer deliveries have. */
function withoutPrefix(request: InboundRequest): InboundRequest {
  const name = "x-shopify-hmac-sha256";
  return withHeader(
    withoutHeader(request, name),
    "shopify-hmac-sha256",
    `${request.headers.get(name)?.slice(1)}A`,
  );
}

const SHOPIFY_HEADERS = {
  "x-shopify-topic": "orders/create",
  "x-shopify-webhook-id": "b54557e4",
  "x-shopify-event-id": "e-1",
  "x-shopify-shop-domain": "acme.myshopify.com",
  "x-shopify-api-version": "2026-10",
};

const byShopify: Accepts = async (request, secret) => {
  const { webhooks } = shopifyApi({
    apiKey: "unused",
    apiSecretKey: secret,
    hostName: "unused.example.com",
    apiVersion: ApiVersion.October26,
    isEmbeddedApp: false,
    logger: { level: LogSeverity.Error },
  });
  const rawRequest = new Request(request.url, { method: "POST", headers: headersOf(request) });
  return (await webhooks.validate({ rawBody: textOf(request), rawRequest })).valid;
};

const DOCUSIGN_BODY = {
  event: "envelope-completed",
  generatedDateTime: "2026-01-01T00:00:00Z",
  data: { envelopeId: "e-1" },
};

export const BODY_HMAC_BASE64_CASES: Readonly<Record<string, ProviderCase>> = {
  adyen_platform: bodyCase(
    "hmacsignature",
    (secret, body) => base64Mac(Buffer.from(secret, "hex"), body),
    { type: "balancePlatform.accountHolder.created", timestamp: "2026-01-01T00:00:00Z", data: { id: "AH1" } },
    {
      type: "adyen_platform.balancePlatform.accountHolder.created",
      deliveryId: "balancePlatform.accountHolder.created|AH1|2026-01-01T00:00:00Z|#",
    },
    {
      secrets: HEX_KEYS,
      near: {
        happenings: ["received", "authorised"].map((status) =>
          json({
            type: "balancePlatform.transfer.updated",
            timestamp: "09:00:00",
            data: { id: "T", status },
          }),
        ),
        again: [
          json({
            type: "balancePlatform.transfer.updated",
            timestamp: "09:00:00",
            data: { id: "T", status: "received" },
          }),
        ],
      },
    },
  ),
  flutterwave_v4: bodyCase(
    "flutterwave-signature",
    base64,
    { webhook_id: "wbk_1", type: "charge.completed", data: { id: "chg_1" } },
    { type: "flutterwave_v4.charge.completed", deliveryId: "wbk_1|charge.completed|chg_1" },
    {
      near: {
        happenings: [
          ["c1", "failed"],
          ["c1", "succeeded"],
          ["c2", "failed"],
        ].map(([id, status]) => json({ webhook_id: "w", type: "charge.completed", data: { id, status } })),
        again: [
          json({
            webhook_id: "w",
            type: "charge.completed",
            data: { id: "c1", status: "failed" },
            timestamp: 2,
          }),
        ],
      },
    },
  ),
  xero: bodyCase(
    "x-xero-signature",
    base64,
    {
      events: [{ tenantId: "t-1", eventCategory: "INVOICE", eventType: "CREATE" }],
      firstEventSequence: 1,
      lastEventSequence: 1,
    },
    { type: "xero.INVOICE.CREATE", deliveryId: "t-1|1|1" },
    {
      handshakes: [
        emptyBatch(
          "intent to receive",
          "x-xero-signature",
          '{"events":[],"firstEventSequence": 0,"lastEventSequence": 0,"entropy":"S0m3r4Nd0m3n7r0pY"}',
        ),
      ],
      near: {
        happenings: [1, 2].map((first) =>
          json({ events: [{ tenantId: "t" }], firstEventSequence: first, lastEventSequence: 2 }),
        ),
        again: [
          json({ events: [{ tenantId: "t" }], firstEventSequence: 1, lastEventSequence: 2, entropy: "x" }),
        ],
      },
    },
  ),
  intuit: bodyCase(
    "intuit-signature",
    base64,
    [{ id: "88cd52aa", type: "qbo.invoice.created.v1", specversion: "1.0" }],
    { type: "intuit.qbo.invoice.created.v1", deliveryId: "88cd52aa" },
  ),
  shopify: bodyCase(
    "x-shopify-hmac-sha256",
    base64,
    '{"id":820982911946154508}',
    { type: "shopify.orders.create", deliveryId: "b54557e4" },
    {
      headers: SHOPIFY_HEADERS,
      accepts: byShopify,
      alterations: [withoutPrefix],
      near: {
        // Two subscriptions to what happened once.
        happenings: ["w-1", "w-2"].map((id) =>
          json({ id: 1 }, { "x-shopify-event-id": "e-1", "x-shopify-webhook-id": id }),
        ),
        again: [
          json(
            { id: 1 },
            { "x-shopify-event-id": "e-1", "x-shopify-webhook-id": "w-1", "x-shopify-triggered-at": "2" },
          ),
        ],
      },
    },
  ),
  heroku: bodyCase(
    "heroku-webhook-hmac-sha256",
    base64,
    { id: "h-1", webhook_metadata: { event: { include: "api:build" } } },
    { type: "heroku.api.build", deliveryId: "h-1" },
  ),
  line: bodyCase(
    "x-line-signature",
    base64,
    {
      destination: "U1",
      events: [
        { type: "message", webhookEventId: "01A" },
        { type: "follow", webhookEventId: "01B" },
      ],
    },
    { type: "line.message", deliveryId: "01A,01B" },
    {
      vectors: [LINE_VECTOR],
      handshakes: [emptyBatch("verification", "x-line-signature", '{"destination":"U1","events":[]}')],
    },
  ),
  typeform: bodyCase(
    "typeform-signature",
    (secret, body) => `sha256=${base64Mac(secret, body)}`,
    { event_id: "01H", event_type: "form_response" },
    { type: "typeform.form_response", deliveryId: "01H" },
  ),
  docusign: {
    ...bodyCase("x-docusign-signature-2", base64, DOCUSIGN_BODY, {
      type: "docusign.envelope-completed",
      deliveryId: "envelope-completed|e-1|2026-01-01T00:00:00Z",
    }),
    sign: (secret) => {
      const body = JSON.stringify(DOCUSIGN_BODY);
      const headers = { "x-docusign-signature-1": base64Mac("another key", body) };
      return jsonRequest(body, { ...headers, "x-docusign-signature-2": base64Mac(secret, body) });
    },
    requiredHeaders: [],
    alterations: [(request) => withoutHeader(request, "x-docusign-signature-2")],
    near: {
      happenings: ["1", "2"].map((recipientId) =>
        json({
          event: "recipient-completed",
          generatedDateTime: "t",
          data: { envelopeId: "e", recipientId },
        }),
      ),
      again: [
        json({
          event: "recipient-completed",
          generatedDateTime: "t",
          data: { envelopeId: "e", recipientId: "1" },
          retryCount: 1,
        }),
      ],
    },
  },
};

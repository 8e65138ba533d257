import { LinearWebhookClient } from "@linear/sdk/webhooks";
import { WebhookEventVerifier } from "@onfido/api";
import ModernTreasury from "modern-treasury";
import type { InboundRequest } from "../../../src/inbound/provider.ts";
import type { ProviderCase } from "../case.ts";
import { headersOf, jsonRequest, materialOf, NOW_MS, textOf } from "../kit.ts";
import { json } from "../near.ts";
import { hashOf, hexMac, macOf } from "../recompute.ts";
import { load, passes } from "../sdk.ts";

type Accepts = NonNullable<ProviderCase["accepts"]>;
type Sign = (secret: string, body: string) => string;

const SECRETS: [string, string] = ["a-webhook-secret", "another-webhook-secret"];

/** A body signed as a whole into one header. */
export function bodyCase(
  header: string,
  sign: Sign,
  body: unknown,
  expected: ProviderCase["expected"],
  rest: Partial<ProviderCase> & { headers?: Record<string, string> } = {},
): ProviderCase {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return {
    secrets: SECRETS,
    sign: (secret) => jsonRequest(text, { ...rest.headers, [header]: sign(secret, text) }),
    requiredHeaders: [header],
    expected,
    ...rest,
  };
}

function signatureOf(request: InboundRequest, header: string): string {
  return request.headers.get(header) ?? "";
}

const hex: Sign = (secret, body) => hexMac(secret, body);
const prefixedHex: Sign = (secret, body) => `sha256=${hexMac(secret, body)}`;
const v1Hex: Sign = (secret, body) => `v1=${hexMac(secret, body)},v2=00`;

const razorpay = load("razorpay") as {
  validateWebhookSignature(body: string, signature: string, secret: string): boolean;
};
const coinbase = load("coinbase-commerce-node") as {
  Webhook: { verifyEventBody(body: string, signature: string, secret: string): unknown };
};
const gocardless = load("gocardless-nodejs/webhooks") as {
  parse(body: string, secret: string, signature: string): unknown;
};
const EasyPost = load("@easypost/api") as new (
  key: string,
) => { Utils: { validateWebhook(body: Buffer, headers: object, secret: string): unknown } };

const byModernTreasury: Accepts = (request, secret) => {
  const client = new ModernTreasury({ apiKey: "unused", organizationID: "unused" });
  return passes(() =>
    client.webhooks.validateSignature(textOf(request), headersOf(request), { key: secret }),
  );
};

const byLinear: Accepts = (request, secret) =>
  passes(() =>
    new LinearWebhookClient(secret).verify(
      Buffer.from(request.body),
      signatureOf(request, "linear-signature"),
    ),
  );

/** Linear's time stands inside what is signed. */
function signLinear(secret: string, nowMs: number): InboundRequest {
  const text = JSON.stringify({
    action: "create",
    type: "Issue",
    data: { id: "i-1" },
    webhookTimestamp: nowMs,
  });
  const headers = {
    "linear-delivery": "d-1",
    "linear-event": "Issue",
    "linear-signature": hexMac(secret, text),
  };
  return jsonRequest(text, headers);
}

function bodyVector(source: string, header: string, signature: string, secret: string, body: string) {
  return {
    source,
    request: jsonRequest(body, { [header]: signature }),
    material: materialOf([secret]),
    nowMs: NOW_MS,
  };
}

const CIRCLECI_PAGE = "https://circleci.com/docs/outbound-webhooks/";
const CIRCLECI_VECTORS = [
  ["hello world", "secret", "734cc62f32841568f45715aeb9f4d7891324e6d948e4c6c60c0621cdac48623a"],
  ["lalala", "another-secret", "daa220016c8f29a8b214fbfc3671aeec2145cfb1e6790184ffb38b6d0425fa00"],
  [
    "an-important-request-payload",
    "hunter123",
    "9be2242094a9a8c00c64306f382a7f9d691de910b4a266f67bd314ef18ac49fa",
  ],
].map(([body = "", secret = "", signature = ""]) =>
  bodyVector(CIRCLECI_PAGE, "circleci-signature", `v1=${signature}`, secret, body),
);

const PAGERDUTY_VECTOR = bodyVector(
  "PagerDuty/go-pagerduty webhookv3/webhookv3_test.go",
  "x-pagerduty-signature",
  "v1=0c0b9495b893a39e70d1fea2fe11fbe0a825f88b9f67846f6cc07dd2bc5476cd",
  "lDQHScfUeXUKaQRNF+8XIiDKZ7XX3itBAYzwU0TARw8lJqRnkKl2iB1anSb0Z+IK",
  '{"event":{"id":"01BWDWL3NYY7LUFPZCC28QUCMK","event_type":"incident.priority_updated","resource_type":"incident","occurred_at":"2021-04-26T17:36:27.458Z","agent":{"html_url":"https://acme.pagerduty.com/users/PLH1HKV","id":"PLH1HKV","self":"https://api.pagerduty.com/users/PLH1HKV","summary":"Tenex Engineer","type":"user_reference"},"client":null,"data":{"id":"PGR0VU2","type":"incident","self":"https://api.pagerduty.com/incidents/PGR0VU2","html_url":"https://acme.pagerduty.com/incidents/PGR0VU2","number":2,"status":"triggered","title":"A little bump in the road","service":{"html_url":"https://acme.pagerduty.com/services/PF9KMXH","id":"PF9KMXH","self":"https://api.pagerduty.com/services/PF9KMXH","summary":"API Service","type":"service_reference"},"assignees":[{"html_url":"https://acme.pagerduty.com/users/PTUXL6G","id":"PTUXL6G","self":"https://api.pagerduty.com/users/PTUXL6G","summary":"User 123","type":"user_reference"}],"escalation_policy":{"html_url":"https://acme.pagerduty.com/escalation_policies/PUS0KTE","id":"PUS0KTE","self":"https://api.pagerduty.com/escalation_policies/PUS0KTE","summary":"Default","type":"escalation_policy_reference"},"teams":[{"html_url":"https://acme.pagerduty.com/teams/PFCVPS0","id":"PFCVPS0","self":"https://api.pagerduty.com/teams/PFCVPS0","summary":"Engineering","type":"team_reference"}],"priority":{"html_url":"https://acme.pagerduty.com/account/incident_priorities","id":"PSO75BM","self":"https://api.pagerduty.com/priorities/PSO75BM","summary":"P1","type":"priority_reference"},"urgency":"high","conference_bridge":{"conference_number":1000,"conference_url":"https://example.com"},"resolve_reason":null}}}',
);
const BITBUCKET_VECTOR = bodyVector(
  "https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/",
  "x-hub-signature",
  "sha256=a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9",
  "It's a Secret to Everybody",
  "Hello World!",
);

function pingCase(name: string, header: string, sign: Sign, body: string) {
  return {
    name,
    request: (secret: string) => jsonRequest(body, { [header]: sign(secret, body) }),
    answer: { status: 200, body: "" },
  };
}

const ONFIDO_BODY =
  '{"payload":{"resource_type":"check","action":"check.completed","object":{"id":"o-1","status":"complete"}}}';

export const BODY_HMAC_CASES: Readonly<Record<string, ProviderCase>> = {
  razorpay: bodyCase(
    "x-razorpay-signature",
    hex,
    { event: "payment.captured", account_id: "acc_1" },
    { type: "razorpay.payment.captured", deliveryId: "evt-1" },
    {
      headers: { "x-razorpay-event-id": "evt-1" },
      accepts: (request, secret) =>
        razorpay.validateWebhookSignature(
          textOf(request),
          signatureOf(request, "x-razorpay-signature"),
          secret,
        ),
    },
  ),
  paystack: bodyCase(
    "x-paystack-signature",
    (secret, body) => macOf("sha512", secret, "hex", body),
    { event: "charge.success", data: { id: 302961, reference: "qTPrJoy9Bx" } },
    { type: "paystack.charge.success", deliveryId: "charge.success|302961|#" },
    {
      near: {
        happenings: ["09:00", "18:00"].map((at) =>
          json({ event: "charge.dispute.remind", data: { id: 2867, message: `due at ${at}` } }),
        ),
        again: [json({ event: "charge.dispute.remind", data: { id: 2867, message: "due at 09:00" } })],
      },
    },
  ),
  coinbase_commerce: bodyCase(
    "x-cc-webhook-signature",
    hex,
    { id: 1, event: { id: "24934862-d980-46cb-9402-43c81b0cdba6", type: "charge:created" } },
    { type: "coinbase_commerce.charge.created", deliveryId: "24934862-d980-46cb-9402-43c81b0cdba6" },
    {
      accepts: (request, secret) =>
        passes(() =>
          coinbase.Webhook.verifyEventBody(
            textOf(request),
            signatureOf(request, "x-cc-webhook-signature"),
            secret,
          ),
        ),
    },
  ),
  lemonsqueezy: bodyCase(
    "x-signature",
    hex,
    {
      meta: { event_name: "order_created" },
      data: { id: "1", attributes: { updated_at: "2026-01-01T00:00:00.000000Z" } },
    },
    { type: "lemonsqueezy.order_created", deliveryId: "order_created|1|2026-01-01T00:00:00.000000Z|#" },
    {
      headers: { "x-event-name": "order_created" },
      near: {
        happenings: ["active", "paused"].map((status) =>
          json({
            meta: { event_name: "subscription_updated" },
            data: { id: "1", attributes: { updated_at: "t", status } },
          }),
        ),
        again: [
          json({
            meta: { event_name: "subscription_updated" },
            data: { id: "1", attributes: { updated_at: "t", status: "active" } },
          }),
        ],
      },
    },
  ),
  gocardless: bodyCase(
    "webhook-signature",
    hex,
    {
      events: [{ id: "EV1", action: "cancelled", resource_type: "mandates" }, { id: "EV2" }],
      meta: { webhook_id: "WB1" },
    },
    { type: "gocardless.mandates.cancelled", deliveryId: "WB1" },
    {
      accepts: (request, secret) =>
        passes(() => gocardless.parse(textOf(request), secret, signatureOf(request, "webhook-signature"))),
      near: {
        happenings: ["WB1", "WB2"].map((webhook_id) =>
          json({ events: [{ id: webhook_id === "WB1" ? "EV1" : "EV2" }], meta: { webhook_id } }),
        ),
        again: [json({ events: [{ id: "EV1" }], meta: { webhook_id: "WB1" } }, { "webhook-signature": "2" })],
      },
    },
  ),
  modern_treasury: bodyCase(
    "x-signature",
    hex,
    { event: "created", data: { id: "d-1" } },
    { type: "modern_treasury.payment_order.created", deliveryId: "e-1" },
    { headers: { "x-topic": "payment_order", "x-event-id": "e-1" }, accepts: byModernTreasury },
  ),
  easypost: bodyCase(
    "x-hmac-signature",
    (secret, body) => `hmac-sha256-hex=${hexMac(secret.normalize("NFKD"), body)}`,
    { id: "evt_1", description: "tracker.updated" },
    { type: "easypost.tracker.updated", deliveryId: "evt_1" },
    {
      secrets: ["sécret", "another"],
      accepts: (request, secret) =>
        passes(() =>
          new EasyPost("unused").Utils.validateWebhook(Buffer.from(request.body), headersOf(request), secret),
        ),
    },
  ),
  bitbucket: bodyCase(
    "x-hub-signature",
    prefixedHex,
    { push: { changes: [] } },
    { type: "bitbucket.repo.push", deliveryId: "r-1" },
    { headers: { "x-event-key": "repo:push", "x-request-uuid": "r-1" }, vectors: [BITBUCKET_VECTOR] },
  ),
  jira: bodyCase(
    "x-hub-signature",
    prefixedHex,
    { webhookEvent: "jira:issue_created", timestamp: 1 },
    { type: "jira.jira.issue_created", deliveryId: "w-1" },
    { headers: { "x-atlassian-webhook-identifier": "w-1" } },
  ),
  linear: {
    secrets: SECRETS,
    sign: signLinear,
    accepts: byLinear,
    requiredHeaders: ["linear-signature"],
    window: { past: 60, future: 60 },
    expected: { type: "linear.Issue.create", deliveryId: "d-1" },
  },
  sentry: bodyCase(
    "sentry-hook-signature",
    hex,
    { action: "created", data: {} },
    { type: "sentry.issue.created", deliveryId: "r-1" },
    { headers: { "sentry-hook-resource": "issue", "request-id": "r-1" } },
  ),
  pagerduty: bodyCase(
    "x-pagerduty-signature",
    (secret, body) => `v1=${hexMac(secret, body)}`,
    { event: { id: "E1", event_type: "incident.triggered" } },
    { type: "pagerduty.incident.triggered", deliveryId: "E1" },
    {
      vectors: [PAGERDUTY_VECTOR],
      handshakes: [
        pingCase(
          "pagey.ping",
          "x-pagerduty-signature",
          v1Hex,
          '{"event":{"id":"E0","event_type":"pagey.ping"}}',
        ),
      ],
    },
  ),
  circleci: bodyCase(
    "circleci-signature",
    (secret, body) => `v1=${hexMac(secret, body)}`,
    { type: "job-completed", id: "c-1" },
    { type: "circleci.job-completed", deliveryId: "c-1" },
    {
      vectors: CIRCLECI_VECTORS,
      handshakes: [pingCase("ping", "circleci-signature", v1Hex, '{"type":"ping","id":"c-0"}')],
    },
  ),
  vercel: bodyCase(
    "x-vercel-signature",
    (secret, body) => macOf("sha1", secret, "hex", body),
    { id: "uev_1", type: "deployment.created" },
    { type: "vercel.deployment.created", deliveryId: "uev_1" },
  ),
  clickup: bodyCase(
    "x-signature",
    hex,
    { event: "taskCreated", history_items: [{ id: "h1" }, { id: "h2" }] },
    { type: "clickup.taskCreated", deliveryId: "taskCreated|h1,h2" },
    {
      near: {
        happenings: ["1", "2"].map((id) =>
          json({ event: "taskUpdated", task_id: "t", history_items: [{ id }] }),
        ),
        again: [json({ event: "taskUpdated", task_id: "t", history_items: [{ id: "1" }], sent: "later" })],
      },
    },
  ),
  calcom: bodyCase(
    "x-cal-signature-256",
    hex,
    { triggerEvent: "BOOKING_CREATED", createdAt: "2026-01-01T00:00:00Z", payload: { uid: "u-1" } },
    { type: "calcom.BOOKING_CREATED", deliveryId: "BOOKING_CREATED|u-1|2026-01-01T00:00:00Z" },
    {
      alterations: [
        (request) => jsonRequest(textOf(request), { "x-cal-signature-256": "no-secret-provided" }),
      ],
      near: {
        happenings: ["09:00", "18:00"].map((createdAt) =>
          json({ triggerEvent: "BOOKING_RESCHEDULED", createdAt, payload: { uid: "u" } }),
        ),
        again: [
          json({ triggerEvent: "BOOKING_RESCHEDULED", createdAt: "09:00", payload: { uid: "u", try: 2 } }),
        ],
      },
    },
  ),
  airtable: bodyCase(
    "x-airtable-content-mac",
    (secret, body) => `hmac-sha256=${hexMac(Buffer.from(secret, "base64"), body)}`,
    { base: { id: "app1" }, webhook: { id: "ach1" }, timestamp: "2026-01-01T00:00:00.000Z" },
    { type: "airtable.unknown", deliveryId: "ach1|2026-01-01T00:00:00.000Z" },
    {
      secrets: ["c2VjcmV0LW9uZQ==", "c2VjcmV0LXR3bw=="],
      near: {
        happenings: ["09:00", "18:00"].map((timestamp) => json({ webhook: { id: "w" }, timestamp })),
        again: [json({ webhook: { id: "w" }, timestamp: "09:00", base: { id: "b" } })],
      },
    },
  ),
  onfido: bodyCase(
    "x-sha2-signature",
    hex,
    ONFIDO_BODY,
    {
      type: "onfido.check.completed",
      deliveryId: `check.completed|o-1|${hashOf("sha256", "hex", ONFIDO_BODY)}`,
    },
    {
      accepts: (request, secret) =>
        passes(() =>
          new WebhookEventVerifier(secret).readPayload(
            textOf(request),
            signatureOf(request, "x-sha2-signature"),
          ),
        ),
      near: {
        happenings: ["09:00", "18:00"].map((at) =>
          json({ payload: { action: "check.completed", object: { id: "o", completed_at_iso8601: at } } }),
        ),
        again: [
          json({
            payload: { action: "check.completed", object: { id: "o", completed_at_iso8601: "09:00" } },
          }),
        ],
      },
    },
  ),
};

/**
 * Which parts of an identity number a happening, by whom: nobody else can make another happening of that
 * number. A mail's sender, a site's visitor or a commenter chooses none of them: what such a stranger writes
 * may stand in an identity only beside one of these, or beside a hash of all there is.
 */

type Ids = readonly (readonly [parts: readonly string[], keys: readonly string[]])[];

/** Given by the provider. */
const PROVIDERS: Ids = [
  [["body event_id"], ["typeform", "paddle", "customerio", "square"]],
  [["body event_id", "body payload.trigger_id", "body trigger_id"], ["slack"]],
  [
    ["body id"],
    [
      "easypost",
      "circleci",
      "vercel",
      "heroku",
      "intercom",
      "notion",
      "stripe",
      "orb",
      "workos",
      "mux",
      "discord",
      "netlify",
      "livekit",
      "chargebee",
      "fireblocks",
      "mercadopago",
      "paypal",
    ],
  ],
  [["body id", "body webhook_id", "body data.id"], ["flutterwave_v4"]],
  [["body id", "header Box-Delivery-Id"], ["box"]],
  [
    ["header webhook-id"],
    [
      "standard_webhooks",
      "standard_webhooks_v1a",
      "openai",
      "anthropic",
      "replicate",
      "dodopayments",
      "liveblocks",
      "lithic",
      "render",
      "brex",
      "polar",
      "bigcommerce",
      "supabase",
      "gitlab_signed",
    ],
  ],
  [
    ["header webhook-id", "header svix-id"],
    ["svix", "clerk", "resend", "stytch", "recall_ai"],
  ],
  [["header x-razorpay-event-id"], ["razorpay"]],
  [["body event.id"], ["coinbase_commerce", "pagerduty", "revenuecat"]],
  [["body meta.webhook_id", "body events.*.id"], ["gocardless"]],
  [["header X-Event-ID"], ["modern_treasury"]],
  [["header X-Request-UUID"], ["bitbucket"]],
  [["header X-Atlassian-Webhook-Identifier"], ["jira"]],
  [["header Linear-Delivery"], ["linear"]],
  [["header Request-ID"], ["sentry"]],
  [["body history_items.*.id"], ["clickup"]],
  [["body payload.uid"], ["calcom"]],
  [["body timestamp"], ["airtable"]],
  [["body data.id"], ["persona", "telnyx", "flutterwave"]],
  [["body firstEventSequence"], ["xero"]],
  [["body *.id"], ["intuit"]],
  [["body *.id", "body MessageSid", "header I-Twilio-Idempotency-Token"], ["twilio"]],
  [["header X-Shopify-Webhook-Id", "header Shopify-Webhook-Id"], ["shopify"]],
  [["body events.*.webhookEventId"], ["line"]],
  [["body data.envelopeId", "body data.recipientId"], ["docusign"]],
  [["header Twitch-Eventsub-Message-Id"], ["twitch"]],
  [["header x-zm-trackingid"], ["zoom"]],
  [["body entry.*.changes.*.value.messages.*.id"], ["meta"]],
  [
    ["body data.payment.cf_payment_id", "body data.refund.cf_refund_id", "header x-idempotency-key"],
    ["cashfree"],
  ],
  [["body order_id"], ["revolut"]],
  [["body payload.uri"], ["calendly"]],
  [["header idempotency-key"], ["sanity"]],
  [["body data.conversation_id"], ["elevenlabs"]],
  [["header X-Zendesk-Webhook-Invocation-Id"], ["zendesk"]],
  [["body action.id"], ["trello"]],
  [["body *.eventId"], ["hubspot"]],
  [["body callbackId"], ["hubspot_v2"]],
  [["body *.sg_event_id"], ["sendgrid"]],
  [["header Upstash-Message-Id"], ["qstash"]],
  [["claim jti", "body message_uuid"], ["vonage"]],
  [["body event.triggerUuid"], ["monday"]],
  [["body message.messageId"], ["google_pubsub"]],
  [["header Idempotency-Key"], ["gitlab"]],
  [["body ID", "body MessageID"], ["postmark"]],
  [["body update_id"], ["telegram"]],
  [["body *.log_id", "body log_id", "body logs.*.log_id"], ["auth0"]],
  [["body data.events.*.uuid", "body eventId"], ["okta"]],
  [["body notificationItems.*.NotificationRequestItem.pspReference"], ["adyen"]],
  [["body MessageId"], ["aws_sns"]],
  [["body json.signature_request.signature_request_id", "body json.template.template_id"], ["dropbox_sign"]],
  [["header X-Fal-Webhook-Request-Id"], ["fal"]],
  [["header x-github-delivery"], ["github"]],
  [["body event-data.id"], ["mailgun"]],
  [["body value.*.id"], ["microsoft_graph"]],
  [["body MessageUUID"], ["plivo"]],
  [["header X-Webhook-Id"], ["stream"]],
];

/** Given by the customer of ours who sends, or has sent: whoever holds what proves a request. */
const CUSTOMERS: Ids = [
  [
    ["body event_id", "body id"],
    ["service", "basic_auth"],
  ],
  [["body id", "body *.id"], ["azure_event_grid"]],
  [["header config.id_header", "body config.id_path"], ["hmac"]],
  [["body Message-Id"], ["mailgun"]],
];

/** Those of a row. */
export function ownIdsOf(key: string): string[] {
  return [...PROVIDERS, ...CUSTOMERS].flatMap(([parts, keys]) => (keys.includes(key) ? parts : []));
}

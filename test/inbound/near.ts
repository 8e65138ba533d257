/** Happenings as near to each other as each provider makes them, for `identity.test.ts`. */

export interface Sent {
  headers?: Record<string, string>;
  body: unknown;
  /** Of a body that is no JSON. */
  contentType?: string;
}

export const json = (body: unknown, headers: Record<string, string> = {}): Sent => ({ body, headers });
const form = (fields: Record<string, string>): Sent => ({
  body: new URLSearchParams(fields).toString(),
  contentType: "application/x-www-form-urlencoded",
});

/** As Dropbox Sign sends it: with another boundary at each try. */
export function inParts(name: string, text: string, boundary: string): Sent {
  const body = `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${text}\r\n--${boundary}--\r\n`;
  return { body, contentType: `multipart/form-data; boundary=${boundary}` };
}

const stock = (quantity: number) =>
  json({
    triggerType: "ecomm_inventory_changed",
    payload: { id: "item_1", quantity, inventoryType: "finite" },
  });
const graph = (resource: string) =>
  json({
    value: [
      { subscriptionId: "s", changeType: "updated", clientState: "c", resource, resourceData: { id: "m" } },
    ],
  });
const route = (recipient: string, token: string) =>
  form({ "Message-Id": "<1@example.com>", recipient, token, timestamp: "1", signature: "s" });
export const sign = (type: string, more: object, boundary = "a") =>
  inParts(
    "json",
    JSON.stringify({ event: { event_time: "1", event_type: type, event_hash: "h", ...more } }),
    boundary,
  );
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
const click = (link: string, to = "a@example.com") =>
  json({
    RecordType: "Click",
    MessageID: "m",
    ReceivedAt: "2026-01-01T00:00:00Z",
    Recipient: to,
    OriginalLink: link,
  });

/**
 * `happenings`: each is an event of its own. `again`: tries of the first one; null where nothing tells them
 * from another happening.
 */
export const NEAR: Record<string, { happenings: Sent[]; again: Sent[] | null }> = {
  microsoft_graph: { happenings: [graph("a"), graph("a"), graph("a")], again: null },
  webflow: { happenings: [stock(4), stock(5), stock(4)], again: null },
  revolut: {
    happenings: [
      json({ event: "ORDER_PAYMENT_DECLINED", order_id: "o" }),
      json({ event: "ORDER_PAYMENT_DECLINED", order_id: "o" }),
      json({ event: "ORDER_INCREMENTAL_AUTHORISATION_AUTHORISED", order_id: "o" }),
      json({ event: "ORDER_INCREMENTAL_AUTHORISATION_AUTHORISED", order_id: "o" }),
    ],
    again: null,
  },
  plaid: {
    happenings: ["TRANSFER_EVENTS_UPDATE", "SYNC_UPDATES_AVAILABLE", "DEFAULT_UPDATE"].flatMap((code) => [
      json({ webhook_code: code, item_id: "i" }),
      json({ webhook_code: code, item_id: "i" }),
    ]),
    again: null,
  },
  paystack: {
    happenings: ["09:00", "18:00"].map((at) =>
      json({ event: "charge.dispute.remind", data: { id: 2867, message: `due at ${at}` } }),
    ),
    again: [json({ event: "charge.dispute.remind", data: { id: 2867, message: "due at 09:00" } })],
  },
  monday: {
    happenings: [1, 2].map((subscriptionId) => json({ event: { triggerUuid: "t", subscriptionId } })),
    again: [json({ event: { triggerUuid: "t", subscriptionId: 1, triggerTime: "later" } })],
  },
  google_pubsub: {
    happenings: ["a", "b"].map((subscription) => json({ subscription, message: { messageId: "1" } })),
    again: [json({ subscription: "a", message: { messageId: "1" }, deliveryAttempt: 2 })],
  },
  lemonsqueezy: {
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
  adyen_platform: {
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
  docusign: {
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
  meta: {
    happenings: ["ann", "bob"].map((recipient_participant_id) =>
      json({
        entry: [
          { changes: [{ value: { statuses: [{ id: "m", status: "read", recipient_participant_id }] } }] },
        ],
      }),
    ),
    again: [
      json({
        entry: [
          {
            changes: [
              { value: { statuses: [{ id: "m", status: "read", recipient_participant_id: "ann" }] } },
            ],
          },
        ],
      }),
    ],
  },
  mailchimp: {
    happenings: ["Ann", "Anne"].map((name) =>
      form({ type: "profile", fired_at: "t", "data[id]": "1", "data[merges][FNAME]": name }),
    ),
    again: [form({ type: "profile", fired_at: "t", "data[id]": "1", "data[merges][FNAME]": "Ann" })],
  },
  mailgun: { happenings: [route("a@x.com", "t1"), route("b@x.com", "t2")], again: [route("a@x.com", "t3")] },
  dropbox_sign: { happenings: [signed("ann"), signed("bob")], again: [signed("ann", "other-boundary")] },
  hubspot_v2: {
    happenings: [
      json({ callbackId: "c1", object: { objectId: 1 } }),
      json({ callbackId: "c2", object: { objectId: 1 } }),
    ],
    again: [json({ callbackId: "c1", object: { objectId: 1 }, attempt: 2 })],
  },
  postmark: { happenings: [click("/a"), click("/b"), click("/a", "b@example.com")], again: [click("/a")] },
  cloudinary: {
    happenings: [
      ...["upload", "eager"].map((type) =>
        json({ notification_type: type, request_id: "r", public_id: "p" }),
      ),
      ...["google_tagging", "adv_ocr"].map((info_kind) =>
        json({ notification_type: "info", request_id: "r", public_id: "p", info_kind }),
      ),
    ],
    again: [
      json({ notification_type: "upload", request_id: "r", public_id: "p" }, { "x-cld-timestamp": "2" }),
    ],
  },
  plivo: {
    happenings: ["1", "2"].map((Digits) => form({ CallUUID: "c", Event: "Redirect", Digits })),
    again: [
      {
        ...form({ CallUUID: "c", Event: "Redirect", Digits: "1" }),
        headers: { "x-plivo-signature-v3-nonce": "n" },
      },
    ],
  },
  contentful: {
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
  woocommerce: {
    happenings: [
      ...["processing", "completed"].map((status) =>
        json({ id: 7, status }, { "x-wc-webhook-delivery-id": "d", "x-wc-webhook-topic": "order.updated" }),
      ),
      ...[1, 2].map((arg) =>
        json({ arg }, { "x-wc-webhook-delivery-id": "d", "x-wc-webhook-topic": "action.woocommerce_sold" }),
      ),
    ],
    again: [
      json(
        { id: 7, status: "processing" },
        { "x-wc-webhook-delivery-id": "d", "x-wc-webhook-topic": "order.updated" },
      ),
    ],
  },
  asana: {
    happenings: ["name", "notes"].map((field) =>
      json({ events: [{ created_at: "t", resource: { gid: "1" }, action: "changed", change: { field } }] }),
    ),
    again: [
      json({
        events: [{ created_at: "t", resource: { gid: "1" }, action: "changed", change: { field: "name" } }],
      }),
    ],
  },
  retell: {
    happenings: ["first", "again"].map((call_analysis) =>
      json({ event: "call_analyzed", call: { call_id: "c", call_analysis } }),
    ),
    again: [
      json(
        { event: "call_analyzed", call: { call_id: "c", call_analysis: "first" } },
        { "x-retell-signature": "2" },
      ),
    ],
  },
  netlify: {
    happenings: ["t1", "t2"].map((updated_at) => json({ id: "d", state: "ready", updated_at })),
    again: [json({ id: "d", state: "ready", updated_at: "t1" })],
  },
  mandrill: {
    happenings: ["1.2.3.4", "5.6.7.8"].map((ip) =>
      form({ mandrill_events: JSON.stringify([{ _id: "m", event: "open", ts: 1, ip }]) }),
    ),
    again: [form({ mandrill_events: JSON.stringify([{ _id: "m", event: "open", ts: 1, ip: "1.2.3.4" }]) })],
  },
  flutterwave: {
    happenings: ["pending", "successful"].map((status) =>
      json({ event: "charge.completed", data: { id: 1, status } }),
    ),
    again: [json({ event: "charge.completed", data: { id: 1, status: "pending" }, meta_data: {} })],
  },
  flutterwave_v4: {
    happenings: [
      ["c1", "failed"],
      ["c1", "succeeded"],
      ["c2", "failed"],
    ].map(([id, status]) => json({ webhook_id: "w", type: "charge.completed", data: { id, status } })),
    again: [
      json({ webhook_id: "w", type: "charge.completed", data: { id: "c1", status: "failed" }, timestamp: 2 }),
    ],
  },
  azure_event_grid: {
    happenings: ["/a", "/b"].map((source) => json([{ id: "1", source }])),
    again: [json([{ id: "1", source: "/a", time: "later" }])],
  },
  zoom: {
    happenings: ["ann", "bob"].map((participant) =>
      json({ event: "meeting.participant_joined", event_ts: 1, payload: { participant } }),
    ),
    again: [
      json(
        { event: "meeting.participant_joined", event_ts: 1, payload: { participant: "ann" } },
        { "x-zm-trackingid": "v2" },
      ),
    ],
  },
  twilio: {
    happenings: ["queued", "sent"].map((status) => form({ MessageSid: "m", MessageStatus: status })),
    again: [
      {
        ...form({ MessageSid: "m", MessageStatus: "queued", RawDlrDoneDate: "1" }),
        headers: { "i-twilio-idempotency-token": "t" },
      },
    ],
  },
  cashfree: {
    happenings: ["1", "2"].map((id) =>
      json({ type: "PAYMENT_FAILED_WEBHOOK", data: { payment: { cf_payment_id: id } } }),
    ),
    again: [
      json({
        type: "PAYMENT_FAILED_WEBHOOK",
        data: { payment: { cf_payment_id: "1" } },
        event_time: "later",
      }),
    ],
  },
  dropbox: {
    happenings: [json({ list_folder: { accounts: ["a"] } }), json({ list_folder: { accounts: ["a"] } })],
    again: null,
  },
  sendgrid: {
    happenings: ["a", "b"].map((id) =>
      json([{ email: "x@example.com", event: "open", timestamp: 1, sg_event_id: id }]),
    ),
    again: [json([{ email: "x@example.com", event: "open", timestamp: 1, sg_event_id: "a" }])],
  },
  clickup: {
    happenings: ["1", "2"].map((id) => json({ event: "taskUpdated", task_id: "t", history_items: [{ id }] })),
    again: [json({ event: "taskUpdated", task_id: "t", history_items: [{ id: "1" }], sent: "later" })],
  },
  calcom: {
    happenings: ["09:00", "18:00"].map((createdAt) =>
      json({ triggerEvent: "BOOKING_RESCHEDULED", createdAt, payload: { uid: "u" } }),
    ),
    again: [json({ triggerEvent: "BOOKING_RESCHEDULED", createdAt: "09:00", payload: { uid: "u", try: 2 } })],
  },
  calendly: {
    happenings: ["invitee.created", "invitee.canceled"].map((event) =>
      json({ event, created_at: "t", payload: { uri: "u" } }),
    ),
    again: [
      json({ event: "invitee.created", created_at: "t", payload: { uri: "u" }, retry_started_at: "t" }),
    ],
  },
  airtable: {
    happenings: ["09:00", "18:00"].map((timestamp) => json({ webhook: { id: "w" }, timestamp })),
    again: [json({ webhook: { id: "w" }, timestamp: "09:00", base: { id: "b" } })],
  },
  onfido: {
    happenings: ["09:00", "18:00"].map((at) =>
      json({ payload: { action: "check.completed", object: { id: "o", completed_at_iso8601: at } } }),
    ),
    again: [
      json({ payload: { action: "check.completed", object: { id: "o", completed_at_iso8601: "09:00" } } }),
    ],
  },
  xero: {
    happenings: [1, 2].map((first) =>
      json({ events: [{ tenantId: "t" }], firstEventSequence: first, lastEventSequence: 2 }),
    ),
    again: [json({ events: [{ tenantId: "t" }], firstEventSequence: 1, lastEventSequence: 2, entropy: "x" })],
  },
  recurly: {
    happenings: ["09:00", "18:00"].map((at) =>
      json({ object_type: "account", id: "a", event_type: "updated", event_time: at }),
    ),
    again: [json({ object_type: "account", id: "a", event_type: "updated", event_time: "09:00", uuid: "u" })],
  },
  elevenlabs: {
    happenings: ["post_call_transcription", "post_call_audio"].map((type) =>
      json({ type, data: { conversation_id: "c" } }),
    ),
    again: [json({ type: "post_call_transcription", data: { conversation_id: "c" }, event_timestamp: 2 })],
  },
  discord: {
    happenings: ["1", "2"].map((user) =>
      json({ event: { type: "APPLICATION_AUTHORIZED", timestamp: "t", data: { user: { id: user } } } }),
    ),
    again: [json({ event: { type: "APPLICATION_AUTHORIZED", timestamp: "t", data: { user: { id: "1" } } } })],
  },
  vonage: {
    happenings: ["submitted", "delivered"].map((status) => json({ message_uuid: "m", status })),
    again: [json({ message_uuid: "m", status: "submitted", timestamp: "later" })],
  },
  adyen: {
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
  pusher: {
    happenings: ["a", "b"].map((channel) =>
      json({ time_ms: 1, events: [{ name: "channel_occupied", channel }] }),
    ),
    again: [json({ time_ms: 1, events: [{ name: "channel_occupied", channel: "a" }] })],
  },
  hubspot: {
    happenings: [1, 2].map((occurredAt) => json([{ eventId: 1, subscriptionId: 2, occurredAt }])),
    again: [json([{ eventId: 1, subscriptionId: 2, occurredAt: 1, attemptNumber: 1 }])],
  },
};

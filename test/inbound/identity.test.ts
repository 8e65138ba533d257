/**
 * What tells two events of a provider apart, and one that is sent again from another: for each row,
 * happenings as near to each other as the provider makes them, and a second try of one. Losing an event in
 * silence is worse than making two of one: where nothing tells two apart, the row has no identity, and says
 * so.
 */
import { describe, expect, test } from "bun:test";
import { readBody } from "../../src/inbound/body.ts";
import { BODY_HASH_PREFIX } from "../../src/inbound/facts.ts";
import { PROVIDER_ROWS } from "../../src/inbound/providers.ts";
import { CASES } from "./cases.ts";
import { headersOf, keysOf, NOW_MS, requestOf, textOf } from "./kit.ts";

interface Sent {
  headers?: Record<string, string>;
  body: unknown;
  /** Of a body that is no JSON. */
  contentType?: string;
}

const json = (body: unknown, headers: Record<string, string> = {}): Sent => ({ body, headers });
const form = (fields: Record<string, string>): Sent => ({
  body: new URLSearchParams(fields).toString(),
  contentType: "application/x-www-form-urlencoded",
});

/** As Dropbox Sign sends it: with another boundary at each try. */
function inParts(name: string, text: string, boundary: string): Sent {
  const body = `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${text}\r\n--${boundary}--\r\n`;
  return { body, contentType: `multipart/form-data; boundary=${boundary}` };
}

function rowOf(key: string) {
  const row = PROVIDER_ROWS.find((one) => one.key === key);
  if (!row) throw new Error(`there is no provider ${key}`);
  return row;
}

async function identityOf(
  key: string,
  { headers = {}, body, contentType = "application/json" }: Sent,
  config: Readonly<Record<string, unknown>> = {},
) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const request = requestOf({ body: text, headers: { "content-type": contentType, ...headers } });
  const material = { secrets: [], credentials: {}, config };
  const arrival = { request, material, nowMs: NOW_MS, keys: keysOf(null) };
  const signedHeaders = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const facts = { arrival, body: await readBody(request.body, contentType), claims: {}, signedHeaders };
  return rowOf(key).deliveryId.read(facts);
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
const sign = (type: string, more: object, boundary = "a") =>
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
const NEAR: Record<string, { happenings: Sent[]; again: Sent[] | null }> = {
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
  hubspot: {
    happenings: [1, 2].map((occurredAt) => json([{ eventId: 1, subscriptionId: 2, occurredAt }])),
    again: [json([{ eventId: 1, subscriptionId: 2, occurredAt: 1, attemptNumber: 1 }])],
  },
};

describe("happenings that are near to each other", () => {
  test.each(Object.entries(NEAR))("%s", async (key, { happenings, again }) => {
    const ids = await Promise.all(happenings.map((sent) => identityOf(key, sent)));
    // Without an identity each is an event of its own.
    const known = ids.filter((id) => id !== null);
    expect(new Set(known).size).toBe(known.length);
    if (again === null) return expect(known).toEqual([]);
    expect(known).toHaveLength(happenings.length);
    const repeated = await Promise.all(again.map((sent) => identityOf(key, sent)));
    expect([...new Set(repeated)]).toEqual([ids[0] ?? null]);
  });
});

test("a template's form is the same whatever parts it: of what has no identity but its content, too", async () => {
  const [one, other] = ["a", "b"].map((boundary) => sign("account_confirmed", { account: "x" }, boundary));
  const ids = [
    await identityOf("dropbox_sign", one as Sent),
    await identityOf("dropbox_sign", other as Sent),
  ];
  expect(ids[0]).toStartWith(BODY_HASH_PREFIX);
  expect(ids[1]).toBe(ids[0] ?? "");
  const template = (boundary: string) =>
    inParts(
      "json",
      JSON.stringify({
        event: { event_time: "1", event_type: "template_created" },
        template: { template_id: "t" },
      }),
      boundary,
    );
  expect(await identityOf("dropbox_sign", template("a"))).toBe(
    await identityOf("dropbox_sign", template("b")),
  );
});

test("changes of ClickUp that carry no history are an event each; those that do are known again", async () => {
  const body = { event: "spaceUpdated", space_id: "1", webhook_id: "w" };
  expect(await identityOf("clickup", json(body))).toBeNull();
  expect(await identityOf("clickup", json({ ...body, history_items: [{ id: "h" }] }))).toBe("spaceUpdated|h");
});

/** Their id stands inside something that is encoded: in XML in base64, and in the claims of a token. */
const ENCODED = ["braintree", "vonage"];
/** The id is a hash of all that is sent. */
const isHashed = (key: string) => CASES[key]?.expected.deliveryId?.startsWith(BODY_HASH_PREFIX) === true;

describe("a happening with another id is another event", () => {
  const rows = PROVIDER_ROWS.filter(({ key }) => CASES[key]?.expected.deliveryId !== null);
  test("of almost every row", () => expect(rows.length).toBeGreaterThan(110));

  test.each(rows.map(({ key }) => key).filter((key) => !ENCODED.includes(key) && !isHashed(key)))(
    "%s",
    async (key) => {
      const proof = CASES[key];
      const request = await proof?.sign(proof.secrets[0] ?? "", NOW_MS);
      if (!proof || !request) throw new Error(`nothing proves ${key}`);
      const headers = headersOf(request);
      const sent = { headers, body: textOf(request), contentType: headers["content-type"] ?? "" };
      const id = await identityOf(key, sent, proof.config);
      const parts = (proof.expected.deliveryId ?? "")
        .split(/[|,]/)
        .filter((part) => part !== "" && part !== "#")
        // Mailchimp's parts are joined by a dot, which others have within theirs.
        .flatMap((part) => (key === "mailchimp" ? part.split(".") : [part]));
      const found: boolean[] = [];
      for (const part of parts) {
        const others = alterations(sent, part);
        const ids = await Promise.all(others.map((other) => identityOf(key, other, proof.config)));
        if (others.length > 0) found.push(ids.some((other) => other !== id));
      }
      expect([...new Set(found)]).toEqual([true]);
    },
  );
});

/** The request with a part of its id changed, where that stands: in a header, or in the body. */
function alterations(sent: Sent, part: string): Sent[] {
  const other = part.slice(0, -1) + (part.endsWith("7") ? "8" : "7");
  const named = Object.entries(sent.headers ?? {}).filter(([, value]) => value === part);
  const inHeaders = named.map(([name]) => ({ ...sent, headers: { ...sent.headers, [name]: other } }));
  const spelled = [
    part,
    new URLSearchParams([["", part]]).toString().slice(1),
    encodeURIComponent(part),
    JSON.stringify(part).slice(1, -1).replaceAll('"', '\\"'),
  ];
  const found = spelled.find((text) => String(sent.body).includes(text));
  if (found === undefined) return inHeaders;
  return [...inHeaders, { ...sent, body: String(sent.body).replaceAll(found, other) }];
}

test("where nothing tells two happenings apart, the row says so", () => {
  const without = PROVIDER_ROWS.filter(({ deliveryId }) => /none/.test(deliveryId.text)).map(
    ({ key }) => key,
  );
  expect(without.sort()).toEqual(["clickup", "dropbox", "plaid", "revolut", "webflow"]);
});

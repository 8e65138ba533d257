import { signWebhookPayload, verifyWebhookSignature } from "@notionhq/client";
import type { ProviderCase } from "../case.ts";
import { jsonRequest, requestOf, SOURCE_URL, textOf } from "../kit.ts";
import { json } from "../near.ts";
import { base64Mac, hashOf, hexMac, macOf } from "../recompute.ts";
import { bodyCase } from "./body-hmac.ts";
import { FIVE_MINUTES } from "./generic.ts";

const SECRETS: [string, string] = ["a-webhook-secret", "another-webhook-secret"];
const hex = (secret: string, body: string) => hexMac(secret, body);
const prefixedHex = (secret: string, body: string) => `sha256=${hexMac(secret, body)}`;
const HEAD = {
  name: "HEAD",
  request: () => requestOf({ method: "HEAD" }),
  answer: { status: 200, body: "" },
};

function signTwitch(secret: string, nowMs: number, kind: string, body: string) {
  const id = "e76c6bd4-55c9-4987-8304-da1588d8988b";
  const time = new Date(nowMs).toISOString().replace("Z", "123456Z");
  return jsonRequest(body, {
    "twitch-eventsub-message-id": id,
    "twitch-eventsub-message-timestamp": time,
    "twitch-eventsub-message-type": kind,
    "twitch-eventsub-subscription-type": "channel.follow",
    "twitch-eventsub-message-signature": `sha256=${hexMac(secret, id, time, body)}`,
  });
}

function signZoom(secret: string, nowMs: number, body: string) {
  const timestamp = String(nowMs / 1000);
  return jsonRequest(body, {
    "x-zm-request-timestamp": timestamp,
    "x-zm-signature": `v0=${hexMac(secret, `v0:${timestamp}:`, body)}`,
    "x-zm-trackingid": "t-1",
  });
}

const X_BODY = JSON.stringify({ for_user_id: "1", tweet_create_events: [{ id_str: "2" }] });
const NOTION_BODY = JSON.stringify({ id: "n-1", type: "page.created", entity: { id: "p" } });
const WHATSAPP = {
  object: "whatsapp_business_account",
  entry: [
    {
      id: "1",
      changes: [{ field: "messages", value: { messages: [{ id: "wamid.A" }, { id: "wamid.B" }] } }],
    },
  ],
};
const META_MATERIAL = { credentials: { verify_token: "our-verify-token" } };

async function signNotion(secret: string) {
  const signature = await signWebhookPayload({ body: NOTION_BODY, verificationToken: secret });
  return jsonRequest(NOTION_BODY, { "x-notion-signature": signature });
}

export const HANDSHAKING_CASES: Readonly<Record<string, ProviderCase>> = {
  twitch: {
    secrets: SECRETS,
    sign: (secret, nowMs) => signTwitch(secret, nowMs, "notification", '{"event":{"user_id":"1"}}'),
    requiredHeaders: [
      "twitch-eventsub-message-id",
      "twitch-eventsub-message-timestamp",
      "twitch-eventsub-message-signature",
    ],
    window: { past: 600, future: 600 },
    expected: { type: "twitch.channel.follow", deliveryId: "e76c6bd4-55c9-4987-8304-da1588d8988b" },
    handshakes: [
      {
        name: "challenge",
        request: (secret, nowMs) =>
          signTwitch(
            secret,
            nowMs,
            "webhook_callback_verification",
            '{"challenge":"pogchamp-kappa-360noscope"}',
          ),
        answer: { status: 200, body: "pogchamp-kappa-360noscope" },
      },
      {
        name: "revocation",
        request: (secret, nowMs) =>
          signTwitch(secret, nowMs, "revocation", '{"subscription":{"status":"user_removed"}}'),
        answer: { status: 200, body: "" },
      },
    ],
  },
  zoom: {
    secrets: SECRETS,
    sign: (secret, nowMs) => signZoom(secret, nowMs, '{"event":"meeting.started","payload":{},"event_ts":1}'),
    requiredHeaders: ["x-zm-signature", "x-zm-request-timestamp"],
    window: FIVE_MINUTES,
    expected: {
      type: "zoom.meeting.started",
      deliveryId: "meeting.started|1|5305fb7986a44bb86a564f30887099335e98e8760dae9a87c5abe1f89e21ea82",
    },
    handshakes: [
      {
        name: "endpoint.url_validation",
        request: (secret, nowMs) =>
          signZoom(
            secret,
            nowMs,
            '{"event":"endpoint.url_validation","payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"}}',
          ),
        answer: {
          status: 200,
          body: JSON.stringify({
            plainToken: "qgg8vlvZRS6UYooatFL8Aw",
            encryptedToken: hexMac(SECRETS[0], "qgg8vlvZRS6UYooatFL8Aw"),
          }),
        },
      },
    ],
    near: {
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
  },
  meta: bodyCase(
    "x-hub-signature-256",
    prefixedHex,
    WHATSAPP,
    { type: "meta.whatsapp_business_account.messages", deliveryId: "wamid.A,wamid.B" },
    {
      ...META_MATERIAL,
      handshakes: [
        {
          name: "hub.challenge",
          request: () =>
            requestOf({
              method: "GET",
              url: `${SOURCE_URL}?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=our-verify-token`,
            }),
          answer: { status: 200, body: "1158201444" },
        },
      ],
      near: {
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
    },
  ),
  x: bodyCase(
    "x-twitter-webhooks-signature",
    (secret, body) => `sha256=${base64Mac(secret, body)}`,
    X_BODY,
    { type: "x.tweet_create_events", deliveryId: `body:${hashOf("sha256", "hex", X_BODY)}` },
    {
      handshakes: [
        {
          name: "crc_token",
          request: () => requestOf({ method: "GET", url: `${SOURCE_URL}?crc_token=foo` }),
          answer: {
            status: 200,
            body: JSON.stringify({ response_token: `sha256=${base64Mac(SECRETS[0], "foo")}` }),
          },
        },
      ],
      near: {
        happenings: ["2", "3"].map((id_str) => json({ for_user_id: "1", tweet_create_events: [{ id_str }] })),
        again: [json({ for_user_id: "1", tweet_create_events: [{ id_str: "2" }] })],
      },
    },
  ),
  dropbox: bodyCase(
    "x-dropbox-signature",
    hex,
    { list_folder: { accounts: ["dbid:1"] } },
    { type: "dropbox.unknown", deliveryId: null },
    {
      handshakes: [
        {
          name: "challenge",
          request: () => requestOf({ method: "GET", url: `${SOURCE_URL}?challenge=%3Cb%3E1` }),
          answer: { status: 200, body: "<b>1", headers: { "x-content-type-options": "nosniff" } },
        },
      ],
      near: {
        happenings: [json({ list_folder: { accounts: ["a"] } }), json({ list_folder: { accounts: ["a"] } })],
        again: null,
      },
    },
  ),
  woocommerce: bodyCase(
    "x-wc-webhook-signature",
    (secret, body) => base64Mac(secret, body),
    { id: 727, status: "processing" },
    { type: "woocommerce.order.created", deliveryId: "d-1|order.created|#" },
    {
      headers: { "x-wc-webhook-topic": "order.created", "x-wc-webhook-delivery-id": "d-1" },
      handshakes: [
        {
          name: "ping",
          request: () =>
            requestOf({
              body: "webhook_id=7",
              headers: { "content-type": "application/x-www-form-urlencoded" },
            }),
          answer: { status: 200, body: "" },
        },
      ],
      near: {
        happenings: [
          ...["processing", "completed"].map((status) =>
            json(
              { id: 7, status },
              { "x-wc-webhook-delivery-id": "d", "x-wc-webhook-topic": "order.updated" },
            ),
          ),
          ...[1, 2].map((arg) =>
            json(
              { arg },
              { "x-wc-webhook-delivery-id": "d", "x-wc-webhook-topic": "action.woocommerce_sold" },
            ),
          ),
        ],
        again: [
          json(
            { id: 7, status: "processing" },
            { "x-wc-webhook-delivery-id": "d", "x-wc-webhook-topic": "order.updated" },
          ),
        ],
      },
    },
  ),
  intercom: bodyCase(
    "x-hub-signature",
    (secret, body) => `sha1=${macOf("sha1", secret, "hex", body)}`,
    { type: "notification_event", id: "notif_1", topic: "conversation.user.created" },
    { type: "intercom.conversation.user.created", deliveryId: "notif_1" },
    {
      handshakes: [
        HEAD,
        {
          name: "ping",
          request: (secret) => {
            const body = '{"type":"notification_event","topic":"ping"}';
            return jsonRequest(body, { "x-hub-signature": `sha1=${macOf("sha1", secret, "hex", body)}` });
          },
          answer: { status: 200, body: "" },
        },
      ],
    },
  ),
  asana: bodyCase(
    "x-hook-signature",
    hex,
    {
      events: [
        {
          action: "added",
          created_at: "2026-01-01T00:00:00Z",
          resource: { gid: "1", resource_type: "task" },
        },
      ],
    },
    { type: "asana.task.added", deliveryId: "2026-01-01T00:00:00Z|1|added|#" },
    {
      handshakes: [
        {
          name: "X-Hook-Secret",
          request: () => jsonRequest("{}", { "x-hook-secret": "b537207f20cbfa02357cf448134da559" }),
          material: { secrets: [] },
          answer: {
            status: 200,
            body: "",
            headers: { "x-hook-secret": "b537207f20cbfa02357cf448134da559" },
            learnedSecret: "b537207f20cbfa02357cf448134da559",
          },
        },
        {
          name: "heartbeat",
          request: (secret) =>
            jsonRequest('{"events":[]}', { "x-hook-signature": hexMac(secret, '{"events":[]}') }),
          answer: { status: 200, body: "" },
        },
      ],
      near: {
        happenings: ["name", "notes"].map((field) =>
          json({
            events: [{ created_at: "t", resource: { gid: "1" }, action: "changed", change: { field } }],
          }),
        ),
        again: [
          json({
            events: [
              { created_at: "t", resource: { gid: "1" }, action: "changed", change: { field: "name" } },
            ],
          }),
        ],
      },
    },
  ),
  notion: {
    secrets: ["secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl", "secret_another"],
    isSignedBySdk: true,
    sign: signNotion,
    accepts: (request, secret) =>
      verifyWebhookSignature({
        body: textOf(request),
        signature: request.headers.get("x-notion-signature"),
        verificationToken: secret,
      }),
    requiredHeaders: ["x-notion-signature"],
    expected: { type: "notion.page.created", deliveryId: "n-1" },
    handshakes: [
      {
        name: "verification_token",
        request: () => jsonRequest('{"verification_token":"secret_1"}', {}),
        material: { secrets: [] },
        answer: { status: 200, body: "", learnedSecret: "secret_1", pendingVerificationToken: "secret_1" },
      },
    ],
  },
};

import Mux from "@mux/mux-node";
import { Paddle } from "@paddle/paddle-node-sdk";
import { encodeSignatureHeader, isValidSignature } from "@sanity/webhook";
import { WorkOS } from "@workos-inc/node";
import Orb from "orb-billing";
import Retell from "retell-sdk";
import Stripe from "stripe";
import { WebflowClient } from "webflow-api";
import type { InboundRequest } from "../../../src/inbound/provider.ts";
import type { ProviderCase } from "../case.ts";
import { headersOf, jsonRequest, materialOf, textOf } from "../kit.ts";
import { json } from "../near.ts";
import { base64Mac, hashOf, hexMac } from "../recompute.ts";
import { passes } from "../sdk.ts";
import { FIVE_MINUTES } from "./generic.ts";

type Accepts = NonNullable<ProviderCase["accepts"]>;

const SECRETS: [string, string] = ["a-webhook-secret", "another-webhook-secret"];
const A_DAY = { past: 86_400, future: 300 };

/** `headers` are made of the secret, the instant in seconds and the body's text. */
function timedCase(
  headers: (secret: string, seconds: number, body: string) => Record<string, string>,
  body: unknown,
  expected: ProviderCase["expected"],
  rest: Partial<ProviderCase> = {},
): ProviderCase {
  const text = JSON.stringify(body);
  return {
    secrets: SECRETS,
    sign: (secret, nowMs) => jsonRequest(text, headers(secret, nowMs / 1000, text)),
    requiredHeaders: Object.keys(headers("", 0, "")),
    window: FIVE_MINUTES,
    expected,
    ...rest,
  };
}

/** `t=<timestamp>,v1=<hex>` over `{t}.{body}`. */
function likeStripe(header: string, unit: "s" | "ms" = "s", entry = "v1", separator = ",") {
  return (secret: string, seconds: number, body: string) => {
    const at = unit === "s" ? seconds : seconds * 1000;
    return { [header]: `t=${at}${separator}${entry}=${hexMac(secret, `${at}.`, body)}` };
  };
}

function signatureOf(request: InboundRequest, header: string): string {
  return request.headers.get(header) ?? "";
}

const STRIPE_EVENT = JSON.stringify(
  {
    id: "evt_1NG8Du2eZvKYlo2CUI79vXWy",
    object: "event",
    api_version: "2019-02-19",
    created: 1_686_089_970,
    data: {
      object: {
        id: "seti_1NG8Du2eZvKYlo2C9XMqbR0x",
        object: "setup_intent",
        status: "requires_confirmation",
      },
    },
    livemode: false,
    pending_webhooks: 0,
    request: { id: null, idempotency_key: null },
    type: "setup_intent.created",
  },
  null,
  2,
);
const { webhooks: stripe } = new Stripe("sk_test_unused");

async function signStripe(secret: string, nowMs: number): Promise<InboundRequest> {
  const options = { payload: STRIPE_EVENT, secret, timestamp: nowMs / 1000 };
  return jsonRequest(STRIPE_EVENT, {
    "stripe-signature": await stripe.generateTestHeaderStringAsync(options),
  });
}

const byPaddle: Accepts = async (request, secret) => {
  const { webhooks } = new Paddle("unused");
  return webhooks.isSignatureValid(textOf(request), secret, signatureOf(request, "paddle-signature"));
};

const byOrb: Accepts = (request, secret) => {
  const { webhooks } = new Orb({ apiKey: "unused" });
  return passes(() => webhooks.verifySignature(textOf(request), headersOf(request), secret));
};

const byWorkOs: Accepts = (request, secret) => {
  const { webhooks } = new WorkOS("unused");
  const sigHeader = signatureOf(request, "workos-signature");
  return passes(() => {
    const payload: Record<string, unknown> = JSON.parse(textOf(request));
    return webhooks.constructEvent({ payload, sigHeader, secret });
  });
};

const byMux: Accepts = (request, secret) => {
  const { webhooks } = new Mux({ tokenId: "unused", tokenSecret: "unused" });
  return passes(() => webhooks.verifySignature(textOf(request), headersOf(request), secret));
};

const byWebflow: Accepts = (request, secret) => {
  const { webhooks } = new WebflowClient({ accessToken: "unused" });
  return webhooks.verifySignature({ headers: headersOf(request), body: textOf(request), secret });
};

const SANITY_BODY = JSON.stringify({ _id: "post-1", _type: "post" });
const SANITY_HEADERS = { "sanity-operation": "update", "idempotency-key": "k-1" };

async function signSanity(secret: string, nowMs: number): Promise<InboundRequest> {
  const signature = await encodeSignatureHeader(SANITY_BODY, nowMs, secret);
  return jsonRequest(SANITY_BODY, { ...SANITY_HEADERS, "sanity-webhook-signature": signature });
}

const RECURLY_VECTOR = {
  source: "recurly/recurly-client-ruby spec/recurly/webhooks_spec.rb",
  request: jsonRequest(
    '{"id":"rjxwmwedwqug","object_type":"account","site_id":"qc326l1hl8k9","event_type":"created","event_time":"2022-09-13T21:18:40Z","account_code":"adfas23zzz14123"}',
    { "recurly-signature": "1663103925004,ad24699f3beaa24c9af2cc7ada3ce4c835da0090194241b9d3add83d27f14bc3" },
  ),
  material: materialOf(["354fab5bd35f5a0d50845ee7e30165244468b13c2c343f104e4e730a59326d9d"]),
  nowMs: 1_663_103_925_004,
};

const RECURLY_BODY = {
  id: "r1",
  object_type: "account",
  event_type: "created",
  event_time: "2026-01-01T00:00:00Z",
};
const recurly = (event_time: string, more = {}, headers = {}) =>
  json({ object_type: "account", id: "a", event_type: "updated", event_time, ...more }, headers);

const RETELL_BODY = JSON.stringify({ event: "call_ended", call: { call_id: "c-1" } });
const WEBFLOW_BODY = { triggerType: "form_submission", payload: { id: "p-1" } };
const WEBFLOW_HASH = hashOf("sha256", "hex", JSON.stringify(WEBFLOW_BODY));

const stock = (quantity: number) =>
  json({
    triggerType: "ecomm_inventory_changed",
    payload: { id: "item_1", quantity, inventoryType: "finite" },
  });

export const TIMESTAMPED_CASES: Readonly<Record<string, ProviderCase>> = {
  stripe: {
    secrets: ["whsec_test_secret", "whsec_other_secret"],
    isSignedBySdk: true,
    sign: signStripe,
    accepts: (request, secret) =>
      passes(() =>
        stripe.constructEventAsync(textOf(request), signatureOf(request, "stripe-signature"), secret),
      ),
    requiredHeaders: ["stripe-signature"],
    window: FIVE_MINUTES,
    expected: { type: "stripe.setup_intent.created", deliveryId: "evt_1NG8Du2eZvKYlo2CUI79vXWy" },
  },
  paddle: timedCase(
    (secret, at, body) => ({ "paddle-signature": `ts=${at};h1=${hexMac(secret, `${at}:`, body)}` }),
    { event_id: "evt_1", event_type: "transaction.paid", notification_id: "ntf_1" },
    { type: "paddle.transaction.paid", deliveryId: "evt_1" },
    { accepts: byPaddle },
  ),
  recurly: timedCase(
    (secret, at, body) => ({ "recurly-signature": `${at * 1000},${hexMac(secret, `${at * 1000}.`, body)}` }),
    RECURLY_BODY,
    {
      type: "recurly.account.created",
      deliveryId: `account|r1|created|2026-01-01T00:00:00Z|${hashOf("sha256", "hex", JSON.stringify(RECURLY_BODY))}`,
    },
    {
      vectors: [RECURLY_VECTOR],
      near: {
        // The time counts whole seconds.
        happenings: [recurly("09:00"), recurly("18:00"), recurly("09:00", { account_code: "other" })],
        again: [recurly("09:00", {}, { "recurly-signature": "2" })],
      },
    },
  ),
  cashfree: timedCase(
    (secret, at, body) => ({
      "x-webhook-timestamp": String(at * 1000),
      "x-webhook-signature": base64Mac(secret, `${at * 1000}`, body),
    }),
    { type: "PAYMENT_SUCCESS_WEBHOOK", data: {} },
    {
      type: "cashfree.PAYMENT_SUCCESS_WEBHOOK",
      deliveryId: `body:${hashOf("sha256", "hex", '{"type":"PAYMENT_SUCCESS_WEBHOOK","data":{}}')}`,
    },
    {
      window: A_DAY,
      near: {
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
    },
  ),
  orb: timedCase(
    (secret, at, body) => {
      const time = new Date(at * 1000).toISOString().replace("Z", "");
      return { "x-orb-timestamp": time, "x-orb-signature": `v1=${hexMac(secret, `v1:${time}:`, body)}` };
    },
    { id: "o-1", type: "invoice.issued" },
    { type: "orb.invoice.issued", deliveryId: "o-1" },
    { accepts: byOrb },
  ),
  revolut: timedCase(
    (secret, at, body) => ({
      "revolut-request-timestamp": String(at * 1000),
      "revolut-signature": `v1=${hexMac(secret, `v1.${at * 1000}.`, body)}`,
    }),
    { event: "ORDER_COMPLETED", order_id: "o-1" },
    { type: "revolut.ORDER_COMPLETED", deliveryId: "ORDER_COMPLETED|o-1" },
    {
      near: {
        happenings: [
          json({ event: "ORDER_PAYMENT_DECLINED", order_id: "o" }),
          json({ event: "ORDER_PAYMENT_DECLINED", order_id: "o" }),
          json({ event: "ORDER_INCREMENTAL_AUTHORISATION_AUTHORISED", order_id: "o" }),
          json({ event: "ORDER_INCREMENTAL_AUTHORISATION_AUTHORISED", order_id: "o" }),
        ],
        again: null,
      },
    },
  ),
  calendly: timedCase(
    likeStripe("calendly-webhook-signature"),
    { event: "invitee.created", created_at: "2026-01-01T00:00:00Z", payload: { uri: "https://api/x" } },
    { type: "calendly.invitee.created", deliveryId: "invitee.created|https://api/x|2026-01-01T00:00:00Z" },
    {
      window: { past: 180, future: 180 },
      near: {
        happenings: ["invitee.created", "invitee.canceled"].map((event) =>
          json({ event, created_at: "t", payload: { uri: "u" } }),
        ),
        again: [
          json({ event: "invitee.created", created_at: "t", payload: { uri: "u" }, retry_started_at: "t" }),
        ],
      },
    },
  ),
  persona: timedCase(
    likeStripe("persona-signature"),
    { data: { id: "evt_1", attributes: { name: "inquiry.completed" } } },
    { type: "persona.inquiry.completed", deliveryId: "evt_1" },
  ),
  workos: timedCase(
    likeStripe("workos-signature", "ms", "v1", ", "),
    {
      id: "event_1",
      event: "user.created",
      data: { object: "user", id: "u" },
      created_at: "2026-01-01T00:00:00Z",
    },
    { type: "workos.user.created", deliveryId: "event_1" },
    { accepts: byWorkOs, window: { past: 180, future: 180 } },
  ),
  sanity: {
    secrets: SECRETS,
    isSignedBySdk: true,
    sign: signSanity,
    accepts: (request, secret) =>
      isValidSignature(textOf(request), signatureOf(request, "sanity-webhook-signature"), secret),
    requiredHeaders: ["sanity-webhook-signature"],
    window: A_DAY,
    expected: { type: "sanity.update", deliveryId: "k-1" },
  },
  mux: timedCase(
    likeStripe("mux-signature"),
    { id: "m-1", type: "video.asset.ready" },
    { type: "mux.video.asset.ready", deliveryId: "m-1" },
    { accepts: byMux },
  ),
  retell: timedCase(
    (secret, at, body) => ({
      "x-retell-signature": `v=${at * 1000},d=${hexMac(secret, body, `${at * 1000}`)}`,
    }),
    JSON.parse(RETELL_BODY),
    { type: "retell.call_ended", deliveryId: "call_ended|c-1|#" },
    {
      accepts: (request, secret) =>
        Retell.verify(textOf(request), secret, signatureOf(request, "x-retell-signature")),
      near: {
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
    },
  ),
  elevenlabs: timedCase(
    likeStripe("elevenlabs-signature", "s", "v0"),
    { type: "post_call_transcription", data: { conversation_id: "c-1" } },
    { type: "elevenlabs.post_call_transcription", deliveryId: "post_call_transcription|c-1" },
    {
      window: { past: 1800, future: 1800 },
      near: {
        happenings: ["post_call_transcription", "post_call_audio"].map((type) =>
          json({ type, data: { conversation_id: "c" } }),
        ),
        again: [
          json({ type: "post_call_transcription", data: { conversation_id: "c" }, event_timestamp: 2 }),
        ],
      },
    },
  ),
  webflow: timedCase(
    (secret, at, body) => ({
      "x-webflow-timestamp": String(at * 1000),
      "x-webflow-signature": hexMac(secret, `${at * 1000}:`, body),
    }),
    WEBFLOW_BODY,
    { type: "webflow.form_submission", deliveryId: `form_submission|p-1|${WEBFLOW_HASH}` },
    { accepts: byWebflow, near: { happenings: [stock(4), stock(5), stock(4)], again: null } },
  ),
  zendesk: timedCase(
    (secret, at, body) => {
      const time = new Date(at * 1000).toISOString();
      return {
        "x-zendesk-webhook-signature-timestamp": time,
        "x-zendesk-webhook-signature": base64Mac(secret, time, body),
      };
    },
    { type: "zen:event-type:user.created", id: "z-1" },
    {
      type: "zendesk.zen.event-type.user.created",
      deliveryId: `body:${hashOf("sha256", "hex", '{"type":"zen:event-type:user.created","id":"z-1"}')}`,
    },
    { window: A_DAY },
  ),
  customerio: timedCase(
    (secret, at, body) => ({
      "x-cio-timestamp": String(at),
      "x-cio-signature": hexMac(secret, `v0:${at}:`, body),
    }),
    { event_id: "01E", object_type: "email", metric: "opened" },
    { type: "customerio.email_opened", deliveryId: "01E" },
    { window: A_DAY },
  ),
};

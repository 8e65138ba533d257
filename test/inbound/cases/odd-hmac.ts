import { gzipSync } from "node:zlib";
import BoxSDK from "box-node-sdk";
import { v2 as cloudinary } from "cloudinary";
import { WebhookSignatureValidator } from "mercadopago";
import type { InboundRequest } from "../../../src/inbound/provider.ts";
import type { ProviderCase } from "../case.ts";
import {
  headersIn,
  headersOf,
  jsonRequest,
  requestOf,
  SOURCE_URL,
  textOf,
  withBody,
  withHeader,
  withUrl,
  withoutHeader,
} from "../kit.ts";
import { json } from "../near.ts";
import { base64Mac, hashOf, hexMac, macOf } from "../recompute.ts";
import { load, passes } from "../sdk.ts";
import { FIVE_MINUTES } from "./generic.ts";

type Accepts = NonNullable<ProviderCase["accepts"]>;

const SECRETS: [string, string] = ["a-webhook-secret", "another-webhook-secret"];

const BOX_BODY = JSON.stringify({ trigger: "FILE.UPLOADED", id: "b-1" });

function signBox(secret: string, nowMs: number): InboundRequest {
  const time = new Date(nowMs).toISOString().replace(".000Z", "-00:00");
  return jsonRequest(BOX_BODY, {
    "box-delivery-id": "d-1",
    "box-delivery-timestamp": time,
    "box-signature-version": "1",
    "box-signature-algorithm": "HmacSHA256",
    "box-signature-primary": base64Mac(secret, BOX_BODY, time),
  });
}

const byBox: Accepts = (request, secret) =>
  BoxSDK.validateWebhookMessage(textOf(request), headersOf(request), secret, secret);

const pusherSdk = load("pusher") as new (
  options: object,
) => { webhook(request: object): { isValid(): boolean } };
const PUSHER_BODY = JSON.stringify({
  time_ms: 1_327_078_148_132,
  events: [{ name: "channel_occupied", channel: "c" }],
});

const byPusher: Accepts = (request, secret) => {
  const pusher = new pusherSdk({ appId: "1", key: "app-key", secret, cluster: "eu" });
  return pusher.webhook({ rawBody: textOf(request), headers: headersOf(request) }).isValid();
};

const MERCADOPAGO_URL = `${SOURCE_URL}?data.id=123ABC&type=payment`;

function signMercadoPago(secret: string, nowMs: number): InboundRequest {
  const at = nowMs / 1000;
  const signature = hexMac(secret, `id:123abc;request-id:r-1;ts:${at};`);
  return requestOf({
    url: MERCADOPAGO_URL,
    body: JSON.stringify({ id: 99, type: "payment", action: "payment.updated", data: { id: "123ABC" } }),
    headers: {
      "content-type": "application/json",
      "x-request-id": "r-1",
      "x-signature": `ts=${at},v1=${signature}`,
    },
  });
}

const byMercadoPago: Accepts = (request, secret) =>
  passes(() =>
    WebhookSignatureValidator.validate({
      xSignature: request.headers.get("x-signature") ?? "",
      xRequestId: request.headers.get("x-request-id") ?? "",
      dataId: request.query.get("data.id")?.toLowerCase() ?? "",
      secret,
    }),
  );

const REVENUECAT_BODY = JSON.stringify({
  event: { id: "rc-1", type: "INITIAL_PURCHASE" },
  api_version: "1.0",
});

function signRevenueCat(secret: string, nowMs: number): InboundRequest {
  const at = nowMs / 1000;
  const signature = `t=${at},v1=${hexMac(secret, `${at}.`, REVENUECAT_BODY)}`;
  return jsonRequest(REVENUECAT_BODY, { "x-revenuecat-webhook-signature": signature });
}

const CDP_BODY = JSON.stringify({ eventType: "onchain.activity.detected", data: {} });

function signCdp(secret: string, nowMs: number): InboundRequest {
  const at = nowMs / 1000;
  const names = "content-type x-event-id x-event-type";
  const signature = hexMac(
    secret,
    `${at}.${names}.application/json.e-1.onchain.activity.detected.`,
    CDP_BODY,
  );
  return jsonRequest(CDP_BODY, {
    "x-event-id": "e-1",
    "x-event-type": "onchain.activity.detected",
    "x-hook0-signature": `t=${at},h=${names},v1=${signature}`,
  });
}

function nearCdp(id: string) {
  const headers = { "x-event-id": id, "x-hook0-signature": "t=1,h=x-event-id,v1=00" };
  return { ...json({ eventType: "onchain.activity.detected" }), headers };
}

/** A value among the names: a dot may stand in a name, and parts names from values. */
function recutCdp(request: InboundRequest): InboundRequest[] {
  const signature = headersIn(request).get("x-hook0-signature") ?? "";
  const moved = {
    "content-type": "e-1",
    "x-event-id": "onchain.activity",
    "x-event-type.application/json": "detected",
    "x-hook0-signature": signature.replace("x-event-type", "x-event-type.application/json"),
  };
  return [Object.entries(moved).reduce((made, [name, value]) => withHeader(made, name, value), request)];
}

const CLOUDINARY_BODY = JSON.stringify({ notification_type: "upload", request_id: "r-1", public_id: "p" });

function signCloudinary(secret: string, nowMs: number): InboundRequest {
  const at = String(nowMs / 1000);
  const signature = hashOf("sha1", "hex", CLOUDINARY_BODY, at, secret);
  return jsonRequest(CLOUDINARY_BODY, { "x-cld-timestamp": at, "x-cld-signature": signature });
}

const byCloudinary: Accepts = (request, secret) => {
  cloudinary.config({ api_secret: secret });
  const [timestamp, signature] = ["x-cld-timestamp", "x-cld-signature"].map(
    (name) => request.headers.get(name) ?? "",
  );
  return cloudinary.utils.verifyNotificationSignature(textOf(request), Number(timestamp), signature ?? "");
};

const SEGMENT_EVENT = JSON.stringify({
  type: "track",
  event: "Order Completed",
  messageId: "m-1",
  properties: { name: "J\uFFFDrg" },
});
const STREAM_BODY = JSON.stringify({ type: "message.new", cid: "messaging:fun" });

export const ODD_HMAC_CASES: Readonly<Record<string, ProviderCase>> = {
  box: {
    secrets: SECRETS,
    sign: signBox,
    accepts: byBox,
    requiredHeaders: ["box-signature-primary", "box-delivery-timestamp"],
    window: { past: 600, future: 600 },
    expected: { type: "box.FILE.UPLOADED", deliveryId: "b-1" },
    near: {
      happenings: ["b-1", "b-2"].map((id) =>
        json(
          { id, trigger: "FILE.UPLOADED", created_at: "t", source: { id: "1" } },
          { "box-delivery-id": id },
        ),
      ),
      // A retry has another id in its header, and the same in its body.
      again: [
        json(
          { id: "b-1", trigger: "FILE.UPLOADED", created_at: "t", source: { id: "1" } },
          { "box-delivery-id": "another" },
        ),
      ],
    },
  },
  pusher: {
    secrets: SECRETS,
    credentials: { app_key: "app-key" },
    sign: (secret) =>
      jsonRequest(PUSHER_BODY, {
        "x-pusher-key": "app-key",
        "x-pusher-signature": hexMac(secret, PUSHER_BODY),
      }),
    accepts: byPusher,
    requiredHeaders: ["x-pusher-signature", "x-pusher-key"],
    expected: {
      type: "pusher.channel_occupied",
      deliveryId: `1327078148132|${hashOf("sha256", "hex", PUSHER_BODY)}`,
    },
    near: {
      happenings: ["a", "b"].map((channel) =>
        json({ time_ms: 1, events: [{ name: "channel_occupied", channel }] }),
      ),
      again: [json({ time_ms: 1, events: [{ name: "channel_occupied", channel: "a" }] })],
    },
  },
  mercadopago: {
    secrets: SECRETS,
    sign: signMercadoPago,
    accepts: byMercadoPago,
    requiredHeaders: ["x-signature"],
    isBodySigned: false,
    alterations: [
      (request) => withHeader(request, "x-request-id", "r-2"),
      (request) => withUrl(request, request.url.replace("123", "124")),
    ],
    window: FIVE_MINUTES,
    expected: { type: "mercadopago.payment.payment.updated", deliveryId: "99" },
  },
  revenuecat: {
    secrets: SECRETS,
    sign: signRevenueCat,
    uncovered: (request) => [
      withBody(
        withoutHeader(withHeader(request, "authorization", SECRETS[0]), "x-revenuecat-webhook-signature"),
        '{"event":{"id":"forged"}}',
      ),
    ],
    requiredHeaders: ["x-revenuecat-webhook-signature"],
    window: FIVE_MINUTES,
    expected: { type: "revenuecat.INITIAL_PURCHASE", deliveryId: "rc-1" },
  },
  coinbase_cdp: {
    secrets: SECRETS,
    sign: signCdp,
    requiredHeaders: ["x-hook0-signature"],
    recut: recutCdp,
    alterations: [
      (request) => withHeader(request, "x-event-type", "other"),
      (request) => withHeader(request, "x-event-id", "other"),
    ],
    window: FIVE_MINUTES,
    expected: {
      type: "coinbase_cdp.onchain.activity.detected",
      deliveryId: hashOf(
        "sha256",
        "hex",
        "content-type x-event-id x-event-type.application/json.e-1.onchain.activity.detected.",
        CDP_BODY,
      ),
    },
    near: {
      happenings: ["e-1", "e-2"].map(nearCdp),
      again: [nearCdp("e-1")],
    },
  },
  cloudinary: {
    secrets: SECRETS,
    sign: signCloudinary,
    accepts: byCloudinary,
    requiredHeaders: ["x-cld-signature", "x-cld-timestamp"],
    window: { past: 7200, future: 7200 },
    expected: { type: "cloudinary.upload", deliveryId: "upload|r-1|p|#" },
    near: {
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
  },
  segment: {
    secrets: SECRETS,
    sign: (secret) =>
      jsonRequest(SEGMENT_EVENT, { "x-signature": macOf("sha1", secret, "hex", SEGMENT_EVENT) }),
    uncovered: (request) => [withBody(request, `[${SEGMENT_EVENT},{"forged":1}]`)],
    requiredHeaders: ["x-signature"],
    expected: { type: "segment.track.Order_Completed", deliveryId: "m-1|#" },
    near: {
      happenings: [
        json({ type: "track", event: "a", messageId: "M1" }),
        // Another visitor's, who took the same id.
        json({ type: "track", event: "b", messageId: "M1" }),
        json({ type: "track", event: "a", messageId: "M1,M2" }),
        json(["M1", "M2"].map((messageId) => ({ type: "track", event: "a", messageId }))),
      ],
      again: [json({ type: "track", event: "a", messageId: "M1" })],
    },
  },
  stream: {
    secrets: SECRETS,
    sign: (secret) => {
      const headers = {
        "content-encoding": "gzip",
        "x-webhook-id": "w-1",
        "x-signature": hexMac(secret, STREAM_BODY),
      };
      return withBody(jsonRequest("", headers), gzipSync(STREAM_BODY));
    },
    requiredHeaders: ["x-signature"],
    isBodySigned: false,
    alterations: [(request) => withBody(request, gzipSync(STREAM_BODY.replace("new", "old")))],
    expected: { type: "stream.message.new", deliveryId: "w-1" },
  },
};

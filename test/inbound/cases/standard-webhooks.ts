import Anthropic from "@anthropic-ai/sdk";
import { verifyWebhook } from "@clerk/backend/webhooks";
import { WebhookHandler } from "@liveblocks/node";
import { webhooks as polar } from "@polar-sh/sdk/2026-04";
import DodoPayments from "dodopayments";
import Lithic from "lithic";
import { validateWebhook } from "replicate";
import { Resend } from "resend";
import { Webhook } from "standardwebhooks";
import { Webhook as Svix } from "svix";
import type { ProviderCase } from "../case.ts";
import { headersOf, jsonRequest, materialOf, NOW_MS, textOf, withHeader } from "../kit.ts";
import { passes } from "../sdk.ts";
import { FIVE_MINUTES, MESSAGE_ID, signStandard, WHSEC, NEAR_BY_SVIX } from "./generic.ts";

type Accepts = NonNullable<ProviderCase["accepts"]>;

const TEXT_SECRETS: [string, string] = ["client_secret_of_an_app", "another_client_secret"];

function requiredHeaders(prefix: string): string[] {
  return [`${prefix}-id`, `${prefix}-timestamp`, `${prefix}-signature`];
}

/**
 * Signed by the library that the page prescribes; checked by the provider's own verifier where there is one.
 */
function standardCase(
  prefix: string,
  body: unknown,
  type: string,
  rest: Partial<ProviderCase> = {},
): ProviderCase {
  return {
    secrets: WHSEC,
    isSignedBySdk: true,
    sign: (secret, nowMs) => signStandard(prefix, secret, nowMs, JSON.stringify(body)),
    requiredHeaders: requiredHeaders(prefix),
    window: FIVE_MINUTES,
    expected: { type, deliveryId: MESSAGE_ID },
    ...rest,
  };
}

/** For secrets that are used as text. */
function textCase(body: unknown, type: string, rest: Partial<ProviderCase> = {}): ProviderCase {
  return standardCase("webhook", body, type, {
    secrets: TEXT_SECRETS,
    sign: (secret, nowMs) => signStandard("webhook", btoa(secret), nowMs, JSON.stringify(body)),
    ...rest,
  });
}

const bySvix: Accepts = (request, secret) =>
  passes(() => new Svix(secret).verify(textOf(request), headersOf(request)));
const byLibrary: Accepts = (request, secret) =>
  passes(() => new Webhook(secret).verify(textOf(request), headersOf(request)));

const byClerk: Accepts = (request, secret) => {
  const fetched = new Request(request.url, {
    method: "POST",
    headers: headersOf(request),
    body: textOf(request),
  });
  return passes(() => verifyWebhook(fetched, { signingSecret: secret }));
};

const byResend: Accepts = (request, secret) => {
  const header = (name: string) => request.headers.get(name) ?? "";
  const headers = {
    id: header("svix-id"),
    timestamp: header("svix-timestamp"),
    signature: header("svix-signature"),
  };
  const { webhooks } = new Resend("re_unused");
  return passes(() => webhooks.verify({ payload: textOf(request), headers, webhookSecret: secret }));
};

const byAnthropic: Accepts = (request, secret) => {
  const { webhooks } = new Anthropic({ apiKey: "unused" }).beta;
  return passes(() => webhooks.unwrap(textOf(request), { headers: headersOf(request), key: secret }));
};

const byReplicate: Accepts = (request, secret) => {
  const header = (name: string) => request.headers.get(`webhook-${name}`) ?? "";
  return validateWebhook({
    id: header("id"),
    timestamp: header("timestamp"),
    signature: header("signature"),
    body: textOf(request),
    secret,
  });
};

const byDodo: Accepts = (request, secret) => {
  const { webhooks } = new DodoPayments({ bearerToken: "unused" });
  return passes(() => webhooks.unwrap(textOf(request), { headers: headersOf(request), key: secret }));
};

const byLiveblocks: Accepts = (request, secret) =>
  passes(() =>
    new WebhookHandler(secret).verifyRequest({ headers: headersOf(request), rawBody: textOf(request) }),
  );

const byLithic: Accepts = (request, secret) => {
  const { webhooks } = new Lithic({ apiKey: "unused" });
  return passes(() => webhooks.unwrap(textOf(request), headersOf(request), secret));
};

const OPENAI_AT_MS = 1_750_861_210_000;
const OPENAI_VECTOR = {
  source: "openai/openai-node tests/api-resources/webhooks.test.ts",
  request: jsonRequest(
    '{"id": "evt_685c059ae3a481909bdc86819b066fb6", "object": "event", "created_at": 1750861210, "type": "response.completed", "data": {"id": "resp_123"}}',
    {
      "webhook-id": "wh_685c059ae39c8190af8c71ed1022a24d",
      "webhook-timestamp": "1750861210",
      "webhook-signature": "v1,gUAg4R2hWouRZqRQG4uJypNS8YK885G838+EHb4nKBY=",
    },
  ),
  material: materialOf(["whsec_RdvaYFYUXuIFuEbvZHwMfYFhUf7aMYjYcmM24+Aj40c="]),
  nowMs: OPENAI_AT_MS,
};

/** Recall.ai's older accounts sign as Svix does. */
function recallVector() {
  const request = signStandard("svix", WHSEC[0], NOW_MS, '{"event":"bot.done"}');
  return {
    source: "docs.recall.ai: legacy workspaces",
    request,
    material: materialOf([WHSEC[0]]),
    nowMs: NOW_MS,
  };
}

const SUPABASE_BODY = '{"user":{"id":"u-1"}}';

/** Supabase signs with every secret and joins the entries by a comma and a space. */
function supabaseVector() {
  const request = signStandard("webhook", WHSEC[0], NOW_MS, SUPABASE_BODY);
  const signature = `${request.headers.get("webhook-signature")}, v1,${btoa("the entry of another key")}`;
  return {
    source: "supabase/auth internal/hooks/hookshttp/hookshttp.go: entries joined by a comma and a space",
    request: withHeader(request, "webhook-signature", signature),
    material: materialOf([`v1,${WHSEC[0]}`]),
    nowMs: NOW_MS,
  };
}

export const STANDARD_WEBHOOKS_CASES: Readonly<Record<string, ProviderCase>> = {
  clerk: standardCase("svix", { type: "user.created", data: { id: "user_1" } }, "clerk.user.created", {
    accepts: byClerk,
    near: NEAR_BY_SVIX,
  }),
  resend: standardCase("svix", { type: "email.sent", data: { email_id: "e-1" } }, "resend.email.sent", {
    accepts: byResend,
    near: NEAR_BY_SVIX,
  }),
  stytch: standardCase("svix", { action: "CREATE", object_type: "user", id: "u-1" }, "stytch.user.CREATE", {
    accepts: bySvix,
    near: NEAR_BY_SVIX,
  }),
  openai: standardCase("webhook", { id: "evt_1", type: "response.completed" }, "openai.response.completed", {
    vectors: [OPENAI_VECTOR],
  }),
  anthropic: standardCase(
    "webhook",
    { type: "event", id: "event_1", data: { type: "session.status_idled", id: "s-1" } },
    "anthropic.session.status_idled",
    { accepts: byAnthropic },
  ),
  replicate: standardCase(
    "webhook",
    { id: "ufawqhfynnddngldkgtslldrkq", status: "succeeded" },
    "replicate.succeeded",
    {
      accepts: byReplicate,
    },
  ),
  dodopayments: standardCase(
    "webhook",
    { type: "payment.succeeded", data: {} },
    "dodopayments.payment.succeeded",
    {
      accepts: byDodo,
    },
  ),
  liveblocks: standardCase(
    "webhook",
    { type: "roomCreated", data: { projectId: "p", roomId: "r", createdAt: "2026-01-01T00:00:00Z" } },
    "liveblocks.roomCreated",
    { accepts: byLiveblocks },
  ),
  lithic: standardCase("webhook", { event_type: "card.created", token: "t-1" }, "lithic.card.created", {
    accepts: byLithic,
  }),
  render: standardCase("webhook", { type: "deploy_ended", data: { id: "evt-1" } }, "render.deploy_ended", {
    accepts: byLibrary,
  }),
  brex: standardCase(
    "webhook",
    { event_type: "TRANSFER_PROCESSED", transfer_id: "t" },
    "brex.TRANSFER_PROCESSED",
    {
      secrets: ["MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "C2FVsBQIhrscChlQIMV+b5sSYspob7oDmwGqKxBCv0s="],
      accepts: byLibrary,
    },
  ),
  recall_ai: standardCase(
    "webhook",
    { event: "bot.done", data: { bot: { id: "b" } } },
    "recall_ai.bot.done",
    {
      accepts: byLibrary,
      vectors: [recallVector()],
      near: NEAR_BY_SVIX,
    },
  ),
  polar: textCase(
    { type: "order.paid", data: { id: "o-1" }, timestamp: "2026-01-01T00:00:00Z" },
    "polar.order.paid",
    {
      accepts: (request, secret) =>
        passes(() => polar.validateEvent(textOf(request), headersOf(request), secret)),
    },
  ),
  bigcommerce: textCase(
    { scope: "store/order/created", store_id: "1", data: { id: 1 } },
    "bigcommerce.store.order.created",
    {
      accepts: (request, secret) => byLibrary(request, btoa(secret), 0),
    },
  ),
  supabase: standardCase("webhook", {}, "supabase.unknown", {
    secrets: [`v1,${WHSEC[0]}`, `v1,${WHSEC[1]}`],
    sign: (secret, nowMs) => signStandard("webhook", secret.replace("v1,", ""), nowMs, SUPABASE_BODY),
    vectors: [supabaseVector()],
  }),
  gitlab_signed: standardCase("webhook", {}, "gitlab_signed.Push_Hook", {
    sign: (secret, nowMs) => {
      const request = signStandard("webhook", secret, nowMs, '{"object_kind":"push"}');
      return jsonRequest(textOf(request), { ...headersOf(request), "x-gitlab-event": "Push Hook" });
    },
    accepts: byLibrary,
  }),
};

import { DELIVERED, firstOf, readObject, rejected } from "../answers.ts";
import { type DestinationKind, HEADER_TEXT } from "../destination.ts";
import { headersWith, perConfig, textOf, urlBelow, withoutLastSlashes } from "../requests.ts";

const ORIGIN = "https://api.cloudflare.com";
const BASE_PATH = "/client/v4";
const BEFORE = new TextEncoder().encode('{"content_type":"json","body":');
const AFTER = new TextEncoder().encode("}");

const connectionOf = perConfig((config) => {
  const base = textOf(config, "endpoint") ?? ORIGIN;
  const prefix = withoutLastSlashes(new URL(base).pathname).endsWith(BASE_PATH) ? "" : BASE_PATH;
  const { account_id: account, queue_id: queue } = config;
  return {
    url: urlBelow(base, `${prefix}/accounts/${String(account)}/queues/${String(queue)}/messages`),
    authorization: `Bearer ${textOf(config, "api_token")}`,
  };
});

/** Cloudflare Queues, by the push call of its HTTP API. */
export const cloudflareQueues: DestinationKind = {
  kind: "cloudflare_queues",
  name: "Cloudflare Queues",
  about: {
    sentAs:
      "`POST /client/v4/accounts/ACCOUNT/queues/QUEUE/messages`; the message's body is the delivery's JSON, with `content_type: json`.",
    deliveredWhen: "The answer says `success: true`.",
    testedAgainst:
      "a recorder, with the official client `cloudflare` 7.3.0 sending the same to it; the service itself cannot be had",
    notes:
      "Messages have no attributes, so the three `webhook-*` headers cannot travel: consumers cannot verify signatures, and find repeats by what " +
      "the event itself holds. The API token needs the permission *Queues Edit*.",
    errors: {
      credentials_refused: "The API token is wrong, or has expired.",
      permission_missing: "The API token lacks the permission Queues Edit for this account.",
      queue_not_found: "The account has no such queue.",
      refused:
        "The answer says success: false; `error_detail` is Cloudflare's own error, which the answer explains.",
    },
  },
  fields: [
    {
      name: "account_id",
      label: "Account ID",
      help: "32 hexadecimal digits, shown in the dashboard.",
      required: true,
      secret: false,
      address: false,
      pattern: "[A-Za-z0-9_-]{1,64}",
    },
    {
      name: "queue_id",
      label: "Queue ID",
      help: "32 hexadecimal digits: not the queue's name.",
      required: true,
      secret: false,
      address: false,
      pattern: "[A-Za-z0-9_-]{1,64}",
    },
    {
      name: "api_token",
      label: "API token",
      help: "With the permission Queues Edit.",
      required: true,
      secret: true,
      address: false,
      pattern: HEADER_TEXT,
    },
    {
      name: "endpoint",
      label: "API address",
      help: `${ORIGIN} unless given.`,
      required: false,
      secret: false,
      address: true,
    },
  ],
  // developers.cloudflare.com/queues/platform/limits: "Message size 128 KB", with about 100 bytes of metadata
  // counted in.
  maxBytes: 127_900,
  protocolHeaders: ["authorization", "x-auth-*", "cf-*"],
  request(config, message) {
    const { url, authorization } = connectionOf(config);
    const headers = headersWith(
      [
        ["content-type", "application/json"],
        ["authorization", authorization],
      ],
      message,
    );
    return { method: "POST", url, headers, body: Buffer.concat([BEFORE, message.body, AFTER]) };
  },
  judge({ status, body }) {
    const { success, errors } = readObject(body);
    if (status === 200 && success === true) return DELIVERED;
    if (status === 401) return rejected("credentials_refused");
    if (status === 403) return rejected("permission_missing");
    if (status === 404) return rejected("queue_not_found");
    const { code } = firstOf(errors);
    if (typeof code === "number") return rejected("refused", { detail: `error ${code}` });
    return rejected(status === 200 ? "refused" : null);
  },
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Cloudflare Queues": "Cloudflare Queues",
  "Account ID": "Konto-ID",
  "32 hexadecimal digits, shown in the dashboard.": "32 hexadezimale Ziffern, im Dashboard gezeigt.",
  "Queue ID": "ID der Warteschlange",
  "32 hexadecimal digits: not the queue's name.":
    "32 hexadezimale Ziffern: nicht der Name der Warteschlange.",
  "API token": "API-Token",
  "With the permission Queues Edit.": "Mit der Berechtigung Queues Edit.",
  "API address": "API-Adresse",
  "https://api.cloudflare.com unless given.": "Ohne Angabe https://api.cloudflare.com.",
};

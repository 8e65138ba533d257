import { rejected } from "../answers.ts";
import { HOPS_HEADER } from "../../core/hops.ts";
import { type DestinationKind, isSuccess } from "../destination.ts";
import { perConfig } from "../requests.ts";
import { urlParts } from "../../transport/url-parts.ts";
import { USER_AGENT } from "../../transport/user-agent.ts";

const CONTENT_TYPE = ["content-type", "application/json"] as const;
const AGENT = ["user-agent", USER_AGENT] as const;
const FIRST_HOP = [HOPS_HEADER, "1"] as const;

const urlOf = perConfig(({ url }) => urlParts(new URL(String(url))));

/** A URL of the customer's: Standard Webhooks over HTTP. */
export const http: DestinationKind = {
  kind: "http",
  name: "HTTP URL",
  about: {
    sentAs:
      "A POST with the body's exact bytes, the three `webhook-*` headers, `sealpost-hops` and the endpoint's own headers.",
    deliveredWhen: "The status is 2xx. Redirects are not followed.",
    testedAgainst:
      "receivers of the tests' own, well-behaved and hostile, and the published `standardwebhooks` package",
  },
  fields: [
    {
      name: "url",
      label: "URL",
      help: "Where deliveries are posted to. It must resolve to public addresses only.",
      required: true,
      secret: false,
      address: true,
    },
  ],
  maxBytes: null,
  request(config, message) {
    const headers: (readonly [string, string])[] = [
      CONTENT_TYPE,
      AGENT,
      ["webhook-id", message.id],
      ["webhook-timestamp", String(message.timestampSeconds)],
      ["webhook-signature", message.signature],
      message.hops === 0 ? FIRST_HOP : [HOPS_HEADER, String(message.hops + 1)],
      ...message.headers,
    ];
    return { method: "POST", url: urlOf(config), headers, body: message.body };
  },
  judge: ({ status }) => (isSuccess(status) ? { delivered: true } : rejected()),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "HTTP URL": "HTTP-Adresse",
  URL: "URL",
  "Where deliveries are posted to. It must resolve to public addresses only.":
    "Wohin Zustellungen gesendet werden. Sie muss zu öffentlichen Adressen führen.",
};

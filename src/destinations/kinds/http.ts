import { rejected } from "../answers.ts";
import { HOPS_HEADER } from "../../core/hops.ts";
import { TRACEPARENT_HEADER } from "../../core/trace-context.ts";
import { type DestinationKind, isSuccess } from "../destination.ts";
import { headersWith, perConfig, textOf, WEBHOOK_HEADERS, webhookHeadersOf } from "../requests.ts";
import { urlParts } from "../../transport/url-parts.ts";

const CONTENT_TYPE = ["content-type", "application/json"] as const;
const FIRST_HOP = [HOPS_HEADER, "1"] as const;

const urlOf = perConfig(({ url }) => urlParts(new URL(String(url))));

const PREFIX = "webhook";

/** A header of Standard Webhooks by the second prefix. */
const byPrefix = (prefix: string, name: string) => prefix + name.slice(PREFIX.length);

/** A URL of the customer's: Standard Webhooks over HTTP. */
export const http: DestinationKind = {
  kind: "http",
  name: "HTTP URL",
  about: {
    sentAs:
      "A POST with the body's exact bytes, the three `webhook-*` headers, `sealpost-hops`, the endpoint's own headers and, where the event is traced, `traceparent`.",
    deliveredWhen: "The status is 2xx. Redirects are not followed.",
    testedAgainst:
      "receivers of the tests' own, well-behaved and hostile, and the published `standardwebhooks` package",
    notes: "Headers by the names of a second prefix are Sealpost's: an endpoint cannot set them itself.",
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
    {
      name: "header_prefix",
      label: "Second prefix of the headers",
      help: "For receivers that came from another service: with `svix`, the three headers are sent as `svix-id`, `svix-timestamp` and `svix-signature` too.",
      required: false,
      secret: false,
      address: false,
      pattern: "[a-z][a-z0-9]{0,31}(-[a-z0-9]{1,32}){0,3}",
      check: (text) => (text === PREFIX ? `The three headers have the prefix ${PREFIX} anyway.` : null),
    },
  ],
  maxBytes: null,
  configHeaders(config) {
    const second = textOf(config, "header_prefix");
    return second === null ? [] : WEBHOOK_HEADERS.map((name) => byPrefix(second, name));
  },
  request(config, message) {
    const signed = webhookHeadersOf(message);
    const own: (readonly [string, string])[] = [
      CONTENT_TYPE,
      ...signed,
      message.hops === 0 ? FIRST_HOP : [HOPS_HEADER, String(message.hops + 1)],
    ];
    const second = textOf(config, "header_prefix");
    if (second !== null) for (const [name, value] of signed) own.push([byPrefix(second, name), value]);
    if (message.traceparent !== null) own.push([TRACEPARENT_HEADER, message.traceparent]);
    return { method: "POST", url: urlOf(config), headers: headersWith(own, message), body: message.body };
  },
  judge: ({ status }) => (isSuccess(status) ? { delivered: true } : rejected()),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "HTTP URL": "HTTP-Adresse",
  URL: "URL",
  "Second prefix of the headers": "Zweites Präfix der Header",
  "For receivers that came from another service: with `svix`, the three headers are sent as `svix-id`, `svix-timestamp` and `svix-signature` too.":
    "Für Empfänger, die von einem anderen Dienst kommen: Mit `svix` werden die drei Header auch als `svix-id`, `svix-timestamp` und `svix-signature` gesendet.",
  "Where deliveries are posted to. It must resolve to public addresses only.":
    "Wohin Zustellungen gesendet werden. Sie muss zu öffentlichen Adressen führen.",
};

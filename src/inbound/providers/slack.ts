import { answerEmpty, answerWithId, emptyHandshake, textHandshake } from "../answers.ts";
import { checkedDocs } from "../define.ts";
import { type Facts, field, firstOf, readPath } from "../facts.ts";
import type { ProviderRow } from "../row.ts";
import { hmacScheme } from "../schemes/hmac.ts";
import { whole } from "../schemes/layouts.ts";
import { within } from "../window.ts";

function answerUrlVerification({ body: seen }: Facts) {
  const challenge = readPath(seen, "challenge");
  return readPath(seen, "type") === "url_verification" && challenge !== null
    ? textHandshake(challenge)
    : null;
}

/** Slash commands and interactions show the answer's body to the user, so it must be empty. */
function answerFor({ body: seen }: Facts) {
  return seen.kind === "json" ? answerWithId : answerEmpty();
}

export const SLACK: ProviderRow = {
  key: "slack",
  name: "Slack",
  scheme: hmacScheme({
    header: "x-slack-signature",
    layout: whole("v0="),
    algorithm: "sha256",
    encoding: "hex",
    content: "v0:{timestamp}:{body}",
    timestamp: { header: "x-slack-request-timestamp", unit: "s", window: within(300) },
  }),
  secretFrom: "customer",
  signedHandshakes: [
    { text: "url_verification: the challenge is echoed", answer: answerUrlVerification },
    {
      text: "ssl_check=1",
      answer: ({ body: seen }) => (readPath(seen, "ssl_check") === "1" ? emptyHandshake() : null),
    },
  ],
  form: "sometimes",
  typeExample: "message",
  eventType: firstOf(field("event.type"), field("payload.type"), field("command"), field("type")),
  deliveryId: firstOf(field("event_id"), field("payload.trigger_id"), field("trigger_id")),
  secrets: ["token", "payload.token"],
  answer: answerFor,
  verifiedWith: {
    kind: "vector",
    page: "https://docs.slack.dev/authentication/verifying-requests-from-slack",
  },
  docs: checkedDocs(
    "api.slack.com/apps: your app, Event Subscriptions, Enable Events, Request URL (or Interactivity, or Slash Commands).",
    "The same app: Basic Information, Signing Secret.",
    "https://docs.slack.dev/tools/bolt-js/creating-an-app",
    "Enter the signing secret before the request URL: Slack checks the address with a signed challenge.",
    "The verification token in the body is deprecated: it is not read, and masked as *** in data.",
  ),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "The same app: Basic Information, Signing Secret.": "Dieselbe App: Basic Information, Signing Secret.",
};

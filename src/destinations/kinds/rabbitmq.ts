import type { AttemptErrorCode } from "../../core/attempt-error.ts";
import { DELIVERED, readObject, rejected, UNEXPECTED } from "../answers.ts";
import { basicAuthFields, basicAuthOf, basicAuthSecrets } from "../basic-auth.ts";
import type { DestinationKind } from "../destination.ts";
import {
  base64,
  headersWith,
  jsonBytes,
  perConfig,
  textOf,
  urlBelow,
  webhookHeadersOf,
} from "../requests.ts";

/** What the management plugin says in `reason` → the error code. Read of 3.10.8. */
const REASONS: readonly [RegExp, AttemptErrorCode][] = [
  [/^Login failed|^Not_Authorized/i, "credentials_refused"],
  [/^Not management user/, "management_tag_missing"],
  [/^Access refused|virtual host/, "vhost_refused"],
  [/NOT_FOUND - no exchange/, "exchange_not_found"],
  [/ACCESS_REFUSED - cannot publish to internal exchange/, "exchange_internal"],
  [/ACCESS_REFUSED/, "write_permission_missing"],
  [/queue limits/, "queue_full"],
  [/body size limit/, "message_too_large"],
];

const connectionOf = perConfig((config) => {
  const path = ["vhost", "exchange"].map((name) => encodeURIComponent(textOf(config, name) ?? "")).join("/");
  return {
    url: urlBelow(textOf(config, "url") ?? "", `/api/exchanges/${path}/publish`),
    authorization: basicAuthOf(config) ?? "",
  };
});

/**
 * RabbitMQ, by the HTTP API of its management plugin: the only way in over HTTP that says whether a message
 * was routed.
 */
export const rabbitmq: DestinationKind = {
  kind: "rabbitmq",
  name: "RabbitMQ",
  about: {
    sentAs:
      "`POST /api/exchanges/VHOST/EXCHANGE/publish` of the management plugin. The payload is the body's exact bytes; the three `webhook-*` " +
      "headers are message headers, `message_id` is the `webhook-id`, `type` the event's type. Messages are persistent.",
    deliveredWhen: "The answer says `routed: true`: at least one queue took the message.",
    testedAgainst: "RabbitMQ 3.10.8 with its management plugin, read back with `amqplib`",
    notes:
      "The user needs the tag `management` and write permission on the exchange. A message that no binding matches is `unroutable` and is " +
      "tried again: bind a queue. Repeats carry the same `message_id`.",
    errors: {
      unroutable: "No queue is bound that takes this routing key; bind one.",
      credentials_refused: "User name or password are wrong.",
      management_tag_missing: "The user lacks the tag `management`.",
      vhost_refused: "The virtual host does not exist, or the user has no permissions in it.",
      exchange_not_found: "The virtual host has no such exchange.",
      exchange_internal: "The exchange is internal: nobody may publish to it.",
      write_permission_missing: "The user lacks write permission on the exchange.",
      queue_full: "A queue is at its limit and refuses more; the endpoint slows down meanwhile.",
      message_too_large: "The message exceeds what the management plugin takes.",
    },
  },
  fields: [
    {
      name: "url",
      label: "Management URL",
      help: "Where the management plugin listens, as in https://rabbitmq.example.com:15671.",
      required: true,
      secret: false,
      address: true,
    },
    {
      name: "vhost",
      label: "Virtual host",
      help: "Often /.",
      required: true,
      secret: false,
      address: false,
      pattern: String.raw`(?!\.{1,2}$)[^\x00-\x1f\x7f]{1,255}`,
    },
    {
      name: "exchange",
      label: "Exchange",
      help: "Its name; amq.default for the default exchange, which routes to the queue that the routing key names.",
      required: true,
      secret: false,
      address: false,
      pattern: String.raw`(?!\.{1,2}$)[^\x00-\x1f\x7f]{1,255}`,
    },
    {
      name: "routing_key",
      label: "Routing key",
      help: "The event's type unless given.",
      required: false,
      secret: false,
      address: false,
      pattern: String.raw`[^\x00-\x1f\x7f]{1,255}`,
    },
    ...basicAuthFields("A user with the tag management and write permission on the exchange."),
  ],
  // The plugin of 3.10 takes request bodies of 10,000,000 bytes (later ones 20,000,000), in which the payload
  // stands in base64.
  maxBytes: 7_400_000,
  routesByType: (config) => textOf(config, "routing_key") === null,
  protocolHeaders: ["authorization"],
  secrets: basicAuthSecrets,
  request(config, message) {
    const { url, authorization } = connectionOf(config);
    const body = jsonBytes({
      properties: {
        delivery_mode: 2,
        content_type: "application/json",
        message_id: message.id,
        timestamp: message.timestampSeconds,
        type: message.type,
        headers: Object.fromEntries(webhookHeadersOf(message)),
      },
      routing_key: textOf(config, "routing_key") ?? message.type,
      payload: base64(message.body),
      payload_encoding: "base64",
    });
    const headers = headersWith(
      [
        ["content-type", "application/json"],
        ["authorization", authorization],
      ],
      message,
    );
    return { method: "POST", url, headers, body };
  },
  judge({ status, body }) {
    const { routed, reason } = readObject(body);
    if (status === 200 && routed === true) return DELIVERED;
    if (status === 200) return rejected(routed === false ? "unroutable" : UNEXPECTED);
    const code = REASONS.find(([pattern]) => typeof reason === "string" && pattern.test(reason))?.[1];
    return rejected(code ?? null, { throttled: code === "queue_full" });
  },
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  RabbitMQ: "RabbitMQ",
  "Management URL": "Management-URL",
  "Where the management plugin listens, as in https://rabbitmq.example.com:15671.":
    "Wo das Management-Plugin lauscht, wie https://rabbitmq.example.com:15671.",
  "Virtual host": "Virtueller Host",
  "Often /.": "Oft /.",
  Exchange: "Exchange",
  "Its name; amq.default for the default exchange, which routes to the queue that the routing key names.":
    "Sein Name; amq.default für den vorgegebenen, der zur Warteschlange führt, die der Routing-Schlüssel nennt.",
  "Routing key": "Routing-Schlüssel",
  "A user with the tag management and write permission on the exchange.":
    "Ein Benutzer mit dem Tag management und Schreibrecht auf dem Exchange.",
};

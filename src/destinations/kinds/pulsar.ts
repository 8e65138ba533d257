import type { AttemptErrorCode } from "../../core/attempt-error.ts";
import { DELIVERED, firstOf, readObject, rejected, UNEXPECTED } from "../answers.ts";
import { type DestinationKind, HEADER_TEXT, isSuccess } from "../destination.ts";
import { attributesOf, headersWith, jsonBytes, perConfig, textOf, urlBelow } from "../requests.ts";

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** What the broker says in `reason` → the error code. Read of 4.0.8. */
const REASONS: readonly [RegExp, AttemptErrorCode][] = [
  [/^Unauthorized to produce|not authorized|No permission/i, "permission_missing"],
  [/Namespace not found|Tenant.{0,300}not (?:exist|found)/i, "namespace_not_found"],
  [/Topic .{0,300}not found|Topic not (?:exist|found)|Can't find owner/i, "topic_not_found"],
  [/schema/i, "schema_refused"],
];

const connectionOf = perConfig((config) => {
  const token = textOf(config, "token");
  const authorization: [string, string][] = token === null ? [] : [["authorization", `Bearer ${token}`]];
  return {
    url: urlBelow(textOf(config, "url") ?? "", `/topics/${pathOf(textOf(config, "topic") ?? "")}`),
    headers: [["content-type", "application/json"] as const, ...authorization],
  };
});

/** `orders`, `tenant/namespace/orders` or the whole name, as the path of the produce call. */
function pathOf(topic: string): string {
  const [, domain = "persistent", name = ""] =
    /^(?:(persistent|non-persistent):\/\/)?(.*)$/.exec(topic) ?? [];
  const parts = name.includes("/") ? name.split("/") : ["public", "default", name];
  return [domain, ...parts].map(encodeURIComponent).join("/");
}

/** Apache Pulsar, by the produce call of the broker's REST API. */
export const pulsar: DestinationKind = {
  kind: "pulsar",
  name: "Apache Pulsar",
  about: {
    sentAs:
      "`POST /topics/persistent/TENANT/NAMESPACE/TOPIC`: one message. Its payload is the body, byte for byte in UTF-8; the three `webhook-*` " +
      "headers and `type` are properties, its key is the `webhook-id`.",
    deliveredWhen: "The answer holds the message's id with `errorCode` 0; brokers put errors into a 200.",
    testedAgainst: "Pulsar 4.0.8, standalone, read back with its own Java client",
    notes:
      "The topic must exist, without a schema or with the schema STRING. In a cluster, give the address of the Pulsar proxy: a broker answers " +
      "with a redirect (`other_broker`) where another one owns the topic, and redirects are not followed.",
    errors: {
      credentials_refused: "The token is wrong or missing.",
      permission_missing: "The token's role lacks the permission `produce` on the topic.",
      namespace_not_found: "There is no such tenant or namespace.",
      topic_not_found: "There is no such topic; make it first.",
      schema_refused: "The topic has a schema that plain text does not fit.",
      other_broker: "Another broker owns the topic: use the address of the Pulsar proxy.",
      refused: "The broker did not take the message; `error_detail` is the error inside the answer.",
    },
  },
  fields: [
    {
      name: "url",
      label: "Web service URL",
      help: "Of the broker or the Pulsar proxy, as in https://pulsar.example.com:8443.",
      required: true,
      secret: false,
      address: true,
    },
    {
      name: "topic",
      label: "Topic",
      help: "persistent://TENANT/NAMESPACE/TOPIC; a bare name is one in public/default.",
      required: true,
      secret: false,
      address: false,
      pattern: String.raw`(?:(?:non-)?persistent://)?(?:[A-Za-z0-9_=:-][A-Za-z0-9_=:.-]*/[A-Za-z0-9_=:-][A-Za-z0-9_=:.-]*/)?(?!\.{1,2}$)[^\x00-\x20\x7f/?#%]+`,
    },
    {
      name: "key",
      label: "Message key",
      help: "The webhook-id unless given.",
      required: false,
      secret: false,
      address: false,
      pattern: String.raw`[^\x00-\x1f\x7f]{1,1024}`,
    },
    {
      name: "token",
      label: "Token",
      help: "A JSON Web Token of a role that may produce, where the cluster asks for one.",
      required: false,
      secret: true,
      address: false,
      pattern: HEADER_TEXT,
    },
  ],
  // `maxMessageSize` of conf/broker.conf, as shipped: 5 MB.
  maxBytes: 5_242_880,
  // For whom a proxy speaks, and how the token is read. `authorization` is free where no token is given: a
  // proxy before the cluster may ask for one of its own.
  protocolHeaders: ["x-original-principal", "x-pulsar-*"],
  request(config, message) {
    const { url, headers } = connectionOf(config);
    const body = jsonBytes({
      producerName: "sealpost",
      messages: [
        {
          key: textOf(config, "key") ?? message.id,
          payload: decoder.decode(message.body),
          properties: attributesOf(message),
        },
      ],
    });
    return { method: "POST", url, headers: headersWith(headers, message), body };
  },
  judge({ status, body }) {
    const answer = readObject(body);
    const { messageId, errorCode } = firstOf(answer["messagePublishResults"]);
    if (isSuccess(status) && typeof messageId === "string" && errorCode === 0) return DELIVERED;
    if (typeof errorCode === "number" && errorCode !== 0)
      return rejected("refused", { detail: `error ${errorCode}` });
    if (isSuccess(status)) return rejected(UNEXPECTED);
    const { reason } = answer;
    const code = REASONS.find(([pattern]) => typeof reason === "string" && pattern.test(reason))?.[1];
    if (code !== undefined) return rejected(code);
    if (status === 307) return rejected("other_broker");
    return rejected(status === 401 ? "credentials_refused" : status === 403 ? "permission_missing" : null);
  },
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Apache Pulsar": "Apache Pulsar",
  "Web service URL": "URL des Web-Dienstes",
  "Of the broker or the Pulsar proxy, as in https://pulsar.example.com:8443.":
    "Des Brokers oder des Pulsar-Proxys, wie https://pulsar.example.com:8443.",
  "persistent://TENANT/NAMESPACE/TOPIC; a bare name is one in public/default.":
    "persistent://TENANT/NAMESPACE/TOPIC; ein bloßer Name liegt in public/default.",
  "Message key": "Schlüssel der Nachricht",
  "A JSON Web Token of a role that may produce, where the cluster asks for one.":
    "Ein JSON Web Token einer Rolle, die senden darf, wenn der Cluster eines verlangt.",
};

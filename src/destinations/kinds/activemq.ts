import { DELIVERED, readText, rejected } from "../answers.ts";
import { basicAuthFields, basicAuthOf, basicAuthSecrets } from "../basic-auth.ts";
import { type DestinationKind, isSuccess } from "../destination.ts";
import { headersWith, perConfig, textOf, urlBelow, webhookHeadersOf } from "../requests.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

const connectionOf = perConfig((config) => {
  const name = textOf(config, "destination") ?? "";
  return {
    url: urlBelow(textOf(config, "url") ?? "", "/api/message"),
    destination: name.includes("://") ? name : `queue://${name}`,
    authorization: basicAuthOf(config) ?? "",
  };
});

/** ActiveMQ Classic, by the message API of its web console. */
export const activemq: DestinationKind = {
  kind: "activemq",
  name: "ActiveMQ Classic",
  about: {
    sentAs:
      "`POST /api/message` as a form, a persistent text message. Its text is the body, byte for byte in UTF-8; the three `webhook-*` headers are " +
      "string properties, `JMSCorrelationID` is the `webhook-id`, `JMSType` the event's type, `clientId` the endpoint's id.",
    deliveredWhen: "The status is 2xx, which the broker gives once the message is stored.",
    testedAgainst: "ActiveMQ Classic 5.18.3, read back with its own Java client",
    notes:
      "The message API is part of the web console, which listens on 127.0.0.1 unless told otherwise. A queue that does not exist is made by " +
      "the broker. A raw body would gain a newline on its way, and lose its signature by that: hence the form.",
    errors: {
      credentials_refused: "User name or password of the web console are wrong.",
      permission_missing: "The broker does not let the web console's own user write to this destination.",
      message_too_large: "The message exceeds what the console's web server takes of a form.",
    },
  },
  fields: [
    {
      name: "url",
      label: "Console URL",
      help: "Where the web console listens, as in https://activemq.example.com:8162.",
      required: true,
      secret: false,
      address: true,
    },
    {
      name: "destination",
      label: "Destination",
      help: "The name of a queue, or queue://NAME, or topic://NAME.",
      required: true,
      secret: false,
      address: false,
      pattern: String.raw`(?:(?:queue|topic)://)?[^\x00-\x1f\x7f:?]+`,
    },
    ...basicAuthFields("A user of the web console."),
  ],
  // `maxMessageSize` of the message API, as shipped (webapps/api/WEB-INF/web.xml); Jetty takes forms of
  // 200,000 bytes.
  maxBytes: 100_000,
  protocolHeaders: ["authorization"],
  secrets: basicAuthSecrets,
  request(config, message) {
    const { url, destination, authorization } = connectionOf(config);
    const form = [
      ["destination", destination],
      ["JMSDeliveryMode", "persistent"],
      ["JMSCorrelationID", message.id],
      ["JMSType", message.type],
      // Without one the console keeps a session and a connection for every single message.
      ["clientId", message.endpointId],
      ...webhookHeadersOf(message),
      ["body", decoder.decode(message.body)],
    ];
    const text = form.map(([name, value]) => `${name}=${encodeField(value ?? "")}`).join("&");
    const headers = headersWith(
      [
        ["content-type", "application/x-www-form-urlencoded"],
        ["authorization", authorization],
      ],
      message,
    );
    return { method: "POST", url, headers, body: encoder.encode(text) };
  },
  judge({ status, body }) {
    if (isSuccess(status)) return DELIVERED;
    if (status === 401) return rejected("credentials_refused");
    const text = readText(body);
    if (status === 403 || /not authorized to write/i.test(text)) return rejected("permission_missing");
    return rejected(/Form is (?:larger|too large)|maxMessageSize/i.test(text) ? "message_too_large" : null);
  },
};

/**
 * Percent-encoding that leaves JSON's own characters as they are: the web server bounds the length of what
 * is encoded. Runs are encoded in one piece: a call for each character is most of what a body costs.
 */
function encodeField(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9{}[\]":,._/-]+/gu, encodeURIComponent);
}

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "ActiveMQ Classic": "ActiveMQ Classic",
  "Console URL": "URL der Konsole",
  "Where the web console listens, as in https://activemq.example.com:8162.":
    "Wo die Web-Konsole lauscht, wie https://activemq.example.com:8162.",
  Destination: "Ziel",
  "The name of a queue, or queue://NAME, or topic://NAME.":
    "Der Name einer Warteschlange, oder queue://NAME, oder topic://NAME.",
  "A user of the web console.": "Ein Benutzer der Web-Konsole.",
};

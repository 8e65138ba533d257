import { DELIVERED, readText, rejected, UNEXPECTED } from "../answers.ts";
import { sharedAccessSignature } from "../azure-signatures.ts";
import { faultOf, readConnectionString, requireHeaderText, requirePart } from "../connection-string.ts";
import { type DestinationConfig, type DestinationKind, isSuccess } from "../destination.ts";
import { headersWith, perConfig, textOf, urlBelow, webhookHeadersOf } from "../requests.ts";

/** A token holds for an hour, and is made anew when half of that has passed. */
const TOKEN_SECONDS = 3600;

interface Namespace {
  url: string;
  /** Where the connection string brings a token instead of a key. */
  token: string | null;
  keyName: string;
  key: string;
}

/** Throws the sentence that says what is wrong. */
function readNamespace(text: string): Namespace {
  const parts = readConnectionString(text);
  const endpoint = requirePart(parts, "Endpoint");
  const [, scheme, rest] = /^(sb|https?):\/\/(.+)$/i.exec(endpoint) ?? [];
  const isEmulator = parts.get("usedevelopmentemulator")?.toLowerCase() === "true";
  const isPlain = scheme?.toLowerCase() === "http" || isEmulator;
  const url = `${isPlain ? "http" : "https"}://${rest}`;
  if (rest === undefined || !URL.canParse(url)) {
    throw new Error("Expected an Endpoint such as sb://NAMESPACE.servicebus.windows.net/.");
  }
  const token = parts.get("sharedaccesssignature") ?? null;
  return {
    url,
    token,
    keyName: token === null ? requirePart(parts, "SharedAccessKeyName") : "",
    key: token === null ? requirePart(parts, "SharedAccessKey") : "",
  };
}

function checkNamespace({ token }: Namespace): void {
  if (token !== null) requireHeaderText("SharedAccessSignature", token);
}

const connectionOf = perConfig((config) => {
  const namespace = readNamespace(textOf(config, "connection_string") ?? "");
  const entity = textOf(config, "entity") ?? "";
  const path = entity.split("/").map(encodeURIComponent).join("/");
  const url = urlBelow(namespace.url, `/${path}/messages`);
  return {
    namespace,
    entity: urlBelow(namespace.url, `/${path}`).href,
    url,
    token: { text: "", renewAt: 0 },
  };
});

function authorizationOf(config: DestinationConfig, now: number): string {
  const { namespace, entity, token } = connectionOf(config);
  if (namespace.token !== null) return namespace.token;
  if (now >= token.renewAt) {
    const expiresAt = Math.floor(now / 1000) + TOKEN_SECONDS;
    token.text = sharedAccessSignature(entity, namespace.keyName, namespace.key, expiresAt);
    token.renewAt = now + (TOKEN_SECONDS / 2) * 1000;
  }
  return token.text;
}

/** Azure Service Bus, by its REST interface. */
export const azureServiceBus: DestinationKind = {
  kind: "azure_service_bus",
  name: "Azure Service Bus",
  about: {
    sentAs:
      "`POST /ENTITY/messages` to the namespace, with a shared access signature. The body's exact bytes are the message; the three `webhook-*` " +
      "headers, `type` and the endpoint's own headers are its application properties, `MessageId` is the `webhook-id`, `Subject` the event's type.",
    deliveredWhen: "The status is 201.",
    testedAgainst:
      "a recorder, with the official client `azure-sb` 0.11.2 sending the same to it; the service itself cannot be had",
    notes:
      "`sb://` means https, and plain http where the connection string says `UseDevelopmentEmulator=true`. The policy needs the claim *Send*. " +
      "Turn on duplicate detection and Service Bus drops repeats by their `MessageId`. A queue that does not exist is answered with 410 by " +
      "the service, which disables the endpoint like any 410.",
    errors: {
      signature_refused: "Key or key name are wrong, or the token has expired.",
      send_claim_missing: "The policy lacks the claim Send.",
      entity_not_found: "The namespace has no such queue or topic.",
      quota_exceeded: "The queue or topic is full, or the message is larger than its tier takes.",
    },
  },
  fields: [
    {
      name: "connection_string",
      label: "Connection string",
      help: "Of a policy with the claim Send: Endpoint=sb://…;SharedAccessKeyName=…;SharedAccessKey=….",
      required: true,
      secret: true,
      address: false,
      check: (text) => faultOf(() => checkNamespace(readNamespace(text))),
    },
    {
      name: "entity",
      label: "Queue or topic",
      help: "Its name.",
      required: true,
      secret: false,
      address: false,
      pattern: String.raw`(?!.*/\.{1,2}/)[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,258}[A-Za-z0-9_])?`,
    },
  ],
  // service-bus-quotas: the tier Premium takes 1 MB over HTTP, Standard 256 KB; both answer 403 to what
  // is larger.
  maxBytes: 1_048_576,
  protocolHeaders: ["authorization", "brokerproperties", "date", "x-ms-*"],
  addresses: (config) => [
    { field: "connection_string", url: readNamespace(textOf(config, "connection_string") ?? "").url },
  ],
  secrets(config) {
    const { namespace, token } = connectionOf(config);
    return [namespace.key, namespace.token ?? token.text];
  },
  request(config, message, now) {
    const { url } = connectionOf(config);
    // A property that is text stands in quotes, or Service Bus takes it for a number or a date.
    const quoted = ([name, value]: readonly [string, string]) => [name, JSON.stringify(value)] as const;
    const properties: [string, string][] = [...webhookHeadersOf(message), ["type", message.type]];
    const headers = headersWith(
      [
        ["content-type", "application/json"],
        ["authorization", authorizationOf(config, now)],
        ["brokerproperties", JSON.stringify({ MessageId: message.id, Label: message.type })],
        ...properties.map(quoted),
      ],
      { ...message, headers: message.headers.map(quoted) },
    );
    return { method: "POST", url, headers, body: message.body };
  },
  judge({ status, body }) {
    if (status === 201) return DELIVERED;
    if (isSuccess(status)) return rejected(UNEXPECTED);
    const text = readText(body);
    if (status === 401) return rejected(/claim/i.test(text) ? "send_claim_missing" : "signature_refused");
    if (status === 403) return rejected("quota_exceeded");
    return rejected(status === 404 || status === 410 ? "entity_not_found" : null);
  },
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Azure Service Bus": "Azure Service Bus",
  "Of a policy with the claim Send: Endpoint=sb://…;SharedAccessKeyName=…;SharedAccessKey=….":
    "Einer Richtlinie mit dem Recht Send: Endpoint=sb://…;SharedAccessKeyName=…;SharedAccessKey=….",
  "Queue or topic": "Warteschlange oder Thema",
};

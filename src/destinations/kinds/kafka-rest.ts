import { DELIVERED, firstOf, readObject, rejected, UNEXPECTED } from "../answers.ts";
import { basicAuthFields, basicAuthOf, basicAuthSecrets } from "../basic-auth.ts";
import { type DestinationKind, isSuccess, type Judgement } from "../destination.ts";
import { attributesOf, base64, headersWith, jsonBytes, perConfig, textOf, urlBelow } from "../requests.ts";

/** In the binary format value and headers keep their bytes; the JSON format would write the value anew. */
const CONTENT: readonly [string, string][] = [
  ["content-type", "application/vnd.kafka.binary.v2+json"],
  ["accept", "application/vnd.kafka.v2+json"],
];

const connectionOf = perConfig((config) => {
  const pass = basicAuthOf(config);
  const authorization: [string, string][] = pass === null ? [] : [["authorization", pass]];
  return {
    url: urlBelow(
      textOf(config, "url") ?? "",
      `/topics/${encodeURIComponent(textOf(config, "topic") ?? "")}`,
    ),
    headers: [...CONTENT, ...authorization],
  };
});

/** Apache Kafka, behind a REST proxy that speaks version 2 of the produce API. */
export const kafkaRest: DestinationKind = {
  kind: "kafka_rest",
  name: "Kafka REST proxy",
  about: {
    sentAs:
      "`POST /topics/TOPIC` (produce API v2, binary format): one record. Its value is the body's exact bytes, its key the `webhook-id`, and " +
      "its headers are the three `webhook-*` headers and `type`.",
    deliveredWhen:
      "The answer holds the record's offset and no `error_code`; proxies put errors of the broker into a 200.",
    testedAgainst:
      "Kafka 4.3.1 behind a REST front of the tests' own, read back with a Kafka client, and answers of Strimzi's bridge 0.32 and " +
      "Karapace 6.2.0; the proxies themselves are in no package registry",
    notes:
      "Karapace refuses record headers: set `send_headers` to false for it; consumers cannot verify signatures then. The proxy must wait for the " +
      "broker (`acks` other than 0). For a proxy that takes a bearer token, set the endpoint's header `authorization`.",
    errors: {
      credentials_refused: "User name or password are wrong.",
      permission_missing: "The user may not write to this topic.",
      topic_not_found: "There is no such topic, or the user may not see it.",
      record_refused:
        "The proxy does not take the record's form. If it knows no record headers, set send_headers to false.",
      offset_missing: "The proxy did not wait for the broker: no offset came back. Set its acks to 1 or all.",
      refused: "The broker did not take the record; `error_detail` is the error inside the answer.",
    },
  },
  fields: [
    {
      name: "url",
      label: "Proxy URL",
      help: "Where the REST proxy listens, as in https://kafka-rest.example.com:8082.",
      required: true,
      secret: false,
      address: true,
    },
    {
      name: "topic",
      label: "Topic",
      help: "Its name.",
      required: true,
      secret: false,
      address: false,
      pattern: String.raw`(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}`,
    },
    {
      name: "key",
      label: "Record key",
      help: "The webhook-id unless given. Records with one key stay in order, in one partition.",
      required: false,
      secret: false,
      address: false,
      pattern: String.raw`[^\x00-\x1f\x7f]{1,1024}`,
    },
    ...basicAuthFields("For proxies that ask for basic authentication.", false),
    {
      name: "send_headers",
      label: "Send record headers",
      help: "True unless given. Set to false for proxies that refuse record headers, such as Karapace.",
      required: false,
      secret: false,
      address: false,
      type: "boolean",
    },
  ],
  // `max.request.size` of Kafka's producer, as shipped; a broker takes batches of 1,048,588 bytes
  // (`message.max.bytes`).
  maxBytes: 1_048_576,
  secrets: basicAuthSecrets,
  request(config, message) {
    const { url, headers } = connectionOf(config);
    const pairs = Object.entries(attributesOf(message));
    const record = {
      key: base64(textOf(config, "key") ?? message.id),
      value: base64(message.body),
      ...(config["send_headers"] !== false && {
        headers: pairs.map(([key, value]) => ({ key, value: base64(value) })),
      }),
    };
    return {
      method: "POST",
      url,
      headers: headersWith(headers, message),
      body: jsonBytes({ records: [record] }),
    };
  },
  judge({ status, body }) {
    const answer = readObject(body);
    const { offset, error_code: error } = firstOf(answer["offsets"]);
    if (typeof error === "number") return rejected("refused", { detail: `error ${error}` });
    if (!isSuccess(status)) return judgeRefusal(status, answer["error_code"]);
    if (typeof offset !== "number") return rejected(UNEXPECTED);
    return offset >= 0 ? DELIVERED : rejected("offset_missing");
  },
};

function judgeRefusal(status: number, code: unknown): Judgement {
  if (status === 401) return rejected("credentials_refused");
  if (status === 403) return rejected("permission_missing");
  if (code === 40401) return rejected("topic_not_found");
  return rejected(status === 415 || status === 422 ? "record_refused" : null);
}

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Kafka REST proxy": "Kafka-REST-Proxy",
  "Proxy URL": "URL des Proxys",
  "Where the REST proxy listens, as in https://kafka-rest.example.com:8082.":
    "Wo der REST-Proxy lauscht, wie https://kafka-rest.example.com:8082.",
  "Record key": "Schlüssel des Datensatzes",
  "The webhook-id unless given. Records with one key stay in order, in one partition.":
    "Ohne Angabe die webhook-id. Datensätze mit einem Schlüssel bleiben in der Reihenfolge, in einer Partition.",
  "For proxies that ask for basic authentication.": "Für Proxys, die Basic-Authentifizierung verlangen.",
  "Send record headers": "Header mitsenden",
  "True unless given. Set to false for proxies that refuse record headers, such as Karapace.":
    "Ohne Angabe ja. Abschalten für Proxys, die Header an Datensätzen ablehnen, wie Karapace.",
};

import { DELIVERED, readObject, rejected, UNEXPECTED } from "../answers.ts";
import { type DestinationKind, isSuccess } from "../destination.ts";
import { GOOGLE_ERRORS, GOOGLE_HEADERS, judgeGoogleError } from "../google-answers.ts";
import { bearerOf, serviceAccountField, tokenAddressesOf, tokenSecrets } from "../google-tokens.ts";
import { attributesOf, base64, headersWith, jsonBytes, perConfig, textOf, urlBelow } from "../requests.ts";

const ORIGIN = "https://pubsub.googleapis.com";
const SCOPE = "https://www.googleapis.com/auth/pubsub";

const urlOf = perConfig((config) => {
  const { project_id: project, topic } = config;
  const path = `/v1/projects/${String(project)}/topics/${encodeURIComponent(String(topic))}:publish`;
  return urlBelow(textOf(config, "endpoint") ?? ORIGIN, path);
});

/** Google Cloud Pub/Sub, by its REST interface. */
export const gcpPubsub: DestinationKind = {
  kind: "gcp_pubsub",
  name: "Google Cloud Pub/Sub",
  about: {
    sentAs:
      "`POST /v1/projects/PROJECT/topics/TOPIC:publish`: one message. Its data is the body's exact bytes; the three `webhook-*` headers and `type` " +
      "are attributes.",
    deliveredWhen: "The answer holds a message id.",
    testedAgainst:
      "a recorder, with the official client `@google-cloud/pubsub` 5.2.0 sending the same to it; the service itself cannot be had",
    notes:
      "The service account needs the role *Pub/Sub Publisher* on the topic. Its access token is kept in memory and made anew five minutes " +
      "before it ends. Pub/Sub keeps repeats apart: tell them by the attribute `webhook-id`.",
    errors: { ...GOOGLE_ERRORS, topic_not_found: "The project has no such topic." },
  },
  fields: [
    {
      name: "project_id",
      label: "Project ID",
      help: "The topic's project.",
      required: true,
      secret: false,
      address: false,
      pattern: String.raw`(?!\.{1,2}$)[a-z0-9.:-]{1,100}`,
    },
    {
      name: "topic",
      label: "Topic",
      help: "Its name, without projects/…/topics/.",
      required: true,
      secret: false,
      address: false,
      pattern: "[A-Za-z][A-Za-z0-9._~+%-]{2,254}",
    },
    serviceAccountField("Pub/Sub Publisher"),
    {
      name: "endpoint",
      label: "Address",
      help: `${ORIGIN} unless given; for a regional endpoint or a compatible server.`,
      required: false,
      secret: false,
      address: true,
    },
  ],
  // cloud.google.com/pubsub/quotas: "Message size (the data field): 10 MB".
  maxBytes: 10_000_000,
  protocolHeaders: GOOGLE_HEADERS,
  addresses: tokenAddressesOf,
  secrets: tokenSecrets,
  async request(config, message, now, ask, inPool) {
    // Before the wait: all that wait for one token go on in one turn of the loop.
    const body = jsonBytes({ messages: [{ data: base64(message.body), attributes: attributesOf(message) }] });
    const authorization = await bearerOf(config, SCOPE, now, ask, inPool);
    const headers = headersWith(
      [
        ["content-type", "application/json"],
        ["authorization", authorization],
      ],
      message,
    );
    return { method: "POST", url: urlOf(config), headers, body };
  },
  judge(answer, config) {
    if (!isSuccess(answer.status)) return judgeGoogleError(answer, config, "topic_not_found");
    const { messageIds } = readObject(answer.body);
    const [id]: unknown[] = Array.isArray(messageIds) ? messageIds : [];
    return typeof id === "string" && id !== "" ? DELIVERED : rejected(UNEXPECTED);
  },
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Google Cloud Pub/Sub": "Google Cloud Pub/Sub",
  "Project ID": "Projekt-ID",
  "The topic's project.": "Das Projekt des Themas.",
  "Its name, without projects/…/topics/.": "Sein Name, ohne projects/…/topics/.",
  "The whole JSON key file of a service account with the role Pub/Sub Publisher.":
    "Die ganze JSON-Schlüsseldatei eines Dienstkontos mit der Rolle Pub/Sub Publisher.",
  "https://pubsub.googleapis.com unless given; for a regional endpoint or a compatible server.":
    "Ohne Angabe https://pubsub.googleapis.com; für einen regionalen Endpunkt oder einen kompatiblen Server.",
};

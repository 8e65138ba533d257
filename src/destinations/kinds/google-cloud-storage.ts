import { randomBytes } from "node:crypto";
import { DELIVERED, readObject, rejected, UNEXPECTED } from "../answers.ts";
import { type DestinationKind, isSuccess } from "../destination.ts";
import { GOOGLE_ERRORS, GOOGLE_HEADERS, judgeGoogleError } from "../google-answers.ts";
import { bearerOf, serviceAccountField, tokenAddressesOf, tokenSecrets } from "../google-tokens.ts";
import { namesByType, OBJECT_KEY_FIELDS, objectKeyOf } from "../object-key.ts";
import { attributesOf, headersWith, perConfig, textOf, urlBelow } from "../requests.ts";

const ORIGIN = "https://storage.googleapis.com";
const SCOPE = "https://www.googleapis.com/auth/devstorage.read_write";

const uploadOf = perConfig((config) => {
  const path = `/upload/storage/v1/b/${encodeURIComponent(textOf(config, "bucket") ?? "")}/o`;
  const url = urlBelow(textOf(config, "endpoint") ?? ORIGIN, path, "?uploadType=multipart");
  // Not to be guessed, so that no body can hold it.
  return { url, boundary: `sealpost-${randomBytes(16).toString("hex")}` };
});

/** Google Cloud Storage, by its JSON interface: one object a delivery. */
export const googleCloudStorage: DestinationKind = {
  kind: "google_cloud_storage",
  name: "Google Cloud Storage",
  about: {
    sentAs:
      "A multipart upload: one object for each delivery, its content the body's exact bytes. The three `webhook-*` headers and `type` are its custom " +
      "metadata. The name is `{date}/{hour}/{id}.json` unless `key_template` says otherwise; `{date}` and `{hour}` are those of the delivery's " +
      "creation in UTC and `{id}` is the `webhook-id`, so that a repeat overwrites itself.",
    deliveredWhen: "The answer is the object, with its generation.",
    testedAgainst: "fake-gcs-server 1.56.1, read back with its JSON interface; it takes any token",
    notes:
      "The service account needs *Storage Object User* on the bucket: overwriting a repeat takes the permission to delete. With *Storage Object " +
      "Creator* alone a repeat is refused as `permission_missing`.",
    errors: {
      ...GOOGLE_ERRORS,
      bucket_not_found: "There is no such bucket, or the service account may not see it.",
    },
  },
  fields: [
    {
      name: "bucket",
      label: "Bucket",
      help: "Its name.",
      required: true,
      secret: false,
      address: false,
      pattern: String.raw`(?!.*\.\.)[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]`,
    },
    ...OBJECT_KEY_FIELDS,
    serviceAccountField("Storage Object User"),
    {
      name: "endpoint",
      label: "Address",
      help: `${ORIGIN} unless given; for a compatible server.`,
      required: false,
      secret: false,
      address: true,
    },
  ],
  // cloud.google.com/storage/quotas: "Maximum object size: 5 TiB".
  maxBytes: 5_497_558_138_880,
  routesByType: namesByType,
  protocolHeaders: GOOGLE_HEADERS,
  addresses: tokenAddressesOf,
  secrets: tokenSecrets,
  async request(config, message, now, ask, inPool) {
    const { url, boundary } = uploadOf(config);
    const name = objectKeyOf(config, message);
    const authorization = await bearerOf(config, SCOPE, now, ask, inPool);
    const metadata = { name, contentType: "application/json", metadata: attributesOf(message) };
    const head =
      `--${boundary}\r\ncontent-type: application/json; charset=UTF-8\r\n\r\n${JSON.stringify(metadata)}\r\n` +
      `--${boundary}\r\ncontent-type: application/json\r\n\r\n`;
    const body = Buffer.concat([Buffer.from(head), message.body, Buffer.from(`\r\n--${boundary}--\r\n`)]);
    const headers = headersWith(
      [
        ["content-type", `multipart/related; boundary=${boundary}`],
        ["authorization", authorization],
      ],
      message,
    );
    return { method: "POST", url, headers, body };
  },
  judge(answer, config) {
    if (!isSuccess(answer.status)) return judgeGoogleError(answer, config, "bucket_not_found");
    const { name, generation } = readObject(answer.body);
    return typeof name === "string" && typeof generation === "string" ? DELIVERED : rejected(UNEXPECTED);
  },
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Google Cloud Storage": "Google Cloud Storage",
  "The whole JSON key file of a service account with the role Storage Object User.":
    "Die ganze JSON-Schlüsseldatei eines Dienstkontos mit der Rolle Storage Object User.",
  "https://storage.googleapis.com unless given; for a compatible server.":
    "Ohne Angabe https://storage.googleapis.com; für einen kompatiblen Server.",
};

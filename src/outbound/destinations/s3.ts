import { DELIVERED } from "../answers.ts";
import { judgeRefusal } from "../aws/answers.ts";
import { awsFields, checkName, field, NAME_PATTERN } from "../aws/fields.ts";
import { awsRequest } from "../aws/request.ts";
import { domainOf, grantedSecrets } from "../aws/session.ts";
import type { DestinationConfig, DestinationKind, Message } from "../destination.ts";
import { attributesOf, perConfig, textOf } from "../requests.ts";

const KEY_TEMPLATE = "{date}/{hour}/{id}.json";
const KEY_BYTES_MAX = 1024;
const PLACEHOLDERS = ["date", "hour", "type", "endpoint_id", "id"];

/** Amazon S3, and every store that speaks its API: one object a delivery. */
export const s3: DestinationKind = {
  kind: "s3",
  name: "Amazon S3 and compatible stores",
  about: {
    sentAs:
      "`PutObject`: one object for each delivery, its content the body's exact bytes. The metadata `webhook-id`, `webhook-timestamp`, " +
      "`webhook-signature` and `type` (headers `x-amz-meta-…`) let a reader verify it. The key is `{date}/{hour}/{id}.json` unless `key_template` " +
      "says otherwise; `{date}` and `{hour}` are those of the delivery's creation in UTC and `{id}` is the `webhook-id`, so that a repeat overwrites " +
      "itself. The endpoint's own headers go along, such as `x-amz-storage-class` or `x-amz-server-side-encryption`.",
    deliveredWhen: "The status is 200.",
    testedAgainst:
      "versitygw 1.8.0, which verifies signatures, and moto 5.2.5, read back with the AWS SDK for JavaScript",
    notes:
      "The permission needed is `s3:PutObject` on the keys, and `kms:GenerateDataKey` on the key of an encrypted bucket. An object may have " +
      "5 GiB ([quota](https://docs.aws.amazon.com/AmazonS3/latest/userguide/upload-objects.html)), far more than an event. AWS is called at the bucket's own " +
      "host name (at the region's where the bucket's name has dots), an `endpoint` with the bucket in the path, unless its host name begins with the " +
      "bucket's.",
  },
  fields: [
    field("bucket", "Bucket", "The name of the bucket.", {
      required: true,
      pattern: NAME_PATTERN,
      check: (text) => (text.length > 63 ? "Expected at most 63 characters." : checkName(text)),
    }),
    field("prefix", "Prefix", "Stands before every key, with a slash between, as in webhooks/.", {
      check: checkKeyPart,
    }),
    field(
      "key_template",
      "Key template",
      `What follows the prefix; ${KEY_TEMPLATE} unless given. Knows {date}, {hour}, {type}, {endpoint_id} and {id}, and must hold {id}.`,
      { check: checkTemplate },
    ),
    ...awsFields("AWS is called unless this is given, as for MinIO or Cloudflare R2."),
  ],
  maxBytes: 5_368_709_120,
  secrets: grantedSecrets,
  request(config, message, now, ask) {
    const metadata = Object.entries(attributesOf(message)).map(
      ([name, value]) => [`x-amz-meta-${name}`, value] as const,
    );
    const call = {
      service: "s3",
      method: "PUT",
      url: objectUrlOf(config, keyOf(config, message)),
      headers: [["content-type", "application/json"] as const, ...metadata],
      body: message.body,
    };
    return awsRequest(call, config, message, now, ask);
  },
  judge(answer, config) {
    if (answer.status === 200) return DELIVERED;
    const resource = `arn:aws:s3:::${textOf(config, "bucket")}/${prefixOf(config)}*`;
    return judgeRefusal(answer, { action: "s3:PutObject", resource });
  },
};

function checkTemplate(text: string): string | null {
  const unknown = [...text.matchAll(/\{([^{}]*)\}/g)]
    .map(([, name = ""]) => name)
    .find((name) => !PLACEHOLDERS.includes(name));
  if (unknown !== undefined)
    return `{${unknown}} is unknown; there are ${PLACEHOLDERS.map((name) => `{${name}}`).join(", ")}.`;
  if (!text.includes("{id}")) return "It must hold {id}, or deliveries overwrite one another.";
  return checkKeyPart(text);
}

/** Keys are any text, but a URL folds `.` and `..` away, and an empty segment is left out by some stores. */
function checkKeyPart(text: string): string | null {
  if (/[\p{Cc}\uD800-\uDFFF\uFFFE\uFFFF]/u.test(text)) return "Expected text without control characters.";
  if (Buffer.byteLength(text) > KEY_BYTES_MAX / 2) return `Expected at most ${KEY_BYTES_MAX / 2} bytes.`;
  const segments = text.replace(/^\/|\/$/g, "").split("/");
  return segments.some((segment) => ["", ".", ".."].includes(segment))
    ? "Expected names between slashes, none of them empty, . or .."
    : null;
}

function prefixOf(config: DestinationConfig): string {
  const prefix = (textOf(config, "prefix") ?? "").replace(/^\/+|\/+$/g, "");
  return prefix === "" ? "" : `${prefix}/`;
}

/** The same on every attempt of a delivery. */
function keyOf(config: DestinationConfig, message: Message): string {
  const at = new Date(message.createdAt).toISOString();
  const values: Readonly<Record<string, string>> = {
    date: at.slice(0, 10),
    hour: at.slice(11, 13),
    type: message.type,
    endpoint_id: message.endpointId,
    id: message.id,
  };
  const template = (textOf(config, "key_template") ?? KEY_TEMPLATE).replace(/^\/+/, "");
  const key =
    prefixOf(config) + template.replaceAll(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
  const bytes = Buffer.byteLength(key);
  if (bytes > KEY_BYTES_MAX)
    throw new Error(`The key has ${bytes} bytes; S3 takes at most ${KEY_BYTES_MAX}.`);
  return key;
}

/** Where the bucket's objects are. */
const bucketUrlOf = perConfig((config) => {
  const bucket = textOf(config, "bucket") ?? "";
  const region = textOf(config, "region") ?? "";
  const endpoint = textOf(config, "endpoint");
  // A certificate for *.s3.… covers no name with dots in it.
  const hasDots = bucket.includes(".");
  const host = `s3.${region}.${domainOf(region)}`;
  const base = new URL(endpoint ?? (hasDots ? `https://${host}` : `https://${bucket}.${host}`));
  const isNamed = base.hostname.startsWith(`${bucket}.`) && /[a-z]$/.test(base.hostname);
  const inHost = endpoint === null ? !hasDots : isNamed;
  return base.origin + base.pathname.replace(/\/+$/, "") + (inHost ? "" : `/${bucket}`);
});

function objectUrlOf(config: DestinationConfig, key: string): URL {
  return new URL(`${bucketUrlOf(config)}/${key.split("/").map(encodeSegment).join("/")}`);
}

/** As SigV4 wants it: all but the unreserved characters of RFC 3986. */
function encodeSegment(segment: string): string {
  return encodeURIComponent(segment).replaceAll(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

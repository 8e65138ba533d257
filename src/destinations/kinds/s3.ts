import { DELIVERED, rejected, UNEXPECTED } from "../answers.ts";
import { judgeRefusal } from "../aws/answers.ts";
import {
  AWS_ERRORS,
  AWS_HEADERS,
  AWS_NOTES,
  awsFields,
  checkName,
  field,
  NAME_PATTERN,
} from "../aws/fields.ts";
import { awsRequest } from "../aws/request.ts";
import { domainOf } from "../aws/session.ts";
import { type DestinationConfig, type DestinationKind, isSuccess } from "../destination.ts";
import { namesByType, OBJECT_KEY_FIELDS, objectKeyOf, prefixOf } from "../object-key.ts";
import { attributesOf, perConfig, textOf, withoutLastSlashes } from "../requests.ts";
import { type UrlParts, urlParts } from "../../transport/url-parts.ts";

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
      "bucket's." +
      AWS_NOTES,
    errors: AWS_ERRORS,
  },
  fields: [
    field("bucket", "Bucket", "The name of the bucket.", {
      required: true,
      pattern: NAME_PATTERN,
      check: (text) => (text.length > 63 ? "Expected at most 63 characters." : checkName(text)),
    }),
    ...OBJECT_KEY_FIELDS,
    ...awsFields("AWS is called unless this is given, as for MinIO or Cloudflare R2."),
  ],
  maxBytes: 5_368_709_120,
  routesByType: namesByType,
  // And those by which stores that are compatible with S3 name the same things.
  protocolHeaders: [...AWS_HEADERS, "x-goog-*", "x-oss-*", "x-cos-*", "x-obs-*", "x-minio-*", "cf-*"],
  settableHeaders: ["x-amz-storage-class", "x-amz-server-side-encryption"],
  request(config, message, now, ask) {
    const metadata = Object.entries(attributesOf(message)).map(
      ([name, value]) => [`x-amz-meta-${name}`, value] as const,
    );
    const call = {
      service: "s3",
      method: "PUT",
      url: objectUrlOf(config, objectKeyOf(config, message)),
      headers: [["content-type", "application/json"] as const, ...metadata],
      body: message.body,
    };
    return awsRequest(call, config, message, now, ask);
  },
  judge(answer, config) {
    if (answer.status === 200) return DELIVERED;
    if (isSuccess(answer.status)) return rejected(UNEXPECTED);
    const resource = `arn:aws:s3:::${textOf(config, "bucket")}/${prefixOf(config)}*`;
    return judgeRefusal(answer, { signedBy: config, action: "s3:PutObject", resource });
  },
};

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
  return base.origin + withoutLastSlashes(base.pathname) + (inHost ? "" : `/${bucket}`);
});

function objectUrlOf(config: DestinationConfig, key: string): UrlParts {
  return urlParts(new URL(`${bucketUrlOf(config)}/${key.split("/").map(encodeSegment).join("/")}`));
}

/** As SigV4 wants it: all but the unreserved characters of RFC 3986. */
function encodeSegment(segment: string): string {
  return encodeURIComponent(segment).replaceAll(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Amazon S3 and compatible stores": "Amazon S3 und kompatible Speicher",
  "AWS is called unless this is given, as for MinIO or Cloudflare R2. Give it for a compatible server, or a VPC endpoint.":
    "Ohne Angabe wird AWS gerufen. Für kompatible Server wie MinIO oder Cloudflare R2, oder einen VPC-Endpunkt.",
  "The name of the bucket.": "Der Name des Buckets.",
};
